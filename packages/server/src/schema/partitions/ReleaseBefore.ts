/**
 * What only servers of the release before use: unique indexes, which a partitioned table cannot have, and the triggers that
 * write their keys. Once it is dropped, charges and payouts can be partitioned, and no such server works any more.
 *
 * Guarantees:
 * - Nothing is dropped while such a server writes: one that stored a resource with a key in the last ten minutes.
 * - One step drops all of a table. A repetition finishes what was interrupted.
 * - The claims of settlements that are keys of `acquirer_notifications` alone are copied into `charge_settlements` by the
 *   step that stores the forms of this release. It waits for transactions that claim them and keeps new ones waiting, so that
 *   none is left out.
 *
 * Why: docs/decisions/0031-quarterly-money.md, docs/decisions/0040-one-claim-of-a-settlement.md.
 */
import { lowestIdAt } from "@pix-payments/domain/Uuid"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { SqlClient } from "effect/sql/SqlClient"
import { AWAITED, storedForms } from "../StoredForms.ts"
import { databaseTime } from "./Catalog.ts"
import { runStep } from "./Step.ts"

/** A server of the release before runs. */
export class ReleaseBeforeRuns extends Schema.TaggedError<ReleaseBeforeRuns>()("ReleaseBeforeRuns", {
  message: Schema.String
}) {}

/** Drops it. Nothing happens where that was done before. */
export const drop = Effect.gen(function* () {
  const sql = yield* SqlClient
  const now = yield* databaseTime
  for (const { functions, indexes, table } of used) {
    const triggers = yield* sql<{ name: string }>`
      SELECT tgname::text AS name FROM pg_trigger WHERE tgrelid = to_regclass(${table}) AND tgname = ANY (${functions}::text[])`
    if (triggers.length > 0) {
      const written = yield* sql.unsafe(`SELECT FROM ${table}
        WHERE id >= '${lowestIdAt(now - RECENT_MS)}' AND idempotency_key IS NOT NULL AND NOT key_stored LIMIT 1`)
      if (written.length > 0) {
        return yield* new ReleaseBeforeRuns({
          message: `A server of the release before has written ${table} in the last ten minutes. Stop it, and repeat this later.`
        })
      }
    }
    const left = yield* sql`SELECT FROM pg_class WHERE oid = ANY (
      SELECT to_regclass(i) FROM unnest(${indexes}::text[]) i)`
    if (triggers.length + left.length === 0) continue
    yield* runStep([
      `LOCK TABLE ${table} IN ACCESS EXCLUSIVE MODE`,
      ...functions.map((name) => `DROP TRIGGER IF EXISTS ${name} ON ${table}`),
      ...functions.map((name) => `DROP FUNCTION IF EXISTS ${name}()`),
      `DROP INDEX IF EXISTS ${indexes.join(", ")}`
    ])
  }
  // For servers that start from now on.
  const stored = yield* sql<{
    name: string
  }>`SELECT name FROM installation WHERE name = ANY (${[...storedForms]}::text[])`
  const missing = storedForms.filter((form) => !stored.some(({ name }) => name === form))
  if (missing.length === 0) return
  yield* runStep(
    [
      ...(missing.includes("claims_settlements_once") ? copiedClaims : []),
      `INSERT INTO installation (name, value) VALUES ${missing.map((form) => `('${form}', 'on')`).join(", ")}
        ON CONFLICT DO NOTHING`
    ],
    { timeoutMs: COPY_TIMEOUT_MS }
  )
})

/**
 * Each such claim has an exception: that of the payment, or of the return or MED that came before it. A claim awaits its
 * payment while a return has claimed it (`:before`) and no payment after the return (`:after`).
 */
const copiedClaims = [
  `LOCK TABLE charge_settlements, acquirer_notifications IN SHARE ROW EXCLUSIVE MODE`,
  `INSERT INTO charge_settlements (end_to_end_id, charge_id)
    SELECT e.end_to_end_id, CASE
      WHEN EXISTS (SELECT FROM acquirer_notifications WHERE key = 'paid:' || e.end_to_end_id || ':before')
        AND NOT EXISTS (SELECT FROM acquirer_notifications WHERE key = 'paid:' || e.end_to_end_id || ':after')
      THEN '${AWAITED}' ELSE coalesce(e.payment_id, e.id) END
    FROM (
      SELECT end_to_end_id, (array_agg(id ORDER BY id))[1] AS id,
        (array_agg(id ORDER BY id) FILTER (WHERE kind NOT IN ('unmatched_return', 'unmatched_dispute')))[1] AS payment_id
      FROM acquirer_exceptions WHERE end_to_end_id IS NOT NULL GROUP BY end_to_end_id
    ) e
    WHERE EXISTS (SELECT FROM acquirer_notifications WHERE key = 'paid:' || e.end_to_end_id)
    ON CONFLICT DO NOTHING`
]

/** The triggers have the names of their functions. */
const used = [
  {
    table: "charges",
    functions: ["charge_stores_key", "charge_stores_settlement"],
    indexes: ["charges_idempotency", "charges_settlement"]
  },
  { table: "payouts", functions: ["payout_stores_key"], indexes: ["payouts_idempotency"] }
]

const RECENT_MS = 600_000
/** 50,000 exceptions take 0.7 s. Meanwhile notifications wait, less long than their statements may take. */
const COPY_TIMEOUT_MS = 4000
