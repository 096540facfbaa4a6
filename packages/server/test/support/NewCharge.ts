/** A charge as it is stored, for tests of decisions. */
import type { Cents } from "@pix-payments/domain/Cents"
import { type ChargeFunds, noFunds } from "@pix-payments/domain/ChargeMoney"
import { type LockedCharge, newCharge } from "../../src/payments/charges/ChargeDecision.ts"
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

/** A paid charge of 1000 cents, of which so much is left. */
export const lockedCharge = (
  funds: Partial<ChargeFunds>,
  charge: Partial<StoredCharge> = {},
  order?: LockedCharge["order"]
): LockedCharge => ({ charge: { ...paidCharge(1000), ...charge }, funds: { ...noFunds, ...funds }, order })

/** The movements or transfers as `debit > credit: cents`, without those of no cents. */
export const movementsOf = (
  all: ReadonlyArray<{ readonly debit: string; readonly credit: string; readonly amount: number }> | undefined
) => all?.flatMap(({ amount, credit, debit }) => (amount === 0 ? [] : [`${debit} > ${credit}: ${amount}`]))
