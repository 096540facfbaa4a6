/** A charge as it is stored, for tests of decisions. */
import type { Cents } from "@pix-payments/domain/Cents"
import { newCharge } from "../../src/payments/charges/ChargeDecision.ts"
import type { StoredCharge } from "../../src/payments/charges/ChargeTable.ts"

export const CREATED = Date.UTC(2026, 10, 21)

export const merchant = {
  name: "Loja",
  document: "11222333000181",
  status: "active",
  defaultExpiresInSeconds: 86_400,
  chargesPaused: false,
  connectionId: null
}

export const requestOf = (amount: number) => ({
  amount: amount as Cents,
  customer: { name: "Ana", email: "ana@example.com", document: "52998224725" }
})

/** A charge that waits for the acquirer. */
export const createdCharge = (amount = 1000): StoredCharge =>
  newCharge(
    "charge",
    CREATED,
    { accountId: "account", applicationId: "application", origin: "api", idempotencyKey: "key" },
    merchant,
    requestOf(amount),
    null,
    null
  )

export const paidCharge = (amount: number): StoredCharge => ({ ...createdCharge(amount), status: "paid", sequence: 3 })
