/** Refunds: which money they take, which must cover them, and orders that a process did not finish. */
import { assert, layer } from "@effect/vitest"
import type { Charge } from "@pix-payments/domain/Charge"
import { txidFromId } from "@pix-payments/domain/Txid"
import { firstPixOf } from "../../../src/providers/simulator/SimulatedInstitution.ts"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { SqlClient } from "effect/sql/SqlClient"
import {
  Acquirer,
  AcquirerRefused,
  AcquirerUnclear,
  type Progress,
  type ReturnOrder
} from "../../../src/providers/Acquirer.ts"
import { AcquirerNotifications } from "../../../src/reports/AcquirerNotifications.ts"
import { RefundOrders } from "../../../src/payments/refunds/RefundOrders.ts"
import { Charges } from "../../../src/payments/charges/Charges.ts"
import { NewCharges } from "../../../src/payments/charges/NewCharges.ts"
import { Releases } from "../../../src/ledger/Releases.ts"
import { Accounts } from "../../../src/accounts/Accounts.ts"
import { runDue } from "../../support/DueCalls.ts"
import { assertRefused } from "../../support/ChargeRequests.ts"
import {
  assertLedgerHolds,
  balanceOf,
  entriesOf,
  holding,
  ledgerBalancesOf,
  operated,
  paidCharge,
  paidOut,
  simulated,
  eventStatusesOf
} from "../../support/Money.ts"
import { domainServicesLayer } from "../../support/DomainServices.ts"
import { TestService } from "../../support/TestService.ts"

const settings = { acquirerTimeoutMs: 300, simulatorSettleMs: 0 }

const pixOf = (id: string) => ({ txid: txidFromId(id), endToEndId: firstPixOf(txidFromId(id)) })

layer(TestService.layer({ settings }), { excludeTestServices: true })(
  "Money returned during the release delay",
  (it) => {
    it.effect.each([
      { what: "refunded by an operator", path: (id: string) => `/charges/${id}/refund`, body: undefined },
      { what: "refunded", path: (id: string) => `/simulator/charges/${id}/refund`, body: undefined },
      { what: "returned", path: (id: string) => `/simulator/charges/${id}/return`, body: { as: "charged_back" } }
    ])(
      "BAL-6: $what: taken from that charge's part of `pending`, and its release is reduced by as much",
      ({ body, path }) =>
        Effect.gen(function* () {
          const { makeCaller } = yield* TestService
          const sql = yield* SqlClient
          const { accountId, key } = yield* makeCaller({ account: { release_delay: 60 } })
          const { id } = yield* paidCharge(key, 1000)
          const other = yield* paidCharge(key, 300)
          yield* operated("POST", path(id), body)
          assert.deepInclude(yield* balanceOf(key), { available: 0, pending: 300, total: 300 })
          assert.match(
            (yield* entriesOf(id)).join(),
            /acquirer>pending 1000,charge\.\w+ pending>\w+ 1000(,charge\.refunded returns_in_transit>acquirer 1000)?$/
          )
          // Only the other charge is left to release.
          yield* sql`UPDATE releases SET due_at = now() WHERE charge_id IN ${sql.in([id, other.id])}`
          yield* Effect.repeat(Effect.delay(balanceOf(key), "20 millis"), { until: ({ pending }) => pending === 0 })
          assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 300, pending: 0, blocked: 0 })
          yield* assertLedgerHolds
        })
    )

    it.effect("BAL-6: blocked by a MED: from `pending` first; won, it is in `available`", () =>
      Effect.gen(function* () {
        const { makeCaller } = yield* TestService
        const { accountId, key } = yield* makeCaller({ account: { release_delay: 60 } })
        const { id } = yield* paidCharge(key, 1000)
        const dispute = yield* simulated<{ id: string }>(`/charges/${id}/infraction`, { reason: "x" }, 201)
        assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 0, pending: 0, blocked: 1000 })
        yield* simulated(`/disputes/${dispute.id}/win`)
        assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 1000, pending: 0, blocked: 0 })
        // A MED won that is lost later makes the charge `charged_back`.
        yield* simulated(`/disputes/${dispute.id}/lose`)
        assert.strictEqual((yield* operated<Charge>("GET", `/charges/${id}`)).status, "charged_back")
        assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 0, pending: 0, blocked: 0 })
        yield* assertLedgerHolds
      })
    )

    it.effect(
      "BAL-5, OPR-21: an operator's refund may not take `available` below zero: 400 INSUFFICIENT_BALANCE; what the acquirer orders may",
      () =>
        Effect.gen(function* () {
          const { makeCaller, operate } = yield* TestService
          const { accountId, key } = yield* makeCaller()
          const { id } = yield* paidCharge(key, 1000)
          yield* paidOut(key, { amount: 600, ...holding })
          assertRefused(yield* operate("POST", `/operator/v1/charges/${id}/refund`), "INSUFFICIENT_BALANCE")
          assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 400 })
          assert.strictEqual((yield* operated<Charge>("GET", `/charges/${id}`)).status, "paid")
          // A refused refund may be requested again.
          yield* paidCharge(key, 600)
          yield* operated("POST", `/charges/${id}/refund`)
          assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 0 })
          assertRefused(yield* operate("POST", `/operator/v1/charges/${id}/refund`), "INVALID_STATE")
          yield* assertLedgerHolds
        })
    )
  }
)

