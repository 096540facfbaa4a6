/** What a listener guarantees whatever its routes do. */
import { assert, describe, it } from "@effect/vitest"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as References from "effect/References"
import * as Scope from "effect/Scope"
import * as Tracer from "effect/Tracer"
import { ValidationError } from "@pix-payments/api/WireErrors"
import { randomBytes } from "node:crypto"
import { once } from "node:events"
import * as Http from "node:http"
import type { Guard, Route } from "../../../src/http/pipeline/CompiledApi.ts"
import { Drain } from "../../../src/http/pipeline/Drain.ts"
import { listen, type Probe, probe } from "../../../src/http/pipeline/HttpServer.ts"
import { Ids } from "../../../src/base/Ids.ts"
import { Metrics } from "../../../src/base/observability/Metrics.ts"
import { Settings, type SettingsShape } from "../../../src/base/Settings.ts"

describe("HttpServer", () => {
  it.live("ADD-4: only reads are compressed, and a slot is released when the compressed answer has left", () =>
    Effect.gen(function* () {
      const padding = randomBytes(12 * 1024 * 1024).toString("base64")
      const url = yield* listening({
        settings: { maxRequestsInFlight: 1 },
        routes: [
          route("/large", () => Effect.succeed({ status: 200, body: { padding } })),
          route("/made", () => Effect.succeed({ status: 201, body: { padding: padding.slice(0, 10_000) } })),
          route("/small", () => Effect.succeed({ status: 200, body: {} }))
        ]
      })
      const accepting = { agent: false as const, headers: { "accept-encoding": "gzip" } }
      const made = yield* answerOf(`${url}/made`, accepting)
      assert.isUndefined(made.headers["content-encoding"])
      made.resume()
      // More than the kernel buffers for a client that does not read.
      const large = yield* answerOf(`${url}/large`, accepting)
      assert.strictEqual(large.headers["content-encoding"], "gzip")
      assert.strictEqual((yield* get(`${url}/small`)).status, 503)
      large.resume()
      yield* Effect.promise(() => once(large, "end"))
      yield* Effect.repeat(get(`${url}/small`), { until: ({ status }) => status === 200 })
    })
  )

  it.live(
    "ERR-11: a route that throws, or answers what cannot be sent, is `INTERNAL_ERROR` and releases its slot",
    () =>
      Effect.gen(function* () {
        const url = yield* listening({
          settings: { maxRequestsInFlight: 1 },
          routes: [
            route("/throws", () => {
              throw new Error("thrown before there is an effect")
            }),
            // JSON has no form for it.
            route("/unsendable", () => Effect.succeed({ status: 200, body: { amount: 1n } }))
          ]
        })
        for (const path of ["/throws", "/unsendable", "/throws"]) {
          const answer = yield* get(`${url}${path}`)
          assert.strictEqual(answer.status, 500)
          assert.deepInclude(answer.body, { code: "INTERNAL_ERROR" })
        }
      }).pipe(Effect.scoped)
  )

  it.live("ERR-9: every 503 carries `Retry-After`, a probe's too", () =>
    Effect.gen(function* () {
      const url = yield* listening({
        probes: [probe("/stopping", Effect.succeed({ status: 503, contentType: "application/json", text: "{}" }))]
      })
      const { headers, status } = yield* get(`${url}/stopping`)
      assert.strictEqual(status, 503)
      assert.strictEqual(headers["retry-after"], "1")
    }).pipe(Effect.scoped)
  )

  it.live("a listener that closes waits for requests whose callers left", () =>
    Effect.gen(function* () {
      const begun = yield* Deferred.make<void>()
      const scope = yield* Scope.make()
      let isDone = false
      const url = yield* listening({
        routes: [
          route("/slow", () =>
            Deferred.succeed(begun, undefined).pipe(
              Effect.andThen(Effect.sleep("200 millis")),
              Effect.andThen(
                Effect.sync(() => {
                  isDone = true
                  return { status: 200, body: {} }
                })
              )
            )
          )
        ]
      }).pipe(Scope.provide(scope))
      const request = Http.get(`${url}/slow`)
      request.on("error", () => {})
      yield* Deferred.await(begun)
      request.destroy()
      yield* Scope.close(scope, Exit.void)
      assert.isTrue(isDone)
    })
  )

  it.live("a span has the status of its answer, and a refusal is no error of the span", () =>
    Effect.gen(function* () {
      const spans: Array<Tracer.NativeSpan> = []
      const tracer = Tracer.make({
        span: (options) => {
          const span = new Tracer.NativeSpan(options)
          spans.push(span)
          return span
        }
      })
      const url = yield* listening({
        settings: { otlpEndpoint: Option.some("http://127.0.0.1:1"), tracesSampler: "always_on" },
        routes: [
          route("/done", () => Effect.succeed({ status: 201, body: {} })),
          route("/refused", () => Effect.fail(new ValidationError({ details: ["name"] }))),
          route("/broken", () => Effect.die(new Error("unexpected")))
        ]
      }).pipe(Effect.provideService(Tracer.Tracer, tracer))
      for (const path of ["/done", "/refused", "/broken"]) yield* get(`${url}${path}?name=Joana`)
      const seen = spans.map(({ attributes, name, status }) => [
        name,
        attributes.get("http.response.status_code"),
        status._tag === "Ended" && Exit.isSuccess(status.exit)
      ])
      assert.deepStrictEqual(seen, [
        ["GET /done", 201, true],
        ["GET /refused", 400, true],
        ["GET /broken", 500, false]
      ])
      assert.notInclude(JSON.stringify(spans.map(({ attributes }) => [...attributes])), "Joana")
    }).pipe(Effect.scoped)
  )
})

