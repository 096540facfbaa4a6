/** Routes and verbs that do not exist, and ids in a path that are no UUID. */
import { assert, describe, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as HttpApi from "effect/http-api/HttpApi"
import { PaymentsApi } from "@pix-payments/api/PaymentsApi"
import { assertRefused, created, retrieve } from "../../support/ChargeRequests.ts"
import { TestService } from "../../support/TestService.ts"

layer(TestService.layer({}), { excludeTestServices: true })("Routes", (it) => {
  const caller = Effect.flatMap(TestService, ({ makeCaller }) => makeCaller())

  describe("ERR-7: unknown route: 404 `NOT_FOUND` in the same error body, before 401", () => {
    it.effect.each([
      "/",
      "/v1",
      "/v1/",
      "/v1/nothing",
      "/v2/charges",
      "/V1/charges",
      "/v1/Charges",
      "/v1/charge",
      "/v1/chargesx",
      "/charges",
      "/v1/charges/a/b",
      "/v1/charges/../account",
      "/v1//charges",
      "//v1/charges",
      "//",
      "/v1//account",
      "/v1/account/x",
      "/operator/v1/accounts",
      "/metrics",
      "/health/ready",
      "/.env",
      "/v1/%63harges/x/y",
      "/%00",
      "/%zz",
      "/openapi.yaml",
      "/docs/x"
    ])("%s", (path) =>
      Effect.gen(function* () {
        const { call } = yield* TestService
        const { key } = yield* caller
        assertRefused(yield* call("GET", path), "NOT_FOUND")
        assertRefused(yield* call("GET", path, { key }), "NOT_FOUND")
        assertRefused(yield* call("POST", path, { body: "{", idempotencyKey: "x" }), "NOT_FOUND")
      })
    )
  })

  describe("ERR-7: known path, wrong verb: 405 `METHOD_NOT_ALLOWED` with `Allow`, before 401", () => {
    const verbsOf = new Map<string, Array<string>>([
      ["/openapi.json", ["GET"]],
      ["/docs", ["GET"]]
    ])
    HttpApi.reflect(PaymentsApi, {
      onGroup: () => {},
      onEndpoint: ({ endpoint }) => {
        const path = endpoint.path.replace(/\/$/, "").replace(":id", "01a1fd37-d21e-717f-8451-d23f26a8797f")
        verbsOf.set(path, [...(verbsOf.get(path) ?? []), endpoint.method])
      }
    })
    const all = ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND"]
    const wrong = [...verbsOf].flatMap(([path, allow]) =>
      all.filter((verb) => !allow.includes(verb)).map((verb) => ({ verb, path, allow }))
    )

    it.effect.each(wrong)("$verb $path", ({ allow, path, verb }) =>
      Effect.gen(function* () {
        const { call } = yield* TestService
        const answer = yield* call(verb, path)
        assertRefused(answer, "METHOD_NOT_ALLOWED")
        assert.sameMembers(String(answer.headers.allow).split(", "), allow)
      })
    )

    it.effect("HEAD is GET without the body", () =>
      Effect.gen(function* () {
        const { call } = yield* TestService
        const { key } = yield* caller
        const { id } = yield* created(key)
        for (const path of [
          "/v1/charges",
          `/v1/charges/${id}`,
          "/v1/charges/x",
          "/v1/account",
          "/openapi.json",
          "/x"
        ]) {
          for (const options of [{ key }, {}]) {
            const get = yield* call("GET", path, options)
            const head = yield* call("HEAD", path, options)
            assert.deepStrictEqual([head.status, head.text], [get.status, ""], path)
            assert.strictEqual(head.headers["content-type"], get.headers["content-type"])
            assert.isString(head.headers["x-request-id"])
          }
        }
      })
    )
  })

  describe("ERR-8: an id in a path that is not a UUID: the same 404 as an unknown id", () => {
    it.effect.each([
      "01a1fd37-d21e-717f-8451-d23f26a8797f",
      "01A1FD37-D21E-717F-8451-D23F26A8797F",
      "00000000-0000-0000-0000-000000000000",
      "ffffffff-ffff-ffff-ffff-ffffffffffff",
      "9b2d1b0e-7e0b-4f6c-8c5e-0d8a1c3e5f70",
      "x",
      "1",
      "-1",
      "null",
      "undefined",
      "__proto__",
      "01a1fd37d21e717f8451d23f26a8797f",
      "{01a1fd37-d21e-717f-8451-d23f26a8797f}",
      "01a1fd37-d21e-717f-8451-d23f26a8797",
      "01a1fd37-d21e-717f-8451-d23f26a8797ff",
      "01a1fd37-d21e-717f-8451-d23f26a8797g",
      "01a1fd37-d21e-717f-8451-d23f26a8797f%0A",
      "01a1fd37-d21e-717f-8451-d23f26a8797f%00",
      "%20",
      "%00",
      "%zz",
      "%",
      "%E0%A4%A",
      "%ff",
      "..",
      "..%2F..%2Fetc%2Fpasswd",
      "%2e%2e",
      "%2F",
      "*",
      ":id",
      "'%20OR%20'1'='1",
      "%F0%9F%A5%96",
      "%ED%A0%80",
      "a".repeat(10_000),
      "%20".repeat(3000)
    ])("%s", (id) =>
      Effect.gen(function* () {
        const { call } = yield* TestService
        const { key } = yield* caller
        const answer = yield* call("GET", `/v1/charges/${id}`, { key })
        const unknown = yield* call("GET", "/v1/charges/01a1fd37-d21e-717f-8451-d23f26a8797a", { key })
        assertRefused(answer, "CHARGE_NOT_FOUND")
        assert.strictEqual(answer.text, unknown.text)
        assertRefused(yield* call("GET", `/v1/charges/${id}`), "UNAUTHORIZED")
      })
    )

    it.effect("an id in upper case is the same UUID", () =>
      Effect.gen(function* () {
        const { key } = yield* caller
        const charge = yield* created(key)
        assert.deepStrictEqual((yield* retrieve(key, charge.id.toUpperCase())).body, charge)
      })
    )
  })
})
