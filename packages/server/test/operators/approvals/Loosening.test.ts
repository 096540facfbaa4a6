/** Changes of an account that loosen what a second operator sees, and what viewers see of the requests. */
import { assert, layer } from "@effect/vitest"
import type { Approval } from "@pix-payments/api/operator/Approvals"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { SqlClient } from "effect/sql/SqlClient"
import { approve, makeApprovers } from "../../support/Approvals.ts"
import { funded } from "../../support/Money.ts"
import { makeOperator } from "../../support/Operators.ts"
import { eventually } from "../../support/Receiver.ts"
import { type Fields, TestService } from "../../support/TestService.ts"
import { waitingFor } from "../../support/Waiting.ts"

interface Account {
  readonly auto_payout_enabled: boolean
  readonly payout_duplicate_window: number
}

layer(TestService.layer(), { excludeTestServices: true })("Loosened accounts", (it) => {
  it.effect(
    "OPR-112: automatic payouts where there is a limit, and a lower duplicate window, need a second operator",
    () =>
      Effect.gen(function* () {
        const { operate } = yield* TestService
        const { one, other } = yield* makeApprovers
        const { accountId } = yield* funded(1000, { auto_payout_enabled: false, payout_duplicate_window: 60 })
        const path = `/operator/v1/accounts/${accountId}`
        const ask = (body: Fields) => one.call<Account & Approval>("PATCH", path, { body })
        const accountNow = Effect.map(operate<Account>("GET", path), ({ body }) => [
          body.auto_payout_enabled,
          body.payout_duplicate_window
        ])
        // Without a limit nobody has to look, and stricter is one's own.
        assert.strictEqual((yield* ask({ auto_payout_enabled: true })).status, 200)
        assert.strictEqual((yield* ask({ auto_payout_enabled: false, payout_duplicate_window: 90 })).status, 200)
        yield* operate("PATCH", path, { body: { approval_limit: 100 } })
        const automatic = yield* ask({ auto_payout_enabled: true })
        const shorter = yield* ask({ payout_duplicate_window: 0 })
        assert.deepStrictEqual([automatic.status, shorter.status], [202, 202])
        assert.deepInclude(automatic.body.before, { auto_payout_enabled: false })
        assert.deepStrictEqual(yield* accountNow, [false, 90])
        for (const { body } of [automatic, shorter]) {
          assert.strictEqual((yield* approve(other.call, body.id)).status, 200)
        }
        assert.deepStrictEqual(yield* accountNow, [true, 0])
      })
  )

  it.effect("OPR-112: an account is not moved to another connection by one person, also where it moves meanwhile", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const { one, other } = yield* makeApprovers
      const { accountId } = yield* funded(1000)
      const connections = yield* sql<{ id: string }>`
        INSERT INTO acquirer_connections (id, name, kind, profile, pix_key, created_at)
        SELECT uuidv7(), 'Banco', 'api-pix', 'efi', n || '@example.com', now() FROM generate_series(1, 2) n RETURNING id`
      const [first, second] = connections.map(({ id }) => id)
      const move = (to: string | null) =>
        one.call<Approval>("PATCH", `/operator/v1/accounts/${accountId}`, { body: { connection_id: to } })
      const isAt = Effect.map(
        sql<{ at: string | null }>`SELECT connection_id AS at FROM accounts WHERE id = ${accountId}::uuid`,
        ([row]) => row?.at
      )
      // Where it is already, nothing moves.
      assert.strictEqual((yield* move(null)).status, 200)
      const asked = yield* move(first!)
      assert.strictEqual(asked.status, 202)
      assert.isNull(yield* isAt)
      assert.strictEqual((yield* approve(other.call, asked.body.id)).status, 200)
      assert.strictEqual(yield* isAt, first)
      for (const to of [second!, null, second!.toUpperCase()]) assert.strictEqual((yield* move(to)).status, 202)
      // It is planned while the account is there, and its statement waits until the account is elsewhere.
      const moving = yield* Effect.gen(function* () {
        yield* sql`SELECT FROM accounts WHERE id = ${accountId}::uuid FOR UPDATE`
        const fiber = yield* Effect.forkChild(move(first!), { startImmediately: true })
        yield* eventually(waitingFor("accounts"), (count) => count > 0)
        yield* sql`UPDATE accounts SET connection_id = ${second!}::uuid WHERE id = ${accountId}::uuid`
        return fiber
      }).pipe(sql.withTransaction)
      assert.strictEqual((yield* Fiber.join(moving)).status, 202)
      assert.strictEqual(yield* isAt, second)
    })
  )

  it.effect("OPR-48: the bank account of a requested TED is masked in its approval and in the audit log", () =>
    Effect.gen(function* () {
      const { one } = yield* makeApprovers
      const viewer = yield* makeOperator("viewer")
      const { accountId } = yield* funded(100_000)
      const account = "9876543210"
      const asked = yield* one.call<Approval>("POST", `/operator/v1/accounts/${accountId}/payouts`, {
        body: {
          method: "ted",
          amount: 1000,
          bank: "341",
          branch: "1234",
          account,
          account_type: "checking",
          recipient_name: "Maria",
          recipient_document: "529.982.247-25"
        }
      })
      assert.strictEqual(asked.status, 202, asked.text)
      for (const path of [`/approvals/${asked.body.id}`, "/approvals", "/audit?action=approvals.request"]) {
        const shown = yield* viewer.call("GET", `/operator/v1${path}`)
        assert.strictEqual(shown.status, 200)
        assert.notInclude(shown.text, account, path)
        assert.include((yield* one.call("GET", `/operator/v1${path}`)).text, account, path)
      }
    })
  )
})
