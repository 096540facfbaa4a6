import type { Dispute } from "@pix-payments/client"
import { type Access, deliver, demand, type Desk, isSuccess, type Receive, until, type World } from "../World.ts"

export interface Solution {
  readonly subscribe: (access: Access, url: string, secret: string) => Promise<void>
  readonly receive: (shop: {
    readonly secret: string
    readonly desk: Desk
    readonly access: Access
    readonly proofOf: (reference: string) => Promise<string>
  }) => Receive
}

const secret = "a secret of the lawyers"

export const grade = async (
  { access, desk, deskWire, host, operate, paidCharge, payments }: World,
  solution: Solution
): Promise<void> => {
  // A MED blocks its own amount only.
  await paidCharge({ amount: 50_000 })
  let isDown = false
  const receive = solution.receive({
    secret,
    desk,
    access,
    proofOf: async (reference) => {
      if (isDown) throw new Error("the archive is down")
      if (!/^order-\d$/.test(reference)) throw new Error("there is no such order")
      return `parcel of ${reference}`
    }
  })
  const { delivered, url } = await host(receive)
  await solution.subscribe(access, url, secret)
  const endpoints = (await payments.webhooks.list()).data
  demand(
    endpoints.some(({ events }) => events.includes("dispute.pix.opened")),
    "hears of no MED"
  )

  /** A MED of an order, once its event was answered. */
  const med = async (reference: string) => {
    const { id } = await paidCharge({ amount: 20_000, reference })
    const dispute = await operate<Dispute>("POST", `/simulator/charges/${id}/infraction`, { reason: "fraude" })
    const isOf = ({ event }: (typeof delivered)[number]) =>
      event.event === "dispute.pix.opened" && event.data["id" as never] === dispute.id
    const [opened] = await until(
      () => delivered.filter(isOf),
      ({ length }) => length > 0,
      "answered no dispute"
    )
    return { opened: opened!, read: () => operate<Dispute>("GET", `/disputes/${dispute.id}`), id: dispute.id }
  }
  const filed = () => deskWire.seen.filter(({ path }) => path.endsWith("/defense"))

  const first = await med("order-1")
  demand((await payments.payouts.list()).data.length === 0, "sent money to the payer")
  demand(filed().length > 0 && filed()[0]!.body.includes("parcel of order-1"), "files no proof of the order")
  demand((await first.read()).status === "under_review", "filed nothing with the bank")
  demand(isSuccess(await deliver(receive, first.opened.body, secret)), "refuses a repeated delivery for ever")

  isDown = true
  const second = await med("order-2")
  demand(!isSuccess(second.opened.status), "acknowledged a dispute without a defense")
  isDown = false
  await deliver(receive, second.opened.body, secret)
  demand((await second.read()).status === "under_review", "acknowledged a dispute without a defense")

  const before = filed().length
  await operate("POST", `/simulator/disputes/${second.id}/lose`)
  await deliver(receive, { ...second.opened.event, id: "lost", event: "dispute.pix.lost", action: "lost" }, secret)
  demand(filed().length === before, "defends what was decided")
}
