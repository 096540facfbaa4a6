/** A history of one charge and its refunds, run by the service and by `RefundModel.ts`: what each step does to both. */
import { assert } from "@effect/vitest"
import { txidFromId } from "@pix-payments/domain/Txid"
import { firstPixOf } from "../../src/providers/simulator/SimulatedInstitution.ts"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import { Accounts } from "../../src/accounts/Accounts.ts"
import {
  Acquirer,
  AcquirerRefused,
  AcquirerUnclear,
  type Progress,
  providerIdOf
} from "../../src/providers/Acquirer.ts"
import type { AcquirerNotification, Outcome } from "../../src/providers/AcquirerNotification.ts"
import { NewCharges } from "../../src/payments/charges/NewCharges.ts"
import { Releases } from "../../src/ledger/Releases.ts"
import { AcquirerNotifications } from "../../src/reports/AcquirerNotifications.ts"
import { RefundOrders } from "../../src/payments/refunds/RefundOrders.ts"
import { NewPayouts } from "../../src/payments/payouts/creation/NewPayouts.ts"
import { runDue } from "./DueCalls.ts"
import { randomFrom } from "./Model.ts"
import {
  complete,
  fail,
  giveBack,
  lose,
  newModel,
  openMed,
  order,
  type RefundModel,
  release,
  win
} from "./RefundModel.ts"

export const HOUR_MS = 3_600_000
export const START_MS = Date.UTC(2026, 10, 21)

/** The server that does the step, and how far its clock is ahead. */
export const server = { aheadMs: 0 }

export const clockLayer = Layer.effect(
  Clock.Clock,
  Effect.map(Clock.Clock, (clock) =>
    Object.assign(Object.create(clock) as Clock.Clock, {
      currentTimeMillisUnsafe: () => clock.currentTimeMillisUnsafe() + server.aheadMs,
      currentTimeMillis: Effect.sync(() => clock.currentTimeMillisUnsafe() + server.aheadMs)
    })
  )
)

const unclear = Effect.fail(new AcquirerUnclear({ reason: "no answer" }))

/** The provider's answers to refunds, by the charge's txid. */
export const answers = new Map<string, Effect.Effect<Progress, AcquirerRefused | AcquirerUnclear>>()
export const answering = Layer.effect(
  Acquirer,
  Effect.map(Acquirer, (simulated) =>
    Acquirer.of({
      providerFor: (connectionId) =>
        Effect.map(simulated.providerFor(connectionId), (provider) => ({
          ...provider,
          orderReturn: ({ txid }) => Effect.suspend(() => answers.get(txid ?? "") ?? unclear)
        }))
    })
  )
)

/** Draws from a seed. */
const drawsFrom = (seed: number) => {
  const next = randomFrom(seed)
  const below = (bound: number) => Math.floor(next() * bound)
  return {
    below,
    chance: (probability: number) => next() < probability,
    pick: <A>(values: ReadonlyArray<A>): A => values[below(values.length)]!
  }
}

export interface History {
  readonly random: ReturnType<typeof drawsFrom>
  readonly id: string
  readonly accountId: string
  readonly amount: number
  readonly model: RefundModel
  readonly steps: Array<string>
  /** Notifications that had an effect. */
  readonly applied: Array<AcquirerNotification>
  /** The ids of its orders. */
  readonly orders: Set<string>
  /** Orders that failed and may be completed all the same. */
  readonly failed: Array<{ readonly id: string; readonly amount: number }>
}

export const begin = Effect.fnUntraced(function* (seed: number) {
  const random = drawsFrom(seed)
  const isDelayed = random.chance(0.5)
  const amount = 500 + random.below(1000)
  const account = yield* Accounts.use((accounts) =>
    accounts.create({
      name: "Loja",
      legal_name: "Loja Ltda",
      phone: "+5511999998888",
      document: "11222333000181",
      document_type: "cnpj",
      release_delay: isDelayed ? 3600 : 0
    })
  )
  const { id: applicationId } = yield* Accounts.use((accounts) => accounts.createApplication(account.id, "Loja"))
  const { charge } = yield* NewCharges.use((charges) =>
    charges.createForCheckout({ id: applicationId, accountId: account.id }, undefined, {
      amount: amount as never,
      customer: { name: "Ana", email: "ana@example.com", document: "52998224725" }
    })
  )
  const history: History = {
    random,
    id: charge.id,
    accountId: account.id,
    amount,
    model: newModel(amount, isDelayed),
    steps: [`paid ${amount}${isDelayed ? ", not released" : ""}`],
    applied: [],
    orders: new Set(),
    failed: []
  }
  yield* notify(history, { _tag: "charge.paid", ...pixOf(history) }, true)
  return history
})

