/** Who is told of an event, with which signature, and what pausing, correcting, deleting and resending do to it. */
import { assert, layer } from "@effect/vitest"
import type { Charge } from "@pix-payments/domain/Charge"
import type { Payout } from "@pix-payments/domain/Payout"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { someAccount } from "../support/Money.ts"
import { SqlClient } from "effect/sql/SqlClient"
import { createHmac, randomBytes } from "node:crypto"
import type { ServerResponse } from "node:http"
import { assertRefused, created, someCustomer } from "../support/ChargeRequests.ts"
import { eventually, loopback, type Received, type Receiver, receiver } from "../support/Receiver.ts"
import { type Fields, newKey, TestService } from "../support/TestService.ts"
import {
  changed,
  deliveriesOf,
  deliveryOf,
  type DeliveryRow,
  healthOf,
  registered,
  remove,
  resend,
  resendFailed
} from "../support/Webhooks.ts"

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
        const told = yield* toldOf(hooks, charge.id, 6)
        assert.deepStrictEqual(told, [
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
      const { host, port } = new URL(hooks.url)
      const spellings: ReadonlyArray<readonly [endpoint: string, ownUrl: string]> = [
        [hooks.url, `${hooks.url}/`],
        [`HTTP://${host}/a`, `http://${host}/a`],
        [`http://${host}/a/../b/./c`, `http://${host}/b/c`],
        [`http://2130706433:${port}/d`, `http://127.0.0.1:${port}/d`],
        [`http://${host}/é`, `http://${host}/%C3%A9`],
        [`http://${host}\\e`, `http://${host}/e`]
      ]
      for (const [url, webhook_url] of spellings) {
        for (const secret of ["of the endpoint", null]) {
          const { key } = yield* makeCaller()
          const { id } = yield* registered(key, { url, secret, events: ["charge.pix.created", "charge.pix.emitted"] })
          const charge = yield* created(key, { webhook_url, webhook_secret: "of the charge" })
          assert.lengthOf(yield* toldOf(hooks, charge.id, 2), 2)
          for (const received of of(hooks, charge.id)) assertSigned(received, secret ?? undefined)
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
        // An equal endpoint of another application is none of this one's, nor is one that was deleted.
        yield* registered(sibling.key, { url: hooks.url, secret: "a stranger's", events: ["charge.pix.created"] })
        const deleted = yield* registered(key, { url: hooks.url, events: ["charge.pix.created"] })
        yield* remove(key, deleted.id)
        const charge = yield* created(key, { webhook_url: hooks.url, webhook_secret: "of the charge" })
        assert.deepStrictEqual(yield* toldOf(hooks, charge.id, 2), ["/ charge.pix.created", "/ charge.pix.emitted"])
        for (const received of of(hooks, charge.id)) {
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
      assert.lengthOf(yield* toldOf(hooks, charge.id, 2), 2)
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
      assert.deepStrictEqual(yield* toldOf(hooks, payout.body.id, 3), [
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
        assert.deepStrictEqual(yield* toldOf(hooks, charge.id, 3), [
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
      assert.deepStrictEqual(yield* toldOf(hooks, dispute.id, 4), [
        "/endpoint dispute.pix.lost",
        "/endpoint dispute.pix.message",
        "/endpoint dispute.pix.opened",
        "/endpoint dispute.pix.won"
      ])
      for (const received of of(hooks, dispute.id)) {
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
          Effect.sync(() => of(hooks, charge.id).map(({ path }) => path)),
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
          assert.deepStrictEqual(yield* toldOf(hooks, answer.body.id, names.length * 2), [
            ...names.map((name) => `/mine ${name}`),
            ...names.map((name) => `/own ${name}`)
          ])
          for (const { headers } of of(hooks, answer.body.id)) {
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
        assert.deepStrictEqual(yield* toldOf(hooks, asked.body.id, 2), [
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
            yield* toldOf(hooks, answer.body.id, 6),
            ["/mine", "/own", "/sibling"].flatMap((path) => [
              `${path} payment.${method}.created`,
              `${path} payment.${method}.processing`
            ])
          )
          for (const received of of(hooks, answer.body.id)) {
            assert.strictEqual(received.headers["x-webhook-resource"], "payment")
            assert.strictEqual(data(received)["object"], "payment")
            assertSigned(received, received.path === "/own" ? "of the payout" : undefined)
          }
        }
        assert.isUndefined(hooks.received.find(({ path }) => path === "/stranger"))
      })
  )

  it.effect(
    "EVT-5, EVT-6: every event of a charge or payout has its `reference`, and payouts are called `payment`",
    () =>
      Effect.gen(function* () {
        const { call, makeCaller } = yield* TestService
        const { key } = yield* makeCaller()
        const hooks = yield* receiver()
        const charge = yield* created(key, { amount: 100_000, webhook_url: hooks.url, reference: "pedido-1" })
        yield* simulate(`/charges/${charge.id}/pay`)
        assert.lengthOf(yield* toldOf(hooks, charge.id, 3), 3)
        const { body: payout } = yield* call<Payout>("POST", "/v1/payouts", {
          key,
          idempotencyKey: newKey(),
          body: {
            amount: 500,
            pix_key_type: "email",
            pix_key: "fail@simulator.test",
            webhook_url: hooks.url,
            reference: "saida-1"
          }
        })
        assert.deepStrictEqual(yield* toldOf(hooks, payout.id, 3), [
          "/ payment.pix.created",
          "/ payment.pix.failed",
          "/ payment.pix.processing"
        ])
        for (const received of of(hooks, charge.id)) {
          assert.deepInclude(data(received), { object: "charge", reference: "pedido-1" })
        }
        for (const received of of(hooks, payout.id)) {
          assert.deepInclude(data(received), { object: "payment", reference: "saida-1" })
        }
        const failed = of(hooks, payout.id).find(({ body }) => body.event === "payment.pix.failed")
        const { body: read } = yield* call<Payout>("GET", `/v1/payouts/${payout.id}`, { key })
        assert.deepStrictEqual<unknown>(data(failed!), { ...read, object: "payment" })
      })
  )

  it.effect("ADD-1: `sequence` is the resource's after the change, in the envelope and in `data`, and grows", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const { key } = yield* makeCaller()
      const hooks = yield* receiver()
      const charge = yield* created(key, { webhook_url: hooks.url })
      yield* simulate(`/charges/${charge.id}/pay`)
      yield* simulate(`/charges/${charge.id}/refund`)
      yield* toldOf(hooks, charge.id, 4)
      const sequences = Object.fromEntries(hooks.received.map(({ body }) => [body.event, body.sequence]))
      const emitted = sequences["charge.pix.emitted"]!
      assert.deepStrictEqual(sequences, {
        "charge.pix.created": emitted,
        "charge.pix.emitted": emitted,
        "charge.pix.paid": emitted + 1,
        "charge.pix.refunded": emitted + 2
      })
      for (const received of hooks.received) assert.strictEqual(data(received)["sequence"], received.body.sequence)
    })
  )

  it.effect(
    "ADD-2: Standard Webhooks headers beside the contract's: a verifier of that specification accepts them",
    () =>
      Effect.gen(function* () {
        const { makeCaller } = yield* TestService
        const { key } = yield* makeCaller()
        const hooks = yield* receiver()
        const events = ["charge.pix.created"]
        const bytes = randomBytes(32)
        const keys: Record<string, Buffer> = {
          "/whsec": bytes,
          "/raw": Buffer.from("segredo é 🔑"),
          "/prefix": Buffer.from("whsec-is-not-the-prefix"),
          "/odd": Buffer.from("whsec_!!!")
        }
        yield* registered(key, { url: `${hooks.url}/whsec`, events, secret: `whsec_${bytes.toString("base64")}` })
        yield* registered(key, { url: `${hooks.url}/raw`, events, secret: "segredo é 🔑" })
        yield* registered(key, { url: `${hooks.url}/prefix`, events, secret: "whsec-is-not-the-prefix" })
        yield* registered(key, { url: `${hooks.url}/odd`, events, secret: "whsec_!!!" })
        yield* registered(key, { url: `${hooks.url}/none`, events })
        const before = yield* Clock.currentTimeMillis
        const charge = yield* created(key)
        yield* toldOf(hooks, charge.id, 5)
        for (const received of hooks.received) {
          const { body, headers, path } = received
          const secret = keys[path]
          if (secret === undefined) {
            for (const name of ["id", "timestamp", "signature"]) assert.notProperty(headers, `webhook-${name}`)
            assert.notProperty(headers, "x-webhook-signature")
            continue
          }
          assert.strictEqual(headers["webhook-id"], body.id)
          assert.match(String(headers["webhook-timestamp"]), /^\d{10}$/)
          assert.isAtLeast(Number(headers["webhook-timestamp"]), Math.floor(before / 1000))
          assert.isTrue(isStandard(received, secret), path)
          assert.isFalse(isStandard({ ...received, bytes: Buffer.concat([received.bytes, Buffer.from(" ")]) }, secret))
          assert.isFalse(isStandard({ ...received, headers: { ...headers, "webhook-timestamp": "1" } }, secret))
          assert.isFalse(isStandard({ ...received, headers: { ...headers, "webhook-id": "other" } }, secret))
        }
      })
  )
})

// Nothing is repeated unless a test says so.
const patient = { ...settings, webhookRetryDelaysMs: [3_600_000, 3_600_000], webhookTimeoutMs: 20_000 }

layer(TestService.layer({ settings: patient }), { excludeTestServices: true })("What is due to an endpoint", (it) => {
  it.effect(
    "END-5, DLV-8: Pausing holds: deliveries wait and go out after it is active again, without using up attempts",
    () =>
      Effect.gen(function* () {
        const { makeCaller } = yield* TestService
        const { key } = yield* makeCaller()
        let status = 500
        const hooks = yield* receiver((_, response) => answer(response, status))
        const endpoint = yield* registered(key, { url: hooks.url, events: ["charge.pix.created", "charge.pix.paid"] })
        const charge = yield* created(key)
        const [retried] = yield* attempted(charge.id, 1)
        yield* changed(key, endpoint.id, { active: false })

        // A retry that becomes due, and a first attempt: both are put aside.
        yield* simulate(`/charges/${charge.id}/pay`)
        yield* makeDue(retried!.id)
        const held = yield* eventually(
          Effect.flatMap(SqlClient, (sql) => sql`SELECT id FROM deliveries WHERE held_due_at IS NOT NULL`),
          ({ length }) => length === 2
        )
        for (const { id } of held) assert.strictEqual((yield* deliveryOf(String(id))).status, "scheduled")
        assert.lengthOf(hooks.received, 1)
        // A resend waits as well.
        assert.strictEqual((yield* resend(retried!.id)).status, 202)
        // What is changed meanwhile does not let go.
        yield* changed(key, endpoint.id, { description: "paused", url: `${hooks.url}/new` })
        const paused = yield* created(key)
        yield* heldOf(endpoint.id, 3)
        assert.lengthOf(hooks.received, 1)

        status = 200
        yield* changed(key, endpoint.id, { active: true })
        assert.deepStrictEqual(yield* toldOf(hooks, charge.id, 3), [
          "/ charge.pix.created",
          "/new charge.pix.created",
          "/new charge.pix.paid"
        ])
        yield* toldOf(hooks, paused.id, 1)
        for (const { id } of yield* deliveriesOf(`endpoint_id=${endpoint.id}`)) {
          const { attempts, attempts_made } = yield* eventually(deliveryOf(id), (seen) => seen.status === "delivered")
          assert.strictEqual(attempts_made, id === retried!.id ? 2 : 1)
          assert.lengthOf(attempts, attempts_made)
        }
      })
  )

  it.effect("END-5: A retry that is not due yet keeps its time over a pause", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const { key } = yield* makeCaller()
      const hooks = yield* receiver((_, response) => answer(response, 500))
      const endpoint = yield* registered(key, { url: hooks.url, events: ["charge.pix.created"] })
      const charge = yield* created(key)
      const [before] = yield* attempted(charge.id, 1)
      yield* changed(key, endpoint.id, { active: false })
      yield* changed(key, endpoint.id, { active: true })
      assert.deepStrictEqual(yield* deliveryOf(before!.id), before!)
    })
  )

  it.effect("EVT-9: Where the equal endpoint is paused, its delivery is held", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const { key } = yield* makeCaller()
      const hooks = yield* receiver()
      const endpoint = yield* registered(key, { url: hooks.url, events: ["charge.pix.created"] })
      yield* changed(key, endpoint.id, { active: false })
      const charge = yield* created(key, { webhook_url: hooks.url })
      yield* heldOf(endpoint.id, 1)
      assert.deepStrictEqual(yield* toldOf(hooks, charge.id, 1), ["/ charge.pix.emitted"])
      yield* changed(key, endpoint.id, { active: true })
      assert.deepStrictEqual(yield* toldOf(hooks, charge.id, 2), ["/ charge.pix.created", "/ charge.pix.emitted"])
    })
  )

  it.effect("END-6, DLV-8: Deleting an endpoint cancels what is due to it", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const { key } = yield* makeCaller()
      const hanging: Array<ServerResponse> = []
      const hooks = yield* receiver(({ path }, response) => {
        if (path === "/hangs") hanging.push(response)
        else answer(response, 500)
      })
      const events = ["charge.pix.created"]
      const failing = yield* registered(key, { url: hooks.url, events })
      const paused = yield* registered(key, { url: `${hooks.url}/paused`, events })
      const inFlight = yield* registered(key, { url: `${hooks.url}/hangs`, events })
      const kept = yield* registered(key, { url: `${hooks.url}/kept`, events })
      yield* changed(key, paused.id, { active: false })
      const charge = yield* created(key)
      yield* toldOf(hooks, charge.id, 3)
      yield* heldOf(paused.id, 1)
      yield* statusOf(failing.id, "scheduled", 1)
      yield* statusOf(kept.id, "scheduled", 1)
      for (const { id } of [failing, paused, inFlight]) assert.strictEqual((yield* remove(key, id)).status, 204)
      for (const { id } of [failing, paused]) {
        const [delivery] = yield* deliveriesOf(`endpoint_id=${id}`)
        assert.deepInclude(delivery, { status: "canceled", next_attempt_at: null })
        assertRefused(yield* resend(delivery!.id), "INVALID_STATE")
        assert.strictEqual((yield* resendFailed({ endpoint_id: id, since: longAgo })).body.deliveries, 0)
      }
      // What was under way ends, and is not repeated.
      for (const response of hanging) answer(response, 500)
      const [last] = yield* statusOf(inFlight.id, "canceled", 1)
      assertRefused(yield* resend(last!.id), "INVALID_STATE")
      yield* makeDue(last!.id)
      const sql = yield* SqlClient
      yield* eventually(
        sql`SELECT 1 FROM deliveries WHERE id = ${last!.id}::uuid AND status = 'canceled'`,
        ({ length }) => length === 1
      )
      assert.lengthOf(hooks.received, 3)
      assert.strictEqual((yield* statusOf(kept.id, "scheduled", 1)).length, 1)
    })
  )

  it.effect(
    "DLV-4, DLV-5: A corrected URL or a rotated secret takes effect on what is still due; id and bytes stay",
    () =>
      Effect.gen(function* () {
        const { makeCaller } = yield* TestService
        const { key } = yield* makeCaller()
        const wrong = yield* receiver((_, response) => answer(response, 404))
        const right = yield* receiver()
        const endpoint = yield* registered(key, { url: wrong.url, events: ["charge.pix.created"], secret: "before it" })
        const charge = yield* created(key)
        const [delivery] = yield* attempted(charge.id, 1)
        const secrets = ["before it", "rotated secret", undefined]

        yield* changed(key, endpoint.id, { secret: "rotated secret" })
        yield* makeDue(delivery!.id)
        yield* attempted(charge.id, 2)
        yield* changed(key, endpoint.id, { secret: null, url: `${right.url}/corrected` })
        assert.strictEqual((yield* deliveryOf(delivery!.id)).url, `${right.url}/corrected`)
        yield* makeDue(delivery!.id)
        yield* eventually(deliveryOf(delivery!.id), ({ status }) => status === "delivered")

        const received = [...wrong.received, ...right.received]
        assert.deepStrictEqual(
          received.map(({ path }) => path),
          ["/", "/", "/corrected"]
        )
        for (const [index, one] of received.entries()) {
          assertSigned(one, secrets[index])
          assert.isTrue(one.bytes.equals(received[0]!.bytes))
          assert.strictEqual(one.headers["x-webhook-delivery"], delivery!.id)
        }
      })
  )

  it.effect("DLV-5: A URL corrected while an attempt is under way takes effect on the next one", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const { key } = yield* makeCaller()
      const hanging: Array<ServerResponse> = []
      const wrong = yield* receiver((_, response) => void hanging.push(response))
      const right = yield* receiver()
      const endpoint = yield* registered(key, { url: wrong.url, events: ["charge.pix.created"] })
      const charge = yield* created(key)
      yield* toldOf(wrong, charge.id, 1)
      yield* changed(key, endpoint.id, { url: right.url })
      for (const response of hanging) answer(response, 500)
      const [delivery] = yield* attempted(charge.id, 1)
      yield* makeDue(delivery!.id)
      yield* toldOf(right, charge.id, 1)
      const seen = yield* eventually(deliveryOf(delivery!.id), ({ status }) => status === "delivered")
      assert.strictEqual(seen.url, right.url)
      assert.lengthOf(wrong.received, 1)
    })
  )

  it.effect("An outcome is recorded only by the holder of the attempt it belongs to", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const { key } = yield* makeCaller()
      const hanging: Array<ServerResponse> = []
      const hooks = yield* receiver((_, response) => void hanging.push(response))
      const charge = yield* created(key, { webhook_url: hooks.url })
      yield* toldOf(hooks, charge.id, 2)
      // The lease ran out, another process made the attempt, and is making the next one.
      const sql = yield* SqlClient
      const held = sql`SELECT id, status, attempts_made, due_at FROM deliveries
        WHERE resource_id = ${charge.id}::uuid ORDER BY id`
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

  it.effect("Changes of an endpoint and deliveries to it do not wait for each other", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const { key } = yield* makeCaller()
      const hooks = yield* receiver()
      const endpoint = yield* registered(key, { url: hooks.url, events: ["charge.pix.created", "charge.pix.emitted"] })
      const change = (index: number) =>
        changed(key, endpoint.id, { url: `${hooks.url}/${index}`, active: index % 4 !== 0 })
      const changing = Effect.forEach(
        Array.from({ length: 200 }, (_, index) => index),
        change,
        { discard: true }
      )
      const creating = Effect.forEach(Array.from({ length: 400 }), () => created(key), {
        concurrency: 20,
        discard: true
      })
      // A deadlock would be refused with 503, or give a delivery back to its lease.
      yield* Effect.all([changing, creating], { concurrency: 2 })
      yield* changed(key, endpoint.id, { active: true })
      yield* eventually(
        Effect.sync(() => hooks.received.length),
        (count) => count === 800
      )
      assert.strictEqual(new Set(hooks.received.map(({ body }) => body.id)).size, 800)
      const sql = yield* SqlClient
      const deadlocks = yield* sql<{ deadlocks: number }>`
        SELECT deadlocks::integer FROM pg_stat_database WHERE datname = current_database()`
      assert.deepStrictEqual(deadlocks, [{ deadlocks: 0 }])
    })
  )

  it.effect(
    "DLV-8: A resend makes one attempt at once, keeps the delivery's id, and starts the curve again if it fails",
    () =>
      Effect.gen(function* () {
        const { makeCaller } = yield* TestService
        const { key } = yield* makeCaller()
        let status = 500
        const hooks = yield* receiver((_, response) => answer(response, status))
        const { id: chargeId } = yield* created(key, { webhook_url: hooks.url, webhook_secret: "s" })
        const deliveries = yield* attempted(chargeId, 1)
        const id = deliveries[0]!.id

        // Scheduled: at once, and the curve of two delays begins again.
        assert.strictEqual((yield* resend(id)).status, 202)
        yield* eventually(deliveryOf(id), (seen) => seen.attempts_made === 2 && seen.status === "scheduled")
        for (const made of [3, 4]) {
          yield* makeDue(id)
          yield* eventually(deliveryOf(id), (seen) => seen.attempts_made === made && seen.status !== "delivering")
        }
        assert.deepInclude(yield* deliveryOf(id), { status: "failed", next_attempt_at: null })

        // Failed: the same.
        assert.strictEqual((yield* resend(id)).status, 202)
        const again = yield* eventually(
          deliveryOf(id),
          (seen) => seen.attempts_made === 5 && seen.status === "scheduled"
        )
        const [attempt] = again.attempts.slice(-1)
        assertDueAfter(again, attempt!, 3_600_000)
        status = 200
        assert.strictEqual((yield* resend(id)).status, 202)
        yield* eventually(deliveryOf(id), (seen) => seen.status === "delivered")

        // Delivered: once more, and it fails this time.
        status = 410
        assert.strictEqual((yield* resend(id)).status, 202)
        const gone = yield* eventually(
          deliveryOf(id),
          (seen) => seen.attempts_made === 7 && seen.status === "scheduled"
        )
        assert.deepStrictEqual(
          gone.attempts.map(({ error, status_code }) => [status_code, error]),
          [...Array.from({ length: 5 }, () => [500, "status 500"]), [200, null], [410, "410 Gone"]]
        )
        for (const { address, at, duration_ms } of gone.attempts) {
          assert.strictEqual(address, "127.0.0.1")
          assert.match(at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
          assert.isTrue(Number.isInteger(duration_ms) && duration_ms >= 0)
        }
        const sent = hooks.received.filter(({ body }) => body.id === id)
        assert.lengthOf(sent, 7)
        for (const one of sent) {
          assert.isTrue(one.bytes.equals(sent[0]!.bytes))
          assertSigned(one, "s")
        }
      })
  )

  it.effect("DLV-8: A resend of a delivery in flight, canceled, or unknown is refused", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const { key } = yield* makeCaller()
      const hooks = yield* receiver(() => {})
      const charge = yield* created(key, { webhook_url: hooks.url })
      yield* toldOf(hooks, charge.id, 2)
      for (const { id, status } of yield* deliveriesOf(`resource_id=${charge.id}`)) {
        assert.strictEqual(status, "delivering")
        assertRefused(yield* resend(id), "INVALID_STATE")
      }
      assert.strictEqual((yield* resendFailed({ resource_id: charge.id, since: longAgo })).body.deliveries, 0)
      assertRefused(yield* resend(charge.id), "NOT_FOUND")
      assertRefused(yield* resend("nothing"), "NOT_FOUND")
      assert.lengthOf(hooks.received, 2)
    })
  )

  it.effect(
    "OPR-27: All failed deliveries of an endpoint or a resource since an instant are sent again, and no others",
    () =>
      Effect.gen(function* () {
        const { makeCaller } = yield* TestService
        const { key } = yield* makeCaller()
        let status = 500
        const hooks = yield* receiver((_, response) => answer(response, status))
        const events = ["charge.pix.created"]
        const endpoint = yield* registered(key, { url: `${hooks.url}/endpoint`, events })
        const other = yield* registered(key, { url: `${hooks.url}/other`, events })
        const charges = yield* Effect.forEach([1, 2, 3, 4], () => created(key, { webhook_url: `${hooks.url}/own` }))
        const [old, recent, scheduled, delivered] = charges.map(({ id }) => id)
        for (const { id } of charges) yield* attempted(id, 1, 4)
        const sql = yield* SqlClient
        const ids = `${old},${recent}`
        yield* sql`UPDATE deliveries SET status = 'failed', due_at = NULL
        WHERE resource_id = ANY (string_to_array(${ids}, ',')::uuid[])`
        yield* sql`UPDATE deliveries SET created_at = '2026-01-01T00:00:00Z' WHERE resource_id = ${old!}::uuid`
        yield* sql`UPDATE deliveries SET status = 'delivered', due_at = NULL WHERE resource_id = ${delivered!}::uuid`
        const before = hooks.received.length
        status = 200

        const since = "2026-01-01T00:00:00.001Z"
        const answered = yield* resendFailed({ endpoint_id: endpoint.id, since })
        assert.strictEqual(answered.status, 202)
        assert.deepStrictEqual(answered.body, { object: "resend", deliveries: 1 })
        const [first] = yield* statusOf(endpoint.id, "delivered", 2)
        assert.isTrue([recent, delivered].includes(first!.resource_id))
        // The instant itself is within.
        const both = { endpoint_id: other.id, resource_id: old, since: "2025-12-31T21:00:00-03:00" }
        assert.strictEqual((yield* resendFailed(both)).body.deliveries, 1)
        yield* statusOf(other.id, "delivered", 2)
        // What is left of the resources: two of their own each, one of an endpoint each.
        assert.strictEqual((yield* resendFailed({ resource_id: recent, since })).body.deliveries, 3)
        assert.strictEqual((yield* resendFailed({ resource_id: old, since })).body.deliveries, 0)
        assert.strictEqual((yield* resendFailed({ resource_id: old, since: longAgo })).body.deliveries, 3)
        assert.strictEqual((yield* resendFailed({ resource_id: scheduled, since: longAgo })).body.deliveries, 0)
        yield* eventually(
          sql`SELECT id FROM deliveries WHERE resource_id = ANY (string_to_array(${ids}, ',')::uuid[])
          AND status <> 'delivered'`,
          ({ length }) => length === 0
        )
        assert.lengthOf(hooks.received, before + 8)

        assertRefused(yield* resendFailed({ since: longAgo }), "VALIDATION_ERROR", ["endpoint_id", "resource_id"])
        assertRefused(yield* resendFailed({ endpoint_id: "x" }), "VALIDATION_ERROR", ["endpoint_id", "since"])
      })
  )

  it.effect("END-1: Health: consecutive failures, success rate, and the last success of each endpoint", () =>
    Effect.gen(function* () {
      const { makeCaller, operate } = yield* TestService
      const { applicationId, key } = yield* makeCaller()
      let status = 200
      const hooks = yield* receiver((_, response) => answer(response, status))
      const endpoint = yield* registered(key, { url: hooks.url, events: ["charge.pix.created"] })
      const untouched = yield* registered(key, { url: hooks.url, events: ["charge.pix.expired"] })
      const none = {
        consecutive_failures: 0,
        success_rate: null,
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
          consecutive_failures,
          success_rate,
          last_success_at: lastSuccess,
          last_failure_at: lastFailure
        })
      }
      yield* remove(key, endpoint.id)
      assert.lengthOf(yield* healthOf(applicationId), 1)
      assertRefused(yield* operate("GET", `/operator/v1/applications/${endpoint.id}/webhooks`), "NOT_FOUND")
    })
  )
})

