/** The settings of the installation. */
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { assertRefused } from "../support/ChargeRequests.ts"
import { operated } from "../support/Money.ts"
import { makeOperator, newestEntries } from "../support/Operators.ts"
import { type Fields, TestService } from "../support/TestService.ts"

const path = "/operator/v1/installation"

layer(TestService.layer(), { excludeTestServices: true })("The installation", (it) => {
  it.effect("OPR-120: every operator reads its settings, also one who is limited to accounts; admins change them", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const { accountId } = yield* makeCaller()
      const before = yield* operated<Fields>("GET", "/installation")
      assert.deepStrictEqual(before, {
        object: "installation",
        name: "Pix",
        payouts_paused: false,
        charges_paused: false,
        four_eyes: "auto",
        four_eyes_on: false,
        cell: null,
        outward: "on",
        system_identifier_changed: false,
        timezone: "America/Sao_Paulo"
      })
      for (const role of ["viewer", "developer", "operator"] as const) {
        const { call } = yield* makeOperator(role, [accountId])
        assert.deepStrictEqual((yield* call("GET", path)).body, before)
        assertRefused(yield* call("PATCH", path, { body: { name: "Other" } }), "FORBIDDEN")
      }
      const admin = yield* makeOperator("admin")
      const changed = yield* admin.call("PATCH", path, { body: { name: "Banco Azul" } })
      assert.deepStrictEqual([changed.status, changed.body], [200, { ...before, name: "Banco Azul" }])
      assert.deepStrictEqual(yield* operated<Fields>("GET", "/installation"), { ...before, name: "Banco Azul" })
    })
  )

  it.effect("OPR-120, OPR-50: a change is in the audit log with the values before it, a refused one is not", () =>
    Effect.gen(function* () {
      const { operate } = yield* TestService
      const { name } = yield* operated<{ name: string }>("GET", "/installation")
      yield* operated("PATCH", "/installation", { name: "Banco Verde" })
      const refused = yield* operate("PATCH", path, {
        body: { name: "", payouts_paused: null, charges_paused: 1, four_eyes: "sometimes" }
      })
      assertRefused(refused, "VALIDATION_ERROR", ["name", "payouts_paused", "charges_paused", "four_eyes"])
      const [entry] = yield* newestEntries(1)
      assert.deepInclude<unknown>(entry, {
        action: "installation.update",
        resource_id: null,
        before: { name },
        after: { name: "Banco Verde" }
      })
    })
  )
})
