/** Operators disable an endpoint, an application or an account. */
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { created } from "../../support/ChargeRequests.ts"
import { operated, simulated } from "../../support/Money.ts"
import { eventually, loopback, receiver } from "../../support/Receiver.ts"
import { newestEntries } from "../../support/Operators.ts"
import { TestService } from "../../support/TestService.ts"
import { changed, healthOf, registered, remove } from "../../support/Webhooks.ts"

const settings = { webhookAllowedNetworks: loopback, simulatorSettleMs: 0, webhookEndpointsPerApplication: 100 }

layer(TestService.layer({ settings }), { excludeTestServices: true })("Operators", (it) => {
  it.effect(
    "OPR-28, OPR-156: disable an endpoint, which its application cannot undo; its deliveries are paused until it is enabled",
    () =>
      Effect.gen(function* () {
        const { makeCaller } = yield* TestService
        const { applicationId, key } = yield* makeCaller()
        const hooks = yield* receiver()
        const endpoint = yield* registered(key, { url: hooks.url, events: ["charge.pix.emitted"] })
        const disabled = yield* operated("PATCH", `/webhooks/${endpoint.id}`, { active: false })
        assert.deepInclude(disabled, { id: endpoint.id, active: false })
        assert.isFalse((yield* changed(key, endpoint.id, { active: true })).active)
        yield* created(key)
        yield* paused(`endpoint_id = '${endpoint.id}'`, 1)
        assert.strictEqual((yield* healthOf(applicationId))[0]!.paused, 1)
        assert.deepStrictEqual(hooks.received, [])
        assert.deepInclude(yield* operated("PATCH", `/webhooks/${endpoint.id}`, { active: true }), { active: true })
        yield* eventually(
          Effect.sync(() => hooks.received.length),
          (count) => count === 1
        )
        yield* remove(key, endpoint.id)
        yield* operated("PATCH", `/webhooks/${endpoint.id}`, { active: true }, 404)
        yield* operated("PATCH", `/webhooks/${endpoint.id}`, { active: "no" }, 400).pipe(Effect.exit)
      })
  )

  it.effect("OPR-28, OPR-50: disable an endpoint: the entry in the audit log has whether it was active", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const { id } = yield* registered((yield* makeCaller()).key)
      for (const active of [false, true]) {
        yield* operated("PATCH", `/webhooks/${id}`, { active })
        const [entry] = yield* newestEntries(1)
        assert.deepInclude<unknown>(entry, {
          action: "webhookEndpointActions.update",
          resource_id: id,
          before: { active: !active },
          after: { active }
        })
      }
    })
  )

  it.effect("OPR-28: disable an application or an account: its deliveries are paused, to its `webhook_url`s too", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const { accountId, applicationId, key } = yield* makeCaller()
      const hooks = yield* receiver()
      yield* registered(key, { url: `${hooks.url}/endpoint`, events: ["charge.pix.paid"] })
      const disable = {
        application: () => operated("PATCH", `/applications/${applicationId}`, { active: false }),
        account: () => operated("PATCH", `/accounts/${accountId}`, { status: "inactive" })
      }
      const enable = {
        application: () => operated("PATCH", `/applications/${applicationId}`, { active: true }),
        account: () => operated("PATCH", `/accounts/${accountId}`, { status: "active" })
      }
      for (const whose of ["application", "account"] as const) {
        const seen = hooks.received.length
        const charge = yield* created(key, { webhook_url: `${hooks.url}/own` })
        yield* eventually(
          Effect.sync(() => hooks.received.length),
          (count) => count === seen + 2
        )
        yield* disable[whose]()
        yield* simulated(`/charges/${charge.id}/pay`)
        yield* paused(`resource_id = '${charge.id}'`, 2)
        assert.lengthOf(hooks.received, seen + 2)
        yield* enable[whose]()
        yield* eventually(
          Effect.sync(() => hooks.received.length),
          (count) => count === seen + 4
        )
      }
    })
  )
})

const paused = (condition: string, count: number) =>
  Effect.flatMap(SqlClient, (sql) =>
    eventually(
      sql.unsafe(`SELECT id FROM deliveries WHERE ${condition} AND paused_due_at IS NOT NULL AND due_at IS NULL`),
      ({ length }) => length === count
    )
  )
