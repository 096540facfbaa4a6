/** Money that fits no charge, as it arrives: each is posted once, and explained by an exception. */
import { assert, layer } from "@effect/vitest"
import { SIMULATOR_CONNECTION } from "@pix-payments/domain/AcquirerConnection"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { created, retrieve } from "../../support/ChargeRequests.ts"
import {
  exceptionOf,
  exceptionsOf,
  movedTo,
  newConnection,
  newPix,
  notified,
  paymentOf,
  resolved,
  txidOf,
  unallocated
} from "../../support/Exceptions.ts"
import {
  assertLedgerHolds,
  entriesOf,
  eventStatusesOf,
  ledgerBalancesOf,
  operated,
  paidCharge,
  simulated
} from "../../support/Money.ts"
import { TestService } from "../../support/TestService.ts"

const settings = { acquirerTimeoutMs: 300, simulatorSettleMs: 0 }

const caller = Effect.flatMap(TestService, ({ makeCaller }) => makeCaller())

layer(TestService.layer({ settings }), { excludeTestServices: true })("Money that fits no charge", (it) => {
  it.effect("BAL-11, CHG-9, OPR-80: a second payment is an exception, once, with its money in unallocated", () =>
    Effect.gen(function* () {
      const { accountId, key } = yield* caller
      const before = yield* unallocated()
      const { id } = yield* paidCharge(key, 1000)
      const payer = { name: "Ana", document: "52998224725" }
      const second = paymentOf(id, { amount: 1000, payer, key: "chave@loja.com", atMs: Date.UTC(2026, 10, 21, 12) })
      assert.strictEqual(yield* notified(second), "exception")
      assert.strictEqual(yield* notified(second), "ignored")
      assert.strictEqual(yield* notified({ ...second, externalId: "another" }), "ignored")
      assert.strictEqual((yield* unallocated()) - before, 1000)
      assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 1000 })
      const exception = yield* exceptionOf(second.endToEndId)
      const { created_at: _, id: exceptionId, ...shown } = exception
      assert.deepStrictEqual<unknown>(shown, {
        object: "exception",
        connection_id: SIMULATOR_CONNECTION,
        kind: "second_payment",
        status: "open",
        amount: 1000,
        expected_amount: 1000,
        unallocated: 1000,
        currency: "BRL",
        end_to_end_id: second.endToEndId,
        txid: txidOf(id),
        external_id: null,
        pix_key: "chave@loja.com",
        payer,
        received: null,
        occurred_at: "2026-11-21T12:00:00.000Z",
        charge_id: id,
        account_id: accountId,
        action: null,
        reason: null,
        failure_reason: null,
        payout_id: null,
        refund_id: null,
        provider_outcome: null,
        resolved_by: null,
        resolved_at: null
      })
      assert.deepStrictEqual(yield* entriesOf(exceptionId), ["exception.received acquirer>unallocated 1000"])
      assert.strictEqual((yield* retrieve(key, id)).body.status, "paid")
      yield* assertLedgerHolds
    })
  )

  it.effect("BAL-11: the exception, its key, its record and its transfer are one commit", () =>
    Effect.gen(function* () {
      const { key } = yield* caller
      const { id } = yield* paidCharge(key, 1000)
      const second = paymentOf(id)
      yield* notified(second)
      const sql = yield* SqlClient
      const commits = yield* sql<Readonly<Record<"exception" | "report" | "key" | "transfer" | "outcome", string>>>`
        SELECT e.xmin::text AS exception, r.xmin::text AS report, s.xmin::text AS key, t.xmin::text AS transfer, r.outcome
        FROM acquirer_exceptions e JOIN notifications r ON r.id = e.id
        JOIN charge_settlements s ON s.charge_id = e.id JOIN ledger_transfers t ON t.resource_id = e.id
        WHERE e.end_to_end_id = ${second.endToEndId!}`
      assert.lengthOf(commits, 1)
      const { exception, ...others } = commits[0]!
      assert.deepStrictEqual(others, { report: exception, key: exception, transfer: exception, outcome: "exception" })
    })
  )

  it.effect("BAL-11, CHG-7: each kind, and the charge stays as it is", () =>
    Effect.gen(function* () {
      const { accountId, key } = yield* caller
      const other = yield* newConnection()
      const pending = yield* created(key, { amount: 1000 })
      const expired = yield* created(key, { amount: 1000 })
      const canceled = yield* created(key, { amount: 1000 })
      const failed = yield* created(key, { amount: 1000 })
      const refunded = yield* paidCharge(key, 1000)
      const sql = yield* SqlClient
      yield* sql`UPDATE charges SET expires_at = now() - interval '1 day' WHERE id = ${expired.id}::uuid`
      yield* operated("POST", `/charges/${canceled.id}/cancel`)
      yield* simulated(`/charges/${failed.id}/fail`)
      yield* simulated(`/charges/${refunded.id}/return`, { as: "charged_back" })
      const cases = [
        ["wrong_amount", pending.id, {}],
        ["wrong_amount", expired.id, {}],
        ["late_payment", canceled.id, {}],
        ["late_payment", failed.id, {}],
        ["late_payment", refunded.id, {}],
        ["unidentified_payment", "", {}],
        ["unknown_txid", "", { txid: "x".repeat(26) }],
        // Of another connection it is unknown.
        ["unknown_txid", pending.id, { connectionId: other, amount: 1000 }]
      ] as const
      const [before, balances] = [yield* unallocated(), yield* ledgerBalancesOf(accountId)]
      for (const [kind, id, fields] of cases) {
        const shown = id === "" ? undefined : (yield* retrieve(key, id)).body
        const payment = paymentOf(id, { amount: 999, ...fields })
        assert.strictEqual(yield* notified(payment), "exception")
        assert.strictEqual((yield* exceptionOf(payment.endToEndId)).kind, kind)
        if (id !== "") assert.deepStrictEqual((yield* retrieve(key, id)).body, shown)
      }
      assert.strictEqual((yield* unallocated()) - before, 7 * 999)
      assert.strictEqual(yield* unallocated(other), 1000)
      assert.deepStrictEqual(yield* ledgerBalancesOf(accountId), balances)
      // A payment of the right amount still pays the charges that wait for it.
      for (const { id } of [pending, expired]) {
        assert.strictEqual(yield* notified(paymentOf(id, { amount: 1000 })), "applied")
      }
      yield* assertLedgerHolds
    })
  )

  it.effect("CHG-9: paid_at is the instant of the provider", () =>
    Effect.gen(function* () {
      const { key } = yield* caller
      const { id } = yield* created(key)
      yield* notified(paymentOf(id, { atMs: Date.UTC(2026, 10, 20, 9, 30) }))
      assert.strictEqual((yield* retrieve(key, id)).body.paid_at, "2026-11-20T09:30:00.000Z")
    })
  )

  it.effect(
    "CHG-8, CHG-9, BAL-11: copies that race, of one settlement for two charges and for the key: one has an effect",
    () =>
      Effect.gen(function* () {
        const { accountId, key } = yield* caller
        for (let round = 0; round < 10; round++) {
          const [one, other] = [yield* created(key, { amount: 1000 }), yield* created(key, { amount: 1000 })]
          const before = [yield* unallocated(), (yield* ledgerBalancesOf(accountId))["available"]!] as const
          const endToEndId = newPix()
          const copies = [one.id, other.id, "", one.id, other.id, ""].map((id, copy) =>
            notified(paymentOf(id, { endToEndId, amount: 1000, ...(copy < 3 ? {} : { externalId: `x-${copy}` }) }))
          )
          const outcomes = yield* Effect.all(copies, { concurrency: "unbounded" })
          assert.lengthOf(
            outcomes.filter((outcome) => outcome !== "ignored"),
            1
          )
          const after = [yield* unallocated(), (yield* ledgerBalancesOf(accountId))["available"]!] as const
          assert.strictEqual(after[0] - before[0] + after[1] - before[1], 1000)
        }
        yield* assertLedgerHolds
      })
  )
})

