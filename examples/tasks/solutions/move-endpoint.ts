import { Payments, type UpdateWebhookEndpoint } from "@pix-payments/client"
import type { Solution } from "../graders/move-endpoint.ts"

type Move = Parameters<Solution>[1]

/** The endpoint at an address. After a move that was cut short it may be gone. */
const endpointAt = async (payments: Payments, url: string) =>
  (await payments.webhooks.list()).data.find((endpoint) => endpoint.url === url)

const withClient =
  (run: (payments: Payments, move: Move) => Promise<unknown>): Solution =>
  async ({ apiKey, url }, move) => {
    await run(new Payments({ baseUrl: url, apiKey, maxRetries: 0 }), move)
  }

const events = ["charge.pix.paid", "charge.pix.refunded"] as const

const updates = (...changes: ReadonlyArray<(move: Move) => UpdateWebhookEndpoint>) =>
  withClient(async (payments, move) => {
    for (const change of changes) {
      const endpoint = (await endpointAt(payments, move.from)) ?? (await endpointAt(payments, move.to))
      if (endpoint !== undefined) await payments.webhooks.update(endpoint.id, change(move))
    }
  })

/** One change of address and secret: what was not delivered goes to the new one, signed with the new one. */
export const right: Solution = updates(({ secret, to }) => ({ url: to, secret }))

const remove = async (payments: Payments, url: string) => {
  const endpoint = await endpointAt(payments, url)
  if (endpoint !== undefined) await payments.webhooks.delete(endpoint.id)
}

export const wrong: Readonly<Record<string, Solution>> = {
  // Deleting an endpoint cancels what it has not delivered.
  "canceled the delivery that was to be tried again": withClient(async (payments, { from, secret, to }) => {
    if ((await endpointAt(payments, to)) === undefined) await payments.webhooks.create({ url: to, events, secret })
    await remove(payments, from)
  }),

  // A creation takes no key: after a lost answer it is made again.
  "made the new address twice": withClient(async (payments, { from, secret, to }) => {
    await payments.webhooks.create({ url: to, events, secret })
    await remove(payments, from)
  }),

  // To be on the safe side.
  "the old address still gets events": withClient(async (payments, { secret, to }) => {
    if ((await endpointAt(payments, to)) === undefined) await payments.webhooks.create({ url: to, events, secret })
  }),

  // What happens between the two is signed with the old secret.
  "sent an event that its address cannot verify": updates(
    ({ to }) => ({ url: to }),
    ({ secret }) => ({ secret })
  ),

  // Only what the script's author knew of.
  "the new address misses an event": updates(({ secret, to }) => ({ url: to, secret, events: ["charge.pix.paid"] })),

  // Paused for the move, and never resumed.
  "nothing arrives at the new address": updates(({ secret, to }) => ({ url: to, secret, active: false }))
}
