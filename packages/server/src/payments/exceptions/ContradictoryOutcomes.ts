/**
 * Outcomes that contradict the books: of payouts, refunds and returns of exceptions that have ended otherwise.
 *
 * Guarantees:
 * - a return that is completed late takes what its charge, or its exception, still has, as a return that the provider reports.
 *   What is left, and what a payout contradicts, is an exception of that payout or order, `contradictory_outcome`;
 * - an exception in force (open, accepted or dismissed) is the only one of its payout or order. Its money and what the books
 *   have as sent are what the bank sent (`OutcomeDecision.ts`). States of `/v1` stay;
 * - an outcome that agrees with the books again reverses the money, also after `accept`, and closes the exception;
 * - processes that learn of one outcome at the same moment raise one exception: the ledger accounts are locked first.
 *
 * Rules: BAL-16, OPR-212 to OPR-214.
 */
import { SIMULATOR_CONNECTION } from "@pix-payments/domain/AcquirerConnection"
import type { TransferReason } from "@pix-payments/domain/BalanceTransaction"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import { Ids } from "../../base/Ids.ts"
import { runToCompletion } from "../../database/RunToCompletion.ts"
import type { Unavailable } from "../../database/Unavailable.ts"
import { lockLedgerOf, type Transfer, transfer } from "../../ledger/Ledger.ts"
import { ChangedMeanwhile, type LateOutcome, LateOutcomes } from "../../providers/LateOutcomes.ts"
import { claimReturn } from "../../providers/NotificationStore.ts"
import { type KnownOrder, OrderStore } from "../../providers/OrderStore.ts"
import { LockedCharges } from "../charges/LockedCharges.ts"
import { Refunds } from "../refunds/Refunds.ts"
import { AcceptedMoney } from "./AcceptedMoney.ts"
import { AcceptedReturns } from "./AcceptedReturns.ts"
import { Exceptions, movement, resolution } from "./Exceptions.ts"
import { ExceptionStore, type StoredException } from "./ExceptionStore.ts"
import { decideOutcome } from "./OutcomeDecision.ts"

