/**
 * The bank: the double of a provider, which survives every fault, fails as banks do, and is the witness of what really happened.
 *
 * Payers know a charge by its BR code, as payers do. The key of a payout names its account, so that each is found at the bank.
 */
import { type PspDouble, startPspDouble } from "@pix-payments/psp-double/PspDouble"
import type { Fact } from "../judge/History.ts"
import type { Random } from "./Random.ts"
import type { Record_ } from "./Record.ts"

export interface Bank extends AsyncDisposable {
  readonly double: PspDouble
  /** A payer pays a charge by its BR code: its Pix, or undefined where the bank has no such charge. */
  readonly pay: (charge: PaidCharge, what?: "paid" | "paid-again") => string | undefined
  /** A MED against a Pix: the function that decides it. */
  readonly contest: (charge: PaidCharge, endToEndId: string) => (outcome: "med-won" | "med-lost") => void
  readonly calm: () => void
}

export interface PaidCharge {
  readonly account: string
  readonly id: string
  readonly brCode: string
  readonly amount: number
}

export const startBank = async (record: Record_, random: Random, seed: number): Promise<Bank> => {
  const charges = new Map<string, { readonly account: string; readonly id: string }>()
  const fact = (what: Fact["what"], account: string, subject: string, cents: number, id: string, afterMs = 0) =>
    // Timers of the bank count whole milliseconds of the wall clock.
    record.facts.push({ at: performance.now() + Math.max(0, afterMs - 3), what, account, subject, cents, id })

  const double = await startPspDouble({
    profile: "efi",
    seed,
    slowMs: 2500,
    hookLateMs: 2000,
    faults: {
      "dropped-before": 0.02,
      "dropped-after": 0.04,
      "error-after": 0.03,
      html: 0.01,
      hang: 0.01,
      slow: 0.03,
      "too-many-requests": 0.01,
      "hook-before-answer": 0.1,
      "hook-twice": 0.15,
      "hook-late": 0.1,
      "hook-never": 0.05
    },
    settings: {
      openingCents: 1_000_000_000,
      payoutFate: ({ cents, endToEndId, payee }) => {
        const pixKey = "key" in payee ? payee.key : ""
        const account = accountOfKey(pixKey)
        const afterMs = random.between(0, 400)
        fact("payout-sent", account, pixKey, cents, endToEndId)
        if (random.chance(0.25)) {
          fact("payout-failed", account, pixKey, cents, endToEndId, afterMs)
          return { _tag: "Failed", afterMs, with: { code: "AC03", origin: "payee", reason: "closed account" } }
        }
        fact("payout-done", account, pixKey, cents, endToEndId, afterMs)
        return { _tag: "Done", afterMs }
      },
      returnFate: ({ cents, pix }) => {
        const charge = charges.get(pix.endToEndId)
        const afterMs = random.between(0, 400)
        const fails = random.chance(0.3)
        fact(
          fails ? "return-failed" : "return-done",
          charge?.account ?? "",
          charge?.id ?? "",
          cents,
          pix.endToEndId,
          afterMs
        )
        return fails ? { _tag: "Failed", afterMs, with: "refused by the payer's bank" } : { _tag: "Done", afterMs }
      }
    }
  })
  const { provider } = double
  const always = { fromMs: 0, toMs: Number.MAX_SAFE_INTEGER }

  return {
    double,
    pay: ({ account, amount, brCode, id }, what = "paid") => {
      const { items } = provider.cobs.list(always, ({ location }) => brCode.includes(location), { page: 0, size: 1 })
      const cob = items[0]
      if (cob === undefined) return undefined
      const at = record.facts.length
      fact(what, account, id, amount, "")
      const paid = provider.receipts.payCob(cob.txid)
      if (paid._tag === "Failure") throw new Error(`the bank refuses a payment: ${paid.failure._tag}`)
      const { endToEndId } = paid.success
      record.facts[at] = { ...record.facts[at]!, id: endToEndId }
      charges.set(endToEndId, { account, id })
      return endToEndId
    },
    contest: ({ account, amount, id }, endToEndId) => {
      fact("med-opened", account, id, amount, endToEndId)
      const opened = provider.infractions.open(endToEndId)
      if (opened._tag === "Failure") throw new Error(`the bank refuses a MED: ${opened.failure._tag}`)
      return (outcome) => {
        fact(outcome, account, id, amount, endToEndId)
        provider.infractions.close(opened.success.id, outcome === "med-won" ? "REJEITADA" : "ACEITA")
      }
    },
    calm: () => double.faults.setRates({}),
    [Symbol.asyncDispose]: () => double.close()
  }
}

/** Keys of payouts: `<number of the payout>@<account id>.test`. */
export const payoutKey = (account: string, number: number): string => `p${number}@${account}.test`

const accountOfKey = (pixKey: string): string => /@(.+)\.test$/.exec(pixKey)?.[1] ?? ""
