/**
 * A payout as a row and as JSON, and the store that keeps payouts.
 */
/** A row of `payouts` as `pg` returns it. */
export interface PayoutRow {
  readonly id: string
  readonly account_id: string
  readonly application_id: string | null
  readonly status: string
  readonly method: string
  readonly amount: string | number
  readonly fee: string | number
  readonly description: string | null
  readonly reference: string | null
  readonly recipient_name: string | null
  readonly recipient_document: string | null
  readonly pix_key_type: string
  readonly pix_key: string
  readonly webhook_url: string | null
  readonly webhook_secret: string | null
  readonly end_to_end_id: string | null
  readonly failure_reason: string | null
  readonly processed_at: Date | null
  readonly created_at: Date
  readonly sequence: number
}

export const payoutColumns = `id, account_id, application_id, status, method, amount, fee, description, reference,
  recipient_name, recipient_document, pix_key_type, pix_key, webhook_url, webhook_secret, end_to_end_id,
  failure_reason, processed_at, created_at, sequence`

/** A requested payout. Its status is decided under the row lock of the account's balance. */
export interface RequestedPayout {
  /** Its status is `pending`. */
  readonly row: PayoutRow
  readonly idempotencyKey: string
  readonly autoPayout: boolean
  /** Seconds in which a duplicate stays `pending`; 0: duplicates are not looked for. */
  readonly duplicateWindow: number
}

export type Decision = PayoutRow | "key is taken" | "insufficient balance"

export interface PayoutStore {
  /** Writes payout, transfer, change and deliveries in one commit. */
  readonly decide: (requested: RequestedPayout) => Promise<Decision>
  readonly findByKey: (applicationId: string, key: string) => Promise<PayoutRow | undefined>
  /** Submits due payouts to the acquirer and settles those with an outcome. */
  readonly submitDue: () => Promise<void>
}

/** The payout of the contract. */
export const toPayout = (row: PayoutRow) => ({
  id: row.id,
  object: "payout",
  status: row.status,
  method: row.method,
  amount: Number(row.amount),
  fee: Number(row.fee),
  currency: "BRL",
  description: row.description,
  reference: row.reference,
  recipient: {
    name: row.recipient_name,
    document: row.recipient_document,
    pix_key_type: row.pix_key_type,
    pix_key: row.pix_key
  },
  end_to_end_id: row.end_to_end_id,
  failure_reason: row.failure_reason,
  webhook_url: row.webhook_url,
  processed_at: row.processed_at?.toISOString() ?? null,
  created_at: row.created_at.toISOString(),
  sequence: row.sequence
})
