/** Outcomes of attempts, and the health of an endpoint that follows from them. */
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import type { ServerResponse } from "node:http"
import { assertRefused, created } from "../../support/ChargeRequests.ts"
import { eventually, loopback, receiver } from "../../support/Receiver.ts"
import { TestService } from "../../support/TestService.ts"
import { deliveryOf, healthOf, registered, remove } from "../../support/Webhooks.ts"
import { answer, receivedEventsOf, attempted } from "../../support/Deliveries.ts"

const settings = { webhookAllowedNetworks: loopback, simulatorSettleMs: 0 }

// Retries are due after the test has ended, unless it makes them due.
const patient = { ...settings, webhookRetryDelaysMs: [3_600_000, 3_600_000], webhookTimeoutMs: 20_000 }

layer(TestService.layer({ settings: patient }), { excludeTestServices: true })("Outcomes of attempts", (it) => {
  it.effect("An outcome is recorded only by the holder of the attempt it belongs to", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const { key } = yield* makeCaller()
      const hanging: Array<ServerResponse> = []
      const hooks = yield* receiver((_, response) => void hanging.push(response))
      const charge = yield* created(key, { webhook_url: hooks.url })
      yield* receivedEventsOf(hooks, charge.id, 2)
      // The lease ran out, another process made the attempt, and is making the next one.
      const sql = yield* SqlClient
      const held = sql`SELECT id, status, attempts_made, due_at FROM deliveries
        WHERE resource_id = ${charge.id}::uuid ORDER BY id`
      yield* eventually(held, ({ length }) => length === 2)
      yield* sql`UPDATE deliveries SET attempts_made = 1, due_at = now() + interval '1 hour'
        WHERE resource_id = ${charge.id}::uuid`
      const before = yield* held
      for (const response of hanging) answer(response, 200)
      yield* eventually(
        sql`SELECT a.id FROM delivery_attempts a JOIN deliveries d ON d.id = a.delivery_id
          WHERE d.resource_id = ${charge.id}::uuid`,
        ({ length }) => length === 2
      )
      assert.deepStrictEqual(yield* held, before)
    })
  )

  it.effect("END-1, OPR-156: Health: consecutive failures, success rate, and the last success of each endpoint", () =>
    Effect.gen(function* () {
      const { makeCaller, operate } = yield* TestService
      const { accountId, applicationId, key } = yield* makeCaller()
      let status = 200
      const hooks = yield* receiver((_, response) => answer(response, status))
      const endpoint = yield* registered(key, { url: hooks.url, events: ["charge.pix.created"] })
      const untouched = yield* registered(key, { url: hooks.url, events: ["charge.pix.expired"] })
      const owner = { account_id: accountId, application_id: applicationId, application_name: "Loja" }
      const none = {
        ...owner,
        consecutive_failures: 0,
        success_rate: null,
        paused: 0,
        last_success_at: null,
        last_failure_at: null
      }
      assert.deepStrictEqual<unknown>(yield* healthOf(applicationId), [
        { ...untouched, ...none },
        { ...endpoint, ...none }
      ])
      const lastAttempt = Effect.fnUntraced(function* (made: number) {
        const charge = yield* created(key)
        const [delivery] = yield* attempted(charge.id, made)
        return { id: delivery!.id, at: (yield* deliveryOf(delivery!.id)).attempts[0]!.at }
      })
      const steps: ReadonlyArray<readonly [number, number, number]> = [
        [500, 1, 0],
        [204, 0, 1 / 2],
        [404, 1, 1 / 3],
        [410, 2, 1 / 4],
        [302, 3, 1 / 5],
        [201, 0, 2 / 6]
      ]
      let lastSuccess: string | null = null
      let lastFailure: string | null = null
      for (const [answered, consecutive_failures, success_rate] of steps) {
        status = answered
        const { at } = yield* lastAttempt(1)
        if (answered < 300) lastSuccess = at
        else lastFailure = at
        const [, health] = yield* healthOf(applicationId)
        assert.deepStrictEqual<unknown>(health, {
          ...endpoint,
          ...owner,
          consecutive_failures,
          success_rate,
          paused: 0,
          last_success_at: lastSuccess,
          last_failure_at: lastFailure
        })
      }
      const [, shown] = yield* healthOf(applicationId)
      const one = yield* operate("GET", `/operator/v1/webhooks/${endpoint.id}`)
      assert.deepStrictEqual<unknown>(one.body, shown)
      yield* remove(key, endpoint.id)
      assertRefused(yield* operate("GET", `/operator/v1/webhooks/${endpoint.id}`), "NOT_FOUND")
      assert.lengthOf(yield* healthOf(applicationId), 1)
      assertRefused(yield* operate("GET", `/operator/v1/applications/${endpoint.id}/webhooks`), "NOT_FOUND")
    })
  )
})
