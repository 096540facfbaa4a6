/** Balance transactions of accounts and of bank accounts, over HTTP. */
import { assert, layer } from "@effect/vitest"
import type { BalanceTransaction } from "@pix-payments/api/operator/Books"
import { SIMULATOR_CONNECTION } from "@pix-payments/domain/AcquirerConnection"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { created } from "../support/ChargeRequests.ts"
import { type Dispute, med } from "../support/Disputes.ts"
import { exceptionOf, notified, paymentOf, resolved } from "../support/Exceptions.ts"
import {
  availableOf,
  balanceOf,
  failing,
  operated,
  paidCharge,
  paidOut,
  payOut,
  payoutReaching,
  simulated
} from "../support/Money.ts"
import { makeOperator } from "../support/Operators.ts"
import { eventually } from "../support/Receiver.ts"
import { TestService } from "../support/TestService.ts"

interface Listed {
  readonly data: ReadonlyArray<BalanceTransaction>
  readonly has_more: boolean
  readonly next: string | null
}

const settings = { acquirerTimeoutMs: 300, simulatorSettleMs: 0 }

layer(TestService.layer({ settings }), { excludeTestServices: true })("Balance transactions", (it) => {
  const fee = { fixed: 30, basis_points: 0 }

  const transactions = (path: string, query: Record<string, string> = {}) =>
    operated<Listed>("GET", `${path}/transactions?${new URLSearchParams({ limit: "100", ...query })}`)

  const ofAccount = (accountId: string, query?: Record<string, string>) =>
    Effect.map(transactions(`/accounts/${accountId}`, query), ({ data }) => data)

  /** Oldest first: `type amount fee balance_after`. */
  const shown = (lines: ReadonlyArray<BalanceTransaction>) =>
    lines.toReversed().map(({ amount, balance_after, fee, type }) => [type, amount, fee, balance_after].join(" "))

  const assertChain = (lines: ReadonlyArray<BalanceTransaction>) => {
    let balance = 0
    for (const line of lines.toReversed()) {
      assert.strictEqual(line.net, line.amount - line.fee)
      balance += line.net
      assert.strictEqual(line.balance_after, balance)
    }
    return balance
  }

  it.effect("OPR-250: A line of each movement of `available`, with its fee and the balance after it", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const { accountId, key } = yield* makeCaller({ account: { payout_fee: fee } })
      const charge = yield* paidCharge(key, 2000)
      const paid = yield* paidOut(key, { amount: 500 })
      yield* payoutReaching(key, paid.id, "completed")
      const failed = yield* paidOut(key, { amount: 600, ...failing })
      yield* payoutReaching(key, failed.id, "failed")
      const dispute = yield* simulated<{ id: string }>(`/charges/${charge.id}/infraction`, { reason: "fraud" }, 201)
      yield* simulated(`/disputes/${dispute.id}/win`)
      const other = yield* paidCharge(key, 300)
      yield* operated("POST", `/charges/${other.id}/refund`, { amount: 100 })
      const lines = yield* ofAccount(accountId)
      assert.deepStrictEqual(shown(lines), [
        "charge 2000 0 2000",
        "payout -500 30 1470",
        "payout -600 30 840",
        "payout_return 600 -30 1470",
        "dispute_hold -2000 0 -530",
        "dispute_release 2000 0 1470",
        "charge 300 0 1770",
        "charge_refund -100 0 1670"
      ])
      assert.strictEqual(assertChain(lines), yield* availableOf(key))
      const [refund, , , hold, , , payout, first] = lines
      assert.deepInclude(first, {
        source: { object: "charge", id: charge.id },
        txid: charge.id.replaceAll("-", ""),
        connection_id: SIMULATOR_CONNECTION,
        payment_code: "17",
        account_id: accountId,
        return_id: null
      })
      assert.match(first!.end_to_end_id ?? "", /^E/)
      assert.deepInclude(payout, { source: { object: "payout", id: paid.id }, connection_id: null })
      assert.deepInclude(hold, { source: { object: "dispute", id: dispute.id } })
      assert.strictEqual(refund?.source.object, "refund")
      assert.deepStrictEqual(
        lines.map(({ position }) => position),
        lines.map(({ position }) => position).toSorted((one, other) => other - one)
      )
    })
  )

  it.effect("OPR-250: Of `pending` and `blocked` with `balance`; a charge says when it is available", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const sql = yield* SqlClient
      const { accountId, key } = yield* makeCaller({ account: { release_delay: 3600 } })
      const { id } = yield* paidCharge(key, 1000)
      const [pending] = yield* ofAccount(accountId, { balance: "pending" })
      assert.deepInclude(pending, { type: "charge", net: 1000, balance_after: 1000 })
      assert.isAbove(Date.parse(pending!.available_on) - Date.parse(pending!.created_at), 3_500_000)
      assert.deepStrictEqual(yield* ofAccount(accountId), [])
      yield* sql`UPDATE releases SET due_at = now() WHERE charge_id = ${id}::uuid`
      yield* eventually(availableOf(key), (available) => available > 0)
      yield* simulated(`/charges/${id}/infraction`, { reason: "fraud" }, 201)
      assert.deepStrictEqual(shown(yield* ofAccount(accountId)), ["release 1000 0 1000", "dispute_hold -1000 0 0"])
      assert.deepStrictEqual(shown(yield* ofAccount(accountId, { balance: "pending" })), [
        "charge 1000 0 1000",
        "release -1000 0 0"
      ])
      assert.deepStrictEqual(shown(yield* ofAccount(accountId, { balance: "blocked" })), ["dispute_hold 1000 0 1000"])

      // What leaves pending money does so at once, whatever its charge waits for.
      const other = yield* makeCaller({ account: { release_delay: 3600 } })
      const paid = yield* paidCharge(other.key, 1000)
      yield* operated("POST", `/charges/${paid.id}/refund`, { amount: 300 })
      const left = yield* ofAccount(other.accountId, { balance: "pending" })
      assert.deepStrictEqual(shown(left.slice(0, 1)), ["charge_refund -300 0 700"])
      assert.strictEqual(left[0]!.available_on, left[0]!.created_at)
    })
  )

  it.effect("OPR-251: Balances chain where many payments and payouts move one account at once", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const { accountId, key } = yield* makeCaller({ account: { payout_fee: fee } })
      yield* paidCharge(key, 30_000)
      yield* Effect.all(
        Array.from({ length: 60 }, (_, n) =>
          n % 2 === 0 ? paidCharge(key, 100 + n) : payOut(key, { amount: 500 + n, ...(n % 3 === 0 ? failing : {}) })
        ),
        { concurrency: "unbounded" }
      )
      yield* eventually(
        operated<{ data: ReadonlyArray<{ status: string }> }>("GET", `/payouts?account_id=${accountId}&limit=100`),
        ({ data }) => data.every(({ status }) => status === "completed" || status === "failed")
      )
      const lines = yield* ofAccount(accountId)
      assert.isAbove(lines.length, 50)
      assert.strictEqual(assertChain(lines), (yield* balanceOf(key)).available)
      const sql = yield* SqlClient
      const gaps = yield* sql`SELECT position, row_number() OVER (ORDER BY position) AS nth FROM ledger_transfers
        WHERE account_id = ${accountId}::uuid`
      assert.isTrue(gaps.every(({ nth, position }) => nth === position))
    })
  )

  it.effect("OPR-252: Pages by day, type and amount; what it looked at bounds a page, and `next` continues", () =>
    Effect.gen(function* () {
      const { makeCaller, operate } = yield* TestService
      const { accountId, key } = yield* makeCaller()
      for (const amount of [100, 200, 300]) yield* paidCharge(key, amount)
      const [third, second, first] = yield* ofAccount(accountId)
      const page = yield* transactions(`/accounts/${accountId}`, { limit: "2" })
      assert.deepStrictEqual([page.data.length, page.has_more, page.next], [2, true, second!.id])
      assert.deepStrictEqual(yield* ofAccount(accountId, { starting_after: page.next! }), [first!])
      assert.deepStrictEqual(yield* ofAccount(accountId, { amount_min: "200", amount_max: "200" }), [second!])
      assert.deepStrictEqual(yield* ofAccount(accountId, { type: "payout" }), [])
      assert.deepStrictEqual(yield* ofAccount(accountId, { from: third!.day, to: third!.day, limit: "1" }), [third!])
      assert.deepStrictEqual(yield* ofAccount(accountId, { to: "2020-01-01" }), [])
      const refused = yield* operate("GET", `/operator/v1/accounts/${accountId}/transactions?from=2020-13-01`)
      assert.strictEqual(refused.status, 400)
      const others = yield* operate(
        "GET",
        `/operator/v1/connections/${SIMULATOR_CONNECTION}/transactions?starting_after=${accountId}`
      )
      assert.strictEqual(others.status, 400)
      const sql = yield* SqlClient
      yield* sql`INSERT INTO ledger_transfers (id, account_id, debit, credit, amount, resource_id, reason, created_at, position, day)
        SELECT uuidv7(), ${accountId}::uuid, 'payouts_in_transit', 'fees', 1, uuidv7(), 'payout.completed', now(), 3 + n, '2100-01-01'
        FROM generate_series(1, 1001) n`
      const empty = yield* transactions(`/accounts/${accountId}`)
      assert.deepStrictEqual([empty.data.length, empty.has_more], [0, true])
      assert.deepStrictEqual(yield* ofAccount(accountId, { starting_after: empty.next! }), [third!, second!, first!])
    })
  )

  it.effect(
    "OPR-253, OPR-48: Documents are masked unless revealed, and a limited operator sees own accounts only",
    () =>
      Effect.gen(function* () {
        const { makeCaller } = yield* TestService
        const { accountId, key } = yield* makeCaller()
        const { accountId: foreign } = yield* makeCaller()
        yield* paidCharge(key, 100)
        const { call } = yield* makeOperator("viewer", [accountId])
        const path = `/operator/v1/accounts/${accountId}/transactions`
        const { body } = yield* call<Listed>("GET", path)
        assert.match(body.data[0]!.counterparty!.document!, /^\*\*\*/)
        const [clear] = yield* ofAccount(accountId, { reveal: "true" })
        assert.match(clear!.counterparty!.document!, /^\d+$/)
        assert.strictEqual((yield* call("GET", `/operator/v1/accounts/${foreign}/transactions`)).status, 404)
        assert.strictEqual(
          (yield* call("GET", `/operator/v1/connections/${SIMULATOR_CONNECTION}/transactions`)).status,
          403
        )
      })
  )

  it.effect("OPR-253: A line has the fee of its payout and the dispute behind it, also at the bank", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const { accountId, key } = yield* makeCaller({ account: { payout_fee: fee } })
      const charge = yield* paidCharge(key, 2000)
      yield* operated("POST", `/charges/${charge.id}/refund`, { amount: 100 })
      const lost = yield* med(charge.id, { amount: 300 })
      const newest = yield* med(charge.id, { amount: 500 })
      yield* simulated(`/disputes/${lost.id}/lose`)
      yield* paidCharge(key, 700)
      const paid = yield* paidOut(key, { amount: 600 })
      yield* payoutReaching(key, paid.id, "completed")
      const failed = yield* paidOut(key, { amount: 500, ...failing })
      yield* payoutReaching(key, failed.id, "failed")
      const names = new Map([
        [lost.id, "lost"],
        [newest.id, "newest"]
      ])
      /** Oldest first: `type net fee order_fee dispute`. */
      const behind = (lines: ReadonlyArray<BalanceTransaction>) =>
        lines
          .toReversed()
          .map(({ dispute_id, fee, net, order_fee, type }) =>
            [type, net, fee, order_fee, dispute_id && names.get(dispute_id)].join(" ")
          )
      assert.deepStrictEqual(behind(yield* ofAccount(accountId)), [
        "charge 2000 0  newest",
        "charge_refund -100 0  newest",
        "dispute_hold -300 0  lost",
        "dispute_hold -500 0  newest",
        "charge 700 0  ",
        "payout -630 30 30 ",
        "payout -530 30 30 ",
        "payout_return 530 -30 30 "
      ])
      const { data } = yield* transactions(`/connections/${SIMULATOR_CONNECTION}`)
      assert.deepStrictEqual(behind(data.filter(({ account_id }) => account_id === accountId)), [
        "charge 2000 0  newest",
        "charge_refund -100 0  newest",
        "dispute_loss -300 0  lost",
        "charge 700 0  ",
        "payout -600 0 30 "
      ])
    })
  )

  it.effect("OPR-253: Of an exception, its own dispute, or that of the charge that it pays", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const { accountId, key } = yield* makeCaller()
      const { id: paidId } = yield* paidCharge(key, 1000)
      const second = paymentOf(paidId, { amount: 1000 })
      yield* notified(second)
      const own = yield* exceptionOf(second.endToEndId)
      yield* resolved(own.id, { action: "accept" })
      const opened = { _tag: "med.opened", txid: "", endToEndId: second.endToEndId!, reason: "fraud" } as const
      assert.strictEqual(yield* notified({ ...opened, externalId: `med-${own.id}` }), "applied")
      const { id: chargeId } = yield* created(key, { amount: 900 })
      const nameless = paymentOf("", { amount: 900 })
      yield* notified(nameless)
      yield* resolved((yield* exceptionOf(nameless.endToEndId)).id, { action: "accept", charge_id: chargeId })
      const ofCharge = yield* med(chargeId)
      const disputes = yield* operated<{ data: ReadonlyArray<Dispute> }>("GET", `/disputes?account_id=${accountId}`)
      const ofException = disputes.data.find(({ exception_id }) => exception_id === own.id)
      const { data } = yield* transactions(`/connections/${SIMULATOR_CONNECTION}`)
      const ofPix = ({ endToEndId }: { readonly endToEndId?: string }) =>
        data.filter(({ end_to_end_id }) => end_to_end_id === endToEndId).map(({ dispute_id }) => dispute_id)
      assert.deepStrictEqual(ofPix(second), [ofException!.id])
      assert.deepStrictEqual(ofPix(nameless), [ofCharge.id])
      assert.deepStrictEqual(
        (yield* ofAccount(accountId)).toReversed().map(({ dispute_id, type }) => [type, dispute_id]),
        [
          ["charge", null],
          ["exception", ofException!.id],
          ["dispute_hold", ofException!.id],
          ["charge", ofCharge.id],
          ["dispute_hold", ofCharge.id]
        ]
      )
    })
  )

  it.effect("OPR-253: The counterparty of a charge is who paid, and else the customer", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const { accountId, key } = yield* makeCaller()
      const charge = yield* created(key, { amount: 300 })
      assert.strictEqual(
        yield* notified(paymentOf(charge.id, { amount: 300, payer: { name: "Maria Souza", document: null } })),
        "applied"
      )
      const unnamed = yield* paidCharge(key, 400)
      const [later, first] = yield* ofAccount(accountId, { reveal: "true" })
      assert.deepStrictEqual(first!.counterparty, { name: "Maria Souza", document: null })
      assert.deepStrictEqual(later!.counterparty, {
        name: unnamed.customer!.name ?? null,
        document: unnamed.customer!.document ?? null
      })
    })
  )

  it.effect("OPR-254: A connection's lines are what the bank moves: received, sent, returned and unallocated", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const { accountId, key } = yield* makeCaller({ account: { payout_fee: fee } })
      const charge = yield* paidCharge(key, 1000)
      const payout = yield* paidOut(key, { amount: 500 })
      yield* payoutReaching(key, payout.id, "completed")
      yield* operated("POST", `/charges/${charge.id}/refund`, { amount: 100 })
      const { data } = yield* transactions(`/connections/${SIMULATOR_CONNECTION}`)
      const own = data.filter(({ account_id }) => account_id === accountId)
      assert.deepStrictEqual(shown(own), ["charge 1000 0 ", "payout -500 0 ", "charge_refund -100 0 "])
      assert.match(own[1]!.end_to_end_id!, /^E/)
    })
  )
})
