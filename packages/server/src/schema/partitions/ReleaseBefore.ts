/**
 * What only servers of the release before use: unique indexes, which a partitioned table cannot have, and the triggers that
 * write their keys. Once it is dropped, charges and payouts can be partitioned, and no such server works any more.
 *
 * Guarantees:
 * - Nothing is dropped while such a server writes: one that stored a resource with a key in the last ten minutes.
 * - One step drops all of a table. A repetition finishes what was interrupted.
 *
 * Why: docs/decisions/0031-quarterly-money.md, docs/decisions/0040-one-claim-of-a-settlement.md.
 */
import { lowestIdAt } from "@pix-payments/domain/Uuid"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { SqlClient } from "effect/sql/SqlClient"
import { storedForms } from "../StoredForms.ts"
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
      `INSERT INTO installation (name, value) VALUES ${missing.map((form) => `('${form}', 'on')`).join(", ")}
        ON CONFLICT DO NOTHING`
    ],
    { timeoutMs: COPY_TIMEOUT_MS }
  )
})

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
