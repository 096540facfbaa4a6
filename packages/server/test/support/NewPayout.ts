/** A payout as it is requested, and the terms of its account, for tests of decisions. */
import type { PayoutTerms, RequestedPayout } from "../../src/payments/payouts/creation/PayoutCreation.ts"

export const ACCOUNT = "account-1"

export const termsOfPayout = (changes: Partial<PayoutTerms> = {}): PayoutTerms => ({
  status: "active",
  onboardingStatus: "completed",
  autoPayoutEnabled: true,
  feeFixedCents: 100,
  feeBasisPoints: 0,
  duplicateWindowSeconds: 0,
  isLimited: false,
  availableCents: 10_000,
  generation: "generation-1",
  route: "open",
  ...changes
})

let next = 0

export const requestedPayout = (changes: Partial<RequestedPayout> = {}): RequestedPayout => ({
  id: `payout-${++next}`,
  accountId: ACCOUNT,
  applicationId: "application-1",
  origin: "api",
  idempotencyKey: null,
  method: "pix",
  amount: 1000,
  description: null,
  reference: null,
  recipientName: null,
  recipientDocument: null,
  pixKeyType: "email",
  pixKey: "ana@example.com",
  bankAccount: null,
  webhookUrl: null,
  sealedWebhookSecret: null,
  endToEndId: null,
  failureReason: null,
  processedAtMs: null,
  createdAtMs: 0,
  sequence: 1,
  connectionId: null,
  providerReference: null,
  trace: null,
  ...changes
})
