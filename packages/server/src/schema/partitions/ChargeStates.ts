/**
 * From which charge on lists by state read `charge_states` and `charge_settlements`, instead of indexes of `charges`.
 *
 * A state that no index of `charges` has lets a payment change its row only, and none of the indexes. Servers of the release
 * before write no states, so charges before the start keep their indexes: the start is the lowest id in an installation that
 * began with this release, and where a small table is partitioned. Where a large one is, its first partition keeps the
 * indexes, and the start is the end of that partition, which is in the future.
 *
 * Guarantees: every charge of the API from the start on has a row in one of the two tables, which says its state.
 *
 * Why: docs/decisions/0039-charge-states.md.
 */
import { SIMULATOR_CONNECTION } from "@pix-payments/domain/AcquirerConnection"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { LOWEST } from "../../database/statements/Seek.ts"
import { orUnavailable, type Unavailable } from "../../database/Unavailable.ts"

/** The indexes of `charges` whose predicates have a state. */
export const indexesOfStates = ["charges_unpaid", "charges_not_pending", "charges_to_recover"]

/** The lifetime of a charge in milliseconds, as `charges_unpaid` has it; the largest number if it has no end. */
export const LIFETIME = "coalesce((extract(epoch FROM expires_at - created_at) * 1000)::bigint, 9223372036854775807)"

/** Reads the start, undefined where there is none. It is read until there is one. */
export const makeStartOfStates = (sql: SqlClient): Effect.Effect<string | undefined, Unavailable> => {
  let start: string | undefined
  const read = Effect.map(
    sql<{ value: string }>`SELECT value FROM installation WHERE name = 'charge_states_start'`,
    ([row]) => (start = row?.value)
  )
  return Effect.suspend(() => (start === undefined ? orUnavailable(read) : Effect.succeed(start)))
}

/**
 * Makes the index that lists of paid charges read, unless it exists. Writers go on meanwhile. Fails with `LOCK_NOT_AVAILABLE`
 * where a transaction that is older stays open: a process that starts may wait for this one within such a transaction.
 */
export const makeIndexOfPaid = Effect.gen(function* () {
  const sql = yield* SqlClient
  const [index] = yield* sql<{ valid: boolean }>`
    SELECT indisvalid AS valid FROM pg_index WHERE indexrelid = to_regclass('charge_settlements_paid')`
  if (index?.valid === true) return
  const connection = yield* sql.reserve
  const settings = { statement_timeout: 0, lock_timeout: LOCK_TIMEOUT_MS }
  for (const [name, value] of Object.entries(settings)) {
    yield* Effect.acquireRelease(connection.executeRaw(`SET ${name} = ${value}`, []), () =>
      Effect.ignore(connection.executeRaw(`RESET ${name}`, []))
    )
  }
  // A run that was killed leaves an invalid index.
  yield* connection.executeRaw("DROP INDEX CONCURRENTLY IF EXISTS charge_settlements_paid", [])
  yield* connection.executeRaw(
    `CREATE INDEX CONCURRENTLY charge_settlements_paid ON charge_settlements (account_id, charge_id)
      WHERE account_id IS NOT NULL`,
    []
  )
}).pipe(Effect.scoped)

/** The statement that records the start. */
export const startAt = (id: string): string =>
  `INSERT INTO installation (name, value) VALUES ('charge_states_start', '${id}') ON CONFLICT DO NOTHING`

/** The lifetime that a charge in this state has in `charge_states`: that of a pending one. */
export const lifetimeIn = (status: string): string => `CASE ${status} WHEN 'pending' THEN ${LIFETIME} ELSE 0 END`

/** The condition that the state is in `charge_settlements`. */
export const isSettled = (status: string, endToEndId: string): string =>
  `${status} = 'paid' AND ${endToEndId} IS NOT NULL`

/**
 * Statements that store the states of all charges, while nobody else uses them. States that exist may be wrong: servers of the
 * release before have changed such charges.
 */
export const storeAll: ReadonlyArray<string> = [
  // As this release stores charges that wait for the acquirer's answer.
  `INSERT INTO charge_recoveries (due_at, id, charge_ids, account_id)
    SELECT coalesce(recover_at, now()), id, ARRAY[id], account_id FROM charges WHERE status = 'processing'
    ON CONFLICT (id) WHERE account_id IS NOT NULL DO NOTHING`,
  "UPDATE charges SET status = 'pending', acquirer_answered = false, recover_at = NULL WHERE status = 'processing'",
  `INSERT INTO charge_settlements (end_to_end_id, connection_id, charge_id, amount)
    SELECT end_to_end_id, coalesce(connection_id, '${SIMULATOR_CONNECTION}'), id, amount FROM charges
    WHERE end_to_end_id IS NOT NULL ON CONFLICT DO NOTHING`,
  "DELETE FROM charge_states",
  `INSERT INTO charge_states (account_id, status, lifetime_ms, charge_id)
    SELECT account_id, status, ${lifetimeIn("status")}, id FROM charges
    WHERE origin = 'api' AND NOT (${isSettled("status", "end_to_end_id")})`,
  `UPDATE charge_settlements s SET account_id = CASE WHEN c.status = 'paid' AND c.origin = 'api' THEN c.account_id END
    FROM charges c WHERE s.charge_id = c.id AND s.end_to_end_id = c.end_to_end_id`,
  startAt(LOWEST)
]

const LOCK_TIMEOUT_MS = 10_000
