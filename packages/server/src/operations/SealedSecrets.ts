/**
 * Everything in the database that is sealed with a key of `SECRETS_KEYS`.
 *
 * Guarantees:
 * - `sealedColumns` has every column whose comment says `sealed` (a test compares them), except that of approvals: nobody opens
 *   what an approval sealed after 72 hours.
 * - A walk reads `BATCH` rows at a time by their id, so no statement is long and nobody waits for it. A walk that ends early has lost
 *   nothing: the next one passes over what is sealed with the newest key.
 * - What somebody writes meanwhile stays.
 * - A key is forgotten only where a later walk finds nothing that is sealed with it.
 *
 * Rules: OPR-335.
 */
import { NIL_UUID } from "@pix-payments/domain/Uuid"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { SqlClient } from "effect/sql/SqlClient"
import { keyOfSealed, type SecretOwner, Secrets } from "../base/Secrets.ts"

interface SealedColumn {
  readonly table: string
  readonly column: string
  /** The kind of the owner, in SQL. */
  readonly kind: string
  /** The id of the owner, in SQL. */
  readonly owner: string
}

const ofRow = (table: string, column: string, kind: SecretOwner["kind"]): SealedColumn => ({
  table,
  column,
  kind: `'${kind}'`,
  owner: "id"
})

export const sealedColumns: ReadonlyArray<SealedColumn> = [
  ofRow("acquirer_connections", "credentials", "connection"),
  ofRow("acquirer_connections", "webhook_secret", "connection"),
  ofRow("webhook_endpoints", "secret", "webhook"),
  ofRow("alert_channels", "secret", "alert-channel"),
  ofRow("charges", "webhook_secret", "charge"),
  ofRow("payouts", "webhook_secret", "payout"),
  // After what they copy. Those to an endpoint have none.
  {
    table: "deliveries",
    column: "secret",
    kind: "CASE WHEN event LIKE 'charge.%' THEN 'charge' ELSE 'payout' END",
    owner: "resource_id"
  }
]

/** How many secrets are sealed with each key. */
export type Counts = ReadonlyMap<string, number>

/** Counts what is sealed, by the id of its key. */
export const countSealed = Effect.gen(function* () {
  const sql = yield* SqlClient
  const counts = new Map<string, number>()
  const add = (sealed: string) => counts.set(keyOfSealed(sealed), (counts.get(keyOfSealed(sealed)) ?? 0) + 1)
  for (const column of sealedColumns) {
    yield* walk(column, (sealed) => Effect.sync(() => sealed.forEach(({ text }) => add(text))))
  }
  const waiting = yield* sql<{ sealed: string }>`
    SELECT sealed FROM approvals WHERE sealed IS NOT NULL AND used_at IS NULL AND status IN ('pending', 'approved')
      AND expires_at > now()`
  for (const { sealed } of waiting) add(sealed)
  for (const { id } of yield* sql<{ id: string }>`SELECT id FROM secrets_keys`) counts.set(id, counts.get(id) ?? 0)
  return counts as Counts
})

/** Seals everything with the newest key. Returns how many texts it has sealed. */
export const reseal = Effect.gen(function* () {
  const sql = yield* SqlClient
  const secrets = yield* Secrets
  let resealed = 0
  for (const column of sealedColumns) {
    yield* walk(column, (sealed) =>
      Effect.gen(function* () {
        const old = sealed.filter(({ text }) => keyOfSealed(text) !== secrets.keyId)
        if (old.length === 0) return
        const fresh = old.map(({ kind, owner, text }) => {
          const of = { kind, id: owner }
          return secrets.seal(Redacted.value(secrets.open(text, of)), of)
        })
        const ids = old.map(({ id }) => id)
        const texts = old.map(({ text }) => text)
        resealed += (yield* sql.unsafe(writeOf(column), [ids, texts, fresh, ids[0], ids.at(-1)])).length
      })
    )
  }
  return resealed
})

/** Forgets the keys of which nothing is left, so that they can be dropped. */
export const forgetUnused = Effect.fnUntraced(function* (counts: Counts) {
  const sql = yield* SqlClient
  const { keyId } = yield* Secrets
  const unused = [...counts].flatMap(([id, count]) => (count === 0 && id !== keyId ? [id] : []))
  for (const id of unused) yield* sql`DELETE FROM secrets_keys WHERE id = ${id}`
  return unused
})

const BATCH = 2000

interface SealedRow {
  readonly id: string
  readonly text: string
  readonly kind: SecretOwner["kind"]
  readonly owner: string
}

type Row = Omit<SealedRow, "text"> & { readonly text: string | null }

/** Gives the sealed texts of a column to `each`, a batch of rows after the other. */
const walk = Effect.fnUntraced(function* <E>(
  { column, kind, owner, table }: SealedColumn,
  each: (sealed: ReadonlyArray<SealedRow>) => Effect.Effect<void, E>
) {
  const sql = yield* SqlClient
  let after: string | undefined = NIL_UUID
  while (after !== undefined) {
    const rows: ReadonlyArray<Row> = yield* sql.unsafe<Row>(
      `SELECT id, ${column} AS text, ${kind} AS kind, ${owner} AS owner FROM ${table} WHERE id > $1::uuid ORDER BY id LIMIT ${BATCH}`,
      [after]
    )
    yield* each(rows.filter((row): row is SealedRow => row.text !== null))
    after = rows.length < BATCH ? undefined : rows.at(-1)?.id
  }
})

// The range of ids prunes partitions. A text that was replaced meanwhile stays.
const writeOf = ({ column, table }: SealedColumn) => `
  UPDATE ${table} t SET ${column} = u.fresh
  FROM unnest($1::uuid[], $2::text[], $3::text[]) AS u (id, old, fresh)
  WHERE t.id = u.id AND t.id >= $4::uuid AND t.id <= $5::uuid AND t.${column} = u.old RETURNING t.id`
