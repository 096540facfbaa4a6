/** Before each test file: where Brazil's day ends within minutes, waits for the next one, so that all of a test is of one day. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

const DAY_MS = 86_400_000

/** Brazil's midnight, after that of UTC. */
const MIDNIGHT_MS = 3 * 3_600_000

/** More than a file takes, also on a busy machine. */
const OF_A_FILE_MS = 240_000

await Effect.runPromise(
  Effect.flatMap(Clock.currentTimeMillis, (now) => {
    const left = DAY_MS - ((now - MIDNIGHT_MS) % DAY_MS)
    return left < OF_A_FILE_MS ? Effect.sleep(left) : Effect.void
  })
)
