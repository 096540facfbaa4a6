/** Operators who are limited to accounts: on every declared route, as if the other accounts did not exist. */
import { Access, defaultAccess } from "@pix-payments/api/operator/Access"
import { OperatorAuthentication } from "@pix-payments/api/Security"
import { includesRole, type OperatorRole } from "@pix-payments/domain/Operator"
import { assert, describe, layer } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { assertRefused } from "../support/ChargeRequests.ts"
import { type DeclaredRoute, kindOf, operatorRoutes, pathWith, unknownId } from "../support/Declared.ts"
import { makeOperator } from "../support/Operators.ts"
import { eventually, loopback, receiver } from "../support/Receiver.ts"
import { type Call, newKey, TestService } from "../support/TestService.ts"
import { acceptedBy, makeWorld, type World } from "../support/World.ts"

const accessOf = ({ endpoint }: DeclaredRoute) => Context.get(endpoint.annotations, Access) ?? defaultAccess

const routesWith = (accounts: Access["accounts"]) =>
  operatorRoutes.filter(
    (route) => route.endpoint.middlewares.has(OperatorAuthentication) && accessOf(route).accounts === accounts
  )

/** Events begin with the moment of the request, a search and a file have no page, no day is overdue here: their own tests have limits. */
const lists = routesWith("filtered").filter(
  ({ method, template }) => method === "GET" && !/\/(events|search|export|package|overdue)/.test(template)
)

/** A role other than `admin`, who is never limited, that may call a route. */
const roleFor = (route: DeclaredRoute): OperatorRole | undefined =>
  (["viewer", "developer", "operator"] as const).find((role) => includesRole(role, accessOf(route).roles))

