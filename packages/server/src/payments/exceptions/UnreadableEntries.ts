/**
 * Entries of a provider's lists that cannot be read, fail to be applied, or say that an order was carried out with another amount:
 * exceptions without an amount, for operators.
 *
 * Guarantees:
 * - An entry is raised once, however often and in whatever decoration it is listed, with what arrived of it: one that fails alone after
 *   `MOST_FAILURES`, any other at once. From then on it keeps no sweep from being complete.
 * - It is read again daily for 90 days and by each new version of the service, where the list had it. Once it can be applied, or is
 *   listed no more, its exception is closed; should it be listed again, it is raised again.
 * - A connection has at most `MOST_OPEN` open ones. While there are as many, another one keeps a sweep from being complete.
 *
 * Rules: OPR-163, OPR-232.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import { createHash } from "node:crypto"
import manifest from "../../../package.json" with { type: "json" }
import { Ids } from "../../base/Ids.ts"
import { runToCompletion } from "../../database/RunToCompletion.ts"
import { text } from "../../database/statements/Column.ts"
import { rows, statement, value } from "../../database/statements/Statement.ts"
import { orUnavailable, type Unavailable } from "../../database/Unavailable.ts"
import { lockLedgerOf } from "../../ledger/Ledger.ts"
import type { UnreadableEntry } from "../../providers/Acquirer.ts"
import { Exceptions } from "./Exceptions.ts"
import { ExceptionStore } from "./ExceptionStore.ts"

/** `of`: the order that the entry is about, where it is one of ours. */
export type SetAside = Omit<UnreadableEntry, "marks"> & {
  readonly of?: { readonly payoutId: string } | { readonly refundId: string }
}

export const entryLists = ["received", "returned", "payouts", "disputes"] as const

/** Where a provider has an entry: the range of a list. */
export interface ListedIn {
  readonly list: (typeof entryLists)[number]
  readonly fromMs: number
  readonly toMs: number
}

/** An entry that is due to be read again. */
export interface DueEntry extends ListedIn {
  readonly digest: string
  readonly exceptionId: string
}

export class UnreadableEntries extends Context.Service<
  UnreadableEntries,
  {
    /** Raises those that were not raised before. Gives the digests of all that are set aside. */
    readonly raise: (
      connectionId: string,
      where: ListedIn,
      entries: ReadonlyArray<SetAside>
    ) => Effect.Effect<ReadonlyArray<string>, Unavailable>
    /** Counts a failure of an entry that was read. Its digest once it is set aside, else undefined. */
    readonly failed: (
      connectionId: string,
      where: ListedIn,
      entry: SetAside
    ) => Effect.Effect<string | undefined, Unavailable>
    /** Claims entries that are due to be read again. */
    readonly claimDue: (connectionId: string) => Effect.Effect<ReadonlyArray<DueEntry>, Unavailable>
    /** Closes the exceptions of entries that were read and applied. */
    readonly close: (connectionId: string, entries: ReadonlyArray<DueEntry>) => Effect.Effect<void, Unavailable>
  }
>()("@pix-payments/server/UnreadableEntries") {
  static readonly layer = Layer.effect(
    UnreadableEntries,
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const ids = yield* Ids
      const store = yield* ExceptionStore
      const exceptions = yield* Exceptions

      const accountOfOrder = ({ of }: SetAside) =>
        of === undefined
          ? Effect.succeed(undefined)
          : Effect.map(
              sql<{ account_id: string | null }>`
                SELECT account_id FROM payouts WHERE id = ${"payoutId" in of ? of.payoutId : null}::uuid
                UNION ALL SELECT account_id FROM acquirer_orders WHERE id = ${"refundId" in of ? of.refundId : null}::uuid`,
              ([row]) => row?.account_id
            )

      /** In a transaction. */
      const raiseOne = Effect.fnUntraced(function* (connectionId: string, where: ListedIn, entry: SetAside) {
        const open = yield* sql`
          SELECT FROM acquirer_exceptions
          WHERE connection_id = ${connectionId}::uuid AND kind = 'unreadable' AND status = 'open' LIMIT ${MOST_OPEN}`
        if (open.length >= MOST_OPEN) return false
        const nowMs = yield* Clock.currentTimeMillis
        const { id } = ids.next()
        const exception = {
          ...unknown,
          ...entry.of,
          id,
          connectionId,
          kind: "unreadable",
          status: "open",
          // An operator who accepts a payment claims its settlement.
          endToEndId: where.list === "received" || where.list === "returned" ? (entry.endToEndId ?? null) : null,
          received: entry.text,
          occurredAtMs: nowMs,
          accountId: (yield* accountOfOrder(entry)) ?? (yield* store.accountOf(connectionId)),
          failureReason: entry.reason,
          createdAtMs: nowMs
        } as const
        yield* store.put(exception, [])
        yield* sql`
          UPDATE unreadable_entries SET exception_id = ${id}::uuid
          WHERE connection_id = ${connectionId}::uuid AND digest = ${digestOf(where, entry)}`
        yield* Effect.annotateLogs(Effect.logWarning(`an entry of a provider's list is set aside: ${entry.reason}`), {
          connection_id: connectionId
        })
        return true
      })

      /** Whether the entry is set aside. */
      const meet = Effect.fnUntraced(
        function* (connectionId: string, where: ListedIn, entry: SetAside, mostFailures: number) {
          const digest = digestOf(where, entry)
          const [row] = yield* sql.unsafe<{ failures: number; exception_id: string | null }>(
            // `where` may be an entry that is read again, with a digest of its own.
            ...meetOne({ ...where, connectionId, digest, version: manifest.version })
          )
          if (row === undefined || row.failures < mostFailures) return false
          return row.exception_id !== null || (yield* raiseOne(connectionId, where, entry))
        },
        sql.withTransaction,
        runToCompletion(sql)
      )

      const digestIf = <E>(where: ListedIn, entry: SetAside, isAside: Effect.Effect<boolean, E>) =>
        Effect.map(isAside, (is) => (is ? digestOf(where, entry) : undefined))

      return UnreadableEntries.of({
        raise: Effect.fnUntraced(function* (connectionId, where, entries) {
          if (entries.length === 0) return []
          const digests = entries.map((entry) => digestOf(where, entry))
          const found = yield* orUnavailable(
            sql.unsafe<{ digest: string }>(
              ...findAside({ connectionId, digests: digests.map((digest) => ({ digest })) })
            )
          )
          const aside = new Set(found.map(({ digest }) => digest))
          const met = yield* Effect.forEach(entries, (entry, index) =>
            aside.has(digests[index]!)
              ? Effect.succeed(digests[index])
              : digestIf(where, entry, meet(connectionId, where, entry, 1))
          )
          return met.filter((digest) => digest !== undefined)
        }),

        failed: (connectionId, where, entry) => digestIf(where, entry, meet(connectionId, where, entry, MOST_FAILURES)),

        claimDue: (connectionId) =>
          Effect.map(
            runToCompletion(sql)(
              sql.unsafe<DueRow>(...claimMany({ connectionId, version: manifest.version, limit: READ_AGAIN }))
            ),
            (due) =>
              due.map((row) => ({
                list: row.list,
                fromMs: row.from_at.getTime(),
                toMs: row.to_at.getTime(),
                digest: row.digest,
                exceptionId: row.exception_id
              }))
          ),

        close: Effect.fnUntraced(
          function* (connectionId, entries) {
            yield* lockLedgerOf(sql, [connectionId])
            for (const { digest, exceptionId } of entries) {
              const exception = yield* store.lock(exceptionId)
              if (exception?.status !== "open") continue
              yield* exceptions.match(exception)
              yield* sql`
                UPDATE unreadable_entries SET exception_id = NULL, failures = 0
                WHERE connection_id = ${connectionId}::uuid AND digest = ${digest}`
            }
          },
          sql.withTransaction,
          runToCompletion(sql)
        )
      })
    })
  )
}

