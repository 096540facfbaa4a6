/**
 * Decides new payouts: pure, from the terms and the balance of their accounts.
 *
 * Guarantees:
 * - Amount and fee of a granted payout leave `available` with it.
 * - Payouts are decided in the order given, each with its own decision. What one is granted, the next cannot spend; one that
 *   is too large does not keep a smaller one behind it from being granted.
 * - Checks come in this order: caller, idempotency key, account, onboarding, limits, balance (PAY rules in docs/contract.md). An
 *   account without a connection is inactive; one whose connection sends no payouts is restricted (OPR-62).
 */
import { payoutFee } from "@pix-payments/domain/Cents"
import { initialPayout } from "@pix-payments/domain/Payout"
import type { Caller } from "../../../accounts/Caller.ts"
import type { Ids } from "../../../base/Ids.ts"
import { transfer } from "../../../ledger/Ledger.ts"
import { countedIn, type LimitRefusal, ownersOf, type PayoutLimits, refusedByLimits } from "./PayoutLimits.ts"
import type { PayoutChange } from "../PayoutDecision.ts"
import { payoutEvents } from "../PayoutResource.ts"
import { recipientKey, type StoredPayout } from "../PayoutTable.ts"

/** A payout before its decision, which gives it status, fee and duplicate. */
export type RequestedPayout = Omit<StoredPayout, "status" | "fee" | "duplicateOf">

export interface PayoutRequest {
  readonly requested: RequestedPayout
  /** Undefined for operators. */
  readonly caller: Caller | undefined
  /** True where a second operator approved it: it is sent whatever the account's setting (OPR-113). */
  readonly isApproved?: boolean
}

/** The terms of an account, and what it can spend. */
export interface PayoutTerms {
  readonly status: string
  readonly onboardingStatus: string
  readonly autoPayoutEnabled: boolean
  readonly feeFixedCents: number
  readonly feeBasisPoints: number
  /** 0: no duplicate guard. */
  readonly duplicateWindowSeconds: number
  /** Whether a limit of the account concerns payouts. */
  readonly isLimited: boolean
  readonly availableCents: number
  /** The generation that they were read with (`accounts/Caller.ts`). */
  readonly generation: string
  /** Whether the account's connection, or the default one, sends payouts. */
  readonly route: "open" | "missing" | "without-payouts"
}

export type Decision =
  | { readonly _tag: "Created" | "Replayed"; readonly payout: StoredPayout }
  | { readonly _tag: "AccountInactive" | "AccountRestricted" | "StaleCaller" }
  | { readonly _tag: "InsufficientBalance"; readonly needed: number; readonly available: number }
  | LimitRefusal

/** What the decisions depend on. */
export interface Facts {
  readonly isCurrent: (request: PayoutRequest) => boolean
  readonly accounts: ReadonlyMap<string, PayoutTerms>
  /** Payouts by `keyOf`. */
  readonly known: ReadonlyMap<string, StoredPayout>
  /** Ids of recent payouts by `intentOf`. */
  readonly duplicates: ReadonlyMap<string, string>
  /** By the account or key that has them. */
  readonly limits: ReadonlyMap<string, PayoutLimits>
}

/** A granted payout, and the actions of its events. */
export interface Granted {
  readonly request: PayoutRequest
  readonly payout: StoredPayout
  readonly events: ReadonlyArray<string>
  readonly terms: PayoutTerms
}

export interface Decided {
  /** One for each request, in order. */
  readonly decisions: ReadonlyArray<Decision>
  readonly granted: ReadonlyArray<Granted>
  /** What the accounts of granted payouts can spend after them. */
  readonly availableCents: ReadonlyMap<string, number>
  /** The limits of granted payouts after them. */
  readonly limits: ReadonlyMap<string, PayoutLimits>
}

