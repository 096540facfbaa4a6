import type { WebhookEvent } from "@pix-payments/client/webhooks"
import { setTimeout as sleep } from "node:timers/promises"
import { deliver, demand, isSuccess, type Receive, until, type World } from "../World.ts"

export type Solution = (shop: {
  readonly secret: string
  readonly database: Map<string, string>
  readonly credit: (order: string, cents: number) => Promise<void>
}) => Receive

const secret = "a secret of the wallets"

export const grade = async ({ charge, host, operate }: World, solution: Solution): Promise<void> => {
  const credits: Array<string> = []
  const creditsOf = (order: string) => credits.filter((each) => each.startsWith(order)).length
  let isDown = false
  let wallets = Promise.resolve()
  const database = new Map<string, string>()
  const start = () =>
    solution({
      secret,
      database,
      credit: async (order, cents) => {
        await wallets
        if (isDown) throw new Error("the wallets are down")
        credits.push(`${order}: ${cents}`)
      }
    })

  const first = start()
  const { delivered, url } = await host(first)
  const { id } = await charge({ amount: 1990, reference: "order-1", webhook_url: url, webhook_secret: secret })
  await until(
    () => delivered.length,
    (count) => count >= 2,
    "answered no delivery"
  )
  demand(creditsOf("order-1") === 0, "credited before it was paid")
  await operate("POST", `/simulator/charges/${id}/pay`)
  const isPaid = ({ event }: { readonly event: WebhookEvent }) => event.event === "charge.pix.paid"
  const [paid] = await until(
    () => delivered.filter(isPaid),
    ({ length }) => length > 0,
    "answered no payment"
  )
  demand(isSuccess(paid!.status) && credits.join() === "order-1: 1990", "a paid order was not credited")

  const restarted = start()
  demand(isSuccess(await deliver(restarted, paid!.body, secret)), "a repeated delivery was not acknowledged")
  demand(creditsOf("order-1") === 1, "credited twice after a restart")

  /** The same for another order. */
  const another = (order: string, event: string, sequence: number) => ({
    ...paid!.event,
    id: `${order} ${event}`,
    event,
    sequence,
    data: { ...paid!.event.data, id: order, reference: order, sequence }
  })
  const twice = another("order-2", "charge.pix.paid", 3)
  const slow = Promise.withResolvers<void>()
  wallets = slow.promise
  const attempts = [deliver(restarted, twice, secret), deliver(restarted, twice, secret)]
  // A repetition that is refused is answered at once; one that credits waits as the first.
  await Promise.race([...attempts, sleep(200)])
  slow.resolve()
  await Promise.all(attempts)
  demand(creditsOf("order-2") === 1, "credited twice by two attempts at once")

  isDown = true
  const failing = another("order-3", "charge.pix.paid", 3)
  demand(!isSuccess(await deliver(restarted, failing, secret)), "a credit that failed was acknowledged")
  isDown = false
  await deliver(restarted, failing, secret)
  demand(creditsOf("order-3") === 1, "a credit that failed was not made up for")

  await deliver(restarted, another("order-4", "charge.pix.refunded", 4), secret)
  await deliver(restarted, another("order-4", "charge.pix.paid", 3), secret)
  demand(creditsOf("order-4") === 1, "a late payment was dropped")
}
