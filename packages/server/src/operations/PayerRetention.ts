/**
 * The retention of payers of charges that were never paid: their name, e-mail address, document, phone and description.
 *
 * Guarantees:
 * - Charges are walked once, in the order of their creation, by the primary key: no run reads those that an earlier run has read.
 * - A step is a commit of `STEP` charges at most. It locks only charges that it erases, which have ended.
 * - A run is recorded in the audit log with the last charge that it read, where the next run goes on. A run that is killed before is
 *   repeated.
 * - The walk waits for a charge that can still be paid.
 *
 * Rules: OPR-339.
 */
import { lowestIdAt } from "@pix-payments/domain/Uuid"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { DAY_MS } from "../database/Period.ts"
import { erase, isOpen } from "./Payers.ts"

/** Erases what is older than so many days. Returns how many charges it changed. */
export const expirePayers = Effect.fnUntraced(function* (days: number, now: number) {
  const sql = yield* SqlClient
  // A run an hour finds nothing new until the next day, and records nothing.
  const before = lowestIdAt(Math.floor(now / DAY_MS - days) * DAY_MS)
  const start = yield* walkedUntil
  let last = start
  let erased = 0
  for (let step = 0; step < STEPS_OF_A_RUN; step++) {
    const charges = yield* sql<{ id: string; is_open: boolean }>`
      SELECT c.id, ${sql.literal(isOpen)} AS is_open FROM charges c
      WHERE c.id > ${last}::uuid AND c.id < ${before}::uuid ORDER BY c.id LIMIT ${sql.literal(String(STEP))}`
    const open = charges.find(({ is_open }) => is_open)
    const ended = open === undefined ? charges : charges.slice(0, charges.indexOf(open))
    const until = ended.at(-1)?.id
    if (until !== undefined) {
      const isOfStep = sql`c.id > ${last}::uuid AND c.id <= ${until}::uuid AND c.customer_name IS NOT NULL`
      erased += (yield* sql.withTransaction(Effect.andThen(byIndex, erase(sql, isOfStep, STEP)))).length
      last = until
    }
    if (open !== undefined)
      yield* Effect.logWarning(`payers of unpaid charges are kept until charge ${open.id} has ended`)
    if (ended.length < STEP) break
  }
  if (last !== start) {
    yield* sql`INSERT INTO audit (id, operator, action, resource_id, request_id, after, at)
      SELECT id, 'maintenance', ${ACTION}, ${last}::uuid, id::text, json_build_object('anonymised', ${erased}::integer), now()
      FROM (SELECT uuidv7() AS id) e`
  }
  return erased
})

/** However many charges and words there are, a step reads its own. The role of the maintenance has no pinned plans. */
const byIndex = Effect.flatMap(
  SqlClient,
  (sql) => sql`SELECT set_config('enable_seqscan', 'off', true), set_config('enable_hashjoin', 'off', true),
    set_config('enable_mergejoin', 'off', true)`
)

const walkedUntil = Effect.gen(function* () {
  const sql = yield* SqlClient
  const [entry] = yield* sql<{ id: string }>`
    SELECT resource_id AS id FROM audit WHERE action = ${ACTION} ORDER BY id DESC LIMIT 1`
  return entry?.id ?? lowestIdAt(0)
})

const ACTION = "payers.expire"
const STEP = 1000
/** Some minutes, where nobody paid. */
const STEPS_OF_A_RUN = 500
