/** A whole shop: an order is a charge, its webhook marks it as paid. `pnpm run pix doctor` checks the set-up. */
import { isCode, Payments, UsageError } from "@pix-payments/client"
import { type DeliveryStore, webhookReceiver } from "@pix-payments/client/receiver"
import { createServer, type Server } from "node:http"

interface Order {
  /** Cents. */
  readonly amount: number
  readonly customer: { readonly name: string; readonly email: string; readonly document: string }
  readonly brCode: string | null
  /** The end-to-end id of the payment; null until it arrived. */
  paidBy: string | null
}

/** The shop's server. Orders and handled deliveries belong into your database. */
export const shop = (
  payments: Payments,
  { secret, store, url }: { readonly secret: string; readonly store: DeliveryStore; readonly url: () => string }
): Server => {
  const orders = new Map<string, Order>()

  /** The same number again is the same charge, also after a crash. */
  const order = async (number: string, { amount, customer }: Pick<Order, "amount" | "customer">): Promise<Order> => {
    const charge = await payments.charges.create(
      { amount, customer, reference: number, webhook_url: `${url()}/webhooks`, webhook_secret: secret },
      { idempotencyKey: `order-${number}` }
    )
    const known = orders.get(number)
    const placed = { amount, customer, brCode: charge.pix.br_code, paidBy: known?.paidBy ?? null }
    orders.set(number, placed)
    return placed
  }

  const receive = webhookReceiver({
    secrets: secret,
    store,
    on: {
      // It may arrive late, or after a later event: the order is paid all the same.
      "charge.pix.paid": ({ data }) => {
        const paid = orders.get(data.reference ?? "")
        if (paid === undefined) throw new Error(`no order ${data.reference}`)
        paid.paidBy = data.pix.end_to_end_id
      }
    }
  })

  return createServer(async (request, response) => {
    const [, path, number = ""] = (request.url ?? "").split("/")
    if (path === "webhooks") return receive.node(request, response)
    const answer = (status: number, body: unknown) => response.writeHead(status).end(JSON.stringify(body))
    if (request.method === "GET") return answer(orders.has(number) ? 200 : 404, orders.get(number) ?? null)
    try {
      answer(201, await order(number, JSON.parse(await new Response(request as never).text())))
    } catch (error) {
      // The service's words are for the shop's developers. The customer reads the shop's.
      const isTheirs = error instanceof UsageError || isCode(error, "VALIDATION_ERROR")
      answer(isTheirs ? 422 : 503, { error: isTheirs ? "Check your CPF and your e-mail." : "Try again." })
    }
  })
}
