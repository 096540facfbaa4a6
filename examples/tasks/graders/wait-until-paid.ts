import { type Access, demand, within, type World } from "../World.ts"

export type Outcome = "paid" | "never" | "still open"

export type Solution = (access: Access, chargeId: string, deadlineMs: number) => Promise<Outcome>

export const grade = async ({ access, charge, operate, wire }: World, solution: Solution): Promise<void> => {
  const canceled = await charge()
  await operate("POST", `/charges/${canceled.id}/cancel`)
  const never = await within(solution(access, canceled.id, 600_000), "waited for what cannot be paid")
  demand(never === "never", "does not say that it cannot be paid")

  // The customer pays after the first look.
  const { id } = await charge()
  const forwarding = wire.answer
  let looks = 0
  wire.answer = async (_exchange, forward) => {
    const answer = await forward()
    if (++looks === 1) await operate("POST", `/simulator/charges/${id}/pay`)
    return answer
  }
  demand((await within(solution(access, id, 60_000), "did not see the payment")) === "paid", "looked once")

  // The service restarts.
  looks = 0
  wire.answer = async (_exchange, forward) => (++looks === 1 ? { status: 503, body: "{}" } : forward())
  const restarted = await within(
    solution(access, id, 60_000).catch(() => undefined),
    "did not see the payment"
  )
  demand(restarted === "paid", "gave up at a restart of the service")

  wire.answer = forwarding
  const open = await charge()
  const seen = wire.seen.length
  const outcome = await within(solution(access, open.id, 1500), "did not end at its deadline")
  demand(outcome === "still open", "does not say that it is still open")
  demand(wire.seen.length - seen < 10, "asked too often")
}
