/** Two servers that have cached a caller, and every change after which it is not as cached. */
import { assert, layer } from "@effect/vitest"
import { SIMULATOR_CONNECTION } from "@pix-payments/domain/AcquirerConnection"
import type { ErrorCode } from "@pix-payments/domain/ErrorCode"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import { ApiKeys } from "../../src/accounts/ApiKeys.ts"
import { assertRefused, someCharge, until } from "../support/ChargeRequests.ts"
import { fund } from "../support/Connections.ts"
import { operated } from "../support/Money.ts"
import { secretsKeys } from "../support/StoppableService.ts"
import { type Answer, type Call, type Fields, newKey, type TestCaller, TestService } from "../support/TestService.ts"

const settings = {
  acquirer: "connections",
  acquirerTimeoutMs: 60_000,
  secretsKeys
} as const

/** The services of a second server on the same database. */
class Other extends Context.Service<Other, Context.Context<TestService | ApiKeys>>()("test/Other") {}

const servers = Layer.effect(
  Other,
  Effect.flatMap(TestService, ({ databaseUrl }) =>
    Layer.build(Layer.fresh(TestService.layer({ settings, databaseUrl })))
  )
).pipe(Layer.provideMerge(TestService.layer({ settings })))

const somePayout = { amount: 500, pix_key_type: "email", pix_key: "someone@example.com", method: "pix" }

type Answered = Effect.Effect<Answer<Fields>>
type Check = (answer: Answer<Fields>) => Effect.Effect<void, never, SqlClient>

const charge = (call: Call, { key }: TestCaller): Answered =>
  call("POST", "/v1/charges", { key, idempotencyKey: newKey(), body: someCharge })
const payout = (call: Call, { key }: TestCaller): Answered =>
  call("POST", "/v1/payouts", { key, idempotencyKey: newKey(), body: somePayout })
const list = (call: Call, { key }: TestCaller): Answered => call("GET", "/v1/charges", { key })

const refusal =
  (code: ErrorCode, details?: ReadonlyArray<string>): Check =>
  (answer) =>
    Effect.sync(() => assertRefused(answer, code, details))

/** The answer has these fields. */
const has =
  (fields: Fields): Check =>
  ({ body }) =>
    Effect.sync(() => assert.deepInclude(body, fields))

/** The charge was made through this connection. */
const through =
  (connectionId: string): Check =>
  ({ body }) =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const rows = yield* sql`SELECT connection_id FROM charges WHERE id = ${String(body["id"])}::uuid`
      assert.deepStrictEqual(rows, [{ connection_id: connectionId }])
    }).pipe(Effect.orDie)