const DONE = Effect.succeed({ _tag: "Completed" } as const)

/** An acquirer whose refunds wait, and count. */
const calls: Array<ReturnOrder> = []
let answer: Effect.Effect<Progress, AcquirerRefused | AcquirerUnclear> = DONE
const counting = Layer.effect(
  Acquirer,
  Effect.map(Acquirer, (simulated) =>
    Acquirer.of({
      providerFor: (connectionId) =>
        Effect.map(simulated.providerFor(connectionId), (provider) => ({
          ...provider,
          orderReturn: (order) =>
            Effect.suspend(() => {
              calls.push(order)
              return answer
            })
        }))
    })
  )
)

const charged = (releaseDelay: number) =>
  Effect.gen(function* () {
    const accounts = yield* Accounts
    const charges = yield* NewCharges
    const reports = yield* AcquirerNotifications
    const account = yield* accounts.create({
      name: "Loja",
      legal_name: "Loja Ltda",
      phone: "+5511999998888",
      document: "11222333000181",
      document_type: "cnpj",
      release_delay: releaseDelay
    })
    const { id: applicationId } = yield* accounts.createApplication(account.id, "Loja")
    const { charge } = yield* charges.createForCheckout({ id: applicationId, accountId: account.id }, undefined, {
      amount: 1000 as never,
      customer: { name: "Ana", email: "ana@example.com", document: "52998224725" }
    })
    assert.strictEqual(yield* reports.receive({ _tag: "charge.paid", ...pixOf(charge.id) }), "applied")
    return { id: charge.id, accountId: account.id }
  })

