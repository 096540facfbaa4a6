/** The event stream of several processes, of one that is killed, and of one that stops. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Redacted from "effect/Redacted"
import { created } from "../support/ChargeRequests.ts"
import { ended, eventsOf, type Reader, streamFrom } from "../support/EventStream.ts"
import { createMigratedDatabase, temporaryFolder } from "../support/Postgres.ts"
import { startProcess } from "../support/Process.ts"
import { clientOf, TestService } from "../support/TestService.ts"

const token = "the operator's token of these tests"

const environment = Effect.gen(function* () {
  return {
    DATABASE_URL: Redacted.value(yield* createMigratedDatabase),
    DATA_DIR: yield* temporaryFolder,
    OPERATOR_TOKEN: token,
    DATABASE_CONNECTIONS: "4"
  }
})

const idsOf = (readers: ReadonlyArray<Reader>) => readers.flatMap(({ received }) => received.map(({ id }) => id))

describe("The event stream", () => {
  it.live("OPR-102: has the changes of every process, and continues after a kill without a gap or a repeat", () =>
    Effect.gen(function* () {
      const env = yield* environment
      const [first, second] = yield* Effect.all([startProcess(env), startProcess({ ...env, PROCESSES: "2" })])
      const ofFirst = yield* clientOf(first, token)
      const ofSecond = yield* clientOf(second, token)
      const { accountId, key } = yield* ofFirst.makeCaller()
      const query = `account_id=${accountId}`
      const create = (client: typeof ofFirst, count: number) =>
        Effect.forEach(Array.from({ length: count }), () => created(key), { concurrency: 10 }).pipe(
          Effect.provideService(TestService, TestService.of({ ...client, databaseUrl: Redacted.make("") }))
        )
      const killed = yield* streamFrom(first.operatorUrl, token, query)
      const whole = yield* streamFrom(second.operatorUrl, token, query)
      yield* Effect.all([create(ofFirst, 20), create(ofSecond, 20)], { concurrency: 2 })
      yield* eventsOf(killed, 80)
      const cut = yield* Effect.forkChild(create(ofSecond, 30))
      yield* eventsOf(killed, 90)
      first.signal("SIGKILL")
      yield* ended(killed)
      const resumed = yield* streamFrom(second.operatorUrl, token, query, { "last-event-id": killed.lastEventId()! })
      yield* eventsOf(whole, 140)
      yield* eventsOf(resumed, 140 - killed.received.length)
      assert.deepStrictEqual(idsOf([killed, resumed]), idsOf([whole]))
      assert.strictEqual(new Set(idsOf([whole])).size, 140)
      cut.interruptUnsafe()
    }).pipe(Effect.scoped)
  )

  it.live("OPR-108: ends when the process stops, which does not wait for its readers", () =>
    Effect.gen(function* () {
      const env = yield* environment
      const service = yield* startProcess(env)
      const readers = yield* Effect.forEach([1, 2, 3], () => streamFrom(service.operatorUrl, token))
      const waiting = yield* Effect.promise(() =>
        fetch(`${service.operatorUrl}/operator/v1/events?wait=10`, { headers: { "x-operator-token": token } })
      )
      const page = Effect.exit(Effect.tryPromise(() => waiting.text()))
      service.signal("SIGTERM")
      for (const reader of readers) yield* ended(reader)
      assert.strictEqual(yield* service.ended, 0)
      // The answers are whole: a cut one would have an error.
      for (const { response } of readers) assert.isTrue(response.complete)
      // A page that is not whole is none.
      assert.isTrue(Exit.isFailure(yield* page))
    }).pipe(Effect.scoped)
  )
})
