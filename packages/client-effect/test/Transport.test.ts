// @effect-diagnostics strictEffectProvide:off -- each test is a separate application
/** A call of the Effect client: what it sends, and what it takes an answer for. Repetitions: `Retry.test.ts`. */
import { assert, describe, it } from "@effect/vitest"
import { chargeOf, secretKey, someCharge } from "@pix-payments/client/test/Samples"
import { json, startStub } from "@pix-payments/client/test/Stub"
import * as Cause from "effect/Cause"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import * as HttpClient from "effect/http/HttpClient"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import * as Tracer from "effect/Tracer"
import type { ServerResponse } from "node:http"
import { inspect } from "node:util"
import { PaymentsClient, type PaymentsError } from "../src/index.ts"
import { balance, create, oops, turn, withFastClock, withStub } from "./support/Stub.ts"

describe("the Effect client", () => {
  it.effect("the trace of a failure has the line that called the operation", () =>
    Effect.gen(function* () {
      const failures = yield* withStub(
        (response) => response.destroy(),
        Effect.gen(function* () {
          const { balance, charges, withResponse } = yield* PaymentsClient
          const traced = <A, E>(effect: Effect.Effect<A, E>) =>
            Effect.map(Effect.exit(effect), (exit) => (Exit.isFailure(exit) ? Cause.pretty(exit.cause) : ""))
          return [
            yield* traced(balance.retrieve()),
            yield* traced(withResponse.balance.retrieve()),
            yield* traced(Stream.runCollect(charges.list())),
            yield* traced(charges.waitUntil("1", "paid", { maxWaitMs: 0 }))
          ]
        }),
        { maxRetries: 0 }
      )
      for (const trace of failures.result) {
        assert.match(trace, /at (balance\.retrieve|charges\.list|charges\.waitUntil) \(?.*test.Transport\.test\.ts:\d+/)
      }
    })
  )

  it.effect("sends the API key, a request id and the layer's headers", () =>
    Effect.gen(function* () {
      const { requests } = yield* withStub((response) => json(response, 200, { object: "balance" }), balance, {
        headers: { "x-tenant": "a" }
      })
      assert.deepInclude(requests[0]?.headers, { "x-api-key": secretKey, "x-tenant": "a" })
      assert.match(String(requests[0]?.headers["x-request-id"]), /^[0-9a-f-]{36}$/)
      const refused = yield* Effect.flip(
        withStub((response) => json(response, 200, {}), balance, { headers: { "X-API-Key": "b" } })
      )
      assert.strictEqual(refused.reason._tag, "UsageError")
      assert.include(refused.message, "option apiKey")
    })
  )

  it.effect("an HttpClient that fails on error responses gives the same errors and retries", () =>
    Effect.gen(function* () {
      const answers = [
        (response: ServerResponse) =>
          json(response, 422, { code: "ACQUIRER_REJECTED", message: "No.", charge_id: "1" }),
        (response: ServerResponse) =>
          json(response, 429, { code: "RATE_LIMITED", message: "" }, { "retry-after": "61" }),
        (response: ServerResponse) => void response.writeHead(403).end("{"),
        (response: ServerResponse) => json(response, 503, oops),
        (response: ServerResponse) => json(response, 201, chargeOf())
      ]
      const stub = yield* Effect.acquireDisposable(
        Effect.promise(() => startStub((response, _, count) => answers[count - 1]?.(response)))
      )
      const client = PaymentsClient.layerHttpClient({
        baseUrl: stub.url,
        apiKey: Redacted.make(secretKey)
      }).pipe(
        Layer.provide(
          Layer.effect(HttpClient.HttpClient, Effect.map(HttpClient.HttpClient, HttpClient.filterStatusOk))
        ),
        Layer.provide(FetchHttpClient.layer)
      )
      const failure = Effect.flip(Effect.provide(create, client))
      const rejected = yield* failure
      assert.deepInclude(rejected.reason, { _tag: "ACQUIRER_REJECTED", status: 422, charge_id: "1" })
      assert.strictEqual(rejected.attempts, 1)
      assert.deepInclude((yield* failure).reason, { _tag: "RATE_LIMITED", retryAfterMs: 61_000 })
      assert.deepInclude((yield* failure).reason, { _tag: "UnknownApiError", status: 403 })
      const { data, response } = yield* withFastClock(Effect.provide(create, client))
      assert.deepStrictEqual([data.status, response.attempts], ["pending", 2])
      assert.strictEqual(stub.requests.length, answers.length)
    })
  )

  it.effect("leaves out undefined params at any depth, and sends the params as they were at the call", () =>
    Effect.gen(function* () {
      const params = {
        ...someCharge,
        description: undefined,
        customer: { ...someCharge.customer, phone: undefined }
      }
      const program = Effect.gen(function* () {
        const { charges, webhooks } = yield* PaymentsClient
        const wanted = { ...params, customer: { ...params.customer } }
        const creation = charges.create(wanted)
        wanted.amount = 1
        wanted.customer.name = "Somebody Else"
        yield* creation
        wanted.amount = 2
        yield* creation
        const changes: { active: boolean } = { active: false }
        const change = webhooks.update("1", changes)
        changes.active = true
        yield* change
      })
      const { requests } = yield* withStub((response) => json(response, 200, chargeOf()), program)
      assert.deepStrictEqual(
        requests.map(({ body }) => JSON.parse(body)),
        [someCharge, someCharge, { active: false }]
      )
    })
  )

  it.effect("an error response with an incomplete body is an error by its status", () =>
    Effect.gen(function* () {
      const halves: ReadonlyArray<(response: ServerResponse) => void> = [
        (response) => void response.socket?.end(),
        // The connection stays open without further bytes.
        () => {}
      ]
      for (const [index, end] of halves.entries()) {
        for (const status of [400, 404, 422]) {
          const stub = yield* Effect.acquireDisposable(
            Effect.promise(() =>
              startStub((response) => {
                response.writeHead(status, { "content-length": "1000" }).write(`{"code":`)
                end(response)
              })
            )
          )
          const hasStatus = yield* Deferred.make<void>()
          const client = PaymentsClient.layerHttpClient({ baseUrl: stub.url, apiKey: Redacted.make(secretKey) }).pipe(
            Layer.provide(
              Layer.effect(
                HttpClient.HttpClient,
                Effect.map(
                  HttpClient.HttpClient,
                  HttpClient.tap(() => Deferred.succeed(hasStatus, undefined))
                )
              )
            ),
            Layer.provide(FetchHttpClient.layer)
          )
          const failure = yield* Effect.forkChild(Effect.flip(Effect.provide(create, client)))
          yield* Deferred.await(hasStatus)
          // Only the time limit ends the second.
          if (index === 1) yield* Effect.andThen(turn, TestClock.adjust("30 seconds"))
          const { reason } = yield* Fiber.join(failure)
          assert.deepInclude(reason, { _tag: "UnknownApiError", status, code: "UNKNOWN" })
          assert.strictEqual(stub.requests.length, 1)
        }
      }
    })
  )

  it.effect("list streams emit each page once even if cursors repeat, in every run", () =>
    Effect.gen(function* () {
      for (const [ids, expected] of [
        ["a", ["a", "a"]],
        ["abc", ["a", "b", "c", "a", "b", "c"]]
      ] as const) {
        const list = Effect.flatMap(PaymentsClient, ({ charges }) => {
          const stream = Stream.map(charges.list(), ({ id }) => id)
          return Stream.runCollect(Stream.concat(stream, stream))
        })
        const { result } = yield* withStub((response, { path }) => {
          const after = new URL(path, "http://x").searchParams.get("starting_after") ?? ids.at(-1)!
          const id = ids[(ids.indexOf(after) + 1) % ids.length]!
          json(response, 200, { object: "list", data: [chargeOf({ id })], has_more: true })
        }, list)
        assert.deepStrictEqual<ReadonlyArray<string>>(result, expected)
      }
    })
  )

  it.effect("does not follow redirects", () =>
    Effect.gen(function* () {
      const { requests, result } = yield* withStub(
        (response) => response.writeHead(307, { location: "/v1/account" }).end(),
        Effect.flip(balance)
      )
      assert.strictEqual(result.reason._tag, "UnknownApiError")
      assert.strictEqual(requests.length, 1)
    })
  )

  it.effect("sends nothing if an option, id or param is invalid", () =>
    Effect.gen(function* () {
      const payments = yield* PaymentsClient
      const circle: Record<string, unknown> = {}
      circle["name"] = circle
      const invalid = [
        payments.balance.retrieve({ headers: { "X-Api-Key": "another" } }),
        payments.charges.create(someCharge, { headers: { "idempotency-key": "order-1001" } }),
        payments.charges.waitUntil("1", "paid", { maxWaitMs: Number.NaN }),
        payments.charges.waitUntil("1", "paid", { maxWaitMs: -1 }),
        payments.charges.create({ ...someCharge, amount: 1n as unknown as number }),
        payments.charges.create({ ...someCharge, customer: circle as unknown as typeof someCharge.customer }),
        payments.charges.retrieve("\ud800"),
        Stream.runCollect(payments.charges.list({ status: Object.create(null) })),
        payments.charges.retrieve(".."),
        payments.charges.create(someCharge, { idempotencyKey: "short" }),
        payments.charges.create(someCharge, { idempotencyKey: null as unknown as string }),
        payments.charges.create(someCharge, { idempotencyKey: 12_345_678 as unknown as string }),
        payments.charges.create({ ...someCharge, amount: "10" as unknown as number }),
        payments.balance.retrieve({ timeoutMs: -1 })
      ]
      for (const call of invalid) {
        const error = yield* Effect.flip(call as Effect.Effect<unknown, PaymentsError>)
        assert.strictEqual(error.reason._tag, "UsageError")
        assert.strictEqual(error.attempts, 0)
      }
    }).pipe(
      Effect.provide(
        PaymentsClient.layerHttpClient({ baseUrl: "http://127.0.0.1:1", apiKey: Redacted.make(secretKey) }).pipe(
          Layer.provide(FetchHttpClient.layer),
          Layer.provide(Layer.succeed(FetchHttpClient.Fetch, () => Promise.reject(new Error("a request was sent"))))
        )
      )
    )
  )

  it.effect("a ConnectionError says whether the request may have been processed", () =>
    Effect.gen(function* () {
      const { result } = yield* withStub((response) => void response.destroy(), Effect.flip(create), { maxRetries: 0 })
      assert.deepInclude(result.reason, { _tag: "ConnectionError", reason: "lost" })
      assert.include(result.message, "it may have been processed: repeat it with the same idempotencyKey")
      const stub = yield* Effect.promise(() => startStub(() => {}))
      yield* Effect.promise(() => stub[Symbol.asyncDispose]())
      const unsent = yield* Effect.flip(
        Effect.provide(
          create,
          PaymentsClient.layer({ baseUrl: stub.url, apiKey: Redacted.make(secretKey), maxRetries: 0 })
        )
      )
      assert.deepInclude(unsent.reason, { reason: "not-sent", causeCode: "ECONNREFUSED" })
      assert.match(unsent.message, /^charges\.create: ECONNREFUSED 127\.0\.0\.1:\d+; nothing was sent/)
      for (const body of [{ data: null }, null]) {
        const list = Effect.flatMap(PaymentsClient, ({ charges }) => Effect.flip(Stream.runCollect(charges.list())))
        const { result } = yield* withStub((response) => json(response, 200, body), list, { maxRetries: 0 })
        assert.deepInclude(result.reason, { _tag: "ConnectionError", reason: "malformed" })
      }
    })
  )

  it.effect("each operation is one span with its name, for all attempts", () =>
    Effect.gen(function* () {
      const names: Array<string> = []
      const tracer = Tracer.make({
        span: (options) => {
          names.push(options.name)
          return new Tracer.NativeSpan(options)
        }
      })
      yield* withFastClock(
        withStub(
          (response, _, count) => (count === 1 ? json(response, 503, oops) : json(response, 201, chargeOf())),
          create
        )
      ).pipe(Effect.provideService(Tracer.Tracer, tracer))
      assert.strictEqual(names.filter((name) => name === "charges.create").length, 1)
    })
  )

  it.effect("prints no secret in client, errors and reasons", () =>
    Effect.gen(function* () {
      const params = { ...someCharge, webhook_url: "https://1.1.1.1/", webhook_secret: secretKey }
      const program = Effect.gen(function* () {
        const payments = yield* PaymentsClient
        const errors: Array<unknown> = [payments]
        for (let count = 0; count < 4; count++) {
          errors.push(yield* Effect.flip(payments.charges.create(params, { maxRetries: 0 })))
        }
        errors.push(
          yield* Effect.flip(
            payments.charges.create({ ...params, amount: secretKey as unknown as number }, { maxRetries: 0 })
          )
        )
        return errors
      })
      const { result } = yield* withStub((response, _, count) => {
        if (count === 1) return void response.destroy()
        if (count === 2) return json(response, 500, oops)
        if (count === 3) return void response.writeHead(201).end("{")
        json(response, 400, { code: "VALIDATION_ERROR", message: "no" })
      }, program)
      assert.strictEqual(result.length, 6)
      for (const value of result) {
        const texts = [inspect(value, { depth: Infinity, showHidden: true }), JSON.stringify(value), String(value)]
        for (const text of texts) assert.notInclude(text, secretKey)
      }
    })
  )
})
