import { type Dispute, type EventName, Payments } from "@pix-payments/client"
import { type Handlers, webhookReceiver } from "@pix-payments/client/receiver"
import type { Solution } from "../graders/answer-med.ts"

type Shop = Parameters<Solution["receive"]>[0]

const subscribeTo =
  (events: ReadonlyArray<EventName>): Solution["subscribe"] =>
  async ({ apiKey, url: baseUrl }, url, secret) => {
    await new Payments({ baseUrl, apiKey }).webhooks.create({ url, events, secret })
  }

const subscribe = subscribeTo(["dispute.pix.opened", "dispute.pix.lost"])

const file = async ({ desk }: Shop, { id }: Dispute, text: string) => {
  const response = await fetch(`${desk.url}/operator/v1/disputes/${id}/defense`, {
    method: "POST",
    headers: { "x-operator-token": desk.token, "content-type": "application/json" },
    body: JSON.stringify({ text })
  })
  // 409: an earlier attempt has filed it, or it was decided.
  if (!response.ok && response.status !== 409) throw new Error(`the service answers ${response.status}`)
  return response.status
}

const defend = async (shop: Shop, dispute: Dispute) => file(shop, dispute, await shop.proofOf(dispute.reference ?? ""))

/** Each attempt is handled: the desk knows what was filed. */
const receiveWith =
  (handlersOf: (shop: Shop) => Handlers): Solution["receive"] =>
  (shop) =>
    webhookReceiver({
      secrets: shop.secret,
      onError: () => {},
      store: { claim: () => "new", release: () => {} },
      on: handlersOf(shop)
    })

const opened = (handle: (shop: Shop, dispute: Dispute) => unknown): Solution => ({
  subscribe,
  receive: receiveWith((shop) => ({ "dispute.pix.opened": ({ data }) => handle(shop, data) }))
})

export const right: Solution = opened(defend)

export const wrong: Readonly<Record<string, Solution>> = {
  // The charge's event names no dispute, and no deadline.
  "hears of no MED": { ...right, subscribe: subscribeTo(["charge.pix.infraction"]) },

  // It costs a fee, and the MED goes on.
  "sent money to the payer": opened(async ({ access }, { amount, id }) => {
    await new Payments({ baseUrl: access.url, apiKey: access.apiKey }).payouts.create(
      { amount: Math.floor(amount / 4), pix_key_type: "email", pix_key: "ana@example.com" },
      { idempotencyKey: `dispute-${id}` }
    )
  }),

  // A sentence is no proof.
  "files no proof of the order": opened((shop, dispute) => file(shop, dispute, "We have delivered.")),

  // The second attempt is a conflict, for ever.
  "refuses a repeated delivery for ever": opened(async (shop, dispute) => {
    if ((await defend(shop, dispute)) === 409) throw new Error("a conflict")
  }),

  // The archive will be back, the event will not.
  "acknowledged a dispute without a defense": opened((shop, dispute) => defend(shop, dispute).catch(() => undefined)),

  // Every dispute is defended, also a lost one.
  "defends what was decided": {
    subscribe,
    receive: receiveWith((shop) => ({
      "dispute.pix.opened": ({ data }) => defend(shop, data),
      "dispute.pix.lost": ({ data }) => defend(shop, data)
    }))
  }
}