export const notify = (history: History, notification: AcquirerNotification, expected: boolean | Outcome) =>
  Effect.gen(function* () {
    const outcome = yield* AcquirerNotifications.use(({ receive }) => receive(notification))
    assert.strictEqual(outcome, expected === true ? "applied" : expected === false ? "ignored" : expected)
    if (expected !== false) history.applied.push(notification)
  })

/** A MED of which nothing is left is an exception. */
const raised = (notification: AcquirerNotification) =>
  AcquirerNotifications.use(({ receive }) =>
    Effect.map(receive(notification), (outcome) => assert.strictEqual(outcome, "exception"))
  )

export const openOrder = ({ id }: History) =>
  SqlClient.use((sql) =>
    Effect.map(
      sql<{ id: string; amount: bigint }>`
        SELECT id, amount FROM acquirer_orders WHERE charge_id = ${id}::uuid AND state = 'ordered'`,
      ([row]) => ({ id: row!.id, amount: Number(row!.amount) })
    )
  )

export const outcomes = {
  completed: Effect.succeed<Progress>({ _tag: "Completed" }),
  failed: Effect.succeed<Progress>({ _tag: "Failed", reason: "account closed" }),
  accepted: Effect.succeed<Progress>({ _tag: "Accepted" }),
  unclear
}
const outcomeNames = ["completed", "failed", "accepted", "accepted", "unclear"] as const

/** An amount of a report: absent, a part, or more than there is. */
const someAmount = ({ amount, random }: History) =>
  random.chance(0.15) ? undefined : 1 + random.below(random.chance(0.1) ? amount * 2 : Math.ceil(amount * 0.6))
const amountIn = (amount: number | undefined) => (amount === undefined ? {} : { amount })

/** Applies what the provider says of the open order to the model. */
const end = (history: History, open: { readonly id: string; readonly amount: number }, outcome: string) => {
  if (outcome === "completed") complete(history.model)
  if (outcome === "failed") {
    fail(history.model)
    history.failed.push(open)
  }
}

const refund = Effect.fnUntraced(function* (history: History) {
  const { id, model, random, steps } = history
  const part = 1 + random.below(Math.ceil(history.amount * 0.7))
  const tooMuch = model.pending + model.available + 1
  const amount = random.chance(0.15) ? tooMuch : random.chance(0.2) ? undefined : part
  const outcome = random.pick(outcomeNames)
  steps.push(`refund ${amount ?? "all"}: ${outcome}`)
  answers.set(txidFromId(id), outcomes[outcome])
  const refusal = order(model, amount)
  const open = { id: "", amount: model.order?.amount ?? 0 }
  const answer = yield* Effect.result(RefundOrders.use((orders) => orders.refund(id, { amount })))
  const tag = answer._tag === "Success" ? "Success" : answer.failure._tag
  if (refusal !== undefined) {
    assert.strictEqual(tag, refusal === "state" ? "InvalidStateError" : "InsufficientBalanceError")
    return
  }
  assert.strictEqual(tag, outcome === "failed" ? "RefundRejected" : "Success")
  const rows = yield* SqlClient.use(
    (sql) => sql<{ id: string }>`SELECT id FROM acquirer_orders WHERE charge_id = ${id}::uuid`
  )
  const made = rows.find((row) => !history.orders.has(row.id))
  assert(made !== undefined)
  history.orders.add(made.id)
  end(history, { ...open, id: made.id }, outcome)
})

const settle = Effect.fnUntraced(function* (history: History) {
  const { id, model, random, steps } = history
  if (model.order === undefined) return
  const open = yield* openOrder(history)
  const outcome = random.pick(outcomeNames)
  if (random.chance(0.5)) {
    steps.push(`asked again: ${outcome}`)
    answers.set(txidFromId(id), outcomes[outcome])
    yield* SqlClient.use(
      (sql) => sql`UPDATE acquirer_orders SET due_at = now() WHERE charge_id = ${id}::uuid AND state = 'ordered'`
    )
    yield* RefundOrders.use(({ claimDue }) => runDue(claimDue))
    return end(history, open, outcome)
  }
  if (outcome === "failed") {
    steps.push("reported as failed")
    yield* notify(history, { _tag: "return.failed", orderId: open.id, reason: "closed" }, true)
    return end(history, open, outcome)
  }
  steps.push("reported as completed")
  const externalId = random.chance(0.5) ? open.id : providerIdOf(open.id)
  const report: AcquirerNotification = random.chance(0.5)
    ? { _tag: "return.completed", orderId: open.id }
    : { _tag: "charge.refunded", ...pixOf(history), externalId, amount: open.amount }
  yield* notify(history, report, true)
  end(history, open, "completed")
})

let facts = 0

export const pixOf = ({ id }: History) => ({ txid: txidFromId(id), endToEndId: firstPixOf(txidFromId(id)) })

