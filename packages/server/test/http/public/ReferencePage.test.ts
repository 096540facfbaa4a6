/** `/openapi.json` and `/docs`. */
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as HttpApi from "effect/http-api/HttpApi"
import examples from "../../../../api/examples.json" with { type: "json" }
import { PaymentsApi } from "@pix-payments/api/PaymentsApi"
import { errorCodes } from "@pix-payments/domain/ErrorCode"
import { eventNames } from "@pix-payments/domain/EventCatalog"
import { type Fields, TestService } from "../../support/TestService.ts"

layer(TestService.layer({}), { excludeTestServices: true })("GET /openapi.json and /docs", (it) => {
  it.effect("ADD-3, API-13: the document has every route that is served, and no other", () =>
    Effect.gen(function* () {
      const { call } = yield* TestService
      const { body, headers, status } = yield* call<{
        readonly openapi: string
        readonly paths: Readonly<Record<string, Fields>>
      }>("GET", "/openapi.json")
      assert.strictEqual(status, 200)
      assert.match(String(headers["content-type"]), /^application\/json/)
      assert.match(body.openapi, /^3\.1\./)
      const documented = Object.entries(body.paths).flatMap(([path, verbs]) =>
        Object.keys(verbs).map((verb) => `${verb.toUpperCase()} ${path}`)
      )
      const served: Array<string> = []
      HttpApi.reflect(PaymentsApi, {
        onGroup: () => {},
        onEndpoint: ({ endpoint }) =>
          served.push(`${endpoint.method} ${endpoint.path.replace(/\/$/, "").replace(":id", "{id}")}`)
      })
      assert.sameMembers(documented, served)
      for (const path of Object.keys(body.paths)) assert.match(path, /^\/v1\//, "The version is part of the path")
    })
  )

  it.effect("ADD-3: the reference page shows the same document", () =>
    Effect.gen(function* () {
      const { call } = yield* TestService
      const { headers, status, text } = yield* call("GET", "/docs")
      assert.strictEqual(status, 200)
      assert.match(String(headers["content-type"]), /^text\/html/)
      assert.include(text, "/v1/charges")
    })
  )

  it.effect(
    "ADD-3: the guides are in the reference page, which searches them, and as Markdown, in both languages",
    () =>
      Effect.gen(function* () {
        const { call } = yield* TestService
        const contract = yield* call("GET", "/docs/contract")
        const shown = yield* call<{ readonly info: { readonly description: string } }>("GET", "/docs/contract.json")
        assert.strictEqual(shown.body.info.description, contract.text)
        for (const [language, title] of [
          ["en", "## First charge"],
          ["pt", "## Primeira cobrança"]
        ] as const) {
          const { body } = yield* call<{ readonly info: { readonly description: string } }>(
            "GET",
            `/docs/${language}.json`
          )
          const { headers, text } = yield* call("GET", `/docs/guides/${language}`)
          assert.match(String(headers["content-type"]), /^text\/markdown/)
          assert.include(text, title)
          assert.include(body.info.description, title)
          assert.include(body.info.description, "## Simulated bank")
          for (const [, rule, target] of text.matchAll(/\[([^\]]+)\]\(([^)]*)\)/g)) {
            assert.strictEqual(target, "/docs/contract", rule)
            const section = contract.text.split(/^## /m).find((part) => part.includes(`- **${rule}**`))
            const heading = /^.*/
              .exec(section ?? "none")![0]
              .toLowerCase()
              .replaceAll(" ", "-")
            assert.include(body.info.description, `[${rule}](#contract/description/${heading})`)
          }
        }
      })
  )

  it.effect("ADD-3: the Markdown has every route, field, error code and event, and /llms.txt leads to it", () =>
    Effect.gen(function* () {
      const { call } = yield* TestService
      const llms = yield* call("GET", "/llms.txt")
      assert.strictEqual(llms.status, 200)
      assert.match(String(llms.headers["content-type"]), /^text\/plain/)
      for (const [, target] of llms.text.matchAll(/\]\((\/[^)]*)\)/g)) {
        assert.strictEqual((yield* call("GET", target!)).status, 200, target)
      }
      const { headers, text } = yield* call("GET", "/docs/markdown")
      assert.match(String(headers["content-type"]), /^text\/markdown/)
      const { body } = yield* call<{
        readonly paths: Readonly<Record<string, Fields>>
        readonly components: {
          readonly schemas: Readonly<Record<string, { readonly properties?: Readonly<Record<string, unknown>> }>>
        }
      }>("GET", "/openapi.json")
      for (const [path, verbs] of Object.entries(body.paths)) {
        for (const verb of Object.keys(verbs)) assert.include(text, `### ${verb.toUpperCase()} ${path}\n`)
      }
      for (const field of ["amount", "customer.document", "refunded_amount", "webhook_secret", "pix.br_code"]) {
        assert.include(text, `| \`${field}\` |`)
      }
      for (const [name, { properties = {} }] of Object.entries(body.components.schemas)) {
        if (!("code" in properties)) assert.include(text, `### ${name}\n`)
      }
      const listed = Object.keys(errorCodes).filter((code) => text.includes(`| \`${code}\` |`))
      assert.includeMembers(listed, ["VALIDATION_ERROR", "ACQUIRER_REJECTED", "RATE_LIMITED", "SERVICE_UNAVAILABLE"])
      assert.notInclude(listed, "CURSOR_EXPIRED", "operators only")
      for (const event of eventNames) assert.include(text, `| \`${event}\` |`)
      for (const header of ["X-Webhook-Delivery", "webhook-id", "webhook-timestamp", "webhook-signature"])
        assert.include(text, `| \`${header}\` | header |`)
      for (const event of Object.values(examples.events)) assert.include(text, JSON.stringify(event))
      assert.notMatch(text, /(Scope: `[a-z:]+`\.)\s+\1/)
      assert.notMatch(text, /undefined|\[object/)
    })
  )
})
