/** Metrics of several workers are one, in the text format of Prometheus. */
import { assert, describe, it } from "@effect/vitest"
import { countedBy, merged, type Sample, textOf } from "../../../src/base/observability/Exposition.ts"
import { catalog } from "../../../src/base/observability/MetricCatalog.ts"
import { isMissing, parseExposition, promtool, runPromtool, sumOf } from "../../support/Prometheus.ts"

const histogram = (counts: ReadonlyArray<number>, sum: number): Sample => ({
  name: "webhook_attempt_duration_seconds",
  labels: {},
  value: {
    count: counts.at(-1) ?? 0,
    sum,
    buckets: [
      [0.1, counts[0] ?? 0],
      [1, counts[1] ?? 0]
    ]
  }
})

const worker = (share: number): ReadonlyArray<Sample> => [
  { name: "http_requests_total", labels: { route: 'a"\\\n', status: "201" }, value: 10 * share },
  { name: "http_connections", labels: { listener: "public" }, value: share },
  { name: "acquirer_exceptions_open", labels: { kind: "unreadable" }, value: share },
  { name: "outward_on", labels: {}, value: share - 1 },
  { name: "process_resident_memory_bytes", labels: {}, value: 100 * share },
  histogram([share, 2 * share, 3 * share], share / 2)
]

describe("Metrics of several workers", () => {
  const both = merged([
    ["0", worker(1)],
    ["1", worker(2)]
  ])

  it("OPR-310: counters and histograms are added up; gauges are the sum, the largest, the smallest, or one for each", () => {
    const series = parseExposition(textOf(both))
    assert.strictEqual(sumOf(series, "http_requests_total", { status: "201" }), 30)
    assert.strictEqual(sumOf(series, "http_connections"), 3)
    assert.strictEqual(sumOf(series, "acquirer_exceptions_open"), 2)
    assert.strictEqual(sumOf(series, "outward_on"), 0)
    for (const place of ["0", "1"]) {
      const bytes = sumOf(series, "process_resident_memory_bytes", { worker: place })
      assert.strictEqual(bytes, place === "0" ? 100 : 200)
    }
    assert.strictEqual(sumOf(series, "webhook_attempt_duration_seconds_bucket", { le: "0.1" }), 3)
    assert.strictEqual(sumOf(series, "webhook_attempt_duration_seconds_bucket", { le: "+Inf" }), 9)
    assert.strictEqual(sumOf(series, "webhook_attempt_duration_seconds_sum"), 1.5)
  })

  it("OPR-310: what an ended worker had counted stays, and its gauges go", () => {
    const series = parseExposition(
      textOf(
        merged([
          ["", countedBy(worker(2))],
          ["0", worker(1)]
        ])
      )
    )
    assert.strictEqual(sumOf(series, "http_requests_total"), 30)
    assert.strictEqual(sumOf(series, "http_connections"), 1)
  })

  it("OPR-311: every metric has HELP and TYPE, also without a series, and a name of base units", () => {
    const text = textOf([])
    for (const name of Object.keys(catalog)) {
      assert.include(text, `# HELP pix_payments_${name} `)
      assert.include(text, `# TYPE pix_payments_${name} `)
    }
    assert.deepStrictEqual(parseExposition(text), [])
    assert.throws(() => parseExposition("# HELP a_ms b\n# TYPE a_ms gauge\na_ms 1\n"), /no base unit/)
    assert.throws(() => parseExposition("a 1\n"), /without HELP/)
  })

  it.skipIf(isMissing(promtool))("OPR-311: promtool finds no fault", () => {
    assert.strictEqual(runPromtool(["check", "metrics"], textOf(both)), "")
  })
})
