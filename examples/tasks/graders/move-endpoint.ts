import { unwrap } from "@pix-payments/client/webhooks"
import { type Access, demand, type Receive, until, type World } from "../World.ts"

export type Solution = (
  access: Access,
  move: { readonly from: string; readonly to: string; readonly secret: string }
) => Promise<void>

const oldSecret = "a secret of the old house"
const secret = "a secret of the new house"

const verifying =
  (secrets: string): Receive =>
  async (request) => {
    await unwrap({ body: await request.text(), headers: request.headers, secrets })
    return new Response(null, { status: 204 })
  }

export const grade = async (
  { access, host, operate, paidCharge, payments, wire }: World,
  solution: Solution
): Promise<void> => {
  let isOldDown = false
  const verifyOld = verifying(oldSecret)
  const old = await host(async (request) => (isOldDown ? new Response(null, { status: 500 }) : verifyOld(request)))
  const moved = await host(verifying(secret))
  const events = ["charge.pix.paid", "charge.pix.refunded"] as const
  await payments.webhooks.create({ url: old.url, events, secret: oldSecret })

  const arrivals = (place: typeof old, chargeId: string) =>
    place.delivered.filter(({ event }) => event.data["id" as never] === chargeId)
  isOldDown = true
  const failed = await paidCharge()
  const [attempt] = await until(
    () => arrivals(old, failed.id),
    ({ length }) => length > 0,
    "never came"
  )
  isOldDown = false

  // A customer pays before and after each of the script's requests that change something.
  const paid: Array<string> = []
  const pay = async () => {
    const { id } = await paidCharge()
    paid.push(id)
    const isSent = (await payments.webhooks.list()).data.some(({ active }) => active)
    if (isSent)
      await until(
        () => arrivals(old, id).length + arrivals(moved, id).length,
        (count) => count > 0,
        "never came"
      )
  }
  let changes = 0
  wire.answer = async ({ method }, forward) => {
    if (method === "GET") return forward()
    await pay()
    const answer = await forward()
    await pay()
    return ++changes === 1 ? "cut" : answer
  }
  const move = { from: old.url, to: moved.url, secret }
  await solution(access, move).catch(() => solution(access, move))

  const endpoints = (await payments.webhooks.list()).data
  const there = endpoints.filter(({ active, url }) => url === moved.url && active)
  demand(there.length > 0, "nothing arrives at the new address")
  demand(there.length === 1, "made the new address twice")
  demand(!endpoints.some(({ url }) => url === old.url), "the old address still gets events")
  demand(there[0]!.events.toSorted().join() === events.join(), "the new address misses an event")
  const delivery = await operate<{ status: string }>("GET", `/deliveries/${attempt!.event.id}`)
  demand(delivery.status !== "canceled", "canceled the delivery that was to be tried again")
  for (const id of paid) {
    const seen = [...arrivals(old, id), ...arrivals(moved, id)]
    demand(seen.length > 0, "lost an event")
    demand(
      seen.some(({ status }) => status === 204),
      "sent an event that its address cannot verify"
    )
  }
}
