/** A database whose tables have more rows than are read under a lock. */
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { grantTo } from "../../../src/schema/Privileges.ts"
import { copyRows } from "../../support/Copies.ts"
import { createDatabase, SERVICE_ROLE } from "../../support/Postgres.ts"
import * as Migrations from "../../../src/schema/Migrations.ts"
import { connected } from "./Crashes.ts"

/** The URL and a client of the schema's owner. */
export const fullDatabase = Effect.gen(function* () {
  const url = yield* createDatabase()
  const owner = yield* connected(url)
  yield* Effect.gen(function* () {
    yield* Migrations.run
    yield* grantTo(SERVICE_ROLE)
  }).pipe(Effect.provideService(SqlClient, owner))
  for (const statement of fill) yield* owner.unsafe(statement)
  return { url, owner }
})

/** Stores copies of a charge and a payout until their tables are full as well. They have no key and no settlement. */
export const fillMoney = Effect.fnUntraced(function* (chargeId: string, payoutId: string) {
  const own = { id: "uuidv7(-(n || ' minutes')::interval)", idempotency_key: "NULL", end_to_end_id: "NULL" }
  yield* copyRows("charges", `id = '${chargeId}'`, 20_000, own)
  yield* copyRows("payouts", `id = '${payoutId}'`, 40_000, own)
})

const ROWS = 60_000

const fill = [
  `INSERT INTO requests (id, request_id, route, status, duration_us, at)
    SELECT uuidv7(-(n || ' minutes')::interval), 'request-' || n, 'GET /v1/balance', 200, n, now()
    FROM generate_series(1, ${ROWS}) n`,
  `INSERT INTO deliveries (id, change_id, event, resource_id, account_id, url, destination, destination_hash, status, attempts_made, created_at)
    SELECT uuidv7(-(n || ' minutes')::interval), uuidv7(), 'charge.pix.paid', uuidv7(), uuidv7(), 'https://example.com',
      'https://example.com', text_digest('https://example.com'), 'delivered', 1, now()
    FROM generate_series(1, ${ROWS}) n`,
  `INSERT INTO changes (id, resource_id, account_id, kind, actions, status, sequence, data, created_at, transaction_id)
    SELECT uuidv7(-(n || ' minutes')::interval), uuidv7(), uuidv7(), 'charge.pix', '{created}', 'pending', 1, '{}', now(), '0'
    FROM generate_series(1, ${ROWS}) n`,
  // They are counted.
  `UPDATE status_counts_position SET transaction_id = '0', change_id = 'ffffffff-ffff-ffff-ffff-ffffffffffff'`
]
