/** `/openapi.json` and `/docs`. */
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as HttpApi from "effect/http-api/HttpApi"
import { PaymentsApi } from "@pix-payments/api/PaymentsApi"
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
})