layer(TestService.layer({ settings: { webhookAllowedNetworks: loopback, simulatorSettleMs: 0 } }), {
  excludeTestServices: true
})("Limited to accounts", (it) => {
  // A world is changed only by its own operator: the stranger's is the same for all routes, and the other one for all reads.
  let theirs: World | undefined
  let reads: World | undefined
  const worldsFor = ({ method }: DeclaredRoute) =>
    Effect.gen(function* () {
      const { url } = yield* receiver()
      const stranger = (theirs ??= yield* makeWorld(url))
      const world = method === "GET" ? (reads ??= yield* makeWorld(url)) : yield* makeWorld(url)
      return { url, world, stranger }
    })

  describe("OPR-39: a resource of another account is 404, as an unknown one", () => {
    it.effect.each(routesWith("resource").filter((route) => roleFor(route) !== undefined))(
      "$method $template",
      (route) =>
        Effect.gen(function* () {
          const { stranger, url, world } = yield* worldsFor(route)
          const { call } = yield* makeOperator(roleFor(route)!, [stranger.accountId])
          const { options } = acceptedBy(route, world, url)
          const ask = (id: string, by: Call = call) => by(route.method, pathWith(route, id), options)
          const unknown = yield* ask(unknownId)
          assertRefused(unknown, "NOT_FOUND")
          for (const id of world.ids[kindOf(route)] ?? []) {
            const answer = yield* ask(id)
            assert.deepStrictEqual([answer.status, answer.text], [404, unknown.text])
          }
          assertRefused(yield* ask("nonsense"), "NOT_FOUND")
          // The control: an operator of the account is accepted, where the state allows it.
          const own = yield* makeOperator(roleFor(route)!, [unknownAccount(stranger), world.accountId.toUpperCase()])
          const { options: again, path } = acceptedBy(route, world, url)
          const accepted = yield* own.call(route.method, path, again)
          assert.include([200, 201, 202, 409], accepted.status, accepted.text)
        }).pipe(Effect.scoped)
    )
  })

  describe("OPR-39: lists and figures are of the operator's accounts only", () => {
    it.effect.each(lists)("$method $template", (route) =>
      Effect.gen(function* () {
        const { call: callPublic, operate } = yield* TestService
        const { stranger, world } = yield* worldsFor(route)
        for (const { key } of [world, stranger]) yield* callPublic("GET", "/v1/account", { key })
        const role = roleFor(route)!
        const one = yield* makeOperator(role, [world.accountId])
        const two = yield* makeOperator(role, [world.accountId, stranger.accountId])
        const strangers = new Set(Object.values(stranger.ids).flat())
        const mentions = (text: string) => [...strangers].some((id) => text.includes(id))
        const isFigure = /\/(stats|waiting|summary)$/.test(route.template)
        const path = isFigure ? route.template : `${route.template}?limit=100`
        const all = yield* eventually(two.call("GET", path), ({ text }) => mentions(text) || isFigure)
        const limited = yield* one.call("GET", path)
        assert.strictEqual(limited.status, 200, limited.text)
        assert.isFalse(mentions(limited.text), limited.text)
        assert.notStrictEqual(limited.text, all.text)
        // By the other account's id, by its resources and by its cursor.
        const filters = ["account_id", "key_id", "charge_id", "resource_id", "endpoint_id"] as const
        for (const filter of filters) {
          const answer = yield* one.call("GET", `${path}&${filter}=${idFor(stranger, filter)}`)
          assert.isFalse(mentions(answer.text.replaceAll(idFor(stranger, filter), "")), answer.text)
        }
        const { body } = yield* operate<{ data?: ReadonlyArray<{ id: string }> }>("GET", path)
        const cursor = body.data?.find(({ id }) => strangers.has(id))?.id
        if (cursor !== undefined) {
          assertRefused(yield* one.call("GET", `${path}&starting_after=${cursor}`), "VALIDATION_ERROR", [
            "starting_after"
          ])
        }
      }).pipe(Effect.scoped)
    )

    it.effect("OPR-39: pages of several accounts together have every row once, newest first", () =>
      Effect.gen(function* () {
        const { operate } = yield* TestService
        const { url } = yield* receiver()
        const worlds = [yield* makeWorld(url), yield* makeWorld(url), yield* makeWorld(url)]
        const [one, two] = worlds
        const accounts = [one!.accountId, two!.accountId]
        const { call } = yield* makeOperator("viewer", accounts)
        const filtersOf: Readonly<Record<string, ReadonlyArray<string>>> = {
          charges: ["", "&origin=api", "&reference=referencia-segredo"],
          payouts: ["", "&status=completed"],
          disputes: ["", "&status=open"],
          deliveries: ["", "&status=delivered", "&event=charge.pix.paid"],
          "ledger/entries": [""]
        }
        for (const [list, filters] of Object.entries(filtersOf)) {
          for (const filter of filters) {
            const read = Effect.fnUntraced(function* (by: Call, limit: number) {
              const rows: Array<{ id: string; account_id?: string; resource_id?: string }> = []
              for (let more = true; more;) {
                const after = rows.length === 0 ? "" : `&starting_after=${rows.at(-1)!.id}`
                const { body, text } = yield* by<{ data: typeof rows; has_more: boolean }>(
                  "GET",
                  `/operator/v1/${list}?limit=${limit}${filter}${after}`
                )
                assert.isDefined(body.data, text)
                rows.push(...body.data)
                more = body.has_more
              }
              return rows
            })
            yield* eventually(Effect.all([read(call, 2), read(operate, 100)]), ([limited, all]) => {
              // The entries of an exception are its connection's.
              const own = new Set(
                [one!, two!].flatMap(({ ids }) =>
                  Object.entries(ids).flatMap(([kind, of]) => (kind === "exceptions" ? [] : of))
                )
              )
              const expected = all.filter((row) =>
                list === "ledger/entries" || list === "deliveries"
                  ? own.has(String(row.resource_id))
                  : accounts.includes(String(row.account_id))
              )
              return (
                expected.length > 0 &&
                JSON.stringify(limited.map(({ id }) => id)) === JSON.stringify(expected.map(({ id }) => id))
              )
            })
          }
        }
      }).pipe(Effect.scoped)
    )
  })

  it.effect("OPR-39: a resend of failed deliveries leaves those of other accounts alone", () =>
    Effect.gen(function* () {
      const { url } = yield* receiver()
      const world = yield* makeWorld(url)
      const stranger = yield* makeWorld(url)
      const { call } = yield* makeOperator("operator", [stranger.accountId])
      const own = yield* makeOperator("operator", [world.accountId])
      const sql = yield* SqlClient
      const resource = world.ids["charges"]![1]!
      yield* sql`UPDATE deliveries SET status = 'failed', due_at = NULL WHERE resource_id = ${resource}::uuid`
      const body = { resource_id: resource, since: "2026-01-01T00:00:00Z" }
      const resend = (by: Call, more: object = {}) =>
        by<{ count: number }>("POST", "/operator/v1/deliveries/resend", { body: { ...body, ...more } })
      assert.strictEqual((yield* resend(call)).body.count, 0)
      assert.strictEqual((yield* resend(call, { account_id: world.accountId })).body.count, 0)
      assert.strictEqual((yield* resend(own.call, { account_id: stranger.accountId })).body.count, 0)
      assert.isAbove((yield* resend(own.call)).body.count, 0)
    }).pipe(Effect.scoped)
  )
})

/** An account besides the world's. */
const unknownAccount = ({ accountId }: World): string => accountId

const idFor = (world: World, filter: string): string =>
  ({
    account_id: world.accountId,
    key_id: world.keyId,
    charge_id: world.ids["charges"]?.[2],
    resource_id: world.ids["charges"]?.[1],
    endpoint_id: world.ids["webhooks"]?.[0]
  })[filter] ?? newKey()