const longAgo = "2020-01-01T00:00:00Z"

const answer = (response: ServerResponse, status: number) => {
  response.statusCode = status
  response.end()
}

/** Tells the simulated acquirer something that must come to something. */
const simulate = <A = Fields>(path: string, body?: Fields, status = 200) =>
  Effect.flatMap(TestService, ({ operate }) =>
    Effect.map(operate<A>("POST", `/operator/v1/simulator${path}`, { body }), (told) => {
      assert.strictEqual(told.status, status, told.text)
      return told.body
    })
  )

const data = ({ body }: Received) => body.data as unknown as Fields

const of = ({ received }: Receiver, resourceId: string) => received.filter(({ body }) => body.data.id === resourceId)

/**
 * Where a receiver was told what of a resource, in order, once as many came as there are deliveries, of which `count`
 * are wanted.
 */
const toldOf = (hooks: Receiver, resourceId: string, count: number) =>
  Effect.map(
    eventually(
      Effect.sync(() => of(hooks, resourceId)),
      ({ length }) => length >= count
    ),
    (received) => {
      assert.lengthOf(received, count)
      return received.map(({ body, path }) => `${path} ${body.event}`).toSorted()
    }
  )

/** The deliveries of a resource once each of them has had so many attempts. */
const attempted = (resourceId: string, attempts: number, count?: number) =>
  Effect.flatMap(
    eventually(
      deliveriesOf(`resource_id=${resourceId}`),
      (rows) =>
        rows.length > 0 &&
        rows.length === (count ?? rows.length) &&
        rows.every(({ attempts_made, status }) => attempts_made === attempts && status !== "delivering")
    ),
    (rows) => Effect.forEach(rows, ({ id }) => deliveryOf(id))
  )

