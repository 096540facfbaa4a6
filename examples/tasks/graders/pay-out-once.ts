import { type Access, demand, type World } from "../World.ts"

export type Outcome = "completed" | "failed" | "on its way" | "not enough"

export type Solution = (
  access: Access,
  payout: { readonly id: string; readonly cents: number; readonly email: string }
) => Promise<Outcome>

export const grade = async ({ access, paidCharge, payments, wire }: World, solution: Solution): Promise<void> => {
  await paidCharge({ amount: 100_000 })
  const payouts = () => payments.payouts.list().toArray({ limit: 100 })

  // The service gets each request, the job no answer.
  const forwarding = wire.answer
  wire.answer = async ({ method }, forward) => {
    const answer = await forward()
    return method === "POST" ? "cut" : answer
  }
  const night = { id: "night-1", cents: 2000, email: "bruno@example.com" }
  const lost = await solution(access, night).catch(() => undefined)
  demand(lost !== "failed", "gave up a payout that went out")
  wire.answer = forwarding
  const outcome = lost ?? (await solution(access, night))
  demand((await payouts()).length === 1, "paid twice after a lost answer")
  demand(outcome === "completed", "does not know that it was completed")

  await solution(access, { ...night, id: "night-2" }).catch(() => undefined)
  demand((await payouts()).length === 2, "a second payout to the same driver was lost")

  const held = await solution(access, { id: "night-3", cents: 2000, email: "hold@simulator.test" })
  demand(held === "on its way", "said completed while it was on its way")

  const returned = await solution(access, { id: "night-4", cents: 2000, email: "fail@simulator.test" })
  demand(returned === "failed", "said completed what failed")

  const before = (await payouts()).length
  const tooMuch = await solution(access, { id: "night-5", cents: 900_000, email: "ana@example.com" }).catch(
    () => undefined
  )
  demand((await payouts()).length === before, "paid what was left")
  demand(tooMuch === "not enough", "does not say that the balance is not enough")
}
