/**
 * Access and leaks on every declared route: a new route is tested here
 * without a change. What keys and scopes `/v1` asks for is in `Authentication.test.ts`.
 */
import { OperatorAuthentication } from "@pix-payments/api/Security"
import { errorCodes } from "@pix-payments/domain/ErrorCode"
import { assert, describe, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import crypto, { createHash, randomBytes } from "node:crypto"
import { syncBuiltinESMExports } from "node:module"
import { assertRefused } from "../../support/ChargeRequests.ts"
import { kindOf, operatorRoutes, pathWith, paymentsRoutes, unknownId } from "../../support/Declared.ts"
import { changeSchema } from "../../support/LiveSchema.ts"
import { submittedPayout } from "../../support/Money.ts"
import { loopback, receiver } from "../../support/Receiver.ts"
import { type Answer, type Fields, newKey, TestService } from "../../support/TestService.ts"
import { acceptedBy, makeWorld } from "../../support/World.ts"

const large = `{"x":"${"x".repeat(256 * 1024)}"}`

layer(TestService.layer({ settings: { webhookAllowedNetworks: loopback, simulatorSettleMs: 0 } }), {
  excludeTestServices: true
})("Security", (it) => {
  it("OPR-2: the routes that sign in, and no others, need no credential", () => {
    const open = operatorRoutes.filter(({ endpoint }) => !endpoint.middlewares.has(OperatorAuthentication))
    assert.sameMembers(
      open.map(({ method, template }) => `${method} ${template}`),
      [
        "POST /operator/v1/session",
        "POST /operator/v1/session/token",
        "GET /operator/v1/session/oidc",
        "GET /operator/v1/session/oidc/callback"
      ]
    )
  })

  describe("OPR-2: the operator surface: every route but those that sign in, without the token", () => {
    it.effect.each(operatorRoutes.filter(({ endpoint }) => endpoint.middlewares.has(OperatorAuthentication)))(
      "$method $template",
      (route) =>
        Effect.gen(function* () {
          const { makeCaller, operate, operatorToken } = yield* TestService
          const { key } = yield* makeCaller()
          const wrong = [
            undefined,
            "",
            "x",
            operatorToken.slice(0, -1),
            `${operatorToken}x`,
            operatorToken.toUpperCase(),
            `${operatorToken}, ${operatorToken}`,
            createHash("sha256").update(operatorToken).digest("hex"),
            key,
            randomBytes(24).toString("base64url"),
            "x".repeat(8000)
          ]
          const path = pathWith(route, unknownId)
          // Failed sign-ins are limited by address.
          const from = `127.0.1.${operatorRoutes.indexOf(route) + 1}`
          for (const token of wrong) {
            const headers = { "x-operator-token": token, "x-api-key": key }
            assertRefused(yield* operate(route.method, path, { headers, body: "{", from }), "UNAUTHORIZED")
          }
          // The token is not a key, and is accepted only in its own header.
          for (const headers of [{ "x-api-key": operatorToken }, { authorization: `Bearer ${operatorToken}` }]) {
            const sent = { "x-operator-token": undefined, ...headers }
            assertRefused(yield* operate(route.method, path, { headers: sent, body: large, from }), "UNAUTHORIZED")
          }
        })
    )
  })

  it.effect("the operator's token is compared in constant time, whatever is sent", () =>
    Effect.gen(function* () {
      const { operate, operatorToken } = yield* TestService
      const { timingSafeEqual } = crypto
      const compared: Array<ReadonlyArray<number>> = []
      const becomes = (compare: typeof timingSafeEqual) =>
        Effect.sync(() => {
          crypto.timingSafeEqual = compare
          syncBuiltinESMExports()
        })
      yield* Effect.acquireRelease(
        becomes((a, b) => {
          compared.push([a.byteLength, b.byteLength])
          return timingSafeEqual(a, b)
        }),
        () => becomes(timingSafeEqual)
      )
      const sent = ["x", operatorToken.slice(1), `${operatorToken}x`, operatorToken, "x".repeat(5000)]
      for (const token of sent) {
        yield* operate("GET", "/operator/v1/accounts", { headers: { "x-operator-token": token } })
      }
      assert.deepStrictEqual(
        compared,
        sent.map(() => [32, 32])
      )
    }).pipe(Effect.scoped)
  )

  it.effect("OPR-1: the operator surface is not on the public listener, nor `/v1` on the operator's", () =>
    Effect.gen(function* () {
      const { call, makeCaller, operate, operatorToken } = yield* TestService
      const { key } = yield* makeCaller()
      for (const route of operatorRoutes) {
        const headers = { "x-operator-token": operatorToken }
        const answer = yield* call(route.method, pathWith(route, unknownId), { key, headers })
        assertRefused(answer, "NOT_FOUND")
      }
      for (const route of paymentsRoutes) {
        assertRefused(yield* operate(route.method, pathWith(route, unknownId), { key }), "NOT_FOUND")
      }
    })
  )

  describe("API-9: the key of another account: as if there were nothing", () => {
    it.effect.each(paymentsRoutes.filter(({ takesId }) => takesId))("$method $template", (route) =>
      Effect.gen(function* () {
        const { call, makeCaller } = yield* TestService
        const { url } = yield* receiver()
        const world = yield* makeWorld(url)
        const stranger = yield* makeCaller()
        const ask = (key: string, id: string) =>
          call(route.method, pathWith(route, id), {
            ...acceptedBy(route, world, url).options,
            idempotencyKey: newKey(),
            key
          })
        // Nothing of the world is still on its way.
        yield* submittedPayout(world.key, world.ids["payouts"]![0]!)
        const before = yield* seenBy(world.key)
        const unknown = yield* ask(stranger.key, unknownId)
        assert.strictEqual(unknown.status, 404)
        for (const id of world.ids[kindOf(route)] ?? []) {
          const answer = yield* ask(stranger.key, id)
          assert.deepStrictEqual([answer.status, answer.text], [unknown.status, unknown.text])
        }
        assert.deepStrictEqual(yield* seenBy(world.key), before, "nothing has changed for its owner")
        // The control: the owner is accepted.
        assert.include([200, 204], (yield* ask(world.key, world.idFor(route))).status)
      }).pipe(Effect.scoped)
    )

    it.effect.each(paymentsRoutes.filter(({ method, takesId }) => method === "GET" && !takesId))(
      "$method $template",
      (route) =>
        Effect.gen(function* () {
          const { call, makeCaller } = yield* TestService
          const { url } = yield* receiver()
          const world = yield* makeWorld(url)
          const stranger = yield* makeCaller()
          const { status, text } = yield* call(route.method, route.template, { key: stranger.key })
          assert.strictEqual(status, 200)
          for (const id of Object.values(world.ids).flat()) assert.notInclude(text, id)
          assert.notInclude(text, "segredo")
          // A cursor of another account is unknown.
          if (route.endpoint.query === undefined) return
          for (const id of Object.values(world.ids).flat()) {
            const answer = yield* call("GET", `${route.template}?starting_after=${id}`, { key: stranger.key })
            assertRefused(answer, "VALIDATION_ERROR", ["starting_after"])
          }
        }).pipe(Effect.scoped)
    )

    it.effect.each(paymentsRoutes.filter(({ endpoint }) => endpoint.headers !== undefined))(
      "$method $template: its idempotency keys are its own",
      (route) =>
        Effect.gen(function* () {
          const { call, makeApplication, makeKey } = yield* TestService
          const { url } = yield* receiver()
          const [one, two] = [yield* makeWorld(url), yield* makeWorld(url)]
          const sibling = yield* makeKey(yield* makeApplication(one.accountId))
          const { options, path } = acceptedBy(route, one, url)
          const ask = (key: string) => call(route.method, path, { ...options, key })
          const answers = [yield* ask(one.key), yield* ask(two.key), yield* ask(sibling.key)]
          assert.deepStrictEqual(
            answers.map(({ headers, status }) => [status, headers["idempotent-replayed"]]),
            [
              [201, undefined],
              [201, undefined],
              [201, undefined]
            ]
          )
          assert.strictEqual(new Set(answers.map(({ body }) => body["id"])).size, 3)
          const again = yield* ask(one.key)
          assert.deepStrictEqual(
            [again.body["id"], again.headers["idempotent-replayed"]],
            [answers[0]?.body["id"], "true"]
          )
        }).pipe(Effect.scoped)
    )
  })
})

/** Every read of an account's key. */
const seenBy = (key: string) =>
  Effect.flatMap(TestService, ({ call }) =>
    Effect.forEach(
      paymentsRoutes.filter(({ method, takesId }) => method === "GET" && !takesId),
      ({ template }) => Effect.map(call("GET", template, { key }), ({ body }) => body)
    )
  )

const failures = [
  {
    name: "its tables are not there",
    breaks: (table: string) => `ALTER TABLE ${table} RENAME TO ${table}_internal`
  },
  {
    name: "it raises what a row holds",
    breaks: (table: string) =>
      `CREATE TRIGGER internal_trigger BEFORE INSERT OR UPDATE ON ${table} FOR EACH ROW EXECUTE FUNCTION raise_internals()`
  }
]

describe.each(failures)("When PostgreSQL fails: $name", ({ breaks }) => {
  layer(TestService.layer({ settings: { logLevel: "none", webhookAllowedNetworks: loopback, simulatorSettleMs: 0 } }), {
    excludeTestServices: true
  })((it) => {
    it.effect("ERR-11: no route answers with its stack, its SQL or its rows", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient
        const { call, operate } = yield* TestService
        const { url } = yield* receiver()
        const world = yield* makeWorld(url)
        const tables = yield* sql<{ name: string }>`SELECT relname::text AS name FROM pg_class
          WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition`
        yield* sql.unsafe(`CREATE FUNCTION raise_internals() RETURNS trigger LANGUAGE plpgsql AS
          $$ BEGIN RAISE EXCEPTION 'internal row %', to_json(NEW); END $$`)
        // Keys are still looked up, or nothing else would be reached.
        const spared = ["api_keys", "applications", "accounts"]
        for (const { name } of tables) if (!spared.includes(name)) yield* changeSchema(breaks(name))
        const failed: Array<string> = []
        for (const route of [...paymentsRoutes, ...operatorRoutes]) {
          const { options, path } = acceptedBy(route, world, url)
          const isPublic = paymentsRoutes.includes(route)
          const answer = yield* isPublic
            ? call(route.method, path, { ...options, key: world.key })
            : operate(route.method, path, options)
          assertTellsNothing(answer, `${route.method} ${route.template}`)
          if (answer.status === 500) failed.push(`${route.method} ${route.template}`)
        }
        assert.isAbove(failed.length, 8, "few routes came to the failure")
        for (const name of spared) yield* changeSchema(breaks(name))
        const locked = yield* call("GET", "/v1/account", { key: world.key })
        assertTellsNothing(locked, "the look-up of a key")
      }).pipe(Effect.scoped)
    )
  })
})

/** An unexpected failure is answered with the contract's text only; no answer contains internals. */
const assertTellsNothing = (answer: Answer<Fields>, where: string): void => {
  if (answer.status >= 500) {
    const code = answer.status === 500 ? "INTERNAL_ERROR" : "SERVICE_UNAVAILABLE"
    assert.deepStrictEqual<unknown>(answer.body, { code, message: errorCodes[code].message }, where)
  }
  const inside =
    /relation|syntax error|SQLSTATE|SqlError|insert into|node_modules|\/src\/|_internal|internal row|raise_/i
  assert.notMatch(answer.text + JSON.stringify(answer.headers), inside, where)
}
