/** What a request for approval shows of what it would do: names, destination, changes and balance. */
import { assert, describe, layer } from "@effect/vitest"
import { Approval } from "@pix-payments/api/operator/Approvals"
import { SIMULATOR_CONNECTION } from "@pix-payments/domain/AcquirerConnection"
import { ApprovalAction, approvalActions } from "@pix-payments/domain/Approval"
import { maskPhone } from "@pix-payments/domain/PersonalData"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { SqlClient } from "effect/sql/SqlClient"
import { approve, inCell, makeApprovers, requested } from "../../support/Approvals.ts"
import { assertRefused, created, someCustomer } from "../../support/ChargeRequests.ts"
import { exceptionOf, newPix, notified, paymentOf, resolved } from "../../support/Exceptions.ts"
import { availableOf, funded, operated, paidCharge, somePayout } from "../../support/Money.ts"
import { overduePayoutOf, overdueRefundOf, overdueRefundOfAccepted, overdueReturnOf } from "../../support/Overdue.ts"
import { makeOperator } from "../../support/Operators.ts"
import { type Fields, newKey, TestService } from "../../support/TestService.ts"

/** Reorders what is around it, and hides what is in it. */
const REORDERING = "\u202eana\u202c\u200b \u2067B\u2069o\u00ad\u{e0041}b\u3164"

/** What tells an exception from others. */
const telling: ReadonlySet<string> = new Set(["kind", "payer", "end_to_end_id"])

