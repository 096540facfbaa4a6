/** What each role may change, by the declaration. `Walk.test.ts` calls every route with every role. */
import { Access, defaultAccess } from "@pix-payments/api/operator/Access"
import { OperatorAuthentication } from "@pix-payments/api/Security"
import { includesRole, type OperatorRole } from "@pix-payments/domain/Operator"
import { assert, it } from "@effect/vitest"
import * as Context from "effect/Context"
import { operatorRoutes } from "../support/Declared.ts"

const routes = operatorRoutes.filter(({ endpoint }) => endpoint.middlewares.has(OperatorAuthentication))

/** The routes that each role is refused, apart from what a limit to accounts adds. */
const refusedTo = (role: OperatorRole) =>
  routes.filter(
    ({ endpoint }) => !includesRole(role, (Context.get(endpoint.annotations, Access) ?? defaultAccess).roles)
  )

it("OPR-38: a viewer changes nothing, and only an admin manages accounts and operators", () => {
  const changing = (role: OperatorRole) =>
    routes.filter((route) => route.method !== "GET" && !refusedTo(role).includes(route)).map(({ template }) => template)
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
})
