/** Sign-ins at the operator listener: their limit by address, and the hosts that it answers to. */
import { assert, describe, it, layer } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/testing/TestClock"
import { parseNetworks } from "@pix-payments/domain/PublicUrl"
import * as Result from "effect/Result"
import { MAX_ADDRESSES, SignIns } from "../../src/operators/SignIns.ts"
import { assertRefused } from "../support/ChargeRequests.ts"
import { makeOperator } from "../support/Operators.ts"
import { TestService } from "../support/TestService.ts"

const right = "right"

describe("sign-ins of an address", () => {
  const doorFor = (accepts: (token: string) => boolean) =>
    Effect.map(Layer.build(Layer.fresh(SignIns.layer)), (built) => {
      const { attempt, size } = Context.get(built, SignIns)
      return {
        attempt: (address: string, token: string) =>
          Effect.runSync(
            attempt(
              address,
              Effect.sync(() => (accepts(token) ? token : undefined))
            )
          ),
        size
      }
    })

  const door = doorFor((token) => token === right)

  const tried = (signIns: Effect.Success<typeof door>, address: string, token: string, times: number) =>
    Array.from({ length: times }, () => signIns.attempt(address, token)._tag)

  it.effect("OPR-5: after 40 failures within a minute they are limited for 30 seconds, right tokens not", () =>
    Effect.gen(function* () {
      const signIns = yield* door
      assert.deepStrictEqual(new Set(tried(signIns, "10.0.0.1", "x", 40)), new Set(["Refused"]))
      assert.deepStrictEqual(signIns.attempt("10.0.0.1", "x"), { _tag: "Limited", retryAfterSeconds: 30 })
      assert.strictEqual(signIns.attempt("10.0.0.1", right)._tag, "Accepted")
      assert.strictEqual(signIns.attempt("10.0.0.2", "x")._tag, "Refused")
      // Attempts meanwhile do not prolong it.
      yield* TestClock.adjust("29 seconds")
      assert.deepStrictEqual(signIns.attempt("10.0.0.1", "x"), { _tag: "Limited", retryAfterSeconds: 1 })
      yield* TestClock.adjust("1 second")
      assert.strictEqual(signIns.attempt("10.0.0.1", right)._tag, "Accepted")
      assert.deepStrictEqual(new Set(tried(signIns, "10.0.0.1", "x", 40)), new Set(["Refused"]), "it begins anew")
    })
  )

  it.effect("OPR-5: 39 failures in any minute are not limited", () =>
    Effect.gen(function* () {
      const signIns = yield* door
      for (let i = 0; i < 5; i++) {
        assert.deepStrictEqual(new Set(tried(signIns, "10.0.0.1", "x", 39)), new Set(["Refused"]))
        yield* TestClock.adjust("1 minute")
      }
      // The minute slides.
      tried(signIns, "10.0.0.1", "x", 20)
      yield* TestClock.adjust("40 seconds")
      tried(signIns, "10.0.0.1", "x", 19)
      yield* TestClock.adjust("19 seconds")
      assert.strictEqual(signIns.attempt("10.0.0.1", "x")._tag, "Refused")
      assert.strictEqual(signIns.attempt("10.0.0.1", "x")._tag, "Limited")
    })
  )

  it.effect("OPR-6: each of a hundred right credentials is accepted while others of its address fail", () =>
    Effect.gen(function* () {
      const signIns = yield* doorFor((token) => token.startsWith(right))
      tried(signIns, "10.0.0.1", "x", 40)
      for (let each = 0; each < 100; each++) {
        assert.strictEqual(signIns.attempt("10.0.0.1", `${right}-${each}`)._tag, "Accepted")
      }
      assert.strictEqual(signIns.attempt("10.0.0.1", "x")._tag, "Limited")
    })
  )

  it.effect("OPR-5: an IPv4 address is one in either form, and an IPv6 network of 64 bits is one", () =>
    Effect.gen(function* () {
      const signIns = yield* door
      tried(signIns, "::ffff:10.0.0.1", "x", 20)
      tried(signIns, "10.0.0.1", "x", 20)
      assert.strictEqual(signIns.attempt("10.0.0.1", "x")._tag, "Limited")
      for (let i = 0; i < 40; i++) signIns.attempt(`2001:db8:0:7::${i.toString(16)}`, "x")
      assert.strictEqual(signIns.attempt("2001:db8::7:1:2:3:4", "x")._tag, "Limited")
      assert.strictEqual(signIns.attempt("2001:db8:0:8::1", "x")._tag, "Refused")
    })
  )

  it.effect("its memory is bounded", () =>
    Effect.gen(function* () {
      const signIns = yield* door
      for (let i = 0; i < 3 * MAX_ADDRESSES; i++) signIns.attempt(`10.${i >> 16}.${(i >> 8) & 255}.${i & 255}`, "x")
      assert.strictEqual(signIns.size(), MAX_ADDRESSES)
    })
  )
})

const settings = {
  logLevel: "none",
  operatorHosts: ["localhost", "ops.example"],
  operatorTrustedProxy: Result.getOrThrow(parseNetworks("127.0.10.0/24"))
} as const