export const layer = Layer.effect(
  LateOutcomes,
  Effect.gen(function* () {
    const sql = yield* SqlClient
    const ids = yield* Ids
    const orders = yield* OrderStore
    const money = yield* LockedCharges
    const refunds = yield* Refunds
    const exceptions = yield* Exceptions
    const store = yield* ExceptionStore
    const acceptedMoney = yield* AcceptedMoney
    const returns = yield* AcceptedReturns

    /** Raises, keeps or reverses the contradiction of a payout or order, whose ledger accounts are locked. */
    const contradict = Effect.fnUntraced(function* (subject: Subject, booked: number, late: LateOutcome) {
      const inForce = yield* store.lockContradiction(subject.payoutId ?? subject.refundId ?? "")
      const { raises, reverses } = decideOutcome({
        booked,
        sent: late.outcome === "completed" ? subject.amount : 0,
        held: inForce === undefined ? 0 : moneyOf(inForce)
      })
      const nowMs = yield* Clock.currentTimeMillis
      if (inForce !== undefined && reverses) yield* store.put(...reversal(ids, inForce, nowMs))
      if (raises !== 0) yield* store.put(...contradiction(ids, subject, raises, late, nowMs))
      if (raises !== 0) return "exception"
      return reverses ? "applied" : "ignored"
    })

    const findPayout = Effect.fnUntraced(function* (payoutId: string) {
      const [row] = yield* sql<PayoutRow>`
        SELECT account_id, connection_id, amount, status FROM payouts WHERE id = ${payoutId}::uuid`
      return row
    })

    const sentBack = (payoutId: string) =>
      Effect.map(
        sql<{ amount: bigint }>`
          SELECT coalesce(sum(amount), 0)::bigint AS amount FROM acquirer_exceptions
          WHERE payout_id = ${payoutId}::uuid AND kind = 'returned_payout'`,
        ([row]) => Number(row?.amount ?? 0n)
      )

    const ofPayout = Effect.fnUntraced(function* (payoutId: string, late: LateOutcome) {
      const payout = yield* findPayout(payoutId)
      // An end is final: no lock of the payout is needed.
      if (payout === undefined || payout.status === "pending" || payout.status === "processing") return "ignored"
      const { account_id: accountId, connection_id, status } = payout
      const connectionId = connection_id ?? SIMULATOR_CONNECTION
      yield* lockLedgerOf(sql, [connectionId, accountId])
      // What the payee's bank sent back of it is an exception of its own, and not given back again.
      const back = yield* sentBack(payoutId)
      const sent = Number(payout.amount)
      const subject = { connectionId, accountId, amount: sent - back, payoutId, refundId: null, chargeId: null }
      return yield* contradict(subject, (status === "completed" ? sent : 0) - back, late)
    })

    /** Takes cents that a charge still has for its refund; how many. */
    const takeFromCharge = Effect.fnUntraced(function* ({ chargeId, id }: KnownOrder, amount: number) {
      const locked = yield* money.lock(chargeId ?? "")
      if (locked === undefined) return 0
      const report = { as: "refunded", isMed: false, amount, externalId: id, atMs: undefined } as const
      const { isApplied, unmatched } = yield* refunds.giveBack(locked, report)
      return isApplied ? amount - unmatched : 0
    })

    /** The same of the exception of a return, or of the account that accepted it. */
    const takeFromException = Effect.fnUntraced(function* (
      exception: StoredException | undefined,
      amount: number,
      { externalId }: LateOutcome
    ) {
      if (exception === undefined) return 0
      const missing = yield* exceptions.takeReturn(exception, amount, "provider", externalId)
      const accepted = missing === 0 ? undefined : yield* acceptedMoney.of(exception)
      if (accepted === undefined) return amount - missing
      return (
        amount -
        (yield* returns.take(
          accepted,
          { _tag: "charge.refunded", ...(externalId !== undefined && { externalId }) },
          missing
        ))
      )
    })

    const ofReturn = Effect.fnUntraced(function* (orderId: string, late: LateOutcome) {
      const known = yield* orders.find(orderId)
      if (known === undefined || (known.kind !== "refund" && known.kind !== "return")) return "unknown"
      const connectionId = known.connectionId ?? SIMULATOR_CONNECTION
      const accountOf = (exception: StoredException | undefined) => known.accountId ?? exception?.accountId ?? null
      const found = known.exceptionId === null ? undefined : yield* store.get(known.exceptionId)
      const accountId = accountOf(found)
      // A contradiction of an exception that was nobody's may have been accepted for an account.
      const acceptedFor = (yield* store.findContradiction(orderId))?.accountId
      yield* lockLedgerOf(
        sql,
        [connectionId, accountId, acceptedFor].filter((owner) => owner !== null && owner !== undefined)
      )
      const exception = known.exceptionId === null ? undefined : yield* store.lock(known.exceptionId)
      const order = yield* orders.find(orderId)
      const isAsFound =
        accountOf(exception) === accountId && (yield* store.findContradiction(orderId))?.accountId === acceptedFor
      if (order === undefined || order.state === "ordered" || !isAsFound) return yield* new ChangedMeanwhile()
      const missing = late.outcome === "completed" ? order.amount - order.returned : 0
      const taken =
        missing === 0
          ? 0
          : order.kind === "refund"
            ? yield* takeFromCharge(order, missing)
            : yield* takeFromException(exception, missing, late)
      if (taken > 0) yield* orders.addReturned(orderId, taken)
      const { amount, chargeId, returned } = order
      const subject = { connectionId, accountId, amount, payoutId: null, refundId: orderId, chargeId }
      const outcome = yield* contradict(subject, returned + taken, late)
      return outcome === "ignored" && taken > 0 ? "applied" : outcome
    })

    return LateOutcomes.of({
      ofPayout,
      ofReturn,
      ofLoss: ({ id, ...loss }, outcome) => contradict({ ...loss, payoutId: null, refundId: id }, loss.amount, outcome),
      answered: {
        payout: (payoutId, late) =>
          Effect.asVoid(ofPayout(payoutId, late)).pipe(sql.withTransaction, runToCompletion(sql)),
        return: (orderId, late) => {
          const attempt: Effect.Effect<void, Unavailable> = Effect.gen(function* () {
            const order = yield* orders.find(orderId)
            // One that is open is asked again.
            if (order === undefined || order.state === "ordered") return
            yield* ofReturn(orderId, late)
            if (late.outcome === "completed") yield* claimReturn(sql, order, late.externalId)
          }).pipe(
            sql.withTransaction,
            runToCompletion(sql),
            Effect.catchTag("ChangedMeanwhile", () => attempt)
          )
          return attempt
        }
      }
    })
  })
)