layer(servers, { excludeTestServices: true })("A cached caller of two servers", (it) => {
  const sqlOf = (text: string, parameters: ReadonlyArray<unknown> = []) =>
    Effect.flatMap(SqlClient, (sql) => sql.unsafe(text, parameters))

  const account = ({ accountId }: TestCaller, body: Fields) => operated("PATCH", `/accounts/${accountId}`, body)

  const setDefault = (id: string) =>
    Effect.andThen(
      sqlOf("UPDATE acquirer_connections SET is_default = false WHERE is_default"),
      sqlOf("UPDATE acquirer_connections SET is_default = true WHERE id = $1::uuid", [id])
    )

  const prepared = (who: TestCaller) =>
    Effect.gen(function* () {
      yield* setDefault(SIMULATOR_CONNECTION)
      yield* fund(who.accountId, 100_000)
    })

  /** Both servers, which have cached a caller with the terms of its payouts. */
  const cachedByBoth = Effect.fnUntraced(function* (who: TestCaller) {
    const both = [yield* Effect.context<TestService | ApiKeys>(), yield* Other].map((services) => ({
      call: Context.get(services, TestService).call,
      keys: Context.get(services, ApiKeys)
    }))
    for (const { call } of both) {
      for (const ask of [list, charge, payout, payout]) {
        const answer = yield* ask(call, who)
        assert.include([200, 201], answer.status, answer.text)
      }
    }
    const generations = yield* sqlOf("SELECT generation FROM caller_generation")
    for (const { keys } of both) assert.deepInclude(generations, { generation: keys.cached(who.key)?.generation })
    return both
  })

  interface Change {
    readonly before?: (who: TestCaller) => Effect.Effect<unknown, unknown, SqlClient | TestService>
    readonly change: (who: TestCaller) => Effect.Effect<unknown, unknown, SqlClient | TestService>
    readonly undo?: Effect.Effect<unknown, unknown, SqlClient | TestService>
    /** The first request to each server afterwards. */
    readonly ask: typeof charge
    readonly check: Check
  }

  const takesEffect = (name: string, { ask, before, change, check, undo = Effect.void }: Change) =>
    it.effect(`KEY-4: ${name} takes effect with the next request, in both`, () =>
      Effect.gen(function* () {
        const who = yield* Effect.flatMap(TestService, ({ makeCaller }) => makeCaller())
        yield* prepared(who)
        if (before !== undefined) yield* before(who)
        const both = yield* cachedByBoth(who)
        yield* change(who)
        for (const { call } of both.toReversed()) yield* check(yield* ask(call, who))
        yield* undo
      })
    )

  for (const [what, ask] of Object.entries({ list, charge, payout })) {
    takesEffect(`a revoked key (${what})`, {
      change: ({ keyId }) => operated("POST", `/keys/${keyId}/revoke`),
      ask,
      check: refusal("UNAUTHORIZED")
    })
    takesEffect(`an expiry in the past (${what})`, {
      change: ({ keyId }) => sqlOf("UPDATE api_keys SET expires_at = now() WHERE id = $1::uuid", [keyId]),
      ask,
      check: refusal("UNAUTHORIZED")
    })
    takesEffect(`an inactive application (${what})`, {
      change: ({ applicationId }) => operated("PATCH", `/applications/${applicationId}`, { active: false }),
      ask,
      check: refusal("UNAUTHORIZED")
    })
    takesEffect(`a key without the scope (${what})`, {
      change: ({ keyId }) => sqlOf("UPDATE api_keys SET scopes = '{balance:read}' WHERE id = $1::uuid", [keyId]),
      ask,
      check: ({ body, status }) =>
        Effect.sync(() => assert.deepStrictEqual([status, body["code"]], [403, "INSUFFICIENT_SCOPE"]))
    })
  }
  takesEffect("a key that the owner of the database deletes", {
    change: ({ keyId }) => sqlOf("DELETE FROM api_keys WHERE id = $1::uuid", [keyId]),
    ask: list,
    check: refusal("UNAUTHORIZED")
  })

  for (const [what, ask] of Object.entries({ charge, payout })) {
    takesEffect(`an inactive account (${what})`, {
      change: (who) => account(who, { status: "inactive" }),
      ask,
      check: refusal("ACCOUNT_INACTIVE")
    })
  }
  takesEffect("a brake on the charges of an account", {
    change: (who) => account(who, { charges_paused: true }),
    ask: charge,
    check: refusal("ACCOUNT_INACTIVE")
  })
  takesEffect("a brake on all charges", {
    change: () => operated("PATCH", "/installation", { charges_paused: true }),
    undo: operated("PATCH", "/installation", { charges_paused: false }),
    ask: charge,
    check: refusal("ACCOUNT_INACTIVE")
  })
  takesEffect("a new lifetime of charges", {
    change: (who) => account(who, { default_expires_in: 7200 }),
    ask: charge,
    check: ({ body }) =>
      Effect.sync(() => {
        const lifetimeMs = Date.parse(String(body["expires_at"])) - Date.parse(String(body["created_at"]))
        assert.strictEqual(lifetimeMs, 7_200_000)
      })
  })

  takesEffect("an account whose onboarding is open again", {
    change: (who) => account(who, { onboarding_status: "pending" }),
    ask: payout,
    check: refusal("ACCOUNT_RESTRICTED")
  })
  takesEffect("an account whose payouts wait for an operator", {
    change: (who) => account(who, { auto_payout_enabled: false }),
    ask: payout,
    check: has({ status: "pending" })
  })
  takesEffect("another fee of payouts", {
    change: (who) => account(who, { payout_fee: { fixed: 77, basis_points: 0 } }),
    ask: payout,
    check: has({ fee: 77 })
  })

  const BANK = "0199a0f0-5f3c-7c3e-9d0b-0000000000aa"
  const bank = (changes: string) =>
    Effect.andThen(
      sqlOf(
        `INSERT INTO acquirer_connections (id, name, kind, created_at) VALUES ($1::uuid, 'Bank', 'simulator', now())
        ON CONFLICT DO NOTHING`,
        [BANK]
      ),
      sqlOf(`UPDATE acquirer_connections SET ${changes} WHERE id = $1::uuid`, [BANK])
    )
  const throughBank = ({ accountId }: TestCaller) =>
    Effect.andThen(
      bank("charges_paused = false, pays_out = true"),
      sqlOf("UPDATE accounts SET connection_id = $1::uuid WHERE id = $2::uuid", [BANK, accountId])
    )
  takesEffect("another connection of the account", {
    change: throughBank,
    ask: charge,
    check: through(BANK)
  })
  takesEffect("a brake on the charges of a connection", {
    before: throughBank,
    change: () => bank("charges_paused = true"),
    ask: charge,
    check: refusal("ACCOUNT_INACTIVE")
  })
  takesEffect("a connection without payouts", {
    before: throughBank,
    change: () => bank("pays_out = false"),
    ask: payout,
    check: refusal("ACCOUNT_RESTRICTED")
  })
  takesEffect("another default connection", {
    before: () => bank("charges_paused = false"),
    change: () => setDefault(BANK),
    undo: setDefault(SIMULATOR_CONNECTION),
    ask: charge,
    check: through(BANK)
  })
  takesEffect("no default connection", {
    change: () => sqlOf("UPDATE acquirer_connections SET is_default = false"),
    undo: setDefault(SIMULATOR_CONNECTION),
    ask: charge,
    check: refusal("ACCOUNT_INACTIVE")
  })

  it.effect("KEY-4: of concurrent requests to both, none that begins after the revocation is accepted", () =>
    Effect.gen(function* () {
      const who = yield* Effect.flatMap(TestService, ({ makeCaller }) => makeCaller())
      yield* prepared(who)
      const both = yield* cachedByBoth(who)
      let isRevoked = false
      let accepted = 0
      /** Asks until twenty requests were sent after the revocation. */
      const asking = (call: Call, ask: typeof charge) =>
        Effect.gen(function* () {
          for (let after = 0; after < 20;) {
            const isAfter = isRevoked
            const { status } = yield* ask(call, who)
            if (isAfter) {
              after++
              assert.strictEqual(status, 401)
            } else if (status < 300) accepted++
          }
        })
      const askers = both.flatMap(({ call }) => [list, list, list, charge, charge].map((ask) => asking(call, ask)))
      const asked = yield* Effect.forkChild(Effect.all(askers, { concurrency: "unbounded" }))
      yield* until(
        Effect.sync(() => accepted),
        (count) => count > 100
      )
      yield* operated("POST", `/keys/${who.keyId}/revoke`)
      isRevoked = true
      yield* Fiber.join(asked)
    })
  )

  it.effect("KEY-10: a key whose expiry passes is refused with the next request, in both, without any change", () =>
    Effect.gen(function* () {
      const who = yield* Effect.flatMap(TestService, ({ makeCaller }) => makeCaller())
      yield* prepared(who)
      const both = yield* cachedByBoth(who)
      const areCached = Effect.gen(function* () {
        yield* sqlOf("UPDATE api_keys SET expires_at = now() + interval '2 seconds' WHERE id = $1::uuid", [who.keyId])
        const answers = yield* Effect.forEach(both, ({ call }) => list(call, who))
        return answers.every(({ status }) => status === 200)
      })
      yield* Effect.repeat(areCached, { until: (is) => is })
      for (const { keys } of both) assert.isNotNull(keys.cached(who.key)?.keyExpiresAtMs)
      yield* until(
        sqlOf("SELECT 1 FROM api_keys WHERE id = $1::uuid AND expires_at <= now()", [who.keyId]),
        ({ length }) => length > 0
      )
      for (const { call } of both) assertRefused(yield* list(call, who), "UNAUTHORIZED")
    })
  )
})