/** Of what arrived there are two lists. The id may be behind what is kept of the text. */
const digestOf = ({ list }: ListedIn, { endToEndId = "", name, text }: SetAside): string =>
  createHash("sha256")
    .update(name === undefined ? `${endToEndId} ${text}` : `${list === "returned" ? "received" : list}/${name}`)
    .digest("hex")

const MOST_OPEN = 100
const MOST_FAILURES = 5
/** Entries of one sweep. */
const READ_AGAIN = 4

const unknown = {
  amount: 0,
  expectedAmount: null,
  unallocated: 0,
  txid: null,
  externalId: null,
  pixKey: null,
  payer: null,
  chargeId: null,
  payoutId: null,
  refundId: null,
  providerOutcome: null,
  action: null,
  reason: null,
  resolvedBy: null,
  resolvedAtMs: null
}

interface DueRow {
  readonly list: ListedIn["list"]
  readonly from_at: Date
  readonly to_at: Date
  readonly digest: string
  readonly exception_id: string
}

const instantOf = (ms: string) => `to_timestamp(${ms} / 1000)`

const findAside = statement(
  { connectionId: value("uuid"), digests: rows({ digest: text() }) },
  (p) => `
  SELECT digest FROM unreadable_entries
  WHERE connection_id = ${p.connectionId} AND digest = ANY (ARRAY(SELECT d.digest FROM ${p.digests} AS d))
    AND exception_id IS NOT NULL`
)

// Entries that were not set aside are forgotten.
const meetOne = statement(
  {
    connectionId: value("uuid"),
    digest: value("text"),
    list: value("text"),
    fromMs: value("double precision"),
    toMs: value("double precision"),
    version: value("text")
  },
  (p) => `
  WITH forgotten AS (
    DELETE FROM unreadable_entries
    WHERE connection_id = ${p.connectionId} AND exception_id IS NULL AND read_at < now() - interval '7 days'
      AND digest <> ${p.digest}
  )
  INSERT INTO unreadable_entries AS e (connection_id, digest, list, from_at, to_at, failures, read_at, read_by)
  VALUES (${p.connectionId}, ${p.digest}, ${p.list}, ${instantOf(p.fromMs)}, ${instantOf(p.toMs)}, 1, now(), ${p.version})
  ON CONFLICT (connection_id, digest) DO UPDATE SET failures = least(e.failures + 1, 1000), read_at = now(),
    read_by = excluded.read_by, list = excluded.list, from_at = excluded.from_at, to_at = excluded.to_at
  RETURNING failures, exception_id`
)

const claimMany = statement(
  { connectionId: value("uuid"), version: value("text"), limit: value("integer") },
  (p) => `
  UPDATE unreadable_entries SET read_at = now(), read_by = ${p.version}
  WHERE connection_id = ${p.connectionId} AND digest IN (
    SELECT u.digest FROM unreadable_entries u JOIN acquirer_exceptions e ON e.id = u.exception_id
    WHERE u.connection_id = ${p.connectionId} AND e.status = 'open' AND e.created_at > now() - interval '90 days'
      AND (u.read_at <= now() - interval '24 hours' OR u.read_by <> ${p.version})
    ORDER BY u.read_at LIMIT ${p.limit}
  )
  RETURNING list, from_at, to_at, digest, exception_id`
)
