/** `RATE_LIMIT_PER_MINUTE`, over HTTP. */
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { assertRefused } from "../../support/ChargeRequests.ts"
import { TestService } from "../../support/TestService.ts"

layer(TestService.layer({ settings: { rateLimitPerMinute: Option.some(5) } }), { excludeTestServices: true })(
  "A rate limit",
  (it) => {
    it.effect("ERR-10: limits each key by itself, and answers when to retry", () =>
      Effect.gen(function* () {
        const { call, makeCaller, makeKey, operate } = yield* TestService
        const { applicationId, key } = yield* makeCaller()
        const { key: other } = yield* makeKey(applicationId)
        const answers = yield* Effect.forEach(Array.from({ length: 8 }), () => call("GET", "/v1/account", { key }))
        assert.deepStrictEqual(
          answers.map(({ status }) => status),
          [200, 200, 200, 200, 200, 429, 429, 429]
        )
        assertRefused(answers[7]!, "RATE_LIMITED")
        const seconds = Number(answers[7]!.headers["retry-after"])
        assert.isTrue(Number.isInteger(seconds) && seconds >= 1 && seconds <= 60)
        // An unknown key is not limited, so that a limit does not reveal known keys.
        assertRefused(yield* call("GET", "/v1/account", { key: "unknown" }), "UNAUTHORIZED")
        assert.strictEqual((yield* call("GET", "/v1/account", { key: other })).status, 200)
        assert.strictEqual((yield* operate("GET", "/operator/v1/accounts")).status, 200)
      })
    )

    it.effect("ERR-10: counts a request once, also where its caller is cached and looked up again", () =>
      Effect.gen(function* () {
        const { call, makeCaller } = yield* TestService
        for (const query of ["", "?status=pending", "?limit=x"]) {
          const { key } = yield* makeCaller()
          const answers = yield* Effect.forEach(Array.from({ length: 6 }), () =>
            call("GET", `/v1/charges${query}`, { key })
          )
          const status = query === "?limit=x" ? 400 : 200
          assert.deepStrictEqual(
            answers.map((answer) => answer.status),
            [status, status, status, status, status, 429],
            query
          )
        }
      })
    )
  }
)
