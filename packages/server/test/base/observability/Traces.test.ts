/**
 * Traces over OTLP: what one request and what follows from it export, in the service as a process.
 */
import * as PgClient from "@effect/sql-pg/PgClient"
import { assert, describe, it, layer } from "@effect/vitest"
import * as Tracer from "effect/Tracer"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { samplerOf } from "../../../src/base/observability/Tracing.ts"
import { someCharge } from "../../support/ChargeRequests.ts"
import { attributeOf, collector, type Span } from "../../support/Collector.ts"
import { changeSchema } from "../../support/LiveSchema.ts"
import { operated, simulated, somePayout } from "../../support/Money.ts"
import { createMigratedDatabase, temporaryFolder } from "../../support/Postgres.ts"
import { startProcess } from "../../support/Process.ts"
import { eventually, receiver } from "../../support/Receiver.ts"
import { pictureOf } from "../../support/TracePicture.ts"
import { clientOf, newKey, TestService } from "../../support/TestService.ts"

/** Written with `WRITE_TRACE=1`. */
const picture = join(import.meta.dirname, "../../../../../docs/images/trace.svg")

const operatorToken = "the-token-of-this-operator"

/** The service as a process that exports to a collector, and a client of it. */
const traced = Effect.fnUntraced(function* (
  settings: Readonly<Record<string, string>>,
  existing?: Redacted.Redacted<string>
) {
  const databaseUrl = existing ?? (yield* createMigratedDatabase)
  const exported = yield* collector
  const service = yield* startProcess({
    DATABASE_URL: Redacted.value(databaseUrl),
    DATA_DIR: yield* temporaryFolder,
    OPERATOR_TOKEN: operatorToken,
    WEBHOOK_RETRY_DELAYS: "10ms",
    WEBHOOK_ALLOWED_NETWORKS: "127.0.0.0/8",
    OTEL_EXPORTER_OTLP_ENDPOINT: exported.url,
    ...settings
  })
  const client = TestService.of({ ...(yield* clientOf(service, operatorToken)), databaseUrl })
  const stopped = Effect.suspend(() => {
    service.signal("SIGTERM")
    return service.ended
  })
  return { client, databaseUrl, exported, service, stopped }
})

/** The trace of a caller, and its span. */
const callerOf = (digit: string) => {
  const [traceId, spanId] = [digit.repeat(32), digit.repeat(16)]
  return { traceId, spanId, headers: { traceparent: `00-${traceId}-${spanId}-01` } }
}

const payer = callerOf("a")
const refunding = callerOf("b")
const payingOut = callerOf("c")
const failing = callerOf("d")

