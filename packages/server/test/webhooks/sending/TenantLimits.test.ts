/** How many endpoints an application may have, and how many places its deliveries take. */
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { SqlClient } from "effect/sql/SqlClient"
import { assertRefused, created } from "../../support/ChargeRequests.ts"
import { eventually, loopback, receiver } from "../../support/Receiver.ts"
import { TestService } from "../../support/TestService.ts"
import { register, registered, remove } from "../../support/Webhooks.ts"

const settings = { webhookAllowedNetworks: loopback, simulatorSettleMs: 0, webhookEndpointsPerApplication: 100 }

// With enough connections that an account has several write slots.
layer(TestService.layer({ settings: { ...settings, webhookEndpointsPerApplication: 10, databaseConnections: 16 } }), {
  excludeTestServices: true
})("An application", (it) => {
  it.effect(
    "END-7: has as many endpoints as WEBHOOK_ENDPOINTS_PER_APPLICATION says, however many are asked for at once",
    () =>
      Effect.gen(function* () {
        const { makeCaller } = yield* TestService
        const { accountId, key } = yield* makeCaller()
        const other = yield* makeCaller()
        const sql = yield* SqlClient
        const first = yield* registered(key)
        // They are in flight at once, as many as an account's write slots: the counter that their commits increment is locked.
        const asking = yield* sql.withTransaction(
          Effect.gen(function* () {
            yield* sql`SELECT version FROM webhook_endpoint_counters WHERE account_id = ${accountId}::uuid FOR UPDATE`
            const fiber = yield* Effect.forkChild(
              Effect.forEach(Array.from({ length: 20 }), () => register(key), { concurrency: 20 })
            )
            yield* eventually(
              sql`SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
              ({ length }) => length >= 2
            )
            return fiber
          })
        )
        const answers = yield* Fiber.join(asking)
        const stored = answers.filter(({ status }) => status === 201)
        assert.lengthOf(stored, 9)
        for (const answer of answers.filter(({ status }) => status !== 201)) {
          assertRefused(answer, "VALIDATION_ERROR")
          assert.notProperty(answer.body, "details")
        }
        yield* registered(other.key)
        yield* remove(key, first.id)
        yield* registered(key)
        assertRefused(yield* register(key), "VALIDATION_ERROR")
      })
  )
})

layer(TestService.layer({ settings: { ...settings, webhookTimeoutMs: 600_000 } }), { excludeTestServices: true })(
  "A tenant whose receivers hang, all of them",
  (it) => {
    it.effect("DLV-9: takes a quarter of the slots, and delays no deliveries of others", () =>
      Effect.gen(function* () {
        const { makeCaller } = yield* TestService
        const hostile = yield* makeCaller()
        const { key } = yield* makeCaller()
        const hanging = yield* Effect.forEach(Array.from({ length: 20 }), () => receiver(() => {}))
        const hooks = yield* receiver()
        yield* Effect.forEach(
          Array.from({ length: 400 }),
          (_, index) => created(hostile.key, { webhook_url: `${hanging[index % 20]!.url}/` }),
          { concurrency: 20 }
        )
        for (let index = 0; index < 10; index++) yield* created(key, { webhook_url: `${hooks.url}/${index}` })
        yield* eventually(
          Effect.sync(() => hooks.received.length),
          (count) => count === 20
        )
        const taken = hanging.flatMap(({ received }) => received)
        const sql = yield* SqlClient
        const ended = yield* sql`
          SELECT a.error FROM delivery_attempts a JOIN deliveries d ON d.id = a.delivery_id
          WHERE d.account_id = ${hostile.accountId}::uuid`
        assert.deepStrictEqual(ended, [])
        // A third of what is left of 768.
        assert.isAbove(taken.length, 100)
        assert.isAtMost(taken.length, 192)
      })
    )
  }
)