export const decidePayouts = (requests: ReadonlyArray<PayoutRequest>, facts: Facts): Decided => {
  const granted: Array<Granted> = []
  const availableCents = new Map<string, number>()
  const used = new Map<string, PayoutLimits>()
  const createdByKey = new Map<string, StoredPayout>()
  const createdByIntent = new Map<string, string>()

  const decide = (request: PayoutRequest): Decision => {
    const { requested } = request
    if (!facts.isCurrent(request)) return { _tag: "StaleCaller" }
    const key = keyOf(requested)
    const existing = key === undefined ? undefined : (createdByKey.get(key) ?? facts.known.get(key))
    if (existing !== undefined) return { _tag: "Replayed", payout: existing }
    const terms = facts.accounts.get(requested.accountId)
    if (terms === undefined || terms.status !== "active" || terms.route === "missing")
      return { _tag: "AccountInactive" }
    if (terms.onboardingStatus !== "completed" || terms.route === "without-payouts")
      return { _tag: "AccountRestricted" }
    const limits =
      facts.limits.size === 0 ? [] : ownersOf(request).flatMap((id) => used.get(id) ?? facts.limits.get(id) ?? [])
    const refusal = refusedByLimits(limits, recipientKey(requested).pix_key, requested.amount)
    if (refusal !== undefined) return refusal
    const fee = payoutFee(requested.amount, { fixed: terms.feeFixedCents, basis_points: terms.feeBasisPoints })
    const available = availableCents.get(requested.accountId) ?? terms.availableCents
    const needed = requested.amount + fee
    if (available < needed) return { _tag: "InsufficientBalance", needed, available }
    availableCents.set(requested.accountId, available - needed)
    for (const each of limits) used.set(each.ownerId, countedIn(each, requested.amount))
    const isGuarded = terms.duplicateWindowSeconds > 0
    const intent = isGuarded ? intentOf({ ...recipientKey(requested), ...requested }) : ""
    const duplicateOf = isGuarded ? (createdByIntent.get(intent) ?? facts.duplicates.get(intent) ?? null) : null
    const initial = initialPayout(request.isApproved === true || (terms.autoPayoutEnabled && duplicateOf === null))
    const payout: StoredPayout = { ...requested, status: initial.status, fee, duplicateOf }
    if (key !== undefined) createdByKey.set(key, payout)
    if (isGuarded) createdByIntent.set(intent, payout.id)
    granted.push({ request, payout, events: initial.events, terms })
    return { _tag: "Created", payout }
  }

  return { decisions: requests.map(decide), granted, availableCents, limits: used }
}

/** What is stored with a granted payout: its outbox entry and its ledger transfers. */
export const creationOf = ({ events, payout }: Granted, ids: Ids["Service"]): PayoutChange => ({
  payout,
  outbox: payoutEvents(payout, events, ids),
  transfers: transfer(ids, {
    accountId: payout.accountId,
    debit: "available",
    credit: "payouts_in_transit",
    amount: payout.amount + payout.fee,
    resourceId: payout.id,
    fee: payout.fee,
    reason: "payout.created"
  })
})

/** The scope of an idempotency key: its application, or the account of a dashboard payout. */
export const scopeOf = (payout: Pick<StoredPayout, "applicationId" | "accountId">): string =>
  payout.applicationId ?? payout.accountId

/** The idempotency key of a payout with its scope; `undefined` for a payout without one. */
export const keyOf = (
  payout: Pick<StoredPayout, "applicationId" | "accountId" | "origin" | "idempotencyKey">
): string | undefined =>
  payout.idempotencyKey === null ? undefined : `${scopeOf(payout)} ${payout.origin} ${payout.idempotencyKey}`

/** Account, recipient and amount: the duplicate guard compares payouts by it. */
export const intentOf = (intent: {
  readonly accountId: string
  readonly amount: number
  readonly pix_key_type: string | null
  readonly pix_key: string | null
}): string => `${intent.accountId} ${intent.pix_key_type} ${intent.amount} ${intent.pix_key}`
