/** What each role may call: every declared route and role, over HTTP. */
import { Access, defaultAccess } from "@pix-payments/api/operator/Access"
import { OperatorAuthentication } from "@pix-payments/api/Security"
import { includesRole, OperatorRole } from "@pix-payments/domain/Operator"
import { assert, describe, layer } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { assertRefused } from "../support/ChargeRequests.ts"
import { operatorRoutes, pathWith, unknownId } from "../support/Declared.ts"
import { makeOperator, type TestOperator } from "../support/Operators.ts"
import { TestService } from "../support/TestService.ts"

const routes = operatorRoutes.filter(({ endpoint }) => endpoint.middlewares.has(OperatorAuthentication))

/** The routes that each role is refused, apart from what a limit to accounts adds. */
const refusedTo = (role: OperatorRole) =>
  routes.filter(
    ({ endpoint }) => !includesRole(role, (Context.get(endpoint.annotations, Access) ?? defaultAccess).roles)
  )

layer(TestService.layer(), { excludeTestServices: true })("Roles", (it) => {
  describe.each(OperatorRole.literals)("OPR-38: %s", (role) => {
    let operator: TestOperator | undefined
    it.effect.each(routes)("$method $template", (route) =>
      Effect.gen(function* () {
        operator ??= yield* makeOperator(role)
        const path = pathWith(route, unknownId)
        const answer = yield* operator.call(route.method, path, route.takesBody ? { body: "{" } : {})
        if (refusedTo(role).includes(route)) return assertRefused(answer, "FORBIDDEN")
        const isOfAnother = /^\/operator\/v1\/operators\/\{id\}\/tokens$/.test(route.template) && role !== "admin"
        assert.notInclude(isOfAnother ? [401] : [401, 403, 500], answer.status, answer.text)
      })
    )
  })

  it.effect("OPR-38: a viewer changes nothing, and only an admin manages accounts and operators", () =>
    Effect.gen(function* () {
      const changing = (role: OperatorRole) =>
        routes
          .filter((route) => route.method !== "GET" && !refusedTo(role).includes(route))
          .map(({ template }) => template)
      assert.deepStrictEqual(changing("viewer"), [
        "/operator/v1/session",
        "/operator/v1/session/link",
        "/operator/v1/session/code",
        "/operator/v1/sessions/{id}/end",
        "/operator/v1/operators/{id}/tokens",
        "/operator/v1/tokens/{id}/revoke"
      ])
      for (const role of ["developer", "operator"] as const) {
        assert.notIncludeMembers(changing(role), ["/operator/v1/accounts", "/operator/v1/operators"])
      }
      assert.include(changing("developer"), "/operator/v1/applications/{id}/keys")
      assert.notInclude(changing("operator"), "/operator/v1/applications/{id}/keys")
      assert.include(changing("operator"), "/operator/v1/payouts/{id}/approve")
      assert.notInclude(changing("developer"), "/operator/v1/payouts/{id}/approve")
      assert.lengthOf(refusedTo("admin"), 0)
      yield* Effect.void
    })
  )
})