interface Listener {
  readonly settings?: Partial<SettingsShape>
  readonly routes?: ReadonlyArray<Route<undefined>>
  readonly probes?: ReadonlyArray<Probe>
}

const listening = Effect.fnUntraced(function* ({ probes = [], routes = [], settings = {} }: Listener) {
  const context = yield* Layer.build(services(settings))
  return yield* listen({
    name: "operator",
    host: "127.0.0.1",
    port: 0,
    routes,
    guard,
    pages: [],
    probes,
    refusalOf: () => undefined,
    onAnswered: () => {}
  }).pipe(Effect.provideContext(context), Effect.provideService(References.MinimumLogLevel, "None"))
})

const services = (settings: Partial<SettingsShape>) =>
  Layer.mergeAll(
    Metrics.layer,
    Drain.layer,
    Ids.layer,
    Layer.effect(
      Settings,
      Effect.map(Settings, (defaults) => Settings.of({ ...defaults, ...settings }))
    ).pipe(Layer.provide(Settings.layer), Layer.provide(ConfigProvider.layer(ConfigProvider.fromEnv({ env: {} }))))
  )

const route = (template: string, answer: Route<undefined>["answer"]): Route<undefined> => ({
  method: "GET",
  template,
  segments: template.split("/").slice(1),
  takesBody: false,
  maxBodyBytes: undefined,
  beforeBody: () => undefined,
  answer
})

const guard: Guard<undefined, undefined, never> = {
  credentialsOf: () => undefined,
  accountOf: () => undefined,
  beforeBody: () => undefined,
  protect: () => () => Effect.succeed({ status: 200 })
}

interface Seen {
  readonly status: number
  readonly headers: Http.IncomingHttpHeaders
  readonly body: Readonly<Record<string, unknown>>
}

/** An answer whose body is not read. */
const answerOf = (url: string, options: Http.RequestOptions) =>
  Effect.callback<Http.IncomingMessage>((resume) => {
    Http.get(url, options, (response) => resume(Effect.succeed(response)))
  })

const get = (url: string) =>
  Effect.callback<Seen>((resume) => {
    Http.get(url, { agent: false }, (response) => {
      const chunks: Array<Buffer> = []
      response.on("data", (chunk: Buffer) => chunks.push(chunk))
      response.on("end", () => {
        const body = JSON.parse(Buffer.concat(chunks).toString()) as Seen["body"]
        resume(Effect.succeed({ status: response.statusCode ?? 0, headers: response.headers, body }))
      })
    })
  })
