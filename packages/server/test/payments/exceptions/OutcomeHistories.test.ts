/**
 * Random sequences of outcomes of payouts, refunds and returns of exceptions: completed and failed, repeated, and from several
 * processes at the same moment. After each the books and their exceptions are what the bank has; at the end, once the
 * exceptions are accepted, each cent is at an account or gone.
 * Its seeds are those of `OUTCOME` (`support/Seeds.ts`).
 */
import { assert, layer } from "@effect/vitest"
import { SIMULATOR_CONNECTION } from "@pix-payments/domain/AcquirerConnection"
import { txidFromId } from "@pix-payments/domain/Txid"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { Accounts } from "../../../src/accounts/Accounts.ts"
import { LedgerVerification } from "../../../src/ledger/LedgerVerification.ts"
import { NewCharges } from "../../../src/payments/charges/NewCharges.ts"
import { ExceptionResolution } from "../../../src/payments/exceptions/ExceptionResolution.ts"
import { ExceptionStore } from "../../../src/payments/exceptions/ExceptionStore.ts"
import { NewPayouts } from "../../../src/payments/payouts/creation/NewPayouts.ts"
import { RefundOrders } from "../../../src/payments/refunds/RefundOrders.ts"
import { newEndToEndId } from "../../../src/providers/simulator/SimulatedInstitution.ts"
import { AcquirerNotifications } from "../../../src/reports/AcquirerNotifications.ts"
import { domainServicesLayer } from "../../support/DomainServices.ts"
import { randomFrom } from "../../support/Model.ts"
import { seedsOf } from "../../support/Seeds.ts"

const seeds = seedsOf("OUTCOME", 15)

/** A payout or return as the bank has it. */
interface Sent {
  readonly id: string
  readonly kind: "payout" | "return"
  readonly amount: number
  /** What the bank said last; undefined: nothing yet. */
  outcome: "completed" | "failed" | undefined
}

layer(domainServicesLayer({ acquirerTimeoutMs: 100, simulatorSettleMs: 60_000 }), { excludeTestServices: true })(
  "Sequences of outcomes",
  (it) => {
    it.effect("BAL-16, BAL-8: the books and their exceptions are what the bank has", () =>
      Effect.gen(function* () {
        for (const seed of seeds) {
          const steps: Array<string> = []
          yield* Effect.onError(history(seed, steps), () =>
            Effect.logError(`OUTCOME_SEED=${seed}\n${steps.join("\n")}`)
          )
        }
        const verified = yield* LedgerVerification.use(({ verify }) => verify("full"))
        assert.deepStrictEqual(
          verified.accounts.filter(({ computed, kept }) => computed !== kept),
          []
        )
        assert.deepStrictEqual(verified.states, [])
      })
    )
  }
)

const history = Effect.fnUntraced(function* (seed: number, steps: Array<string>) {
  const next = randomFrom(seed)
  const below = (bound: number) => Math.floor(next() * bound)
  const account = yield* begin
  const before = yield* atBank(account.accountId)
  let received = 0
  const pay = Effect.fnUntraced(function* (txid: string, amount: number) {
    const endToEndId = newEndToEndId(Date.UTC(2026, 10, 21))
    yield* receive({ _tag: "charge.paid", txid, endToEndId, amount })
    received += amount
    return endToEndId
  })

  const all: Array<Sent> = []
  const charge = yield* account.charge
  yield* pay(txidFromId(charge), 1000)
  for (let count = 0; count < 2; count += 1) {
    // The second is ordered once the first has failed.
    const order = yield* refundOf(charge, 1000)
    const one: Sent = { id: order, kind: "return", amount: 1000, outcome: "failed" }
    all.push(one)
    if (count === 0) yield* report(one, "failed")
    else one.outcome = undefined
  }
  const funds = yield* account.charge
  yield* pay(txidFromId(funds), 1000)
  const { payout } = yield* NewPayouts.use((payouts) =>
    payouts.createForOperator(account.accountId, undefined, {
      amount: 600,
      pix_key_type: "email",
      pix_key: "hold@simulator.test"
    } as never)
  )
  all.push({ id: payout.id, kind: "payout", amount: 600, outcome: undefined })
  const exception = yield* exceptionOf(yield* pay("", 400))
  all.push({ id: yield* returnOf(exception), kind: "return", amount: 400, outcome: undefined })

  const assertBooks = Effect.gen(function* () {
    const sent = all.reduce((sum, { amount, outcome }) => sum + (outcome === "completed" ? amount : 0), 0)
    assert.strictEqual((yield* atBank(account.accountId)) - before, received - sent)
    const [open] = yield* SqlClient.use(
      (sql) => sql<{ count: number }>`
        SELECT count(*)::int AS count FROM (
          SELECT FROM acquirer_exceptions WHERE kind = 'contradictory_outcome' AND status = 'open'
          GROUP BY coalesce(payout_id, refund_id) HAVING count(*) > 1
        ) twice`
    )
    assert.strictEqual(open!.count, 0)
  })

  for (let step = 0; step < 12; step += 1) {
    const one = all[below(all.length)]!
    const outcome = next() < 0.5 ? "completed" : "failed"
    const copies = 1 + below(3)
    steps.push(`${one.kind} ${one.id} ${outcome}, ${copies} times`)
    yield* Effect.forEach(Array.from({ length: copies }), () => report(one, outcome), { concurrency: "unbounded" })
    one.outcome = outcome
    yield* assertBooks
    if (next() < 0.2) {
      steps.push("an exception is resolved")
      yield* resolveOne(next() < 0.7 ? "accept" : "dismiss", account.accountId)
      yield* assertBooks
    }
  }
  for (const one of all) {
    one.outcome ??= "completed"
    yield* report(one, one.outcome)
  }
  yield* assertBooks
  while (yield* resolveOne("accept", account.accountId)) yield* assertBooks
})

