/** The map of a router, as the program prints it. */
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import { hash } from "node:crypto"
import { asService } from "../support/Postgres.ts"
import { operated } from "../support/Money.ts"
import { ran } from "../support/Process.ts"
import { TestService } from "../support/TestService.ts"

layer(TestService.layer({ settings: { cell: Option.some("a") } }), { excludeTestServices: true })("keys-map", (it) => {
  it.effect("OPR-391: has each key that this cell answers, by its digest, and none of an account that has moved", () =>
    Effect.gen(function* () {
      const { databaseUrl, makeCaller } = yield* TestService
      const [one, moved] = [yield* makeCaller(), yield* makeCaller()]
      assert.match(one.key, /^pix_a\./)
      yield* operated("POST", `/accounts/${moved.accountId}/move`, { target: "b" }, 202)
      const env = { DATABASE_URL: Redacted.value(asService(databaseUrl)) }
      const map = yield* ran("keysMap", { ...env, CELL: "a" }, "keys")
      assert.deepStrictEqual([map.code, map.written.trim()], [0, `${hash("sha256", one.key)} a`])
      const other = yield* ran("keysMap", env, "keys")
      assert.strictEqual(other.code, 1)
      assert.include(other.written, "CELL is not set")
    })
  )
})
