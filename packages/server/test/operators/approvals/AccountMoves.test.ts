/** A move of an account to another cell needs a second operator, over HTTP. */
import type { OperatorAccount } from "@pix-payments/api/operator/Accounts"
import type { Approval } from "@pix-payments/api/operator/Approvals"
import { assert, describe, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { SqlClient } from "effect/sql/SqlClient"
import { approve, inCell, makeApprovers } from "../../support/Approvals.ts"
import { assertRefused, create, created } from "../../support/ChargeRequests.ts"
import { unknownId } from "../../support/Declared.ts"
import { operated } from "../../support/Money.ts"
import { makeOperator } from "../../support/Operators.ts"
import { eventually } from "../../support/Receiver.ts"
import { type Call, type Fields, TestService } from "../../support/TestService.ts"
import { waitingFor } from "../../support/Waiting.ts"

const move = <A = Approval>(call: Call, accountId: string, target: string) =>
  call<A>("POST", `/operator/v1/accounts/${accountId}/move`, { body: { target } })

const moveOf = (accountId: string) =>
  Effect.map(operated<OperatorAccount>("GET", `/accounts/${accountId}`), ({ moved_to, status }) => [status, moved_to])

const setup = Effect.gen(function* () {
  const { makeCaller } = yield* TestService
  const { accountId, key } = yield* makeCaller({ account: { name: "Padaria" } })
  return { ...(yield* makeApprovers), accountId, key }
})

/** As `move --undo` does. */
const undo = (accountId: string) =>
  Effect.flatMap(SqlClient, (sql) => sql`UPDATE accounts SET moved_to = NULL WHERE id = ${accountId}::uuid`)

layer(TestService.layer({ settings: inCell }), { excludeTestServices: true })("A move under four eyes", (it) => {
  it.effect("OPR-111, OPR-112, OPR-391: waits, while the account works, and begins with its approval", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const { accountId, key, one, other } = yield* setup
      const asked = yield* move(one.call, accountId, "b")
      assert.deepInclude(asked.body, { object: "approval", action: "account.move", status: "pending" }, asked.text)
      assert.strictEqual(asked.status, 202)
      assert.deepStrictEqual<unknown>(asked.body.request, { target: "b" })
      assert.deepInclude<unknown>(asked.body.before, {
        account_name: "Padaria",
        account_status: "active",
        moved_to: null
      })
      const padaria = { id: accountId, name: "Padaria" }
      assert.deepInclude<unknown>(asked.body.summary, {
        title: "Move an account to another cell",
        resource: { object: "account", ...padaria },
        account: padaria,
        changes: [{ field: "target", after: "b" }]
      })
      assert.strictEqual((yield* move(one.call, accountId, "b")).body.id, asked.body.id)
      assertRefused(yield* approve(one.call, asked.body.id), "FORBIDDEN")
      assert.deepStrictEqual(yield* moveOf(accountId), ["active", null])
      yield* created(key)

      const approved = yield* approve(other.call, asked.body.id)
      assert.deepInclude(approved.body, { status: "approved", result_id: accountId }, approved.text)
      assert.deepStrictEqual(yield* moveOf(accountId), ["moved", "b"])
      assertRefused(yield* create(key), "SERVICE_UNAVAILABLE")
      const entries = yield* sql<{ operator_id: string; after: Fields }>`
        SELECT operator_id, after FROM audit WHERE action = 'accounts.move' AND resource_id = ${accountId}::uuid`
      assert.deepStrictEqual([...entries], [{ operator_id: other.id, after: { target: "b" } }])

      // It changes nothing again, and needs nobody.
      const again = yield* move<OperatorAccount>(one.call, accountId, "b")
      assert.deepInclude(again.body, { object: "account", id: accountId, status: "moved" }, again.text)
      assert.strictEqual(again.status, 202)
      assertRefused(yield* move(one.call, accountId, "c"), "INVALID_STATE")
      // The approval is used.
      yield* undo(accountId)
      const anew = yield* move(one.call, accountId, "b")
      assert.strictEqual(anew.body.object, "approval", anew.text)
      assert.notStrictEqual(anew.body.id, asked.body.id)
      yield* created(key)
    })
  )

  it.effect("OPR-111: what a move would refuse is refused at once", () =>
    Effect.gen(function* () {
      const { accountId, one } = yield* setup
      assertRefused(yield* move(one.call, accountId, "a"), "VALIDATION_ERROR", ["target"])
      assertRefused(yield* move(one.call, unknownId, "b"), "NOT_FOUND")
      assertRefused(yield* move((yield* makeOperator("operator")).call, accountId, "b"), "FORBIDDEN")
    })
  )

  describe("OPR-114, OPR-391: of an account that was changed meanwhile is not approved", () => {
    const moved = (target: string) => (accountId: string) =>
      Effect.flatMap(TestService, ({ operate }) => move(operate, accountId, target))
    const changed = (changes: Fields) => (accountId: string) => operated("PATCH", `/accounts/${accountId}`, changes)
    const changes = {
      "moved to a third cell": { by: moved("c"), field: "moved_to", at: ["moved", "c"] },
      "moved there already": { by: moved("b"), field: "moved_to", at: ["moved", "b"] },
      renamed: { by: changed({ name: "Confeitaria" }), field: "account_name", at: ["active", null] },
      deactivated: { by: changed({ status: "inactive" }), field: "account_status", at: ["inactive", null] }
    }
    it.effect.each(Object.entries(changes))("%s", ([, { at, by, field }]) =>
      Effect.gen(function* () {
        const { accountId, one, other } = yield* setup
        const { body } = yield* move(one.call, accountId, "b")
        yield* by(accountId)
        assertRefused(yield* approve(other.call, body.id), "INVALID_STATE")
        assert.deepStrictEqual(yield* moveOf(accountId), at)
        const { reason, status } = yield* operated<Approval>("GET", `/approvals/${body.id}`)
        assert.deepStrictEqual([status, reason], ["expired", `It was changed since: ${field}.`])
      })
    )
  })

  it.effect("OPR-112: nor is it frozen by one person where another move is undone meanwhile", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const { accountId, one } = yield* setup
      yield* sql`UPDATE accounts SET moved_to = 'b' WHERE id = ${accountId}::uuid`
      // It is planned as a repetition, and its statement waits until there is nothing to repeat.
      const moving = yield* Effect.gen(function* () {
        yield* sql`SELECT FROM accounts WHERE id = ${accountId}::uuid FOR UPDATE`
        const fiber = yield* Effect.forkChild(move(one.call, accountId, "b"), { startImmediately: true })
        yield* eventually(waitingFor("accounts"), (count) => count > 0)
        yield* undo(accountId)
        return fiber
      }).pipe(sql.withTransaction)
      assert.strictEqual((yield* Fiber.join(moving)).body.object, "approval")
      assert.deepStrictEqual(yield* moveOf(accountId), ["active", null])
    })
  )

  it.effect("OPR-391: nor is its balance adjusted meanwhile", () =>
    Effect.gen(function* () {
      const { operate } = yield* TestService
      const { accountId } = yield* setup
      const adjust = operate("POST", "/operator/v1/adjustments", {
        body: { account_id: accountId, amount: 1, reason: "rounding" }
      })
      assert.strictEqual((yield* adjust).status, 201)
      yield* move(operate, accountId, "b")
      assertRefused(yield* adjust, "SERVICE_UNAVAILABLE", ["b"])
      yield* undo(accountId)
      assert.strictEqual((yield* adjust).status, 201)
    })
  )

  it.effect("OPR-110, OPR-391: while four eyes is off, and with the installation's token, it begins at once", () =>
    Effect.gen(function* () {
      const { operate } = yield* TestService
      const first = yield* setup
      const second = yield* setup
      const assertMoves = Effect.fnUntraced(function* (call: Call, { accountId, key }: typeof first) {
        const { body, status, text } = yield* move<OperatorAccount>(call, accountId, "b")
        assert.strictEqual(status, 202, text)
        assert.deepInclude(body, { object: "account", id: accountId, status: "moved", moved_to: "b" })
        assertRefused(yield* create(key), "SERVICE_UNAVAILABLE")
      })
      yield* assertMoves(operate, first)
      yield* operated("PATCH", "/installation", { four_eyes: "off" })
      yield* assertMoves(second.one.call, second)
      yield* operated("PATCH", "/installation", { four_eyes: "auto" })
    })
  )
})

layer(TestService.layer(), { excludeTestServices: true })("A move without a cell", (it) => {
  it.effect("OPR-391: is refused, and nobody is asked", () =>
    Effect.gen(function* () {
      const { accountId, one } = yield* setup
      assertRefused(yield* move(one.call, accountId, "b"), "INVALID_STATE")
    })
  )
})