const receive = (notification: Parameters<AcquirerNotifications["Service"]["receive"]>[0]) =>
  AcquirerNotifications.use((notifications) => notifications.receive(notification))

const report = ({ id, kind }: Sent, outcome: "completed" | "failed") => {
  if (kind === "payout") {
    return receive(
      outcome === "completed"
        ? { _tag: "payout.completed", payoutId: id }
        : { _tag: "payout.failed", payoutId: id, reason: "closed" }
    )
  }
  return receive(
    outcome === "completed"
      ? { _tag: "return.completed", orderId: id }
      : { _tag: "return.failed", orderId: id, reason: "closed" }
  )
}

const begin = Effect.gen(function* () {
  const accounts = yield* Accounts
  const { id: accountId } = yield* accounts.create({
    name: "Loja",
    legal_name: "Loja Ltda",
    phone: "+5511999998888",
    document: "11222333000181",
    document_type: "cnpj"
  })
  const { id } = yield* accounts.createApplication(accountId, "Loja")
  const charge = NewCharges.use((charges) =>
    charges.createForCheckout({ id, accountId }, undefined, {
      amount: 1000 as never,
      customer: { name: "Ana", email: "ana@example.com", document: "52998224725" }
    })
  )
  return { accountId, charge: Effect.map(charge, ({ charge: { id: chargeId } }) => chargeId) }
})

/** What the books say that the bank has: of the account, and of the connection. The money in transit is there still. */
const atBank = (accountId: string) =>
  SqlClient.use((sql) =>
    Effect.map(
      sql<{ balance: bigint }>`
        SELECT -coalesce(sum(balance), 0)::bigint AS balance FROM ledger_accounts
        WHERE owner_id IN (${accountId}::uuid, ${SIMULATOR_CONNECTION}::uuid) AND kind = 'acquirer'`,
      ([row]) => Number(row!.balance)
    )
  )

const refundOf = Effect.fnUntraced(function* (chargeId: string, amount: number) {
  yield* RefundOrders.use((orders) => orders.refund(chargeId, { amount, description: "hold@simulator.test" }))
  return yield* newestOrder
})

const returnOf = Effect.fnUntraced(function* (exceptionId: string) {
  const sql = yield* SqlClient
  const [order] = yield* sql<{ id: string }>`
    INSERT INTO acquirer_orders (id, kind, exception_id, connection_id, end_to_end_id, amount, pending, state, created_at)
    SELECT uuidv7(), 'return', id, connection_id, end_to_end_id, amount, 0, 'ordered', now() FROM acquirer_exceptions
    WHERE id = ${exceptionId}::uuid RETURNING id`
  yield* sql`UPDATE acquirer_exceptions SET action = 'return' WHERE id = ${exceptionId}::uuid`
  return order!.id
})

const newestOrder = SqlClient.use((sql) =>
  Effect.map(
    sql<{ id: string }>`SELECT id FROM acquirer_orders ORDER BY created_at DESC, id DESC LIMIT 1`,
    ([row]) => row!.id
  )
)

const exceptionOf = (endToEndId: string) =>
  SqlClient.use((sql) =>
    Effect.map(
      sql<{ id: string }>`SELECT id FROM acquirer_exceptions WHERE end_to_end_id = ${endToEndId}`,
      ([row]) => row!.id
    )
  )

/** Resolves an open contradiction, for this account where it names none; false where there is none. */
const resolveOne = Effect.fnUntraced(function* (action: "accept" | "dismiss", forAccount: string) {
  const store = yield* ExceptionStore
  const open = yield* store.list(
    { kind: "contradictory_outcome", status: "open" },
    { limit: 100, startingAfter: undefined }
  )
  const one = open[0]
  if (one === undefined) return false
  yield* ExceptionResolution.use((exceptions) =>
    action === "accept"
      ? exceptions.resolve(
          one.id,
          { action, chargeId: null, accountId: one.accountId ?? forAccount, amount: null, reason: null },
          "operator"
        )
      : exceptions.resolve(one.id, { action, reason: "known" }, "operator")
  )
  return true
})