export const isContradiction = ({ kind }: StoredException): boolean => kind === "contradictory_outcome"

/** Accepts the money of a contradiction for its account, which may go below zero: what is stored. */
export const acceptedContradiction = (
  ids: Ids["Service"],
  exception: StoredException & { readonly accountId: string },
  by: string,
  reason: string | null,
  nowMs: number
): readonly [StoredException, ReadonlyArray<Transfer>] => [
  { ...exception, ...resolution("accept", by, nowMs), unallocated: 0, reason },
  [
    ...ofConnection(ids, exception, -exception.unallocated, "exception.accepted"),
    ...ofAccount(ids, exception, exception.unallocated, "exception.accepted")
  ]
]

/** What a contradiction is of: the parts of the payout, or of the order of a return, that its exception shows. */
type Subject = Pick<StoredException, "connectionId" | "accountId" | "amount" | "payoutId" | "refundId" | "chargeId">

interface PayoutRow {
  readonly account_id: string
  readonly connection_id: string | null
  readonly amount: bigint
  readonly status: string
}

/** Cents that a contradiction has held since it was raised: below zero where the bank sent beyond the books. */
const moneyOf = ({ amount, providerOutcome }: StoredException): number =>
  providerOutcome === "completed" ? -amount : amount

const contradiction = (
  ids: Ids["Service"],
  subject: Subject,
  cents: number,
  { externalId, reason }: LateOutcome,
  nowMs: number
): readonly [StoredException, ReadonlyArray<Transfer>] => {
  const exception: StoredException = {
    ...subject,
    id: ids.next().id,
    kind: "contradictory_outcome",
    status: "open",
    amount: Math.abs(cents),
    expectedAmount: null,
    unallocated: cents,
    endToEndId: null,
    txid: null,
    externalId: externalId ?? null,
    pixKey: null,
    payer: null,
    received: null,
    occurredAtMs: nowMs,
    // Of a payout that failed after a part of it had come back, that part was sent.
    providerOutcome: cents < 0 ? "completed" : "failed",
    action: null,
    reason: null,
    failureReason: reason ?? null,
    resolvedBy: null,
    resolvedAtMs: null,
    createdAtMs: nowMs
  }
  return [exception, ofConnection(ids, exception, cents, "exception.received")]
}

/** The money goes back from where it is: `unallocated`, or the account that accepted it. */
const reversal = (
  ids: Ids["Service"],
  exception: StoredException,
  nowMs: number
): readonly [StoredException, ReadonlyArray<Transfer>] => [
  { ...exception, ...resolution(null, "provider", nowMs), unallocated: 0 },
  exception.action === "accept"
    ? ofAccount(ids, exception, -moneyOf(exception), "exception.reversed")
    : ofConnection(ids, exception, -exception.unallocated, "exception.reversed")
]

/** Cents that come into `unallocated`, or, below zero, leave it. */
const ofConnection = (ids: Ids["Service"], exception: StoredException, cents: number, reason: TransferReason) =>
  movement(ids, exception, cents < 0 ? "out" : "in", Math.abs(cents), reason)

/** Cents that come into `available` of the exception's account, or, below zero, leave it. */
const ofAccount = (
  ids: Ids["Service"],
  { accountId, connectionId, id: resourceId }: StoredException,
  cents: number,
  reason: TransferReason
): ReadonlyArray<Transfer> => {
  const [debit, credit] = cents < 0 ? (["available", "acquirer"] as const) : (["acquirer", "available"] as const)
  return accountId === null
    ? []
    : transfer(ids, {
        accountId,
        debit,
        credit,
        amount: Math.abs(cents),
        resourceId,
        connectionId: reason === "exception.accepted" ? undefined : connectionId,
        reason
      })
}
