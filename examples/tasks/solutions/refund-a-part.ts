import { Payments } from "@pix-payments/client"
import type { Outcome, Solution } from "../graders/refund-a-part.ts"

type Desk = Parameters<Solution>[0]
type Refund = Parameters<Solution>[1]

interface RefundedCharge {
  readonly refunds: ReadonlyArray<{ readonly status: string; readonly amount: number }>
}

const order = ({ token, url }: Desk, { chargeId, reason }: Refund, amount: number | undefined, key: string) =>
  fetch(`${url}/operator/v1/charges/${chargeId}/refund`, {
    method: "POST",
    headers: { "x-operator-token": token, "content-type": "application/json", "idempotency-key": key },
    body: JSON.stringify({ amount, description: reason })
  })

/** The refunds of a charge are oldest first. */
const outcomeOf = async (response: Response): Promise<Outcome> => {
  if (response.status === 422) return "refused"
  if (!response.ok) throw new Error(`the service answers ${response.status}`)
  const { refunds } = (await response.json()) as RefundedCharge
  const status = refunds.at(-1)?.status
  return status === "completed" ? "refunded" : status === "failed" ? "refused" : "on its way"
}

export const right: Solution = async (desk, refund) =>
  outcomeOf(await order(desk, refund, refund.cents, `refund-${refund.ticket}`))

export const wrong: Readonly<Record<string, Solution>> = {
  // It costs a fee, and the payer can still contest the payment.
  "made a payout, which is no refund": async (_desk, { cents, ticket }, { apiKey, url }) => {
    await new Payments({ baseUrl: url, apiKey }).payouts.create(
      { amount: cents, pix_key_type: "email", pix_key: "ana@example.com" },
      { idempotencyKey: `refund-${ticket}` }
    )
    return "refunded"
  },

  // Without an amount, all that is left goes back.
  "refunded the whole charge": async (desk, refund) =>
    outcomeOf(await order(desk, refund, undefined, `refund-${refund.ticket}`)),

  // Each click has a key.
  "refunded twice": async (desk, refund) => outcomeOf(await order(desk, refund, refund.cents, crypto.randomUUID())),

  // One key for each charge: its second refund is another body under the same key.
  "took a second ticket for the first": async (desk, refund) =>
    outcomeOf(await order(desk, refund, refund.cents, `refund-${refund.chargeId}`)),

  // The answer came: whatever it says.
  "does not say that the bank refused": async (desk, refund) => {
    const outcome = await right(desk, refund, { url: "", apiKey: "" })
    return outcome === "refused" ? "refunded" : outcome
  },

  // 200 says that the order was accepted.
  "said refunded while it was on its way": async (desk, refund) => {
    const outcome = await right(desk, refund, { url: "", apiKey: "" })
    return outcome === "on its way" ? "refunded" : outcome
  }
}
