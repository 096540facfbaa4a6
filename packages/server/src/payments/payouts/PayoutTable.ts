/** The rows of `payouts`: their columns, and the key of a recipient. */
import {
  type BankAccount,
  type PayoutMethod,
  type PayoutStatus,
  payoutTransitions,
  recipientKeyOf
} from "@pix-payments/domain/Payout"
import type { PixKeyType } from "@pix-payments/domain/PixKey"
import { bigint, type Column, instant, integer, json, nullable, text, uuid } from "../../database/statements/Column.ts"
import { type Stored, table } from "../../database/statements/Table.ts"

/** A column of a Pix key; null for a TED, whose row has `recipientKey` in it. */
const ofPixKey = <A extends string>(): Column<A | null> => ({
  ...text<A>(),
  beside: "bank_account",
  decode: (stored: A, row) => (row["bank_account"] === null ? stored : null)
})

export const payoutTable = table({
  id: uuid(),
  accountId: uuid(),
  applicationId: nullable(uuid()),
  origin: text<"api" | "dashboard">(),
  idempotencyKey: nullable(text()),
  status: text<PayoutStatus>(),
  method: text<PayoutMethod>(),
  amount: bigint(),
  fee: bigint(),
  description: nullable(text()),
  reference: nullable(text()),
  recipientName: nullable(text()),
  recipientDocument: nullable(text()),
  /** The Pix key of the recipient; null for a TED. */
  pixKeyType: ofPixKey<PixKeyType>(),
  pixKey: ofPixKey<string>(),
  /** The account that a TED goes to; null for a Pix. */
  bankAccount: nullable(json<BankAccount>()),
  webhookUrl: nullable(text()),
  sealedWebhookSecret: nullable(text("webhook_secret")),
  endToEndId: nullable(text()),
  failureReason: nullable(text()),
  /** The payout that the duplicate guard found for the same recipient and amount. */
  duplicateOf: nullable(uuid()),
  processedAtMs: nullable(instant("processed_at")),
  createdAtMs: instant("created_at"),
  sequence: integer(),
  /** The connection through which it is sent, once it is claimed; null is the simulator's. */
  connectionId: nullable(uuid()),
  /** What the provider named it before its money could move. */
  providerReference: nullable(text()),
  /** The `traceparent` of the request that created it, where that is sampled. */
  trace: nullable(text())
})

/** A payout as it is stored. Amounts are cents. */
export interface StoredPayout extends Stored<typeof payoutTable> {}

export const payoutColumns = payoutTable.columns()

/**
 * SQL: the id under which a payout is ordered at its provider, a hash of its application (or account) and idempotency key, or of its
 * own id where it has no key. A payout that a restore lost and that its caller repeats is so the same order at the provider. The row
 * of `idempotency_keys` with this digest names the payout.
 */
export const orderIdOf = (payouts: string): string =>
  `CASE WHEN ${payouts}.idempotency_key IS NULL
    THEN idempotency_digest(coalesce(${payouts}.application_id, ${payouts}.account_id), 'payout id', ${payouts}.origin, ${payouts}.id::text)
    ELSE idempotency_digest(coalesce(${payouts}.application_id, ${payouts}.account_id), 'payout', ${payouts}.origin, ${payouts}.idempotency_key)
  END`

/** The recipient in the columns of a Pix key. For a TED it is its bank account as text, which the duplicate guard compares. */
export const recipientKey = ({
  bankAccount,
  pixKey,
  pixKeyType
}: Pick<StoredPayout, "pixKeyType" | "pixKey" | "bankAccount">) =>
  bankAccount === null
    ? { pix_key_type: pixKeyType, pix_key: pixKey }
    : {
        pix_key_type: "random" as const,
        pix_key: recipientKeyOf({ pix_key: null, ...bankAccount })
      }

/** The pairs `from>to` of states that the transition table allows, as a list of SQL texts. */
export const allowedTransitions: string = [
  ...new Set(payoutTransitions.flatMap(({ from, to }) => from.map((state) => `'${state}>${to}'`)))
].join(", ")