const statusOf = (endpointId: string, status: string, count: number) =>
  eventually(deliveriesOf(`endpoint_id=${endpointId}&status=${status}`), ({ length }) => length === count)

/** Waits until so many deliveries of an endpoint are put aside. */
const heldOf = (endpointId: string, count: number) =>
  eventually(
    Effect.flatMap(
      SqlClient,
      (sql) => sql`SELECT id FROM deliveries WHERE endpoint_id = ${endpointId}::uuid AND held_due_at IS NOT NULL`
    ),
    ({ length }) => length === count
  )

/** The time of a delivery has come. */
const makeDue = (id: string) =>
  Effect.flatMap(
    SqlClient,
    (sql) => sql`UPDATE deliveries SET due_at = now() WHERE id = ${id}::uuid AND status = 'scheduled'`
  )

const assertDueAfter = (
  { next_attempt_at }: DeliveryRow,
  { at, duration_ms }: { readonly at: string; readonly duration_ms: number },
  delayMs: number
) => {
  const delay = Date.parse(next_attempt_at ?? "") - Date.parse(at) - duration_ms
  assert.isAtLeast(delay, delayMs)
  assert.isBelow(delay, delayMs * 1.1 + 10_000)
}

/** The contract's signature, made here from the raw body; none where there is no secret. */
const assertSigned = ({ bytes, headers, path }: Received, secret: unknown) => {
  const expected =
    typeof secret === "string" ? `sha256=${createHmac("sha256", secret).update(bytes).digest("hex")}` : undefined
  assert.strictEqual(headers["x-webhook-signature"], expected, path)
}

/** Verifies as the specification of Standard Webhooks says, written from it. */
const isStandard = ({ bytes, headers }: Received, key: Buffer): boolean => {
  const signed = Buffer.concat([Buffer.from(`${headers["webhook-id"]}.${headers["webhook-timestamp"]}.`), bytes])
  const expected = createHmac("sha256", key).update(signed).digest("base64")
  return String(headers["webhook-signature"])
    .split(" ")
    .some((candidate) => {
      const [version, signature] = candidate.split(",")
      return version === "v1" && signature === expected
    })
}
