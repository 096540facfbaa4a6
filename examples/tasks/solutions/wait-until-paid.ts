import { Payments, WaitError } from "@pix-payments/client"
import { setTimeout as sleep } from "node:timers/promises"
import type { Outcome, Solution } from "../graders/wait-until-paid.ts"

const clientOf = ({ apiKey, url }: Parameters<Solution>[0]) => new Payments({ baseUrl: url, apiKey, maxRetries: 0 })

/** Polls by hand. */
const poll =
  (look: (status: string) => Outcome | undefined, intervalMs: number, hasDeadline: boolean): Solution =>
  async (access, chargeId, deadlineMs) => {
    const end = hasDeadline ? performance.now() + deadlineMs : Infinity
    while (performance.now() < end) {
      const { status } = await clientOf(access)
        .charges.retrieve(chargeId)
        .catch(() => ({ status: "pending" }))
      const outcome = look(status)
      if (outcome !== undefined) return outcome
      await sleep(intervalMs)
    }
    return "still open"
  }

const outcomeOf = (status: string): Outcome | undefined =>
  status === "paid" ? "paid" : status === "processing" || status === "pending" ? undefined : "never"

export const right: Solution = async (access, chargeId, deadlineMs) => {
  try {
    await clientOf(access).charges.waitUntil(chargeId, "paid", { maxWaitMs: deadlineMs })
    return "paid"
  } catch (error) {
    if (!(error instanceof WaitError)) throw error
    return outcomeOf(error.charge?.status ?? "pending") ?? "still open"
  }
}

export const wrong: Readonly<Record<string, Solution>> = {
  // Waits for one status only.
  "waited for what cannot be paid": poll((status) => (status === "paid" ? "paid" : undefined), 200, true),

  // What is not open any more was paid.
  "does not say that it cannot be paid": poll(
    (status) => (outcomeOf(status) === undefined ? undefined : "paid"),
    200,
    true
  ),

  // Looks, and waits for no change.
  "looked once": async (access, chargeId) => {
    const { status } = await clientOf(access).charges.retrieve(chargeId)
    return outcomeOf(status) ?? "still open"
  },

  // An answer of 503 ends the wait.
  "gave up at a restart of the service": async (access, chargeId, deadlineMs) => {
    await clientOf(access).charges.retrieve(chargeId)
    return right(access, chargeId, deadlineMs)
  },

  // The kiosk stands there for ever.
  "did not end at its deadline": poll(outcomeOf, 200, false),

  // As fast as it goes.
  "asked too often": poll(outcomeOf, 10, true)
}
