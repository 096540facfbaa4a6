/** Days that end, for tests of the books. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { Closes } from "../../src/ledger/Closes.ts"

const DAY_MS = 86_400_000

/** Runs with a clock that is some days ahead. */
export const daysAhead =
  (days: number) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.flatMap(Clock.Clock, (clock) =>
      Effect.provideService(
        effect,
        Clock.Clock,
        Object.assign(Object.create(clock) as Clock.Clock, {
          currentTimeMillisUnsafe: () => clock.currentTimeMillisUnsafe() + days * DAY_MS,
          currentTimeMillis: Effect.map(clock.currentTimeMillis, (ms) => ms + days * DAY_MS)
        })
      )
    )

/** Closes every day with transfers, by a clock that is `days` ahead. The service's own loop may be closing. */
export const closeDays = (days: number) =>
  Effect.gen(function* () {
    const { closeDue } = yield* Closes
    return yield* daysAhead(days)(closeDue)
  })

/** Runs as the owner of the tables can: the service's role cannot, and neither can it pass the trigger. */
export const tampered = (text: string) =>
  Effect.flatMap(SqlClient, (sql) =>
    sql.withTransaction(Effect.andThen(sql`SET LOCAL session_replication_role = replica`, sql.unsafe(text)))
  )