layer(Layer.empty, { excludeTestServices: true })("Traces", (it) => {
  it.effect(
    "ADD-6, OPR-31: connect a request with what it commits, the provider, the fan-out and each delivery, and nothing else is exported",
    () =>
      Effect.gen(function* () {
        const { client, databaseUrl, exported, service, stopped } = yield* traced({
          OTEL_SERVICE_NAME: "loja",
          // Only what a caller samples.
          OTEL_TRACES_SAMPLER_ARG: "0"
        })
        let isFirst = true
        const receiving = yield* receiver(({ headers }, response) => {
          const isRefused = isFirst && String(headers["traceparent"]).includes(payer.traceId)
          if (isRefused) isFirst = false
          response.statusCode = isRefused ? 500 : 200
          response.end()
        })
        const owner = yield* Layer.build(PgClient.layer({ url: databaseUrl }))
        yield* Effect.gen(function* () {
          const { call, makeCaller, operate } = yield* TestService
          const { key } = yield* makeCaller()
          const url = `${receiving.url}/hook?token=secret`
          const create = (headers: Readonly<Record<string, string>>) =>
            call<{ id: string }>("POST", "/v1/charges", {
              key,
              idempotencyKey: newKey(),
              body: { ...someCharge, webhook_url: url },
              headers
            })
          const { body: other } = yield* create({})
          yield* simulated(`/charges/${other.id}/pay`)
          const { body: charge } = yield* create(payer.headers)
          yield* simulated(`/charges/${charge.id}/pay`)
          const refund = yield* operate("POST", `/operator/v1/charges/${charge.id}/refund`, {
            body: {},
            headers: refunding.headers
          })
          assert.strictEqual(refund.status, 200, refund.text)
          const { body: payout } = yield* call<{ id: string }>("POST", "/v1/payouts", {
            key,
            idempotencyKey: newKey(),
            body: { ...somePayout, pix_key: "fail@simulator.test", webhook_url: url },
            headers: payingOut.headers
          })
          const eventsSent = (id: string) =>
            receiving.received.filter(({ body }) => body.data.id === id).map(({ body }) => body.event)
          const isRetried = () => {
            const ids = receiving.received.map(({ body }) => body.id)
            return new Set(ids).size < ids.length
          }
          yield* eventually(
            Effect.sync(() => [...eventsSent(charge.id), ...eventsSent(payout.id)]),
            (events) =>
              isRetried() &&
              ["charge.pix.paid", "charge.pix.refunded", "payment.pix.failed"].every((each) => events.includes(each))
          )
          const log = yield* eventually(
            operated<{ data: ReadonlyArray<{ trace_id: string | null }> }>("GET", `/requests?resource_id=${charge.id}`),
            ({ data }) => data.length > 0
          )
          assert.deepStrictEqual(
            log.data.map(({ trace_id }) => trace_id),
            [payer.traceId]
          )
          yield* changeSchema(
            `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no'; END $$`
          )
          yield* changeSchema("CREATE TRIGGER refuse BEFORE INSERT ON charges FOR EACH ROW EXECUTE FUNCTION refuse()")
          assert.strictEqual((yield* create(failing.headers)).status, 500)
          yield* stopped

          const spans = exported.spans()
          const idsOf = (some: ReadonlyArray<Span>) => new Set(some.map(({ traceId }) => traceId))
          // No loop, no poll and no request that is not sampled.
          assert.deepStrictEqual(
            [...idsOf(spans)].toSorted(),
            [payer, refunding, payingOut, failing].map(({ traceId }) => traceId)
          )
          assert.deepStrictEqual([...new Set(exported.services())], ["loja"])
          for (const { parentSpanId, traceId } of spans) {
            const isCallers = [payer, refunding, payingOut, failing].some(({ spanId }) => spanId === parentSpanId)
            const isKnown = spans.some((each) => each.traceId === traceId && each.spanId === parentSpanId)
            assert.isTrue(isCallers || isKnown, "each span has its parent in its trace")
          }

          const ofPayer = treeOf(spans, payer)
          const created = find(ofPayer, "POST /v1/charges")
          assert.deepStrictEqual(
            ["http.request.method", "http.route", "http.response.status_code"].map((name) =>
              attributeOf(created, name)
            ),
            ["POST", "/v1/charges", 201]
          )
          assert.includeMembers(namesBelow(ofPayer, created), [
            "batch",
            "acquirer emit",
            "fan-out",
            "charge paid",
            "charge refunded"
          ])
          const database = new URL(Redacted.value(databaseUrl))
          const statement = ofPayer.find((span) =>
            attributeOf(span, "db.query.text")?.toString().includes("INSERT INTO charges ")
          )
          assert.isDefined(statement)
          assert.strictEqual(parentOf(ofPayer, statement)?.name, "batch")
          assert.deepStrictEqual(
            [
              statement.name,
              ...["db.system.name", "db.namespace", "server.address", "server.port"].map((name) =>
                attributeOf(statement, name)
              )
            ],
            [
              database.pathname.slice(1),
              "postgresql",
              database.pathname.slice(1),
              database.hostname,
              Number(database.port)
            ]
          )

          if (process.env["WRITE_TRACE"] !== undefined) writeFileSync(picture, pictureOf(ofPayer))

          // From the webhook to the request, by what the receiver got.
          const deliveries = ofPayer.filter(({ name }) => name === "POST")
          for (const { body, headers } of receiving.received.filter(({ body }) => body.data.id === charge.id)) {
            const delivery = deliveries.find(
              ({ spanId }) => headers["traceparent"] === `00-${payer.traceId}-${spanId}-01`
            )
            assert.isDefined(delivery)
            assert.strictEqual(attributeOf(delivery, "pix.event"), body.event)
            const isRetry = attributeOf(delivery, "http.request.resend_count") === 1
            assert.strictEqual(parentOf(ofPayer, delivery)?.name, isRetry ? created.name : "fan-out")
          }
          const statuses = deliveries.map((span) => attributeOf(span, "http.response.status_code"))
          assert.strictEqual(statuses.filter((status) => status === 500).length, 1)
          assert.isTrue(deliveries.some((span) => attributeOf(span, "http.request.resend_count") === 1))

          // A request in another trace, and what it did to the charge, lead to each other.
          const request = find(spans, "POST /operator/v1/charges/{id}/refund")
          const refunded = find(ofPayer, "charge refunded")
          const ofRefund = treeOf(spans, refunding)
          assert.includeMembers(
            ofRefund.map(({ name }) => name),
            ["acquirer return"]
          )
          assert.isTrue(refunded.links.some(({ spanId }) => ofRefund.some((each) => each.spanId === spanId)))
          assert.isTrue(ofRefund.some(({ links }) => links.some(({ spanId }) => spanId === refunded.spanId)))
          assert.strictEqual(request.parentSpanId, refunding.spanId)

          const ofPayout = treeOf(spans, payingOut)
          assert.includeMembers(namesBelow(ofPayout, find(ofPayout, "POST /v1/payouts")), [
            "payout submission",
            "acquirer send",
            "fan-out",
            "POST"
          ])
          const failed = find(treeOf(spans, failing), "POST /v1/charges")
          assert.strictEqual(attributeOf(failed, "error.type"), "500")
          const line = service
            .written()
            .split("\n")
            .find((each) => each.includes("a request failed unexpectedly"))
          assert.include(line, `"trace_id":"${failing.traceId}"`)
          assert.notInclude(exported.text(), "token=secret")
          // Gauges that otherwise only a scrape sets.
          assert.includeMembers(exported.metrics(), ["http_requests_in_flight", "process_resident_memory_bytes"])
        }).pipe(Effect.provideService(TestService, client), Effect.provide(owner))
      }).pipe(Effect.scoped)
  )

  it.effect("ADD-6: go on in another process, which finds that the provider has not answered", () =>
    Effect.gen(function* () {
      const receiving = yield* receiver()
      const silent = yield* traced({ ACQUIRER_TIMEOUT_MS: "1", SIMULATOR_LATENCY_MS: "600000" })
      const { key } = yield* silent.client.makeCaller()
      const { body: charge } = yield* silent.client.call<{ status: string }>("POST", "/v1/charges", {
        key,
        idempotencyKey: newKey(),
        body: { ...someCharge, webhook_url: receiving.url },
        headers: payer.headers
      })
      assert.strictEqual(charge.status, "processing")
      yield* silent.stopped
      const other = yield* traced({}, silent.databaseUrl)
      yield* eventually(
        Effect.sync(() => receiving.received),
        ({ length }) => length > 0
      )
      yield* other.stopped
      const created = find(silent.exported.spans(), "POST /v1/charges")
      const recovered = find(other.exported.spans(), "charge emission")
      assert.deepStrictEqual([recovered.traceId, recovered.parentSpanId], [payer.traceId, created.spanId])
      const below = namesBelow(other.exported.spans(), recovered)
      assert.includeMembers(below, ["acquirer emit", "batch"])
      const [delivery] = receiving.received
      assert.include(String(delivery!.headers["traceparent"]), payer.traceId)
    }).pipe(Effect.scoped)
  )

  it.effect("begin with a request that no caller traces, as the sampler says", () =>
    Effect.gen(function* () {
      const { client, exported, stopped } = yield* traced({ OTEL_TRACES_SAMPLER: "always_on" })
      const { key } = yield* client.makeCaller()
      yield* client.call("GET", "/v1/balance", { key })
      yield* stopped
      const balance = find(exported.spans(), "GET /v1/balance")
      assert.isUndefined(balance.parentSpanId)
      assert.includeMembers(namesBelow(exported.spans(), balance), ["batch"])
    }).pipe(Effect.scoped)
  )
})