/** The provider's clock: an hour a step. */
const now = ({ steps }: History) => START_MS + steps.length * HOUR_MS

const reportReturn = Effect.fnUntraced(function* (history: History) {
  const { model, random, steps } = history
  const amount = someAmount(history)
  const atMs = now(history)
  const name = `return-${(facts += 1)}`
  const fact = { ...pixOf(history), externalId: name, requestId: name, atMs, ...amountIn(amount) }
  const isMed = random.chance(0.5)
  const as = isMed && random.chance(0.6) ? "charged_back" : "refunded"
  steps.push(`${isMed ? `returned as ${as}` : "refunded by the provider"} ${amount ?? "all"}`)
  const { isApplied, unmatched } = giveBack(model, amount, { as, isMed }, atMs)
  const report = isMed
    ? ({ _tag: "charge.returned", as, ...fact } as const)
    : ({ _tag: "charge.refunded", ...fact } as const)
  // What the charge does not have of it is an exception.
  yield* notify(history, report, unmatched > 0 ? "exception" : isApplied)
})

const reportMed = Effect.fnUntraced(function* (history: History) {
  const { model, random, steps } = history
  const decided = random.chance(0.6) ? model.meds.at(-1 - random.below(2)) : undefined
  if (decided === undefined) {
    const amount = someAmount(history)
    const externalId = `med-${(facts += 1)}`
    // Of several of one amount, a return ends the one with the lowest id.
    server.aheadMs = 0
    const isLost = random.chance(0.4)
    steps.push(`MED ${amount ?? "all"}${isLost ? ", lost" : ""}`)
    // It is heard of at some time after its opening.
    const at = now(history) - random.below(6) * HOUR_MS
    const isApplied = openMed(model, externalId, amount, { at, isLost })
    const fact = { ...pixOf(history), externalId, reason: "x", atMs: at, isLost, ...amountIn(amount) }
    const report = { _tag: "med.opened", ...fact } as const
    return yield* isApplied ? notify(history, report, true) : raised(report)
  }
  const { externalId } = decided
  const isWon = random.chance(0.4)
  steps.push(`${externalId} ${isWon ? "won" : "lost"}`)
  const isApplied = isWon ? win(model, decided) : lose(model, decided)
  yield* notify(history, { _tag: isWon ? "med.won" : "med.lost", disputeId: "", externalId }, isApplied)
})

const repeat = Effect.fnUntraced(function* (history: History) {
  const copied = history.random.pick(history.applied)
  history.steps.push(`copy of ${copied._tag}`)
  // The provider may name a return later than its request.
  const isNamed = "requestId" in copied && history.random.chance(0.5)
  yield* notify(history, isNamed ? { ...copied, externalId: `named-${(facts += 1)}` } : copied, false)
})

const completeLate = Effect.fnUntraced(function* (history: History) {
  const { failed, model, random, steps } = history
  const one = failed.splice(random.below(Math.max(1, failed.length)), 1)[0]
  if (one === undefined) return
  steps.push(`a refund that failed completed: ${one.amount}`)
  const { unmatched } = giveBack(model, one.amount, { as: "refunded", isMed: false }, now(history))
  // What the charge does not have any more is an exception.
  const expected = unmatched === 0 ? "applied" : "exception"
  yield* notify(history, { _tag: "return.completed", orderId: one.id }, expected)
  // A report of its failure is no copy any more: the provider would say otherwise again.
  const failure = history.applied.findIndex((each) => each._tag === "return.failed" && each.orderId === one.id)
  if (failure >= 0) history.applied.splice(failure, 1)
})

const spend = Effect.fnUntraced(function* (history: History) {
  const { accountId, model, random, steps } = history
  const free = model.available - model.spent
  const amount = 100 + random.below(400)
  if (free < amount + 200 || random.chance(0.5)) return
  steps.push(`spent ${amount}`)
  const { payout } = yield* NewPayouts.use((payouts) =>
    payouts.createForOperator(accountId, undefined, {
      amount,
      pix_key_type: "email",
      pix_key: "hold@simulator.test"
    } as never)
  )
  model.spent += payout.amount + payout.fee
})

const releaseAll = Effect.fnUntraced(function* ({ id, model, steps }: History) {
  steps.push("released")
  yield* SqlClient.use((sql) => sql`UPDATE releases SET due_at = now() WHERE charge_id = ${id}::uuid`)
  yield* Releases.use(({ releaseDue }) => releaseDue)
  release(model)
})

/** Each as often as it is drawn. */
export const commands = [
  Array.from({ length: 3 }, () => refund),
  Array.from({ length: 3 }, () => settle),
  [reportReturn, reportReturn, reportMed, reportMed],
  [repeat, repeat, completeLate, spend, releaseAll]
].flat()
