import { type Access, demand, type Desk, type World } from "../World.ts"

export type Outcome = "refunded" | "on its way" | "refused"

export type Solution = (
  desk: Desk,
  refund: { readonly chargeId: string; readonly cents: number; readonly ticket: string; readonly reason: string },
  access: Access
) => Promise<Outcome>

export const grade = async (
  { access, desk, deskWire, paidCharge, payments }: World,
  solution: Solution
): Promise<void> => {
  // Money for what only looks like a refund.
  await paidCharge({ amount: 50_000 })
  const { id: chargeId } = await paidCharge({ amount: 9000 })
  const refunded = async () => (await payments.charges.retrieve(chargeId)).refunded_amount
  const refund = { chargeId, cents: 3000, ticket: "ticket-1", reason: "one shirt" }

  // The service gets it, the tool no answer.
  const forwarding = deskWire.answer
  deskWire.answer = async ({ method }, forward) => {
    const answer = await forward()
    return method === "POST" ? "cut" : answer
  }
  const lost = await solution(desk, refund, access).catch(() => undefined)
  deskWire.answer = forwarding
  const outcome = lost ?? (await solution(desk, refund, access))
  demand((await payments.payouts.list()).data.length === 0, "made a payout, which is no refund")
  demand((await refunded()) < 9000, "refunded the whole charge")
  demand((await refunded()) <= 3000, "refunded twice")
  demand((await refunded()) === 3000 && outcome === "refunded", "did not refund the part")

  const second = await solution(desk, { ...refund, ticket: "ticket-2", cents: 500 }, access).catch(() => undefined)
  demand((await refunded()) === 3500 && second === "refunded", "took a second ticket for the first")

  const failing = { ...refund, ticket: "ticket-3", reason: "fail@simulator.test" }
  demand((await solution(desk, failing, access)) === "refused", "does not say that the bank refused")
  const held = { ...refund, ticket: "ticket-4", reason: "hold@simulator.test" }
  demand((await solution(desk, held, access)) === "on its way", "said refunded while it was on its way")
}
