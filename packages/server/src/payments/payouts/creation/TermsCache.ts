/**
 * The terms and balances of accounts as this process read them last, less what their payouts here have spent since.
 *
 * A payout is decided on them first. The statement that stores it checks them, so that they may be out of date.
 */
import { connectionOf } from "../../../accounts/AccountConnection.ts"
import type { SettingsShape } from "../../../base/Settings.ts"
import type { PayoutRequest, PayoutTerms } from "./PayoutCreation.ts"

/** Terms as `readTerms` selects them. */
export interface StoredTerms {
  readonly status: string
  readonly onboarding_status: string
  readonly auto_payout_enabled: boolean
  readonly payout_fee_fixed: bigint
  readonly payout_fee_basis_points: number
  readonly payout_duplicate_window: number
  readonly is_limited: boolean
  readonly connection_id: string | null
  readonly default_connection_id: string | null
  /** Null where the account has no connection. */
  readonly pays_out: boolean | null
  readonly available: bigint
  readonly generation: string
}

export const termsOf = (row: StoredTerms, acquirer: SettingsShape["acquirer"]): PayoutTerms => ({
  status: row.status,
  onboardingStatus: row.onboarding_status,
  autoPayoutEnabled: row.auto_payout_enabled,
  feeFixedCents: Number(row.payout_fee_fixed),
  feeBasisPoints: row.payout_fee_basis_points,
  duplicateWindowSeconds: row.payout_duplicate_window,
  isLimited: row.is_limited,
  generation: row.generation,
  route: routeOf(row, acquirer),
  availableCents: Number(row.available)
})

const routeOf = (row: StoredTerms, acquirer: SettingsShape["acquirer"]): PayoutTerms["route"] => {
  const connection = connectionOf(acquirer, row)
  if (connection === undefined) return "missing"
  return connection === null || row.pays_out === true ? "open" : "without-payouts"
}

export const makeTermsCache = () => {
  const accounts = new Map<string, PayoutTerms>()
  return {
    accounts: accounts as ReadonlyMap<string, PayoutTerms>,
    keep: (read: ReadonlyMap<string, PayoutTerms>): void => {
      if (accounts.size > MAX_ACCOUNTS) accounts.clear()
      for (const [id, terms] of read) accounts.set(id, terms)
    },
    /** Lowers balances; one that is lower already stays. */
    spend: (availableCents: ReadonlyMap<string, number>): void => {
      for (const [id, cents] of availableCents) {
        const terms = accounts.get(id)
        if (terms !== undefined && cents < terms.availableCents) accounts.set(id, { ...terms, availableCents: cents })
      }
    },
    /** Whether a payout has to see those of other processes: for a duplicate guard, or a limit of its account or key. */
    isGuarded: ({ caller, requested: { accountId } }: PayoutRequest): boolean => {
      const terms = accounts.get(accountId)
      return caller?.isPayoutLimited === true || terms?.isLimited === true || (terms?.duplicateWindowSeconds ?? 0) > 0
    },
    /** Whether the caller and the terms of its account were cached together, so that one generation proves both. */
    isOfCaller: ({ caller, requested }: PayoutRequest): boolean =>
      caller?._tag !== "Cached" || caller.generation === accounts.get(requested.accountId)?.generation,
    /** Accounts that are not cached, or whose cached balance is less than is asked of it: money may have come in. */
    outdated: (requests: ReadonlyArray<PayoutRequest>): ReadonlyArray<string> => {
      const askedCents = new Map<string, number>()
      for (const { requested } of requests) {
        askedCents.set(requested.accountId, (askedCents.get(requested.accountId) ?? 0) + requested.amount)
      }
      return [...askedCents].flatMap(([id, cents]) => {
        const terms = accounts.get(id)
        return terms === undefined || (terms.duplicateWindowSeconds === 0 && terms.availableCents < cents) ? [id] : []
      })
    }
  }
}

const MAX_ACCOUNTS = 10_000
