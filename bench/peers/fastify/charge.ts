/**
 * A charge as a row and as JSON, and the store that keeps charges.
 */
// Not an Effect program.
// @effect-diagnostics globalDate:off
import type { Merchant } from "./acquirer.ts"

/** A row of `charges` as `pg` returns it. */
export interface ChargeRow {
  readonly id: string
  readonly account_id: string
  readonly application_id: string
  readonly status: string
  readonly method: string
  readonly amount: string | number
  readonly description: string | null
  readonly reference: string | null
  readonly customer_name: string | null
  readonly customer_email: string | null
  readonly customer_document: string | null
  readonly webhook_url: string | null
  readonly webhook_secret: string | null
  readonly br_code: string | null
  readonly end_to_end_id: string | null
  readonly receiver: unknown
  readonly expires_at: Date | null
  readonly paid_at: Date | null
  readonly failure_reason: string | null
  readonly created_at: Date
  readonly sequence: number
}

export const chargeColumns = `id, account_id, application_id, status, method, amount, description, reference,
  customer_name, customer_email, customer_document, webhook_url, webhook_secret, br_code, end_to_end_id, receiver,
  expires_at, paid_at, failure_reason, created_at, sequence`

/** A charge to insert. */
export interface NewCharge {
  readonly row: ChargeRow
  readonly idempotencyKey: string
  readonly customerPhone: string | null
  readonly recoverAt: Date
}

/** A charge with the acquirer's BR code, and its change. */
export interface EmittedCharge {
  readonly row: ChargeRow
  readonly change: { readonly id: string; readonly createdAt: Date; readonly data: string }
}

export interface ListQuery {
  readonly limit: number
  readonly startingAfter: string | undefined
  readonly status: string | undefined
  readonly method: string | undefined
  readonly createdAfterMs: number | undefined
  readonly createdBeforeMs: number | undefined
}

export interface ChargeStore {
  /** Whether a charge has the receiver object. */
  readonly hasReceiver: boolean
  /** False where the idempotency key is taken. */
  readonly insert: (charge: NewCharge) => Promise<boolean>
  /** Writes status, change and deliveries in one commit; false where the charge is no longer `processing`. */
  readonly markEmitted: (charge: EmittedCharge) => Promise<boolean>
  readonly find: (id: string) => Promise<ChargeRow | undefined>
  readonly findByKey: (applicationId: string, key: string) => Promise<ChargeRow | undefined>
  /** At most one more than the limit; undefined where the cursor is unknown. */
  readonly list: (accountId: string, query: ListQuery, now: Date) => Promise<ReadonlyArray<ChargeRow> | undefined>
  /** Claims charges that are due for recovery. */
  readonly claimDueRecoveries: () => Promise<ReadonlyArray<{ readonly row: ChargeRow; readonly merchant: Merchant }>>
}

/** The charge of the contract. */
export const toCharge = (row: ChargeRow) => ({
  id: row.id,
  object: "charge",
  status: row.status === "pending" && row.expires_at !== null && +row.expires_at <= Date.now() ? "expired" : row.status,
  amount: Number(row.amount),
  currency: "BRL",
  method: row.method,
  description: row.description,
  reference: row.reference,
  customer:
    row.customer_name === null
      ? null
      : { name: row.customer_name, email: row.customer_email, document: row.customer_document },
  pix: { br_code: row.br_code, end_to_end_id: row.end_to_end_id },
  receiver: row.receiver,
  webhook_url: row.webhook_url,
  expires_at: row.expires_at?.toISOString() ?? null,
  paid_at: row.paid_at?.toISOString() ?? null,
  refunded_amount: 0,
  failure_reason: row.failure_reason,
  created_at: row.created_at.toISOString(),
  sequence: row.sequence
})
