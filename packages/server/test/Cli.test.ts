/** `ledger verify` on the command line: what it prints, and its exit codes. */
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { ran } from "./support/Process.ts"
import { TestService } from "./support/TestService.ts"

layer(TestService.layer(), { excludeTestServices: true })("ledger verify", (it) => {
  const verify = (env: Readonly<Record<string, string>>) => ran("cli", env, "ledger", "verify")

  it.effect("exits with 0 where the ledger is consistent, and with 1 where a balance differs", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const { makeCaller, operatorToken, operatorUrl } = yield* TestService
      const { accountId } = yield* makeCaller()
      const env = { OPERATOR_URL: operatorUrl, OPERATOR_TOKEN: operatorToken }
      const consistent = yield* verify(env)
      assert.strictEqual(consistent.code, 0)
      assert.match(consistent.written, /^The ledger is consistent: \d+ ledger accounts\.$/m)
      assert.strictEqual((yield* ran("cli", env, "ledger", "verify", "--full")).written, consistent.written)

      const spoil = (cents: number) =>
        sql`UPDATE ledger_accounts SET balance = balance + ${cents} WHERE owner_id = ${accountId}::uuid AND kind = 'blocked'`
      yield* spoil(7)
      const inconsistent = yield* verify(env)
      yield* spoil(-7)
      assert.strictEqual(inconsistent.code, 1)
      assert.include(inconsistent.written, `${accountId} blocked: kept 7, computed 0`)
      assert.match(inconsistent.written, /NOT consistent: 1 of \d+ ledger accounts differ/)
    })
  )

  it.effect("exits with 2 where the service cannot be asked, and says what to do", () =>
    Effect.gen(function* () {
      const { operatorUrl } = yield* TestService
      const absent = yield* verify({ OPERATOR_URL: "http://127.0.0.1:1", OPERATOR_TOKEN: "a token" })
      assert.strictEqual(absent.code, 2)
      assert.strictEqual(
        absent.written,
        "No service answers at http://127.0.0.1:1. Start it, or set OPERATOR_URL to its operator listener.\n"
      )
      const refused = yield* verify({ OPERATOR_URL: operatorUrl, OPERATOR_TOKEN: "not the token" })
      assert.strictEqual(refused.code, 2)
      assert.strictEqual(
        refused.written,
        `The service at ${operatorUrl} does not accept the operator token. Set OPERATOR_TOKEN.\n`
      )
    })
  )
})