layer(TestService.layer({ settings }), { excludeTestServices: true })("Returns and disputes of such money", (it) => {
  it.effect("OPR-87: a return takes the money of an exception out of unallocated, and resolves it", () =>
    Effect.gen(function* () {
      const { key } = yield* caller
      const { id } = yield* paidCharge(key, 1000)
      const before = yield* unallocated()
      const second = paymentOf(id, { amount: 1000 })
      yield* notified(second)
      const back = { _tag: "charge.refunded", txid: txidOf(id), endToEndId: second.endToEndId! } as const
      assert.strictEqual(yield* notified({ ...back, amount: 400, externalId: "r-1" }), "applied")
      assert.strictEqual(yield* notified({ ...back, amount: 400, externalId: "r-1" }), "ignored")
      assert.deepInclude(yield* exceptionOf(second.endToEndId), { status: "open", unallocated: 600 })
      assert.strictEqual(yield* notified({ ...back, amount: 700, externalId: "r-2" }), "exception")
      const [payment, rest] = yield* exceptionsOf(second.endToEndId)
      assert.deepInclude(payment, { status: "resolved", action: "return", resolved_by: "provider", unallocated: 0 })
      assert.deepInclude(rest, { kind: "unmatched_return", amount: 100, unallocated: -100, charge_id: id })
      // A copy of the payment does not compensate what was returned too much.
      assert.strictEqual(yield* notified({ ...second, externalId: "copy" }), "ignored")
      assert.strictEqual((yield* unallocated()) - before, -100)
      assert.strictEqual((yield* retrieve(key, id)).body.status, "paid")
      yield* assertLedgerHolds
    })
  )

  it.effect(
    "BAL-11: a return of a Pix that is not known waits in unallocated for its payment; both are one commit",
    () =>
      Effect.gen(function* () {
        const { accountId, key } = yield* caller
        const { id } = yield* created(key, { amount: 1000 })
        const before = yield* unallocated()
        const payment = paymentOf(id, { amount: 1000 })
        const back = { _tag: "charge.refunded", txid: "", endToEndId: payment.endToEndId!, amount: 1000 } as const
        assert.strictEqual(yield* notified({ ...back, externalId: "early-1" }), "exception")
        assert.strictEqual(yield* notified({ ...back, externalId: "early-1" }), "ignored")
        assert.deepInclude(yield* exceptionOf(payment.endToEndId), { kind: "unmatched_return", unallocated: -1000 })
        assert.strictEqual((yield* unallocated()) - before, -1000)
        const outcomes = yield* Effect.all(
          Array.from({ length: 6 }, () => notified(payment)),
          { concurrency: "unbounded" }
        )
        assert.deepStrictEqual(outcomes.toSorted(), ["applied", ...Array.from({ length: 5 }, () => "ignored")])
        assert.deepInclude(yield* exceptionOf(payment.endToEndId), {
          status: "resolved",
          resolved_by: "payment",
          unallocated: 0
        })
        assert.strictEqual(yield* unallocated(), before)
        assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 0 })
        assert.deepStrictEqual((yield* eventStatusesOf(id)).slice(2), [
          "charge.pix.paid paid",
          "charge.pix.refunded refunded"
        ])
        yield* assertLedgerHolds
      })
  )

  it.effect("BAL-11: the payment that arrives late is an exception itself: nothing is left of either", () =>
    Effect.gen(function* () {
      const before = yield* unallocated()
      const payment = paymentOf("", { amount: 1000 })
      const back = { _tag: "charge.returned", as: "refunded", txid: "", amount: 1000, externalId: newPix() } as const
      assert.strictEqual(yield* notified({ ...back, endToEndId: payment.endToEndId! }), "exception")
      assert.strictEqual(yield* notified(payment), "exception")
      const all = yield* exceptionsOf(payment.endToEndId)
      assert.deepStrictEqual(
        all.map(({ kind, status, unallocated: left }) => ({ kind, status, left })),
        [
          { kind: "unmatched_return", status: "resolved", left: 0 },
          { kind: "unidentified_payment", status: "resolved", left: 0 }
        ]
      )
      assert.strictEqual(yield* unallocated(), before)
      yield* assertLedgerHolds
    })
  )

  it.effect(
    "DSP-10, BAL-11: a return of a charge's Pix is shown, and goes with its own Pix, not with another payment",
    () =>
      Effect.gen(function* () {
        const { accountId, key } = yield* caller
        const { id } = yield* created(key, { amount: 1000 })
        const before = yield* unallocated()
        const [first, second] = [paymentOf(id, { amount: 700 }), paymentOf(id, { amount: 1000 })]
        const back = { _tag: "charge.refunded", txid: txidOf(id), endToEndId: first.endToEndId!, amount: 700 } as const
        assert.strictEqual(yield* notified({ ...back, externalId: newPix() }), "exception")
        assert.deepInclude(yield* exceptionOf(first.endToEndId), {
          kind: "unmatched_return",
          status: "open",
          charge_id: id,
          account_id: accountId,
          unallocated: -700
        })
        assert.strictEqual(yield* notified(second), "applied")
        assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 1000 })
        assert.strictEqual((yield* unallocated()) - before, -700)
        // Dismissed, it still goes with its payment.
        yield* resolved((yield* exceptionOf(first.endToEndId)).id, { action: "dismiss", reason: "seen" })
        assert.strictEqual(yield* notified(first), "exception")
        assert.strictEqual(yield* unallocated(), before)
        assert.strictEqual((yield* retrieve(key, id)).body.status, "paid")

        // The payment that it is of may fit the charge less.
        const another = yield* created(key, { amount: 1000 })
        const wrong = paymentOf(another.id, { amount: 700 })
        const early = { ...back, txid: txidOf(another.id), endToEndId: wrong.endToEndId! }
        assert.strictEqual(yield* notified({ ...early, externalId: newPix() }), "exception")
        assert.strictEqual(yield* notified(wrong), "exception")
        assert.deepStrictEqual(
          (yield* exceptionsOf(wrong.endToEndId)).map(({ status, unallocated: left }) => `${status} ${left}`),
          ["resolved 0", "resolved 0"]
        )
        assert.strictEqual(yield* notified(paymentOf(another.id)), "applied")
        assert.strictEqual(yield* unallocated(), before)
        yield* assertLedgerHolds
      })
  )

  it.effect("BAL-11: a MED of a Pix that pays no charge is an exception, and moves no money", () =>
    Effect.gen(function* () {
      const before = yield* unallocated()
      const med = { _tag: "med.opened", txid: "", endToEndId: newPix(), amount: 500, reason: "fraud" } as const
      assert.strictEqual(yield* notified(med), "exception")
      assert.strictEqual(yield* notified(med), "ignored")
      assert.deepInclude(yield* exceptionOf(med.endToEndId), {
        kind: "unmatched_dispute",
        status: "open",
        amount: 500,
        unallocated: 0
      })
      assert.strictEqual(yield* unallocated(), before)
    })
  )

  it.effect("BAL-11: a return and its payment that race: the money is posted and returned once", () =>
    Effect.gen(function* () {
      const { accountId, key } = yield* caller
      const connection = yield* newConnection()
      for (let round = 0; round < 15; round++) {
        const { id } = yield* created(key, { amount: 1000 })
        yield* movedTo(connection, id)
        const payment = paymentOf(id, { amount: 1000, connectionId: connection })
        const back = { _tag: "charge.refunded", txid: "", endToEndId: payment.endToEndId!, amount: 1000 } as const
        const refund = notified({ ...back, connectionId: connection, externalId: `race-${round}` })
        yield* Effect.all([notified(payment), refund, notified(payment), refund], { concurrency: "unbounded" })
        assert.strictEqual((yield* retrieve(key, id)).body.status, "refunded")
        assert.strictEqual(yield* unallocated(connection), 0)
        assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 0 })
      }
      yield* assertLedgerHolds
    })
  )
})
