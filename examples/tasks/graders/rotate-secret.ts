// @effect-diagnostics globalDate:off -- integrators have no Effect
import type { WebhookEvent } from "@pix-payments/client/webhooks"
import { deliver, demand, isSuccess, type Receive, until, type World } from "../World.ts"

export type Solution = (shop: {
  readonly current: string
  readonly previous: string
  readonly handle: (event: WebhookEvent) => void
}) => Receive

const current = "the secret of this year"
const previous = "the secret of last year"

export const grade = async ({ charge, host }: World, solution: Solution): Promise<void> => {
  const handled: Array<string> = []
  const receive = solution({ current, previous, handle: ({ id }) => handled.push(id) })
  const { delivered, url } = await host(receive)
  await charge({ webhook_url: url, webhook_secret: current })
  const [real] = await until(
    () => delivered,
    ({ length }) => length > 0,
    "answered no delivery"
  )
  demand(isSuccess(real!.status) && handled.length > 0, "refused the current secret")

  let count = 0
  const send = async (secret: string, write: (event: object) => object | string = (event) => event, sentAt?: Date) => {
    const id = `d${count++}`
    const status = await deliver(receive, write({ ...real!.event, id }), secret, sentAt)
    return { status, isHandled: handled.includes(id) }
  }
  demand((await send(previous)).isHandled, "refused the previous secret")
  demand((await send(current, (event) => JSON.stringify(event, null, 2))).isHandled, "verified other bytes than came")
  const forged = await send("the secret of somebody else")
  demand(!forged.isHandled, "handled what others signed")
  demand(forged.status === 401, "does not answer 401")

  const unsigned = new Request(url, { method: "POST", body: JSON.stringify({ ...real!.event, id: "unsigned" }) })
  await receive(unsigned).catch(() => undefined)
  demand(!handled.includes("unsigned"), "handled what nobody signed")

  const hourAgo = new Date(performance.timeOrigin + performance.now() - 3_600_000)
  demand(!(await send(current, (event) => event, hourAgo)).isHandled, "handled a recorded attempt")
}
