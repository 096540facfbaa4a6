/** The cached terms that payouts are decided on first. */
import { assert, describe, it } from "@effect/vitest"
import type { PayoutRequest, PayoutTerms } from "../../../../src/payments/payouts/creation/PayoutCreation.ts"
import { makeTermsCache } from "../../../../src/payments/payouts/creation/TermsCache.ts"
import { requestedPayout } from "../../../support/NewPayout.ts"

const terms = (changes: Partial<PayoutTerms> = {}): PayoutTerms => ({
  status: "active",
  onboardingStatus: "completed",
  autoPayoutEnabled: true,
  feeFixedCents: 0,
  feeBasisPoints: 0,
  duplicateWindowSeconds: 0,
  isLimited: false,
  availableCents: 1000,
  generation: "generation-1",
  route: "open",
  ...changes
})

const request = (accountId: string, amount: number): PayoutRequest => ({
  caller: undefined,
  requested: requestedPayout({ accountId, applicationId: null, amount })
})

describe("TermsCache", () => {
  it("an account is read again where it is unknown, or where its balance is less than all of its payouts ask", () => {
    const cache = makeTermsCache()
    cache.keep(new Map([["known", terms()]]))
    assert.deepStrictEqual(cache.outdated([request("known", 600), request("known", 400)]), [])
    assert.deepStrictEqual(cache.outdated([request("known", 600), request("known", 401), request("new", 1)]), [
      "known",
      "new"
    ])
  })

  it("an account with a duplicate guard is not read again: its payouts are decided under the lock", () => {
    const cache = makeTermsCache()
    cache.keep(new Map([["guarded", terms({ duplicateWindowSeconds: 60, availableCents: 0 })]]))
    assert.isTrue(cache.isGuarded(request("guarded", 1)))
    assert.isFalse(cache.isGuarded(request("unknown", 1)))
    assert.deepStrictEqual(cache.outdated([request("guarded", 1)]), [])
  })

  it("`spend` lowers a balance and never raises one; `keep` replaces it", () => {
    const cache = makeTermsCache()
    const available = () => cache.accounts.get("one")?.availableCents
    const read = terms()
    cache.keep(new Map([["one", read]]))
    cache.spend(
      new Map([
        ["one", 300],
        ["unknown", 5]
      ])
    )
    assert.strictEqual(available(), 300)
    cache.spend(new Map([["one", 700]]))
    assert.strictEqual(available(), 300)
    assert.strictEqual(read.availableCents, 1000, "the terms that were read are not changed")
    cache.keep(new Map([["one", terms({ availableCents: 900 })]]))
    assert.strictEqual(available(), 900)
    assert.isFalse(cache.accounts.has("unknown"))
  })

  it("beyond 10,000 accounts it is cleared before it keeps more", () => {
    const cache = makeTermsCache()
    cache.keep(new Map(Array.from({ length: 10_001 }, (_, index) => [`account-${index}`, terms()])))
    cache.keep(new Map([["next", terms()]]))
    assert.deepStrictEqual([...cache.accounts.keys()], ["next"])
  })
})
