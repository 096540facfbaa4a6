/** Days that end, for tests of the books. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { CLOSING_LOCK } from "../../src/database/AdvisoryLocks.ts"
import { CLOSED_AFTER_MS, Closes } from "../../src/ledger/Closes.ts"
import { changeSchema } from "./LiveSchema.ts"

const DAY_MS = 86_400_000

/** Runs with a clock that is some days ahead, and a little more, so that just after midnight the days before can be closed. */
export const daysAhead =
  (days: number) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.flatMap(Clock.Clock, (clock) =>
      Effect.provideService(
        effect,
        Clock.Clock,
        Object.assign(Object.create(clock) as Clock.Clock, {
          currentTimeMillisUnsafe: () => clock.currentTimeMillisUnsafe() + days * DAY_MS + CLOSED_AFTER_MS,
          currentTimeMillis: Effect.map(clock.currentTimeMillis, (ms) => ms + days * DAY_MS + CLOSED_AFTER_MS)
        })
      )
    )

/** Closes the days that have ended. A round that closes none is repeated: the service's own may have had the lock. */
export const closeEnded = Effect.gen(function* () {
  const { closeDue } = yield* Closes
  const closed = yield* closeDue
  if (closed > 0) return closed
  const connection = yield* (yield* SqlClient).reserve
  for (const does of ["lock", "unlock"]) yield* connection.executeRaw(`SELECT pg_advisory_${does}($1)`, [CLOSING_LOCK])
  return yield* closeDue
}).pipe(Effect.scoped)

/** Closes every day with transfers, by a clock that is `days` ahead. */
export const closeDays = (days: number) => daysAhead(days)(closeEnded)

/** Runs as the owner of the tables can: the service's role cannot, and neither can it pass the trigger. */
export const tampered = (text: string) =>
  Effect.flatMap(SqlClient, (sql) =>
    sql.withTransaction(Effect.andThen(sql`SET LOCAL session_replication_role = replica`, sql.unsafe(text)))
  )

/** What is refused for an owner: the insert of its close, or the update of many accounts before they are closed. */
type Refused = "INSERT ON closes" | "UPDATE ON ledger_accounts"

/** From now on nobody closes a day of the owner, the service's own loop neither. */
export const refuseCloses = (ownerId: string, on: Refused) =>
  Effect.andThen(
    changeSchema(`CREATE OR REPLACE FUNCTION refuse_close() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN RAISE EXCEPTION 'refused'; END $$`),
    changeSchema(`CREATE TRIGGER refuse BEFORE ${on} FOR EACH ROW
      WHEN (NEW.owner_id = '${ownerId}') EXECUTE FUNCTION refuse_close()`)
  )

/** Ends `refuseCloses`. */
export const allowCloses = (on: Refused) => changeSchema(`DROP TRIGGER refuse ON ${on.split(" ").at(-1)!}`)
