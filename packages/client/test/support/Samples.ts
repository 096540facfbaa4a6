/** Sample requests and resources. */
import type { Charge, CreateCharge, Payout } from "../../src/index.ts"

export const someCharge: CreateCharge = {
  amount: 1990,
  customer: { name: "Ana Souza", email: "ana@example.com", document: "529.982.247-25" }
}

/** A charge, as the service returns it. */
export const chargeOf = (fields: Partial<Charge> = {}): Charge => ({
  id: "01890a5d-ac96-774b-bcce-b302099a8057",
  object: "charge",
  status: "pending",
  amount: 1990,
  currency: "BRL",
  method: "pix",
  description: null,
  reference: null,
  customer: { name: "Ana Souza", email: "ana@example.com", document: "52998224725" },
  pix: { br_code: "0002", end_to_end_id: null },
  receiver: null,
  webhook_url: null,
  expires_at: "2026-11-22T12:00:00.000Z",
  paid_at: null,
  refunded_amount: 0,
  failure_reason: null,
  created_at: "2026-11-21T12:00:00.000Z",
  sequence: 1,
  ...fields
})

/** The API key of test clients. Tests check that nothing prints it. */
export const secretKey = "pix_secret-key-that-nobody-may-see"

/** A payout, as the service returns it. */
export const payoutOf = (fields: Partial<Payout> = {}): Payout => ({
  id: "01890a5d-ac96-774b-bcce-b302099a8058",
  object: "payout",
  status: "processing",
  method: "pix",
  amount: 500,
  fee: 0,
  currency: "BRL",
  description: null,
  reference: null,
  recipient: { name: null, document: null, pix_key_type: "email", pix_key: "ana@example.com" },
  end_to_end_id: null,
  failure_reason: null,
  webhook_url: null,
  processed_at: null,
  created_at: "2026-11-21T12:00:00.000Z",
  sequence: 1,
  ...fields
})