layer(domainServicesLayer({ acquirerTimeoutMs: 50, simulatorSettleMs: 0, databaseConnections: 8 }, counting), {
  excludeTestServices: true
})("Orders to the acquirer", (it) => {
  const statusOf = (id: string) => Charges.use(({ find }) => Effect.map(find(id), ({ status }) => status))
  const refund = (id: string) => RefundOrders.use((orders) => Effect.exit(orders.refund(id)))

  it.effect("CHG-26, OPR-20: two refunds at once call the acquirer once; meanwhile the money cannot be spent", () =>
    Effect.gen(function* () {
      const gate = yield* Deferred.make<Progress>()
      calls.length = 0
      answer = Deferred.await(gate)
      const { accountId, id } = yield* charged(0)
      const [first, second] = yield* Effect.all(
        [
          refund(id),
          Effect.gen(function* () {
            yield* Effect.repeat(Effect.sleep("5 millis"), { until: () => calls.length > 0 })
            const refused = yield* refund(id)
            assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 0, blocked: 0 })
            assert.strictEqual(yield* statusOf(id), "paid")
            yield* Deferred.succeed(gate, { _tag: "Completed" })
            return refused
          })
        ],
        { concurrency: 2 }
      )
      assert.deepStrictEqual([first._tag, second._tag, calls.length], ["Success", "Failure", 1])
      // Not by the unique index, which is the last barrier.
      assert.strictEqual(Option.getOrUndefined(Exit.findErrorOption(second))?._tag, "InvalidStateError")
      assert.strictEqual(yield* statusOf(id), "refunded")
      assert.strictEqual((yield* eventStatusesOf(id)).at(-1), "charge.pix.refunded refunded")
    })
  )

  it.effect.each([{ releaseDelay: 0 }, { releaseDelay: 60 }])(
    "CHG-26, OPR-21: a refund that the acquirer refuses gives the money back where it was (release delay $releaseDelay)",
    ({ releaseDelay }) =>
      Effect.gen(function* () {
        answer = Effect.fail(new AcquirerRefused({ reason: "no" }))
        const { accountId, id } = yield* charged(releaseDelay)
        const sql = yield* SqlClient
        assert.strictEqual((yield* refund(id))._tag, "Failure")
        assert.strictEqual(yield* statusOf(id), "paid")
        assert.deepInclude(
          yield* ledgerBalancesOf(accountId),
          releaseDelay === 0 ? { available: 1000, pending: 0 } : { available: 0, pending: 1000 }
        )
        yield* sql`UPDATE releases SET due_at = now() WHERE charge_id = ${id}::uuid`
        yield* Releases.use(({ releaseDue }) => releaseDue)
        assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 1000, pending: 0 })
      })
  )

  it.effect(
    "CHG-26: an order whose process died between the acquirer's yes and its commit is found and finished, under its id",
    () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient
        calls.length = 0
        answer = Effect.fail(new AcquirerUnclear({ reason: "killed here" }))
        const { accountId, id } = yield* charged(0)
        assert.strictEqual((yield* refund(id))._tag, "Success", "the order is stored, and in progress")
        assert.strictEqual(yield* statusOf(id), "paid")
        assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 0, returns_in_transit: 1000 })
        // The lease runs out.
        answer = DONE
        yield* sql`UPDATE acquirer_orders SET due_at = now() WHERE charge_id = ${id}::uuid`
        const finished = yield* Effect.all([finishDue, finishDue], { concurrency: 2 })
        assert.deepStrictEqual(finished.toSorted(), [0, 1])
        assert.deepStrictEqual(new Set(calls.map((call) => call.id)).size, 1)
        assert.strictEqual(yield* statusOf(id), "refunded")
        // The acquirer's own report of it is a copy.
        const report = { _tag: "charge.refunded", ...pixOf(id), externalId: calls[0]!.id } as const
        assert.strictEqual(yield* AcquirerNotifications.use(({ receive }) => receive(report)), "ignored")
        assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 0, blocked: 0 })
      })
  )

  it.effect(
    "CHG-26: a repeated request that is refused ends nothing, because the request before it may still arrive; a later one does",
    () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient
        const ask = Effect.gen(function* () {
          const [row] = yield* sql<{ seconds: number }>`
            SELECT extract(epoch FROM due_at - clock_timestamp())::float8 AS seconds FROM acquirer_orders
            WHERE charge_id = ${id}::uuid AND state = 'ordered'`
          yield* sql`UPDATE acquirer_orders SET due_at = now() WHERE charge_id = ${id}::uuid AND state = 'ordered'`
          yield* finishDue
          return row?.seconds
        })
        answer = Effect.fail(new AcquirerUnclear({ reason: "the connection was cut" }))
        const { accountId, id } = yield* charged(0)
        yield* refund(id)
        answer = Effect.fail(new AcquirerRefused({ reason: "no balance" }))
        yield* ask
        assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 0, returns_in_transit: 1000 })
        // Each wait is longer than the one before, until nothing of before can be on its way.
        const waits: Array<number> = []
        for (let wait = yield* ask; wait !== undefined && waits.length < 20; wait = yield* ask) waits.push(wait)
        assert.isAbove(waits.at(-1)!, 100)
        assert.isBelow(waits.at(-2)!, 100)
        assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 1000, returns_in_transit: 0 })
        assert.strictEqual(yield* statusOf(id), "paid")
        // A first request that is refused is the only one.
        assert.strictEqual((yield* refund(id))._tag, "Failure")
        assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 1000, returns_in_transit: 0 })
      })
  )

  it.effect("CHG-26: a refusal counts only where no other process has asked meanwhile", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const gate = yield* Deferred.make<never, AcquirerRefused>()
      answer = Deferred.await(gate)
      calls.length = 0
      const { accountId, id } = yield* charged(0)
      const first = yield* Effect.forkChild(refund(id))
      yield* Effect.repeat(Effect.sleep("5 millis"), { until: () => calls.length > 0 })
      // Its lease runs out while it waits.
      answer = Effect.fail(new AcquirerUnclear({ reason: "the connection was cut" }))
      yield* sql`UPDATE acquirer_orders SET due_at = now() WHERE charge_id = ${id}::uuid`
      assert.strictEqual(yield* finishDue, 1)
      yield* Deferred.fail(gate, new AcquirerRefused({ reason: "no" }))
      assert.strictEqual((yield* Fiber.join(first))._tag, "Success", "in progress")
      assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 0, returns_in_transit: 1000 })
      answer = DONE
      yield* sql`UPDATE acquirer_orders SET due_at = now() WHERE charge_id = ${id}::uuid`
      assert.strictEqual(yield* finishDue, 1)
      assert.strictEqual(yield* statusOf(id), "refunded")
    })
  )

  it.effect("OPR-72: a refund that is reported completed before the call ends with a refusal is completed", () =>
    Effect.gen(function* () {
      const gate = yield* Deferred.make<never, AcquirerRefused>()
      answer = Deferred.await(gate)
      calls.length = 0
      const { accountId, id } = yield* charged(0)
      const first = yield* Effect.forkChild(refund(id))
      yield* Effect.repeat(Effect.sleep("5 millis"), { until: () => calls.length > 0 })
      const report = { _tag: "return.completed", orderId: calls[0]!.id } as const
      assert.strictEqual(yield* AcquirerNotifications.use(({ receive }) => receive(report)), "applied")
      yield* Deferred.fail(gate, new AcquirerRefused({ reason: "already returned" }))
      assert.strictEqual((yield* Fiber.join(first))._tag, "Success")
      assert.strictEqual(yield* statusOf(id), "refunded")
      assert.strictEqual(yield* AcquirerNotifications.use(({ receive }) => receive(report)), "ignored")
      assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 0, returns_in_transit: 0 })
    })
  )

  it.effect("what is taken to be asked for is asked for at once, so that its lease does not run out before", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      answer = Effect.fail(new AcquirerUnclear({ reason: "no answer" }))
      for (let n = 0; n < 12; n++) yield* refund((yield* charged(0)).id)
      yield* sql`UPDATE acquirer_orders SET due_at = now() WHERE state = 'ordered'`
      const gate = yield* Deferred.make<Progress>()
      answer = Deferred.await(gate)
      calls.length = 0
      const round = yield* Effect.forkChild(RefundOrders.use(({ claimDue }) => runDue(claimDue, 8)))
      yield* Effect.repeat(Effect.sleep("5 millis"), { until: () => calls.length >= 8 })
      const taken = yield* sql`SELECT 1 FROM acquirer_orders WHERE state = 'ordered' AND due_at > now()`
      assert.strictEqual(taken.length, calls.length)
      yield* Deferred.succeed(gate, { _tag: "Completed" })
      yield* Fiber.join(round)
      yield* Effect.repeat(finishDue, { until: (count) => count === 0 })
      assert.strictEqual(new Set(calls.map((call) => call.id)).size, 12)
    })
  )

  it.effect("its report may come first, and a MED meanwhile: the money goes back once", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      answer = Effect.fail(new AcquirerUnclear({ reason: "no answer" }))
      const { receive } = yield* AcquirerNotifications
      const { accountId, id } = yield* charged(60)
      const pix = pixOf(id)
      yield* refund(id)
      assert.strictEqual(yield* receive({ _tag: "med.opened", ...pix, externalId: id, reason: "x" }), "applied")
      assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 0, pending: 0, blocked: 0 })
      assert.strictEqual(yield* receive({ _tag: "charge.refunded", ...pix, externalId: calls.at(-1)!.id }), "applied")
      yield* sql`UPDATE acquirer_orders SET due_at = now() WHERE charge_id = ${id}::uuid AND state = 'ordered'`
      assert.strictEqual(yield* finishDue, 0)
      assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 0, pending: 0, blocked: 0 })
      const disputes = yield* sql<{ status: string }>`SELECT status FROM disputes WHERE charge_id = ${id}::uuid`
      assert.deepStrictEqual(disputes, [{ status: "lost" }])
    })
  )
})

const finishDue = RefundOrders.use(({ claimDue }) => runDue(claimDue))
