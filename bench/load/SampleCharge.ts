/**
 * The JSON of a charge for rows that no request created, for example those of deliveries.
 */

/** `data` of a charge's events. */
export const chargeData = JSON.stringify({
  id: "0199a0f0-5f3c-7c3e-9d0b-5a4b1c2d3e4f",
  object: "charge",
  status: "pending",
  amount: 1990,
  currency: "BRL",
  method: "pix",
  description: "Pedido 10000 na loja",
  reference: "pedido-10000",
  customer: { name: "Maria Oliveira da Silva", email: "cliente@example.com.br", document: "52998224725" },
  pix: {
    br_code:
      "00020101021226720014br.gov.bcb.pix2550pix.simulator.test/qr/v2/0199a0f05f3c7c3e9d0b5a4b1c2d3e4f52040000530398654" +
      "0519.905802BR5913Loja do Bench6009SAO PAULO62070503***6304ABCD",
    end_to_end_id: null
  },
  receiver: {
    name: "Loja do Bench",
    document: "11222333000181",
    pix_key: "11222333000181",
    pix_key_type: "cnpj",
    institution_name: "Simulated Acquirer",
    institution_ispb: "00000000",
    branch: "0001",
    account: "1",
    account_type: "payment"
  },
  webhook_url: "http://127.0.0.1/hooks/pix",
  expires_at: "2026-01-01T01:00:00.000Z",
  paid_at: null,
  refunded_amount: 0,
  failure_reason: null,
  created_at: "2026-01-01T00:00:00.000Z",
  sequence: 2
})