layer(TestService.layer({ settings: inCell }), { excludeTestServices: true })("Summaries of requests", (it) => {
  describe("OPR-240: a request names what it is about", () => {
    it.effect.each(ApprovalAction.literals)("%s", (action) =>
      Effect.gen(function* () {
        const { one } = yield* makeApprovers
        const { approval } = yield* requested(action, one.call)
        const { summary } = approval
        assert.strictEqual(summary.title, approvalActions[action].title)
        assert.deepStrictEqual(summary.resource?.id, approval.resource?.id)
        if (approval.account_id !== null) assert.strictEqual(summary.account?.id, approval.account_id)
        if (summary.account !== null) assert.isNotEmpty(summary.account.name)
        // A payout without a reference, a refund and an exception have no name: their amount and destination say what they are.
        const isSettlement = action.endsWith(".settle")
        const isNameless = action === "payout.approve" || action === "exception.accept" || isSettlement
        if (summary.resource !== null && !isNameless) assert.isNotEmpty(summary.resource.name)
        const isMoney = action === "exception.accept" || action === "adjustment.create" || isSettlement
        const movesMoney = action.startsWith("payout.") || isMoney
        assert.strictEqual(summary.amount !== null, movesMoney)
        assert.strictEqual(summary.balance_after !== null, movesMoney)
        assert.strictEqual(summary.destination !== null, action.startsWith("payout."))
        // The title alone says what a confirmation does.
        if (action !== "installation.confirm_outward" && !action.startsWith("payout."))
          assert.isNotEmpty(summary.changes)
        assert.deepStrictEqual(yield* operated<Approval>("GET", `/approvals/${approval.id}`), approval)
        yield* operated("PATCH", "/installation", { four_eyes: "auto" })
      })
    )
  })

  it.effect("OPR-240, OPR-241: a payout has its destination beside an unverified name that reorders nothing", () =>
    Effect.gen(function* () {
      const { one, other } = yield* makeApprovers
      const { accountId, key } = yield* funded(100_000, {
        name: `Padaria ${REORDERING}`,
        payout_fee: { fixed: 100, basis_points: 0 }
      })
      const available = yield* availableOf(key)
      const body = { ...somePayout, amount: 20_000, recipient_name: REORDERING, description: `rent${REORDERING}` }
      const ask = Effect.map(
        one.call<Approval>("POST", `/operator/v1/accounts/${accountId}/payouts`, { body }),
        (answer) => answer.body
      )
      const first = yield* ask
      const padaria = { id: accountId, name: "Padaria ana Bob" }
      assert.deepStrictEqual<unknown>(first.summary, {
        title: "Create a payout",
        resource: { object: "account", ...padaria },
        account: padaria,
        destination: {
          document: null,
          pix_key_type: somePayout.pix_key_type,
          pix_key: somePayout.pix_key,
          bank: null,
          branch: null,
          account: null,
          account_type: null
        },
        unverified_name: "ana Bob",
        amount: 20_000,
        fee: 100,
        balance_before: available,
        balance_after: available - 20_100,
        duplicates: [],
        changes: [{ field: "description", after: "rentana Bob" }]
      })
      // A request for the same payout warns of it, and of both.
      const second = yield* ask
      assert.deepStrictEqual(second.summary.duplicates, [{ object: "approval", id: first.id }])
      const shown = Effect.map(operated<Approval>("GET", `/approvals/${first.id}`), ({ summary }) => summary.duplicates)
      assert.deepStrictEqual(yield* shown, [{ object: "approval", id: second.id }])
      const { body: approved } = yield* approve(other.call, second.id)
      assert.strictEqual(approved.summary.balance_after, null)
      const payout = { object: "payout", id: approved.result_id! } as const
      assert.deepStrictEqual(yield* shown, [payout, { object: "approval", id: second.id }])
      const third = yield* ask
      assert.deepStrictEqual(third.summary.duplicates, [
        payout,
        { object: "approval", id: second.id },
        { object: "approval", id: first.id }
      ])
    })
  )

  it.effect("OPR-240: a change has each field before and after, and names what it points to", () =>
    Effect.gen(function* () {
      const { one } = yield* makeApprovers
      const { accountId } = yield* funded(1000)
      const sql = yield* SqlClient
      const [connection] = yield* sql<{ id: string }>`
        INSERT INTO acquirer_connections (id, name, kind, profile, pix_key, created_at)
        VALUES (uuidv7(), ${`Banco${REORDERING}`}, 'api-pix', 'efi', 'loja@example.com', now()) RETURNING id`
      const changesOf = (path: string, body: Fields) =>
        Effect.map(one.call<Approval>("PATCH", `/operator/v1${path}`, { body }), (answer) => {
          assert.strictEqual(answer.status, 202, answer.text)
          return answer.body.summary.changes
        })
      assert.deepStrictEqual<unknown>(
        yield* changesOf(`/accounts/${accountId}`, {
          connection_id: connection!.id.toUpperCase(),
          approval_limit: 500,
          payouts_paused: false,
          payout_fee: { fixed: 5, basis_points: 0 }
        }),
        [
          { field: "payout_fee", before: { fixed: 0, basis_points: 0 }, after: { fixed: 5, basis_points: 0 } },
          { field: "connection_id", before: null, after: { id: connection!.id.toUpperCase(), name: "Bancoana Bob" } },
          { field: "approval_limit", before: null, after: 500 }
        ]
      )
      const limited = yield* makeOperator("operator", [accountId])
      const { name } = yield* operated<{ name: string }>("GET", `/accounts/${accountId}`)
      assert.deepStrictEqual<unknown>(yield* changesOf(`/operators/${limited.id}`, { account_ids: null }), [
        { field: "account_ids", before: [{ id: accountId, name }], after: null }
      ])
      const { phone } = yield* operated<{ phone: string }>("GET", `/accounts/${accountId}`)
      const change = { phone: "+5511988887777", approval_limit: 700 }
      assert.deepInclude<unknown>(yield* changesOf(`/accounts/${accountId}`, change), {
        field: "phone",
        before: phone,
        after: "+5511988887777"
      })
      const viewer = yield* makeOperator("viewer")
      const { body } = yield* viewer.call<{ data: ReadonlyArray<Approval> }>("GET", "/operator/v1/approvals?limit=1")
      assert.deepInclude<unknown>(body.data[0]?.summary.changes, {
        field: "phone",
        before: maskPhone(phone),
        after: "+*********7777"
      })
    })
  )

  it.effect("OPR-240: what is created says also what does not limit it, and a token whose rights it has", () =>
    Effect.gen(function* () {
      const { one } = yield* makeApprovers
      const ask = (path: string, body: Fields) =>
        Effect.map(one.call<Approval>("POST", `/operator/v1${path}`, { body }), (answer) => {
          assert.strictEqual(answer.status, 202, answer.text)
          return answer.body.summary.changes
        })
      const email = `${newKey()}@example.com`
      assert.deepStrictEqual<unknown>(yield* ask("/operators", { name: "Ana", email, role: "operator" }), [
        { field: "name", after: "Ana" },
        { field: "email", after: email },
        { field: "role", after: "operator" },
        { field: "account_ids", after: null }
      ])
      const { makeCaller } = yield* TestService
      const { accountId, applicationId } = yield* makeCaller()
      const scopes = ["payout:write"]
      assert.deepStrictEqual<unknown>(yield* ask(`/applications/${applicationId}/keys`, { name: "shop", scopes }), [
        { field: "name", after: "shop" },
        { field: "scopes", after: scopes },
        { field: "expires_at", after: null }
      ])
      const { name } = yield* operated<{ name: string }>("GET", `/accounts/${accountId}`)
      const owner = yield* makeOperator("operator", [accountId])
      assert.deepStrictEqual<unknown>(yield* ask(`/operators/${owner.id}/tokens`, { name: "laptop" }), [
        { field: "name", after: "laptop" },
        { field: "expires_at", after: null },
        { field: "role", after: "operator" },
        { field: "account_ids", after: [{ id: accountId, name }] },
        { field: "active", after: true }
      ])
    })
  )

  it.effect("OPR-240: money for another charge or account has what the payment names, before and after", () =>
    Effect.gen(function* () {
      const { one } = yield* makeApprovers
      const { accountId, key } = yield* funded(1000)
      const stranger = yield* funded(1000)
      const nameOf = (id: string) =>
        Effect.map(operated<{ name: string }>("GET", `/accounts/${id}`), ({ name }) => ({ id, name }))
      const names = [yield* nameOf(accountId), yield* nameOf(stranger.accountId)]
      const paid = yield* paidCharge(key, 700)
      yield* operated("POST", `/simulator/charges/${paid.id}/pay`, {}, 202)
      const { data } = yield* operated<{ data: ReadonlyArray<{ id: string; charge_id: string }> }>("GET", "/exceptions")
      const { id } = data.find(({ charge_id }) => charge_id === paid.id)!
      const ask = (to: Fields) =>
        Effect.map(
          one.call<Approval>("POST", `/operator/v1/exceptions/${id}/resolve`, { body: { action: "accept", ...to } }),
          ({ body }) => body.summary
        )
      const account = { field: "account_id", before: names[0], after: names[1] }
      const charge = (id: string) => ({ id, name: someCustomer.name })
      const asked = ({ changes }: Approval["summary"]) => changes.filter(({ field }) => !telling.has(field))
      const toAccount = yield* ask({ account_id: stranger.accountId.toUpperCase(), reason: "they agreed" })
      assert.deepStrictEqual<unknown>(toAccount.account, names[1])
      assert.deepStrictEqual<unknown>(asked(toAccount), [account, { field: "reason", after: "they agreed" }])
      const { id: chargeId } = yield* created(stranger.key)
      assert.deepStrictEqual<unknown>(asked(yield* ask({ charge_id: chargeId })), [
        { field: "charge_id", before: charge(paid.id), after: charge(chargeId) },
        account
      ])
    })
  )

  it.effect(
    "OPR-213, OPR-240: what the bank sent beyond the books has an amount below zero, which clients can read",
    () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient
        const { one } = yield* makeApprovers
        const { accountId, key } = yield* funded(1000)
        const available = yield* availableOf(key)
        const [row] = yield* sql<{ id: string }>`INSERT INTO acquirer_exceptions
        (id, connection_id, kind, status, amount, unallocated, refund_id, provider_outcome, occurred_at, created_at)
        VALUES (uuidv7(), ${SIMULATOR_CONNECTION}::uuid, 'contradictory_outcome', 'open', 300, -300, uuidv7(), 'completed',
          now(), now()) RETURNING id`
        const { body } = yield* one.call<Approval>("POST", `/operator/v1/exceptions/${row!.id}/resolve`, {
          body: { action: "accept", account_id: accountId }
        })
        const { amount, balance_after, changes } = (yield* Schema.decodeEffect(Approval)(body)).summary
        assert.deepStrictEqual([amount, balance_after], [-300, available - 300])
        assert.deepInclude<unknown>(
          changes.find(({ field }) => field === "account_id"),
          { before: null }
        )
        yield* sql`DELETE FROM acquirer_exceptions WHERE id = ${row!.id}::uuid`
      })
  )

  describe("OPR-240, OPR-215: a settlement shows what it does, and nothing else of its body", () => {
    it.effect.each(["payout.settle", "refund.settle", "exception.settle"] as const)("%s", (action) =>
      Effect.gen(function* () {
        const { one } = yield* makeApprovers
        const { approval, body, method, path } = yield* requested(action, one.call)
        const more = { ...body, amount: 1, status: "completed", "balance after": "R$ 1,00", notes: "x".repeat(50_000) }
        const again = yield* one.call<Approval>(method, `/operator/v1${path}`, { body: more })
        assert.deepStrictEqual(again.body, approval)
      })
    )
  })

  it.effect("OPR-240: a refund and an exception say of which charge, which payer, and what kind they are", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const { one } = yield* makeApprovers
      const changesOf = ({ summary }: Approval) => new Map(summary.changes.map(({ after, field }) => [field, after]))
      const refund = yield* requested("refund.settle", one.call)
      const [charge] = yield* sql<{ id: string; name: string }>`SELECT c.id, c.customer_name AS name FROM charges c
        JOIN refunds r ON r.charge_id = c.id WHERE r.id = ${refund.approval.resource!.id}::uuid`
      assert.deepStrictEqual<unknown>(changesOf(refund.approval).get("charge_id"), charge)
      for (const action of ["exception.settle", "exception.accept"] as const) {
        const { approval, ask } = yield* requested(action, one.call)
        yield* sql`UPDATE acquirer_exceptions SET payer = '{"name": "Ana Souza", "document": null}'
          WHERE id = ${approval.resource!.id}::uuid`
        const changes = changesOf((yield* ask(one.call)).body)
        assert.deepStrictEqual([changes.get("kind"), changes.get("payer")], ["second_payment", "Ana Souza"])
        assert.match(String(changes.get("end_to_end_id")), /^E/)
      }
    })
  )

  describe("OPR-240, OPR-215: after a settlement the account has what its request showed", () => {
    const settlements = {
      "a payout that failed, with its fee": Effect.map(overduePayoutOf, ({ id, key }) => ({
        path: `/payouts/${id}`,
        key
      })),
      "a refund of money that is not released": Effect.map(overdueRefundOf({ release_delay: 3600 }), ({ id, key }) => ({
        path: `/refunds/${id}`,
        key
      })),
      "a refund of released money": Effect.map(overdueRefundOf(), ({ id, key }) => ({ path: `/refunds/${id}`, key })),
      "the return of an exception that no account accepted": Effect.map(overdueReturnOf, ({ id, key }) => ({
        path: `/exceptions/${id}`,
        key
      })),
      "the return of money that was accepted": Effect.gen(function* () {
        const { key } = yield* funded(1000)
        const { id: chargeId } = yield* paidCharge(key, 500)
        const payment = paymentOf(chargeId, { amount: 300 })
        yield* notified(payment)
        const { id } = yield* exceptionOf(payment.endToEndId)
        yield* resolved(id, { action: "accept" })
        yield* overdueRefundOfAccepted(id, 200)
        return { path: `/exceptions/${id}`, key }
      })
    }
    it.effect.each(
      Object.keys(settlements).flatMap((of) => (["failed", "completed"] as const).map((outcome) => ({ of, outcome })))
    )("$of: $outcome", ({ of, outcome }) =>
      Effect.gen(function* () {
        const { one, other } = yield* makeApprovers
        const { key, path } = yield* settlements[of as keyof typeof settlements]
        const external = path.startsWith("/payouts") ? "end_to_end_id" : "return_id"
        const body = {
          outcome,
          reason: "the bank's clerk says so",
          ...(outcome === "completed" && { [external]: newPix() })
        }
        const asked = yield* one.call<Approval>("POST", `/operator/v1${path}/settle`, { body })
        assert.strictEqual(asked.status, 202, asked.text)
        const { balance_after, balance_before } = asked.body.summary
        assert.strictEqual(balance_before, yield* availableOf(key))
        yield* approve(other.call, asked.body.id)
        assert.strictEqual(balance_after, yield* availableOf(key))
      })
    )
  })

  it.effect("OPR-114, OPR-240: a payout is not created with another fee than was shown", () =>
    Effect.gen(function* () {
      const { one, other } = yield* makeApprovers
      const { accountId, key } = yield* funded(100_000)
      const available = yield* availableOf(key)
      const { body } = yield* one.call<Approval>("POST", `/operator/v1/accounts/${accountId}/payouts`, {
        body: { ...somePayout, amount: 20_000 }
      })
      assert.strictEqual(body.summary.fee, 0)
      yield* operated("PATCH", `/accounts/${accountId}`, { payout_fee: { fixed: 50_000, basis_points: 0 } })
      assertRefused(yield* approve(other.call, body.id), "INVALID_STATE")
      const { reason, status } = yield* operated<Approval>("GET", `/approvals/${body.id}`)
      assert.deepStrictEqual([status, reason], ["expired", "It was changed since: payout_fee."])
      assert.strictEqual(yield* availableOf(key), available)
    })
  )

  describe("OPR-114: an old approval releases no brake that was set since", () => {
    it.effect("of an account, a connection and the installation", () =>
      Effect.gen(function* () {
        const { one, other } = yield* makeApprovers
        const { accountId } = yield* funded(1000)
        const sql = yield* SqlClient
        const [connection] = yield* sql<{ id: string }>`
          INSERT INTO acquirer_connections (id, name, kind, profile, pix_key, created_at)
          VALUES (uuidv7(), 'Banco', 'api-pix', 'efi', ${`${newKey()}@example.com`}, now()) RETURNING id`
        for (const [path, change] of [
          [`/accounts/${accountId}`, { approval_limit: 500 }],
          [`/connections/${connection!.id}`, { name: "Outro" }],
          ["/installation", { four_eyes: "off" }]
        ] as const) {
          const body = { ...change, payouts_paused: false, charges_paused: false }
          const asked = yield* one.call<Approval>("PATCH", `/operator/v1${path}`, { body })
          assert.strictEqual(asked.status, 202, asked.text)
          assert.strictEqual(
            (yield* other.call("PATCH", `/operator/v1${path}`, { body: { payouts_paused: true } })).status,
            200
          )
          assertRefused(yield* approve(other.call, asked.body.id), "INVALID_STATE")
          assert.strictEqual((yield* operated(`GET`, path))["payouts_paused"], true, path)
          const { reason } = yield* operated<Approval>("GET", `/approvals/${asked.body.id}`)
          assert.include(reason, "payouts_paused")
        }
        yield* operated("PATCH", "/installation", { payouts_paused: false })
      })
    )
  })
})
