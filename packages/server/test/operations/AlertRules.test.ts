/** The alerts and the Grafana dashboard that are shipped name metrics that exist; each alert has a runbook and a test. */
import { assert, describe, it } from "@effect/vitest"
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { catalog } from "../../src/base/observability/MetricCatalog.ts"
import { isMissing, promtool, root, runPromtool } from "../support/Prometheus.ts"

const read = (path: string) => readFileSync(join(root, path), "utf8")
const rules = read("deploy/prometheus/rules.yml")
const alerts = [...rules.matchAll(/- alert: (\w+)\n((?: {8,}.*\n)+)/g)].map(([, name = "", body = ""]) => ({
  name,
  body
}))

/** The metrics of an expression. */
const metricsIn = (text: string) =>
  [...text.matchAll(/pix_payments_(\w+)/g)].map(([, name = ""]) => name.replace(/_(bucket|sum|count)$/, ""))

const testFiles = ["deploy/prometheus/rules.test.yml", "deploy/prometheus/rules.weeks.test.yml"]

const known = new Set<string>(Object.keys(catalog))

describe("The alerts", () => {
  it("OPR-314: have an expression of metrics that exist, a `for`, a severity, a runbook and a test", () => {
    const runbooks = read("docs/operations/runbooks.md")
    const tests = testFiles.map(read).join("\n")
    assert.isAbove(alerts.length, 30)
    for (const { body, name } of alerts) {
      const named = metricsIn(body)
      assert.isTrue(named.length > 0 || body.includes("up{"), name)
      for (const metric of named) assert.isTrue(known.has(metric), `${name}: ${metric}`)
      assert.match(body, /^ +for: \d+[smh]$/m, name)
      assert.match(body, /severity: (page|ticket) \}/, name)
      assert.include(body, `runbook: docs/operations/runbooks.md#${name.toLowerCase()}`)
      const [, section = ""] = new RegExp(`^## ${name}\\n([^]*?)(?=^## |$(?![^]))`, "m").exec(runbooks) ?? []
      assert.match(section, /^1\. \S/m, `${name} has a first step`)
      assert.include(tests, `alertname: ${name}\n`)
    }
    const sections = [...runbooks.matchAll(/^## (\w+)$/gm)].map(([, name]) => name)
    assert.sameMembers(
      sections,
      alerts.map(({ name }) => name)
    )
  })

  it.skipIf(isMissing(promtool))("OPR-314: pass promtool: each fires on its fault", () => {
    assert.include(runPromtool(["check", "rules", join(root, "deploy/prometheus/rules.yml")]), "SUCCESS")
    for (const file of testFiles) assert.include(runPromtool(["test", "rules", join(root, file)]), "SUCCESS", file)
  })
})

describe("The Grafana dashboards", () => {
  it("OPR-311: query metrics that exist", () => {
    const files = readdirSync(join(root, "deploy/grafana")).filter((name) => name.endsWith(".json"))
    assert.isAbove(files.length, 0)
    for (const file of files) {
      const { panels } = JSON.parse(read(`deploy/grafana/${file}`)) as {
        readonly panels: ReadonlyArray<{
          readonly title: string
          readonly targets: ReadonlyArray<{ readonly expr: string }>
        }>
      }
      assert.isAbove(panels.length, 10)
      for (const { targets, title } of panels) {
        for (const { expr } of targets) {
          assert.isNotEmpty(metricsIn(expr), title)
          for (const name of metricsIn(expr)) assert.isTrue(known.has(name), `${title}: ${name}`)
        }
      }
    }
  })
})
