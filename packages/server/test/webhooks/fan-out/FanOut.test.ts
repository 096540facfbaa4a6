/** Which endpoints and addresses an event is delivered to. */
import { assert, layer } from "@effect/vitest"
import type { Charge } from "@pix-payments/domain/Charge"
import type { Payout } from "@pix-payments/domain/Payout"
import * as Effect from "effect/Effect"
import { someAccount } from "../../support/Money.ts"
import { SqlClient } from "effect/sql/SqlClient"
import { created, someCustomer } from "../../support/ChargeRequests.ts"
import { eventually, loopback, receiver } from "../../support/Receiver.ts"
import { type Fields, newKey, TestService } from "../../support/TestService.ts"
import { changed, deliveriesOf, registered, remove } from "../../support/Webhooks.ts"
import { simulate, data, receivedOf, receivedEventsOf, assertSigned } from "../../support/Deliveries.ts"

const settings = { webhookAllowedNetworks: loopback, simulatorSettleMs: 0 }

layer(TestService.layer({ settings }), { excludeTestServices: true })("Destinations", (it) => {
  it.effect(
    "EVT-7, EVT-8: Both destinations add up: every event to `webhook_url`, to an endpoint those it subscribed to",
    () =>
      Effect.gen(function* () {
        const { makeCaller } = yield* TestService
        const { key } = yield* makeCaller()
        const hooks = yield* receiver()
        yield* registered(key, { url: `${hooks.url}/paid`, secret: "of the endpoint" })
        yield* registered(key, {
          url: `${hooks.url}/early`,
          events: ["charge.pix.emitted", "charge.pix.created", "charge.pix.refunded"]
        })
        const charge = yield* created(key, { webhook_url: `${hooks.url}/own`, webhook_secret: "of the charge" })
        yield* simulate(`/charges/${charge.id}/pay`)
        const events = yield* receivedEventsOf(hooks, charge.id, 6)
        assert.deepStrictEqual(events, [
          "/early charge.pix.created",
          "/early charge.pix.emitted",
          "/own charge.pix.created",
          "/own charge.pix.emitted",
          "/own charge.pix.paid",
          "/paid charge.pix.paid"
        ])
        const secrets: Fields = { "/paid": "of the endpoint", "/own": "of the charge" }
        for (const received of hooks.received) assertSigned(received, secrets[received.path])
        assert.strictEqual(new Set(hooks.received.map(({ body }) => body.id)).size, 6)
        // Deliveries of one event differ in their id alone.
        const [one, other] = hooks.received.filter(({ body }) => body.event === "charge.pix.paid")
        assert.strictEqual(one!.bytes.toString().replace(one!.body.id, other!.body.id), other!.bytes.toString())
      })
  )

  it.effect("EVT-9: When the `webhook_url` equals the URL of a subscribed endpoint, only one delivery is made", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const hooks = yield* receiver()
      const { host, pathname, port } = new URL(hooks.url)
      const spellings: ReadonlyArray<readonly [endpoint: string, ownUrl: string]> = [
        [`HTTP://${host}${pathname}`, hooks.url],
        [`${hooks.url}/a/../b/./c`, `${hooks.url}/b/c`],
        [`http://2130706433:${port}${pathname}/d`, `http://127.0.0.1:${port}${pathname}/d`],
        [`${hooks.url}/é`, `${hooks.url}/%C3%A9`],
        [`${hooks.url}\\e`, `${hooks.url}/e`]
      ]
      for (const [url, webhook_url] of spellings) {
        for (const secret of ["of the endpoint", null]) {
          const { key } = yield* makeCaller()
          const { id } = yield* registered(key, { url, secret, events: ["charge.pix.created", "charge.pix.emitted"] })
          const charge = yield* created(key, { webhook_url, webhook_secret: "of the charge" })
          assert.lengthOf(yield* receivedEventsOf(hooks, charge.id, 2), 2)
          for (const received of receivedOf(hooks, charge.id)) assertSigned(received, secret ?? undefined)
          const deliveries = yield* deliveriesOf(`resource_id=${charge.id}`)
          assert.deepStrictEqual(
            deliveries.map(({ endpoint_id }) => endpoint_id),
            [id, id]
          )
        }
      }
    })
  )

  it.effect(
    "EVT-9: … and the default port and the case of a name are the same URL too; another path or query is not",
    () =>
      Effect.gen(function* () {
        const { makeCaller } = yield* TestService
        const cases: ReadonlyArray<readonly [endpoint: string, ownUrl: string, deliveries: number]> = [
          ["https://nobody.invalid:443/x", "https://NOBODY.invalid/x", 1],
          ["http://nobody.invalid", "http://nobody.invalid/", 1],
          ["http://nobody.invalid", "http://nobody.Invalid:80/", 1],
          ["http://nobody.invalid/x", "https://nobody.invalid/x", 2],
          ["http://nobody.invalid/x", "http://nobody.invalid/X", 2],
          ["http://nobody.invalid/x", "http://nobody.invalid/x/", 2],
          ["http://nobody.invalid/x", "http://nobody.invalid/x?", 2],
          ["http://nobody.invalid/x", "http://nobody.invalid./x", 2]
        ]
        for (const [url, webhook_url, count] of cases) {
          const { key } = yield* makeCaller()
          yield* registered(key, { url, events: ["charge.pix.emitted"] })
          const { id } = yield* created(key, { webhook_url })
          assert.lengthOf(
            yield* deliveriesOf(`resource_id=${id}&event=charge.pix.emitted`),
            count,
            `${url} ${webhook_url}`
          )
          assert.lengthOf(yield* deliveriesOf(`resource_id=${id}&event=charge.pix.created`), 1)
        }
      })
  )

  it.effect(
    "EVT-9: An equal URL that does not subscribe to the event leaves it to `webhook_url`, signed with its secret",
    () =>
      Effect.gen(function* () {
        const { makeApplication, makeCaller, makeKey } = yield* TestService
        const hooks = yield* receiver()
        const { accountId, key } = yield* makeCaller()
        const sibling = yield* makeKey(yield* makeApplication(accountId))
        yield* registered(key, { url: hooks.url, secret: "of the endpoint", events: ["charge.pix.emitted"] })
        // Equal endpoints of another application and deleted ones do not count.
        yield* registered(sibling.key, { url: hooks.url, secret: "a stranger's", events: ["charge.pix.created"] })
        const deleted = yield* registered(key, { url: hooks.url, events: ["charge.pix.created"] })
        yield* remove(key, deleted.id)
        const charge = yield* created(key, { webhook_url: hooks.url, webhook_secret: "of the charge" })
        assert.deepStrictEqual(yield* receivedEventsOf(hooks, charge.id, 2), [
          "/ charge.pix.created",
          "/ charge.pix.emitted"
        ])
        for (const received of receivedOf(hooks, charge.id)) {
          assertSigned(received, received.body.event === "charge.pix.created" ? "of the charge" : "of the endpoint")
        }
      })
  )

  it.effect("EVT-9: Two endpoints with one URL are two deliveries, each signed with its own secret", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const { key } = yield* makeCaller()
      const hooks = yield* receiver()
      const events = ["charge.pix.created"]
      const one = yield* registered(key, { url: hooks.url, events, secret: "the first one" })
      const other = yield* registered(key, { url: hooks.url, events, secret: "the other one" })
      const charge = yield* created(key)
      assert.lengthOf(yield* receivedEventsOf(hooks, charge.id, 2), 2)
      const deliveries = yield* deliveriesOf(`resource_id=${charge.id}`)
      assert.sameMembers(
        deliveries.map(({ endpoint_id }) => endpoint_id),
        [one.id, other.id]
      )
      for (const { endpoint_id, id } of deliveries) {
        const received = hooks.received.find(({ body }) => body.id === id)
        assertSigned(received!, endpoint_id === one.id ? "the first one" : "the other one")
      }
    })
  )

  it.effect("EVT-3: Events with `dispatched: false` are subscribable and never delivered; their history is kept", () =>
    Effect.gen(function* () {
      const { call, makeCaller } = yield* TestService
      const { key } = yield* makeCaller()
      const hooks = yield* receiver()
      const events = ["charge.pix.expired", "payment.pix.completed", "payment.pix.processing", "charge.pix.paid"]
      yield* registered(key, { url: `${hooks.url}/endpoint`, events })
      const charge = yield* created(key, { amount: 10_000 })
      yield* simulate(`/charges/${charge.id}/pay`)
      const payout = yield* call<Payout>("POST", "/v1/payouts", {
        key,
        idempotencyKey: newKey(),
        body: { amount: 500, pix_key_type: "email", pix_key: "ana@example.com", webhook_url: `${hooks.url}/own` }
      })
      yield* eventually(
        call<Payout>("GET", `/v1/payouts/${payout.body.id}`, { key }),
        ({ body }) => body.status === "completed"
      )
      assert.deepStrictEqual(yield* receivedEventsOf(hooks, payout.body.id, 3), [
        "/endpoint payment.pix.processing",
        "/own payment.pix.created",
        "/own payment.pix.processing"
      ])
      const sql = yield* SqlClient
      const names = yield* sql<{ name: string }>`
        SELECT name FROM events WHERE resource_id = ${payout.body.id}::uuid ORDER BY sequence, name`
      assert.deepStrictEqual(
        names.map(({ name }) => name),
        ["payment.pix.created", "payment.pix.processing", "payment.pix.completed"]
      )
      const undispatched = yield* sql`
        SELECT id FROM deliveries WHERE event IN ('payment.pix.completed', 'charge.pix.expired')`
      assert.deepStrictEqual(undispatched, [])
    })
  )

  it.effect(
    "EVT-10: Only endpoints subscribed when the event happens receive it; a name removed later does not stop it",
    () =>
      Effect.gen(function* () {
        const { makeCaller } = yield* TestService
        const { key } = yield* makeCaller()
        const hooks = yield* receiver()
        const events = ["charge.pix.created", "charge.pix.paid"]
        const endpoint = yield* registered(key, { url: hooks.url, events })
        yield* changed(key, endpoint.id, { active: false })
        const charge = yield* created(key)
        yield* changed(key, endpoint.id, { events: ["charge.pix.refunded"] })
        yield* simulate(`/charges/${charge.id}/pay`)
        const late = yield* registered(key, { url: `${hooks.url}/late`, events: [...events, "charge.pix.refunded"] })
        yield* changed(key, endpoint.id, { active: true })
        yield* simulate(`/charges/${charge.id}/refund`)
        assert.deepStrictEqual(yield* receivedEventsOf(hooks, charge.id, 3), [
          "/ charge.pix.created",
          "/ charge.pix.refunded",
          "/late charge.pix.refunded"
        ])
        assert.lengthOf(yield* deliveriesOf(`endpoint_id=${late.id}`), 1)
      })
  )

  it.effect("DSP-9: A dispute's events, all four, go to registered endpoints, not to the charge's `webhook_url`", () =>
    Effect.gen(function* () {
      const { makeCaller, operate } = yield* TestService
      const { key } = yield* makeCaller()
      const hooks = yield* receiver()
      yield* registered(key, {
        url: `${hooks.url}/endpoint`,
        secret: "of the endpoint",
        events: ["dispute.pix.opened", "dispute.pix.message", "dispute.pix.won", "dispute.pix.lost"]
      })
      const charge = yield* created(key, { webhook_url: `${hooks.url}/own`, reference: "pedido-7" })
      yield* simulate(`/charges/${charge.id}/pay`)
      const dispute = yield* simulate<{ id: string }>(`/charges/${charge.id}/infraction`, { reason: "golpe" }, 201)
      yield* simulate(`/disputes/${dispute.id}/message`, { text: "em análise" })
      yield* operate("POST", `/operator/v1/disputes/${dispute.id}/defense`, { body: { text: "entregue" } })
      yield* simulate(`/disputes/${dispute.id}/win`)
      yield* simulate(`/disputes/${dispute.id}/lose`)
      assert.deepStrictEqual(yield* receivedEventsOf(hooks, dispute.id, 4), [
        "/endpoint dispute.pix.lost",
        "/endpoint dispute.pix.message",
        "/endpoint dispute.pix.opened",
        "/endpoint dispute.pix.won"
      ])
      for (const received of receivedOf(hooks, dispute.id)) {
        assertSigned(received, "of the endpoint")
        assert.strictEqual(received.headers["x-webhook-resource"], "dispute")
        assert.deepInclude<unknown>(received.body.data, {
          object: "dispute",
          charge_id: charge.id,
          amount: charge.amount,
          reference: "pedido-7"
        })
        const isMessage = received.body.event === "dispute.pix.message"
        assert.strictEqual(data(received)["message"], isMessage ? "em análise" : undefined)
      }
      assert.deepStrictEqual(
        yield* eventually(
          Effect.sync(() => receivedOf(hooks, charge.id).map(({ path }) => path)),
          ({ length }) => length >= 5
        ),
        Array.from({ length: 5 }, () => "/own")
      )
    })
  )

  it.effect(
    "EVT-8: An endpoint receives the events from all resources of the application, created outside the API as well",
    () =>
      Effect.gen(function* () {
        const { makeApplication, makeCaller, makeKey, operate } = yield* TestService
        const { accountId, applicationId, key } = yield* makeCaller()
        const sibling = yield* makeKey(yield* makeApplication(accountId))
        const stranger = yield* makeCaller()
        const hooks = yield* receiver()
        const events = ["created", "emitted", "paid"].flatMap((action) =>
          ["pix", "boleto", "card"].flatMap((method) =>
            method === "card" && action === "emitted" ? [] : [`charge.${method}.${action}`]
          )
        )
        yield* registered(key, { url: `${hooks.url}/mine`, events })
        yield* registered(sibling.key, { url: `${hooks.url}/sibling`, events })
        yield* registered(stranger.key, { url: `${hooks.url}/stranger`, events })
        for (const method of ["pix", "boleto", "card"]) {
          const answer = yield* operate<Charge>("POST", `/operator/v1/applications/${applicationId}/checkout-charges`, {
            body: { amount: 1000, method, customer: someCustomer, webhook_url: `${hooks.url}/own` }
          })
          assert.strictEqual(answer.status, 201, answer.text)
          yield* simulate(`/charges/${answer.body.id}/pay`)
          const names = events.filter((name) => name.startsWith(`charge.${method}.`)).toSorted()
          assert.deepStrictEqual(yield* receivedEventsOf(hooks, answer.body.id, names.length * 2), [
            ...names.map((name) => `/mine ${name}`),
            ...names.map((name) => `/own ${name}`)
          ])
          for (const { headers } of receivedOf(hooks, answer.body.id)) {
            assert.strictEqual(headers["x-webhook-method"], method)
          }
        }
        assert.deepStrictEqual(
          hooks.received.filter(({ path }) => path === "/sibling" || path === "/stranger"),
          []
        )
      })
  )

  it.effect(
    "EVT-8: Payouts of the API reach the endpoints of their application, those of the dashboard the account's",
    () =>
      Effect.gen(function* () {
        const { call, makeApplication, makeCaller, makeKey, operate } = yield* TestService
        const { accountId, key } = yield* makeCaller({ account: { auto_payout_enabled: false } })
        const sibling = yield* makeKey(yield* makeApplication(accountId))
        const stranger = yield* makeCaller()
        const hooks = yield* receiver()
        const events = ["pix", "ted"].flatMap((method) =>
          ["created", "processing", "canceled", "failed", "completed"].map((action) => `payment.${method}.${action}`)
        )
        yield* registered(key, { url: `${hooks.url}/mine`, events })
        yield* registered(sibling.key, { url: `${hooks.url}/sibling`, events })
        yield* registered(stranger.key, { url: `${hooks.url}/stranger`, events })
        const charge = yield* created(key, { amount: 100_000 })
        yield* simulate(`/charges/${charge.id}/pay`)
        const body = { amount: 500, pix_key_type: "email", pix_key: "ana@example.com" }

        const asked = yield* call<Payout>("POST", "/v1/payouts", { key, idempotencyKey: newKey(), body })
        assert.strictEqual(asked.status, 201, asked.text)
        yield* operate("POST", `/operator/v1/payouts/${asked.body.id}/cancel`)
        assert.deepStrictEqual(yield* receivedEventsOf(hooks, asked.body.id, 2), [
          "/mine payment.pix.canceled",
          "/mine payment.pix.created"
        ])

        for (const method of ["ted", "pix"]) {
          const own = { webhook_url: `${hooks.url}/own`, webhook_secret: "of the payout" }
          const answer = yield* operate<Payout>("POST", `/operator/v1/accounts/${accountId}/payouts`, {
            body: { ...body, ...someAccount, ...own, method }
          })
          assert.strictEqual(answer.status, 201, answer.text)
          yield* operate("POST", `/operator/v1/payouts/${answer.body.id}/approve`)
          assert.deepStrictEqual(
            yield* receivedEventsOf(hooks, answer.body.id, 6),
            ["/mine", "/own", "/sibling"].flatMap((path) => [
              `${path} payment.${method}.created`,
              `${path} payment.${method}.processing`
            ])
          )
          for (const received of receivedOf(hooks, answer.body.id)) {
            assert.strictEqual(received.headers["x-webhook-resource"], "payment")
            assert.strictEqual(data(received)["object"], "payment")
            assertSigned(received, received.path === "/own" ? "of the payout" : undefined)
          }
        }
        assert.isUndefined(hooks.received.find(({ path }) => path === "/stranger"))
      })
  )
})
