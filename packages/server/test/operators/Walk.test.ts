/**
 * Every declared route, by every role, with and without a limit to accounts: what is refused and what is allowed. And every
 * action that can wait for an approval: what masked roles see of it.
 */
import { Access, defaultAccess } from "@pix-payments/api/operator/Access"
import { OperatorAuthentication } from "@pix-payments/api/Security"
import { ApprovalAction, isRepeated } from "@pix-payments/domain/Approval"
import { includesRole, type OperatorRole } from "@pix-payments/domain/Operator"
import { assert, describe, layer } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { approve, inCell, makeApprovers, requested } from "../support/Approvals.ts"
import { type DeclaredRoute, operatorRoutes } from "../support/Declared.ts"
import { operated } from "../support/Money.ts"
import { makeOperator, type TestOperator } from "../support/Operators.ts"
import { loopback, receiver } from "../support/Receiver.ts"
import { TestService } from "../support/TestService.ts"
import { acceptedBy, makeWorld } from "../support/World.ts"

const routes = operatorRoutes.filter(({ endpoint }) => endpoint.middlewares.has(OperatorAuthentication))

/** Streams end with their test only, and no answer comes before the first event. */
const isStream = ({ template }: DeclaredRoute) => template.endsWith("/events/stream")

const limits = ["unlimited", "its account", "another account"] as const
type Limit = (typeof limits)[number]

const callers: ReadonlyArray<readonly [OperatorRole, Limit]> = [
  ...(["viewer", "developer", "operator"] as const).flatMap((role) => limits.map((limit) => [role, limit] as const)),
  // An admin is never limited (OPR-41).
  ["admin", "unlimited"]
]

/** What the declaration says that a caller gets. */
const expected = (route: DeclaredRoute, role: OperatorRole, limit: Limit): 403 | 404 | "allowed" => {
  const { accounts, roles } = Context.get(route.endpoint.annotations, Access) ?? defaultAccess
  if (!includesRole(role, roles)) return 403
  if (accounts === "installation" && limit !== "unlimited") return 403
  if (accounts === "resource" && limit === "another account") return 404
  // Its account is in the query.
  if (limit === "another account" && route.template.endsWith("/package")) return 404
  // Tokens and sessions of others are for admins (OPR-42, OPR-45).
  if (role !== "admin" && /^.operator.v1.operators.\{id\}.tokens$/.test(route.template)) return 403
  if (role !== "admin" && /^.operator.v1.(tokens|sessions).\{id\}/.test(route.template)) return 404
  return "allowed"
}

/** Done, or refused for the state that the callers before it left. */
const ALLOWED = [200, 201, 202, 204, 409]

/** Allowed requests that the world of the walk cannot meet: it has no bank. */
const alsoAllowed: Readonly<Record<string, number>> = {
  "POST /operator/v1/connections": 400,
  "POST /operator/v1/connections/{id}/register-webhook": 400,
  // There is no such line.
  "POST /operator/v1/reconciliations/{id}/explain": 404
}

/** Routes that do away with what they are about. */
const endsItsResource: ReadonlySet<string> = new Set([
  "POST /operator/v1/outbox-failures/{id}/retry",
  "DELETE /operator/v1/alert-channels/{id}"
])

layer(
  TestService.layer({
    settings: { ...inCell, logLevel: "none", webhookAllowedNetworks: loopback, simulatorSettleMs: 0 }
  }),
  {
    excludeTestServices: true
  }
)("The walk", (it) => {
  describe("OPR-38, OPR-39: refused and allowed, by role and account limit", () => {
    // Reads change nothing: one world is that of them all.
    let reads: Effect.Success<typeof makeCallers> | undefined
    it.effect.each(routes.filter((route) => !isStream(route)))("$method $template", (route) =>
      Effect.gen(function* () {
        const name = `${route.method} ${route.template}`
        const isRead = route.method === "GET"
        let of = isRead && reads !== undefined ? reads : yield* makeCallers
        if (isRead) reads = of
        for (const [index, [role, limit]] of callers.entries()) {
          if (endsItsResource.has(name)) of = yield* makeCallers
          const { call } = of.operators[index]!
          const { options, path } = acceptedBy(route, of.world, of.url)
          const answer = yield* call(route.method, path, options)
          const due = expected(route, role, limit)
          const allowed = [...ALLOWED, alsoAllowed[name]]
          assert.include(due === "allowed" ? allowed : [due], answer.status, `${role}, ${limit}: ${answer.text}`)
        }
      }).pipe(Effect.scoped)
    )
  })

  describe("OPR-48: an action that waits for an approval shows no personal data to masked roles", () => {
    let masked: ReadonlyArray<TestOperator> | undefined
    it.effect.each(ApprovalAction.literals)("%s", (action) =>
      Effect.gen(function* () {
        masked ??= [yield* makeOperator("viewer"), yield* makeOperator("developer")]
        const { one, other } = yield* makeApprovers
        const { approval, ask } = yield* requested(action, one.call)
        const assertMasked = Effect.gen(function* () {
          const paths = ["/approvals?limit=5", `/approvals/${approval.id}`, "/audit?limit=10"]
          for (const path of paths) {
            for (const { call } of masked!) {
              const { status, text } = yield* call("GET", `/operator/v1${path}`)
              assert.strictEqual(status, 200)
              assert.deepStrictEqual(personalIn(text), [], path)
            }
          }
        })
        yield* assertMasked
        // Beside the requester's address.
        const asked = JSON.stringify({ ...approval, requested_by: null })
        assert.strictEqual(personalIn(asked).length > 0, withPersonalData.has(action))
        assert.strictEqual((yield* approve(other.call, approval.id)).status, 200)
        if (isRepeated(action)) yield* ask(one.call)
        yield* assertMasked
        if (action === "installation.update") yield* operated("PATCH", "/installation", { four_eyes: "auto" })
      })
    )
  })
})

/** A world, and the callers of its routes. */
const makeCallers = Effect.gen(function* () {
  const { makeCaller } = yield* TestService
  const { url } = yield* receiver()
  const world = yield* makeWorld(url)
  const accountIds = {
    unlimited: undefined,
    "its account": [world.accountId],
    "another account": [(yield* makeCaller()).accountId]
  }
  const operators = yield* Effect.forEach(callers, ([role, limit]) => makeOperator(role, accountIds[limit]))
  return { url, world, operators }
})

/** The actions whose requests here have some. */
const withPersonalData: ReadonlySet<ApprovalAction> = new Set([
  "connection.update",
  "connection.register_webhook",
  "payout.approve",
  "payout.create",
  "payout.settle",
  "connection.create",
  "account.update",
  "key.update",
  "payer.anonymise",
  "operator.create"
])

/** E-mail addresses, phones and documents in a text. The description of a refund tells the simulator what to do. */
const personalIn = (text: string): ReadonlyArray<string> =>
  [
    ...text
      .replaceAll('"description":"hold@simulator.test"', "")
      .matchAll(/"[^"@*]{2,}@[a-z][^"]*"|"\+55\d{10,}"|"\d{11}"|"\d{14}"/g)
  ].map(([value]) => value)