describe("A sampler", () => {
  /** A request id whose random digits begin so. */
  const id = (digits: string) => `0199a0f0-5f3c-7c3e-9d0f-${digits.padEnd(12, "0")}`
  const caller = (sampled: boolean, digits = "0") =>
    Tracer.externalSpan({ traceId: id(digits).replaceAll("-", ""), spanId: "1", sampled })

  it("samples the ratio of what has no caller's trace", () => {
    const isSampled = samplerOf("parentbased_traceidratio", 0.25)
    assert.isTrue(isSampled(undefined, id("3fff")))
    assert.isFalse(isSampled(undefined, id("4")))
    assert.isFalse(samplerOf("traceidratio", 0)(undefined, id("0")))
    assert.isTrue(samplerOf("traceidratio", 1)(undefined, id("ffffffffffff")))
  })

  it("does as the caller did where it is based on the parent, and else as the trace id says", () => {
    for (const name of ["parentbased_always_on", "parentbased_always_off", "parentbased_traceidratio"] as const) {
      assert.isTrue(samplerOf(name, 0)(caller(true), id("f")))
      assert.isFalse(samplerOf(name, 1)(caller(false), id("0")))
    }
    assert.isTrue(samplerOf("always_on", 0)(caller(false), id("0")))
    assert.isFalse(samplerOf("always_off", 1)(caller(true), id("0")))
    assert.isTrue(samplerOf("parentbased_always_on", 0)(undefined, id("f")))
    assert.isFalse(samplerOf("parentbased_always_off", 1)(undefined, id("0")))
    assert.isFalse(samplerOf("traceidratio", 0.5)(caller(true, "8"), id("0")))
    assert.isTrue(samplerOf("traceidratio", 0.5)(caller(false, "7"), id("f")))
  })
})

const treeOf = (spans: ReadonlyArray<Span>, { traceId }: { readonly traceId: string }) =>
  spans.filter((span) => span.traceId === traceId)

const find = (spans: ReadonlyArray<Span>, name: string): Span => {
  const found = spans.find((span) => span.name === name)
  if (found === undefined) throw new Error(`there is no span ${name}`)
  return found
}

const parentOf = (spans: ReadonlyArray<Span>, { parentSpanId }: Span) =>
  spans.find(({ spanId }) => spanId === parentSpanId)

const namesBelow = (spans: ReadonlyArray<Span>, top: Span): Array<string> =>
  spans
    .filter(({ parentSpanId }) => parentSpanId === top.spanId)
    .flatMap((span) => [span.name, ...namesBelow(spans, span)])
