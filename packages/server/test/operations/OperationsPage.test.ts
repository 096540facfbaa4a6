/** `docs/operations/settings.md` and `monitoring.md`, the compose file and the image match the program. */
import { assert, layer } from "@effect/vitest"
import { parseRetryDelays, retryDelaysMs } from "@pix-payments/domain/RetryCurve"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { inspect } from "node:util"
import { Settings } from "../../src/base/Settings.ts"
import { catalog } from "../../src/base/observability/MetricCatalog.ts"
import { created } from "../support/ChargeRequests.ts"
import { parseExposition } from "../support/Prometheus.ts"
import { eventually, loopback, receiver } from "../support/Receiver.ts"
import { TestService } from "../support/TestService.ts"

const read = (path: string) => readFileSync(join(import.meta.dirname, "../../../..", path), "utf8")
const page = read("docs/operations/settings.md")
const monitoring = read("docs/operations/monitoring.md")

/** Every name that `Settings` reads. */
const settings = [...read("packages/server/src/base/Settings.ts").matchAll(/"([A-Z][A-Z0-9_]{3,})"/g)].map(
  ([, name]) => name!
)

/** The field of `Settings` that each name is read into: `port: port("PORT")…`. Those of the identity provider have one. */
const fields = new Map([
  ...[
    ...read("packages/server/src/base/Settings.ts").matchAll(/^  (\w+): (?:(?!^  \w+: )[^])*?"([A-Z][A-Z0-9_]{3,})"/gm)
  ].map(([, field, name]) => [name!, field!] as const),
  ...settings.filter((name) => name.startsWith("OIDC_")).map((name) => [name, "oidc"] as const)
])

/** The rows of the table of settings: one setting each. */
const settingRows = page
  .slice(page.indexOf("| variable |"), page.indexOf("`npm start` is"))
  .split("\n")
  .flatMap((row) => {
    const [, name, text] = /^\| `([A-Z0-9_]+)` \| (.*?) \|/.exec(row) ?? []
    return name === undefined || text === undefined ? [] : [{ name, text }]
  })

/** As `WEBHOOK_RETRY_DELAYS` would be written. */
const RETRY_CURVE = "1m,5m,15m,1h,3h,6h,12h"
assert.deepStrictEqual(Result.getOrThrow(parseRetryDelays(RETRY_CURVE)), retryDelaysMs)

/** How the table writes a default: `3000`, `` `info` ``, `empty`, or `unset: …` where the code has none. */
const documented = (value: unknown): RegExp => {
  if (Option.isOption(value)) return Option.isNone(value) ? /^unset(: |$)/ : documented(value.value)
  if (Array.isArray(value) && value.length === 0) return /^empty/
  const text = value === retryDelaysMs ? RETRY_CURVE : String(value)
  return new RegExp(`^\`?${text.replace(/[.[\]]/g, "\\$&")}\`?( |$)`)
}

const defaultSettings = Layer.fresh(Settings.layer).pipe(
  Layer.provide(ConfigProvider.layer(ConfigProvider.fromEnv({ env: {} })))
)

layer(
  TestService.layer({
    settings: { cell: Option.some("sul"), webhookAllowedNetworks: loopback, webhookRetryDelaysMs: [] }
  }),
  { excludeTestServices: true }
)("docs/operations", (it) => {
  it.effect("lists every setting, and no other", () =>
    Effect.sync(() => {
      const listed = settingRows.map(({ name }) => name)
      assert.strictEqual(new Set(listed).size, listed.length, "each once")
      assert.sameMembers(listed, [...new Set(settings)])
    })
  )

  it.effect("gives each setting's default as the code has it", () =>
    Effect.gen(function* () {
      const built = yield* Layer.build(defaultSettings)
      const defaults = new Map<string, unknown>(Object.entries(Context.get(built, Settings)))
      const read = [...fields].filter(([, name]) => defaults.has(name))
      assert.sameMembers(
        [...new Set(read.map(([, name]) => name))],
        [...defaults.keys()],
        "every field of the settings is read by a name"
      )
      for (const { name, text } of settingRows) {
        const value = defaults.get(fields.get(name) ?? "")
        assert.match(text, documented(value), `${name} is ${inspect(value)} in the code`)
      }
    }).pipe(Effect.scoped)
  )

  it.effect("the compose file and the image set nothing that is not a setting", () =>
    Effect.sync(() => {
      const compose = read("compose.yaml")
      const ours = compose.slice(compose.indexOf("  migrate:"), compose.indexOf("  balancer:"))
      // A secret comes from a file.
      const set = [...ours.matchAll(/^ {6}([A-Z][A-Z0-9_]+?)(?:_FILE)?: /gm)].map(([, name]) => name!)
      const image = [...(/^ENV (.+)$/m.exec(read("Dockerfile"))?.[1] ?? "").matchAll(/([A-Z_]+)=/g)].map(
        ([, name]) => name!
      )
      assert.isAbove(set.length, 5)
      const ofNode = new Set(["NODE_ENV"])
      for (const name of [...set, ...image].filter((each) => !ofNode.has(each))) assert.include(settings, name)
      for (const needed of ["DATABASE_URL", "OPERATOR_TOKEN", "SECRETS_KEYS"]) assert.include(set, needed)
    })
  )

  it.effect(
    "OPR-311: monitoring.md explains every metric and no unknown one, and each that is served keeps the text format",
    () =>
      Effect.gen(function* () {
        const { call, makeCaller, operate } = yield* TestService
        const { key } = yield* makeCaller()
        const good = yield* receiver()
        yield* created(key, { webhook_url: good.url })
        yield* call("GET", "/v1/charges")
        // With a provider, with workers, or after a minute: the others.
        const late = /^(acquirer_(sweep|callback|connection)|ledger_|worker_)/
        const scraped = Effect.map(operate("GET", "/metrics"), ({ text }) => {
          const served = new Set(parseExposition(text).map(({ name }) => name.replace(/_(bucket|sum|count)$/, "")))
          const names = Object.keys(catalog).filter((name) => !late.test(name))
          return { missing: names.filter((name) => !served.has(`pix_payments_${name}`)), text }
        })
        // Gauges come with the first rounds of the loops that measure them.
        const { text } = yield* eventually(
          scraped,
          ({ missing, text: seen }) => missing.length === 0 && /_attempt_duration_seconds_count [1-9]/.test(seen)
        )
        const documentedNames = [...monitoring.matchAll(/^\| `pix_payments_(\w+)/gm)].map(([, name]) => name!)
        assert.deepStrictEqual(documentedNames.toSorted(), Object.keys(catalog).toSorted())
        const labels = new Map(
          [...monitoring.matchAll(/^\| `(pix_payments_\w+)(?:\{([\w,]+)\})?`/gm)].map(([, name, list]) => [
            name!,
            list ?? ""
          ])
        )
        for (const { labels: has, name } of parseExposition(text)) {
          const family = name.replace(/_(bucket|sum|count)$/, "")
          const said = labels.get(family) ?? labels.get(name)
          assert.deepStrictEqual(
            Object.keys(has)
              .filter((label) => label !== "le")
              .toSorted()
              .join(),
            said,
            name
          )
        }
      }).pipe(Effect.scoped)
  )
})
