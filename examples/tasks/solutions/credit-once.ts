import { type ReceivedEvent, webhookReceiver } from "@pix-payments/client/receiver"
import { isEvent, unwrap, type WebhookEvent } from "@pix-payments/client/webhooks"
import type { Solution } from "../graders/credit-once.ts"

type Shop = Parameters<Solution>[0]

/** Attempts of this process are in memory, handled deliveries in the database. */
const storeIn = (handled: Pick<Map<string, string>, "has" | "set">) => {
  const busy = new Set<string>()
  return {
    claim: ({ id }: { readonly id: string }) => {
      if (handled.has(id)) return "done" as const
      if (busy.has(id)) return "busy" as const
      busy.add(id)
      return "new" as const
    },
    release: ({ id }: { readonly id: string }, isHandled: boolean) => {
      busy.delete(id)
      if (isHandled) handled.set(id, "handled")
    }
  }
}

const receiver = (
  { secret }: Shop,
  handled: Pick<Map<string, string>, "has" | "set">,
  handle: (event: ReceivedEvent<WebhookEvent>) => unknown
) => webhookReceiver({ secrets: secret, onError: () => {}, store: storeIn(handled), on: { "*": handle } })

const creditOf =
  ({ credit }: Shop, name = "charge.pix.paid") =>
  (event: WebhookEvent) =>
    event.event === name && "amount" in event.data
      ? credit(String(event.data["reference"]), Number(event.data["amount"]))
      : undefined

export const right: Solution = ({ credit, database, secret }) =>
  webhookReceiver({
    secrets: secret,
    onError: () => {},
    store: storeIn(database),
    on: { "charge.pix.paid": ({ data }) => credit(data.reference ?? "", data.amount) }
  })

export const wrong: Readonly<Record<string, Solution>> = {
  // Its QR code is there: nobody has paid.
  "credited before it was paid": (shop) => receiver(shop, shop.database, creditOf(shop, "charge.pix.emitted")),

  // Handled deliveries are forgotten at a restart.
  "credited twice after a restart": (shop) => receiver(shop, new Map(), creditOf(shop)),

  // Looks, waits for the wallets, and only then writes.
  "credited twice by two attempts at once":
    ({ credit, database, secret }) =>
    async (request) => {
      const event = await unwrap({ body: await request.text(), headers: request.headers, secrets: secret })
      if (!database.has(event.id) && isEvent(event, "charge.pix.paid")) {
        await credit(event.data.reference ?? "", event.data.amount)
        database.set(event.id, "handled")
      }
      return new Response(null, { status: 204 })
    },

  // The error is logged, and the delivery is lost.
  "a credit that failed was acknowledged": (shop) =>
    receiver(shop, shop.database, async (event) => {
      try {
        await creditOf(shop)(event)
      } catch {
        // It says so in the log.
      }
    }),

  // Marked before the work: the repetition is taken for one that was handled.
  "a credit that failed was not made up for": (shop) => async (request) => {
    const event = await unwrap({ body: await request.text(), headers: request.headers, secrets: shop.secret })
    if (shop.database.has(event.id)) return new Response(null, { status: 204 })
    shop.database.set(event.id, "handled")
    await creditOf(shop)(event)
    return new Response(null, { status: 204 })
  },

  // An older event has news all the same.
  "a late payment was dropped": (shop) => {
    const latest = new Map<string, number>()
    return receiver(shop, shop.database, (event) => {
      const id = String(event.data["id" as never])
      if (event.sequence < (latest.get(id) ?? 0)) return undefined
      latest.set(id, event.sequence)
      return creditOf(shop)(event)
    })
  }
}