layer(TestService.layer({ settings }), {
  excludeTestServices: true
})("The operator listener", (it) => {
  const path = "/operator/v1/accounts"
  const signIn = (token: string | undefined, from: string) =>
    Effect.flatMap(TestService, ({ operate }) => operate("GET", path, { headers: { "x-operator-token": token }, from }))

  it.effect("OPR-5: limits failed sign-ins by address: 429 `RATE_LIMITED` with `Retry-After`", () =>
    Effect.gen(function* () {
      const { operate, operatorToken } = yield* TestService
      const from = "127.0.9.1"
      const refused = (reason: string) =>
        Effect.map(operate("GET", "/metrics"), ({ text }) =>
          Number(
            new RegExp(`operator_sign_ins_refused_total\\{reason="${reason}"\\} (\\d+)$`, "m").exec(text)?.[1] ?? 0
          )
        )
      const before = [yield* refused("token"), yield* refused("limit")] as const
      for (const token of [undefined, ""]) assertRefused(yield* signIn(token, from), "UNAUTHORIZED")
      for (let i = 0; i < 40; i++) assertRefused(yield* signIn("wrong-token", from), "UNAUTHORIZED")
      const answer = yield* signIn("wrong-token", from)
      assertRefused(answer, "RATE_LIMITED")
      assert.match(String(answer.headers["retry-after"]), /^([1-9]|[12]\d|30)$/)
      // No sign-ins.
      for (const token of [undefined, ""]) assertRefused(yield* signIn(token, from), "UNAUTHORIZED")
      for (const health of ["/health/live", "/health/ready", "/metrics"]) {
        const headers = { "x-operator-token": undefined }
        assert.strictEqual((yield* operate("GET", health, { headers, from })).status, 200)
      }
      assert.strictEqual((yield* signIn(operatorToken, from)).status, 200)
      assert.strictEqual((yield* refused("token")) - before[0], 40)
      assert.strictEqual((yield* refused("limit")) - before[1], 1)
    })
  )

  it.effect("OPR-5: behind a trusted proxy the address is the last one that it names; others name none", () =>
    Effect.gen(function* () {
      const { operate, operatorToken } = yield* TestService
      const guess = (forwarded: string, from: string) =>
        operate("GET", path, { headers: { "x-operator-token": "guess", "x-forwarded-for": forwarded }, from })
      const proxy = "127.0.10.1"
      for (let i = 0; i < 40; i++) assertRefused(yield* guess(`10.0.0.${i}, 203.0.113.7`, proxy), "UNAUTHORIZED")
      assertRefused(yield* guess("203.0.113.7", proxy), "RATE_LIMITED")
      assertRefused(yield* guess("203.0.113.8", proxy), "UNAUTHORIZED")
      assertRefused(yield* guess("no address", proxy), "UNAUTHORIZED")
      // A caller that is not a proxy cannot choose an address.
      for (let i = 0; i < 40; i++) assertRefused(yield* guess(`203.0.113.${i}`, "127.0.9.4"), "UNAUTHORIZED")
      assertRefused(yield* guess("203.0.113.99", "127.0.9.4"), "RATE_LIMITED")

      const headers = { "x-operator-token": undefined, "x-forwarded-for": "203.0.113.9" }
      yield* operate("POST", "/operator/v1/session", { body: { token: operatorToken }, headers, from: proxy })
      const { text } = yield* operate("GET", "/operator/v1/sessions")
      assert.include(text, '"address":"203.0.113.9"')
    })
  )

  it.effect("OPR-6: twenty operators of one address are not locked out by a neighbour who guesses", () =>
    Effect.gen(function* () {
      const operators = yield* Effect.forEach(Array.from({ length: 20 }), () => makeOperator("viewer"))
      const from = "127.0.9.3"
      for (let i = 0; i < 40; i++) assertRefused(yield* signIn(`guess-${i}`, from), "UNAUTHORIZED")
      assertRefused(yield* signIn("guess", from), "RATE_LIMITED")
      for (const { token } of operators) assert.strictEqual((yield* signIn(token, from)).status, 200)
    })
  )

  it.effect("OPR-7: answers to the hosts of `OPERATOR_HOSTS` and to its own address: any other is 421", () =>
    Effect.gen(function* () {
      const { operate } = yield* TestService
      for (const host of ["localhost", "LocalHost:1", "ops.example", "OPS.example:3001", "127.0.0.1", "127.0.0.1:80"]) {
        assert.strictEqual((yield* operate("GET", path, { headers: { host } })).status, 200, host)
      }
      const others = [
        "evil.example",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "10.0.0.1",
        "[::1]",
        "x@localhost"
      ]
      for (const host of others) {
        const wrong = { "x-operator-token": "wrong-token" }
        for (const headers of [{ host }, { host, ...wrong }, { host, "x-operator-token": undefined }]) {
          assertRefused(yield* operate("GET", path, { headers }), "MISDIRECTED_REQUEST")
          assertRefused(yield* operate("GET", "/nothing", { headers }), "MISDIRECTED_REQUEST")
        }
        for (const health of ["/health/live", "/health/ready", "/metrics"]) {
          assert.strictEqual((yield* operate("GET", health, { headers: { host } })).status, 200)
        }
      }
    })
  )
})
