/** What a receiver gets: deliveries, their signature and their outcomes. */
import type { Charge } from "@pix-payments/domain/Charge"
import { verify } from "@pix-payments/domain/Signature"
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import type { ServerResponse } from "node:http"
import { eventually, loopback, receiver } from "../../support/Receiver.ts"
import { create, type DeliveryDetail, settled } from "../../support/ChargeDeliveries.ts"
import { type Fields, TestService } from "../../support/TestService.ts"
import { fannedOut } from "../../support/Webhooks.ts"

const settings = {
  webhookAllowedNetworks: loopback,
  // A delivery that is answered within its time-out is sent once, however busy the machine is.
  webhookTimeoutMs: 60_000,
  webhookRetryDelaysMs: [20, 20, 20, 20, 20, 20, 20]
}

layer(TestService.layer({ settings }), { excludeTestServices: true })("Deliveries", (it) => {
  it.effect("CHG-2, DLV-1, EVT-4, EVT-5: sends `created` and `emitted` of a charge in two deliveries", () =>
    Effect.gen(function* () {
      const { call, makeCaller } = yield* TestService
      const { key } = yield* makeCaller()
      const { received, url } = yield* receiver()
      const created = yield* create({ key, webhook_url: `${url}/hooks?shop=1#top`, reference: "pedido-1" })
      assert.strictEqual(created.status, 201)
      yield* eventually(
        Effect.sync(() => received),
        ({ length }) => length >= 2
      )
      const { body: charge, text } = yield* call<Charge>("GET", `/v1/charges/${created.body.id}`, { key })

      assert.deepStrictEqual(received.map(({ body }) => body.event).toSorted(), [
        "charge.pix.created",
        "charge.pix.emitted"
      ])
      assert.strictEqual(new Set(received.map(({ body }) => body.id)).size, 2)
      for (const delivery of received) {
        const [, , action] = delivery.body.event.split(".")
        assert.strictEqual(delivery.method, "POST")
        assert.strictEqual(delivery.path, "/hooks?shop=1")
        assert.deepStrictEqual(delivery.headers, {
          host: new URL(url).host,
          connection: "keep-alive",
          "content-type": "application/json",
          "content-length": String(delivery.bytes.length),
          "user-agent": "pix-payments-webhooks/1",
          "x-webhook-event": delivery.body.event,
          "x-webhook-resource": "charge",
          "x-webhook-method": "pix",
          "x-webhook-delivery": delivery.body.id
        })
        assert.includeMembers(
          [...delivery.names],
          ["X-Webhook-Event", "X-Webhook-Resource", "X-Webhook-Method", "X-Webhook-Delivery"]
        )
        assert.match(delivery.body.id, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
        assert.match(delivery.body.created_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
        assert.deepStrictEqual<unknown>(delivery.body, {
          id: delivery.body.id,
          object: "event",
          event: `charge.pix.${action}`,
          resource: "charge",
          method: "pix",
          action,
          created_at: delivery.body.created_at,
          sequence: charge.sequence,
          data: charge
        })
        assert.include(delivery.bytes.toString(), `"data":${text}`)
        assert.strictEqual(delivery.body.data.status, "pending")
        assert.strictEqual(delivery.body.data.reference, "pedido-1")
      }
    })
  )

  it.effect("SIG-1, SIG-2: signs the raw body with the charge's secret, and nothing without one", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const { key } = yield* makeCaller()
      const { received, url } = yield* receiver()
      const secret = "segredo é 🔑"
      const reference = 'acentuação, 🍞 e "aspas"'
      yield* create({ key, webhook_url: `${url}/signed`, webhook_secret: secret, reference })
      yield* create({ key, webhook_url: `${url}/empty`, webhook_secret: "" })
      yield* create({ key, webhook_url: `${url}/null`, webhook_secret: null })
      yield* create({ key, webhook_url: `${url}/none` })
      yield* eventually(
        Effect.sync(() => received),
        ({ length }) => length >= 8
      )

      for (const { body, bytes, headers, names, path } of received) {
        if (path !== "/signed") {
          assert.notProperty(headers, "x-webhook-signature", path)
          continue
        }
        assert.include(names, "X-Webhook-Signature")
        const header = String(headers["x-webhook-signature"])
        assert.match(header, /^sha256=[0-9a-f]{64}$/)
        assert.strictEqual(body.data.reference, reference)
        assert.deepStrictEqual(yield* verified(bytes, header, secret), { _tag: "Valid" })
        const changed = Buffer.from(bytes.toString().replace("pending", "paid"))
        assert.deepStrictEqual(yield* verified(changed, header, secret), { _tag: "Refused", reason: "mismatch" })
        assert.deepStrictEqual(yield* verified(bytes, header, "another"), { _tag: "Refused", reason: "mismatch" })
      }
      assert.strictEqual(received.filter(({ path }) => path === "/signed").length, 2)
    })
  )

  it.effect("DLV-2: takes any 2xx for a success, and delivers once", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const { key } = yield* makeCaller()
      const { received, url } = yield* receiver(({ path }, response) => {
        response.statusCode = Number(path.slice(1))
        response.end(response.statusCode === 204 ? undefined : "thanks")
      })
      for (const status of [200, 201, 202, 204, 206, 299]) {
        const { body: charge } = yield* create({ key, webhook_url: `${url}/${status}` })
        for (const delivery of yield* settled(charge.id, 2)) {
          assert.strictEqual(delivery.status, "delivered")
          assert.isNull(delivery.next_attempt_at)
          assert.deepStrictEqual(outcomesOf(delivery), [
            { status_code: status, error: null, response_body: status === 204 ? "" : "thanks" }
          ])
        }
      }
      assert.strictEqual(received.length, 12)
    })
  )
  it.effect("DLV-7: keeps the first KiB of an answer, whatever bytes it is of, and reads no more", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const { key } = yield* makeCaller()
      let stillWriting = 0
      const { url } = yield* receiver(({ path }, response) => {
        if (path === "/long") return response.end("x".repeat(5000))
        if (path === "/split") return response.end(`${"x".repeat(1023)}é`)
        if (path === "/nul") return response.end(Buffer.from([0x61, 0x00, 0xff, 0xfe, 0x62, 0xc3]))
        stillWriting++
        const chunk = "y".repeat(64_000)
        const write = () => {
          while (!response.destroyed && response.write(chunk)) {}
        }
        response.on("drain", write)
        response.on("close", () => stillWriting--)
        return write()
      })
      const kept = (path: string) =>
        Effect.gen(function* () {
          const { body: charge } = yield* create({ key, webhook_url: `${url}${path}` })
          const [first] = yield* settled(charge.id, 2)
          assert.strictEqual(first?.status, "delivered")
          return first?.attempts.map(({ response_body }) => response_body)
        })
      assert.deepStrictEqual(yield* kept("/long"), ["x".repeat(1024)])
      assert.deepStrictEqual(yield* kept("/split"), [`${"x".repeat(1023)}\u{fffd}`])
      assert.deepStrictEqual(yield* kept("/nul"), ["a\u{fffd}\u{fffd}\u{fffd}b\u{fffd}"])
      assert.deepStrictEqual(yield* kept("/endless"), ["y".repeat(1024)])
      yield* eventually(
        Effect.sync(() => stillWriting),
        (writing) => writing === 0
      )
    })
  )

  it.effect("CHG-3: sends only `failed` for a refused charge", () =>
    Effect.gen(function* () {
      const { call, makeCaller } = yield* TestService
      const { key } = yield* makeCaller()
      const { received, url } = yield* receiver()
      const refused = yield* create({ key, webhook_url: url, customer: { email: "refuse@simulator.test" } })
      assert.strictEqual(refused.status, 422)
      const id = String((refused.body as unknown as Fields)["charge_id"])
      yield* settled(id, 1)
      const { body: charge } = yield* call<Charge>("GET", `/v1/charges/${id}`, { key })
      assert.strictEqual(charge.status, "failed")
      assert.strictEqual(charge.failure_reason, "simulated refusal")
      assert.deepStrictEqual(
        received.map(({ body }) => ({ event: body.event, data: body.data as unknown })),
        [{ event: "charge.pix.failed", data: charge }]
      )
    })
  )

  it.effect("DLV-6: deliveries to one receiver go out in parallel", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const { key } = yield* makeCaller()
      // Each delivery is answered once the other one has arrived.
      const waiting: Array<() => void> = []
      const { received, url } = yield* receiver((_, response) => {
        waiting.push(() => response.end("ok"))
        if (waiting.length === 2) for (const respond of waiting) respond()
      })
      const { body: charge } = yield* create({ key, webhook_url: url })
      for (const delivery of yield* settled(charge.id, 2)) {
        assert.deepInclude(delivery, { status: "delivered", attempts_made: 1 })
      }
      assert.lengthOf(received, 2)
    })
  )

  it.effect("CHG-8: sends the events of a payment once, however often it is notified", () =>
    Effect.gen(function* () {
      const { call, makeCaller, operate } = yield* TestService
      const { key } = yield* makeCaller()
      const { received, url } = yield* receiver()
      const { body: created } = yield* create({ key, webhook_url: url })
      const pay = operate("POST", `/operator/v1/simulator/charges/${created.id}/pay`, {
        body: { end_to_end_id: "E99999999202611220900AbCdEfGhIjK" }
      })
      const answers = yield* Effect.all([pay, pay, pay, pay, pay], { concurrency: 5 })
      assert.deepStrictEqual(answers.map(({ status }) => status).toSorted(), [200, 409, 409, 409, 409])
      assert.strictEqual((yield* operate("POST", `/operator/v1/simulator/charges/${created.id}/fail`)).status, 409)
      yield* settled(created.id, 3)
      const { body: charge } = yield* call<Charge>("GET", `/v1/charges/${created.id}`, { key })
      assert.strictEqual(charge.status, "paid")
      assert.deepStrictEqual(received.map(({ body }) => body.event).toSorted(), [
        "charge.pix.created",
        "charge.pix.emitted",
        "charge.pix.paid"
      ])
      const paid = received.find(({ body }) => body.event === "charge.pix.paid")
      assert.deepStrictEqual<unknown>(paid?.body.data, charge)
      assert.strictEqual(paid?.body.sequence, 3)

      // Every fact is recorded once, with its outcome.
      const sql = yield* SqlClient
      const reports = yield* sql<{ tag: string; outcome: string }>`
        SELECT report ->> '_tag' AS tag, outcome FROM notifications
        WHERE subject = ${created.id.replaceAll("-", "")} ORDER BY outcome, tag`
      assert.deepStrictEqual(
        reports.map(({ outcome, tag }) => `${tag} ${outcome}`),
        ["charge.paid applied", "charge.failed ignored", "charge.paid ignored"]
      )
    })
  )

  it.effect("sends nothing for a charge without a webhook_url", () =>
    Effect.gen(function* () {
      const { makeCaller, operate } = yield* TestService
      const { key } = yield* makeCaller()
      const { body: charge } = yield* create({ key, webhook_secret: "of no use" })
      const { body } = yield* operate<{ data: ReadonlyArray<unknown> }>(
        "GET",
        `/operator/v1/deliveries?resource_id=${charge.id}`
      )
      assert.deepStrictEqual(body.data, [])
    })
  )

  it.effect("reads the row at each attempt, and continues after a secret that cannot be opened", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const { key } = yield* makeCaller()
      // The first attempts are answered once the row has changed: all eight may take less time than its change.
      const waiting: Array<ServerResponse> = []
      const { received, url } = yield* receiver((_, response) => void waiting.push(response))
      const sql = yield* SqlClient
      const { body: charge } = yield* create({ key, webhook_url: url, webhook_secret: "opened" })
      yield* eventually(
        Effect.sync(() => waiting.length),
        (length) => length === 2
      )
      yield* fannedOut
      yield* sql`UPDATE deliveries SET secret = '00000000.AAAA' WHERE resource_id = ${charge.id}::uuid`
      for (const response of waiting) response.writeHead(500).end()
      for (const delivery of yield* settled(charge.id, 2)) {
        assert.strictEqual(delivery.status, "failed")
        assert.deepStrictEqual(delivery.attempts.at(-1)?.error, "the secret cannot be opened")
      }
      for (const { headers } of received) assert.property(headers, "x-webhook-signature")
    })
  )
})

const outcomesOf = ({ attempts }: DeliveryDetail) =>
  attempts.map(({ error, response_body, status_code }) => ({ status_code, error, response_body }))

const verified = (body: Buffer, header: string, secret: string) =>
  Effect.promise(() => verify({ body, header, secrets: [secret] }))
