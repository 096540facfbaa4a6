import { isCode, type Payout, Payments, WaitError } from "@pix-payments/client"
import type { Outcome, Solution } from "../graders/pay-out-once.ts"

type Wanted = Parameters<Solution>[1]

const clientOf = (access: Parameters<Solution>[0]) =>
  new Payments({ baseUrl: access.url, apiKey: access.apiKey, maxRetries: 0 })

const create = (payments: Payments, { cents, email, id }: Wanted, idempotencyKey: string) =>
  payments.payouts.create({ amount: cents, pix_key_type: "email", pix_key: email, reference: id }, { idempotencyKey })

const outcomeOf = async (payments: Payments, { id }: Payout): Promise<Outcome> => {
  try {
    const { status } = await payments.payouts.waitUntil(id, ["completed", "failed", "canceled"], {
      maxWaitMs: 1000,
      intervalMs: 50
    })
    return status === "completed" ? "completed" : "failed"
  } catch (error) {
    if (error instanceof WaitError) return "on its way"
    throw error
  }
}

/** The payout's own id is its key: a repetition is the same payout. */
const payWith =
  (
    keyOf: (payout: Wanted) => string,
    read: (payments: Payments, payout: Payout) => Outcome | Promise<Outcome> = outcomeOf
  ): Solution =>
  async (access, payout) => {
    const payments = clientOf(access)
    try {
      return await read(payments, await create(payments, payout, keyOf(payout)))
    } catch (error) {
      if (isCode(error, "INSUFFICIENT_BALANCE")) return "not enough"
      throw error
    }
  }

export const right: Solution = payWith(({ id }) => `payout-${id}`)

export const wrong: Readonly<Record<string, Solution>> = {
  // A new key for each run.
  "paid twice after a lost answer": payWith(() => crypto.randomUUID()),

  // No answer is no refusal.
  "gave up a payout that went out": async (access, payout) => {
    try {
      return await right(access, payout)
    } catch {
      return "failed"
    }
  },

  // One key for each driver.
  "a second payout to the same driver was lost": payWith(({ email }) => `payout-${email}`),

  // 201 means that it was accepted.
  "said completed while it was on its way": payWith(
    ({ id }) => `payout-${id}`,
    () => "completed"
  ),

  // All that is not in progress has succeeded.
  "said completed what failed": payWith(
    ({ id }) => `payout-${id}`,
    async (payments, payout) => ((await outcomeOf(payments, payout)) === "on its way" ? "on its way" : "completed")
  ),

  // Better something than nothing.
  "paid what was left": async (access, payout) => {
    const outcome = await right(access, payout)
    if (outcome !== "not enough") return outcome
    const { available } = await clientOf(access).balance.retrieve()
    return right(access, { ...payout, cents: available - 1000 })
  }
}
