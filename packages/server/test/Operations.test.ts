/** The page for operators, the compose file and the image say what the program does. */
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { created } from "./support/Charges.ts"
import { closedPort, eventually, loopback, receiver } from "./support/Receiver.ts"
import { TestService } from "./support/Service.ts"

const read = (path: string) => readFileSync(join(import.meta.dirname, "../../..", path), "utf8")
const page = read("docs/operations.md")

/** Every name that `Settings` reads. */
const settings = [...read("packages/server/src/Settings.ts").matchAll(/"([A-Z][A-Z0-9_]{3,})"/g)].map(
  ([, name]) => name!
)

const namesIn = (text: string) => [...text.matchAll(/`([A-Z][A-Z0-9_]{3,})`/g)].map(([, name]) => name!)

layer(TestService.layer({ settings: { webhookAllowedNetworks: loopback, webhookRetryDelaysMs: [] } }), {
  excludeTestServices: true
})("docs/operations.md", (it) => {
  it.effect("lists every setting, and no other", () =>
    Effect.sync(() => {
      const table = page.slice(page.indexOf("| variable |"), page.indexOf("`npm start` is"))
      const listed = table.split("\n").flatMap((row) => namesIn(row.split("|")[1] ?? ""))
      assert.sameMembers([...new Set(listed)], [...new Set(settings)])
    })
  )

  it.effect("the compose file and the image set nothing that is not a setting", () =>
    Effect.sync(() => {
      const compose = read("compose.yaml")
      const ours = compose.slice(compose.indexOf("  migrate:"), compose.indexOf("  balancer:"))
      const set = [...ours.matchAll(/^ {6}([A-Z][A-Z0-9_]+): /gm)].map(([, name]) => name!)
      const image = [...(/^ENV (.+)$/m.exec(read("Dockerfile"))?.[1] ?? "").matchAll(/([A-Z_]+)=/g)].map(
        ([, name]) => name!
      )
      assert.isAbove(set.length, 5)
      const ofNode = new Set(["NODE_ENV", "UV_THREADPOOL_SIZE"])
      for (const name of [...set, ...image].filter((each) => !ofNode.has(each))) assert.include(settings, name)
      for (const needed of ["DATABASE_URL", "OPERATOR_TOKEN", "SECRETS_KEYS"]) assert.include(set, needed)
    })
  )

  it.effect("tells what every metric of ours means, and of none that is not there", () =>
    Effect.gen(function* () {
      const { call, makeCaller, operate } = yield* TestService
      const { key } = yield* makeCaller()
      const good = yield* receiver()
      yield* created(key, { webhook_url: good.url })
      yield* created(key, { webhook_url: `http://127.0.0.1:${yield* closedPort}/` })
      yield* call("GET", "/v1/charges")
      const { text } = yield* eventually(operate("GET", "/metrics"), (answer) =>
        ["delivered", "failed"].every((outcome) => answer.text.includes(`attempts_total{outcome="${outcome}"}`))
      )
      const served = [...text.matchAll(/^# TYPE (pix_payments_\w+) /gm)].map(([, name]) => name!)
      const told = [...page.matchAll(/^\| `(pix_payments_\w+)/gm)].map(([, name]) => name!)
      // It appears with its first loss.
      assert.sameMembers(
        told.filter((name) => name !== "pix_payments_request_log_dropped_total"),
        served.filter((name) => name !== "pix_payments_request_log_dropped_total")
      )
    }).pipe(Effect.scoped)
  )
})
