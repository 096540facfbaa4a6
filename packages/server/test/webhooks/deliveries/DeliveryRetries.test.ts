/** Attempts at a delivery, until one succeeds or the last one fails. */
import { verify } from "@pix-payments/domain/Signature"
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { closedPort, loopback, peer, type Received, receiver } from "../../support/Receiver.ts"
import { create, type DeliveryDetail, settled } from "../../support/ChargeDeliveries.ts"
import { TestService } from "../../support/TestService.ts"

const settings = {
  webhookAllowedNetworks: loopback,
  webhookTimeoutMs: 60_000,
  webhookRetryDelaysMs: [20, 20, 20, 20, 20, 20, 20]
}

/** Each URL fails in its way eight times. */
const assertFails = Effect.fnUntraced(function* (cases: ReadonlyArray<readonly [string, object]>) {
  const { key } = yield* (yield* TestService).makeCaller()
  const charges = yield* Effect.forEach(
    cases,
    ([webhook_url, expected]) =>
      Effect.map(create({ key, webhook_url }), ({ body }) => ({ id: body.id, webhook_url, expected })),
    { concurrency: 10 }
  )
  for (const { expected, id, webhook_url } of charges) {
    for (const delivery of yield* settled(id, 2)) {
      assert.strictEqual(delivery.status, "failed", webhook_url)
      assert.strictEqual(delivery.attempts_made, 8, webhook_url)
      assert.isNull(delivery.next_attempt_at)
      assert.deepStrictEqual(
        outcomesOf(delivery),
        Array.from({ length: 8 }, () => expected),
        webhook_url
      )
      for (const { at, duration_ms } of delivery.attempts) {
        assert.match(at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
        assert.isTrue(Number.isInteger(duration_ms) && duration_ms >= 0)
      }
      const times = delivery.attempts.map(({ at }) => at)
      assert.deepStrictEqual(times, times.toSorted())
    }
  }
})

const answered = (status: number) => ({
  status_code: status,
  error: status === 410 ? "410 Gone" : `status ${status}`,
  response_body: "no"
})

const broken = (error: string) => ({ status_code: null, error, response_body: null })

layer(TestService.layer({ settings: { ...settings, webhookTimeoutMs: 1000 } }), { excludeTestServices: true })(
  "Retries of what does not end in time",
  (it) => {
    it.effect("DLV-2, DLV-3, DLV-4: makes eight attempts with the same bytes, and then gives up", () =>
      Effect.gen(function* () {
        const silent = yield* receiver(() => {})
        yield* assertFails([[silent.url, broken("timeout")]])
        assertSameBytes(silent.received)
        // On a busy machine the time of an attempt may end before its request has arrived.
        assert.isAtMost(silent.received.length, 16)
        assert.isAbove(silent.received.length, 8)
      })
    )
  }
)

layer(TestService.layer({ settings }), { excludeTestServices: true })("Retries", (it) => {
  it.effect(
    "DLV-2, DLV-3, DLV-4: makes eight attempts with the same bytes when a receiver fails, whatever way, and then gives up",
    () =>
      Effect.gen(function* () {
        const elsewhere = yield* receiver()
        const answering = yield* receiver(({ path }, response) => {
          response.statusCode = Number(path.slice(1))
          response.setHeader("location", `${elsewhere.url}/followed`)
          response.end("no")
        })
        const resetting = yield* peer((socket) => socket.resetAndDestroy())
        const garbage = yield* peer((socket) => socket.end("220 mail.example ESMTP\r\n"))
        // No complete answer; `RawAnswers.ts` has more, and `ReceiverClient.test.ts` endless ones.
        const informing = yield* peer((socket) => socket.write("HTTP/1.1 103 Early Hints\r\n\r\n".repeat(1500)))
        const refusing = `http://127.0.0.1:${yield* closedPort}/`

        const cases: ReadonlyArray<readonly [string, object]> = [
          ...[301, 302, 303, 307, 308, 400, 401, 404, 410, 429, 500, 503].map(
            (status) => [`${answering.url}/${status}`, answered(status)] as const
          ),
          [`${answering.url}/304`, { ...answered(304), response_body: "" }],
          [resetting.url, broken("connection reset")],
          [refusing, broken("connection refused")],
          [garbage.url, broken("not HTTP")],
          [informing.url, broken("answer too large")],
          ["http://nobody.invalid/", broken("name does not resolve")]
        ]
        yield* assertFails(cases)
        assert.deepStrictEqual(elsewhere.received, [])
        assertSameBytes(answering.received)
      })
  )

  it.effect("DLV-3: succeeds at a later attempt, and stops there", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const { key } = yield* makeCaller()
      const seen = new Map<string, number>()
      const { received, url } = yield* receiver(({ body }, response) => {
        const count = (seen.get(body.id) ?? 0) + 1
        seen.set(body.id, count)
        response.statusCode = count < 3 ? 500 : 200
        response.end(`answer ${count}`)
      })
      const { body: charge } = yield* create({ key, webhook_url: url, webhook_secret: "s" })
      for (const delivery of yield* settled(charge.id, 2)) {
        assert.strictEqual(delivery.status, "delivered")
        assert.deepStrictEqual(outcomesOf(delivery), [
          { status_code: 500, error: "status 500", response_body: "answer 1" },
          { status_code: 500, error: "status 500", response_body: "answer 2" },
          { status_code: 200, error: null, response_body: "answer 3" }
        ])
      }
      assert.strictEqual(received.length, 6)
      assertSameBytes(received)
      for (const { bytes, headers } of received) {
        assert.deepStrictEqual(yield* verified(bytes, String(headers["x-webhook-signature"]), "s"), { _tag: "Valid" })
      }
    })
  )
})

const outcomesOf = ({ attempts }: DeliveryDetail) =>
  attempts.map(({ error, response_body, status_code }) => ({ status_code, error, response_body }))

const verified = (body: Buffer, header: string, secret: string) =>
  Effect.promise(() => verify({ body, header, secrets: [secret] }))

/** Every repeat of a delivery has the bytes of the first. */
const assertSameBytes = (received: ReadonlyArray<Received>) => {
  for (const repeats of Map.groupBy(received, ({ headers }) => headers["x-webhook-delivery"]).values()) {
    for (const { bytes } of repeats) assert.isTrue(bytes.equals(repeats[0]!.bytes))
  }
}
