/**
 * The balances of ledger accounts that the moves of resources should give, by the rules of the contract.
 *
 * Written again from the contract; none of it goes through the service.
 */
import type { Merchant } from "./Callers.ts"

/** A row of `simulation_moves`, with its resource's account and amount. */
export interface MoveRow {
  readonly order_no: bigint
  readonly kind: "charges" | "payouts" | "disputes" | "releases" | "orders" | "deliveries" | "exceptions"
  readonly id: string
  readonly was: string | null
  readonly is_now: string
  readonly sequence: number | null
  readonly account_id: string
  readonly amount: bigint
  readonly fee: bigint | null
  /** Of a charge: whether an exception that was accepted pays it. */
  readonly by_exception: boolean
}

export interface MoneyModel {
  /** Applies a move; `states` are those of its resource so far. Returns violations. */
  readonly apply: (row: MoveRow, states: ReadonlyArray<string>) => ReadonlyArray<string>
  readonly balanceOf: (owner: string, kind: string) => number
}

export const makeMoneyModel = (merchantOf: (accountId: string) => Merchant): MoneyModel => {
  const balances = new Map<string, number>()
  const balanceOf = (owner: string, kind: string) => balances.get(`${owner} ${kind}`) ?? 0
  const move = (owner: string, kind: string, amount: number) =>
    balances.set(`${owner} ${kind}`, balanceOf(owner, kind) + amount)

  /** What is not released yet of a charge. */
  const unreleased = new Map<string, number>()
  /** Charges of which a refund is in flight, with what it took of their unreleased money. */
  const refunding = new Map<string, number>()
  /** Charges whose refund was completed. */
  const returned = new Set<string>()

  /** Money of a charge leaves the balance: what is not released first. Answers how much of it that was. */
  const leave = (chargeId: string, owner: string, amount: number): number => {
    const held = Math.min(amount, unreleased.get(chargeId) ?? 0)
    unreleased.set(chargeId, (unreleased.get(chargeId) ?? 0) - held)
    move(owner, "pending", -held)
    move(owner, "available", held - amount)
    return held
  }

  const apply: MoneyModel["apply"] = (row, states) => {
    const broken: Array<string> = []
    const { account_id: owner } = row
    const amount = Number(row.amount)
    const step = `${row.was ?? "-"}>${row.is_now}`
    if (row.kind === "charges") {
      if (row.is_now === "paid" && row.was !== "infraction" && row.by_exception) {
        // The acceptance credits it.
      } else if (row.is_now === "paid" && row.was === "pending") {
        const isHeld = merchantOf(owner).releaseDelayS > 0
        if (isHeld) unreleased.set(row.id, amount)
        move(owner, isHeld ? "pending" : "available", amount)
        move(owner, "acquirer", -amount)
      } else if (refunding.has(row.id) || returned.has(row.id)) {
        // The money left with the order.
      } else if (step === "paid>infraction") {
        leave(row.id, owner, amount)
        move(owner, "blocked", amount)
      } else if (step === "infraction>paid") {
        move(owner, "blocked", -amount)
        move(owner, "available", amount)
      } else if (row.is_now === "refunded" || row.is_now === "charged_back") {
        if (row.was === "infraction") move(owner, "blocked", -amount)
        else leave(row.id, owner, amount)
        move(owner, "acquirer", amount)
      }
    } else if (row.kind === "orders") {
      if (row.is_now === "ordered") {
        if (refunding.has(row.id)) broken.push(`two refunds of ${row.id} are in flight`)
        refunding.set(row.id, leave(row.id, owner, amount))
        move(owner, "returns_in_transit", amount)
        if (balanceOf(owner, "available") < 0 && refunding.get(row.id) !== amount) {
          broken.push(`a refund of ${row.id} spends what is not there`)
        }
      } else {
        const held = refunding.get(row.id) ?? 0
        refunding.delete(row.id)
        move(owner, "returns_in_transit", -amount)
        if (row.is_now !== "refused") {
          returned.add(row.id)
          move(owner, "acquirer", amount)
          return broken
        }
        // A MED was opened meanwhile, or opened and lost: the money is its own.
        const status = states.at(-1)
        if (status === "infraction" || status === "charged_back") {
          move(owner, status === "infraction" ? "blocked" : "acquirer", amount)
          return broken
        }
        unreleased.set(row.id, (unreleased.get(row.id) ?? 0) + held)
        move(owner, "pending", held)
        move(owner, "available", amount - held)
      }
    } else if (row.kind === "exceptions") {
      move(owner, "available", amount)
      move(owner, "acquirer", -amount)
    } else if (row.kind === "releases") {
      unreleased.set(row.id, (unreleased.get(row.id) ?? 0) - amount)
      move(owner, "pending", -amount)
      move(owner, "available", amount)
    } else if (row.kind === "payouts") {
      const { feeBasisPoints, feeFixed } = merchantOf(owner)
      const fee = feeFixed + Math.floor((amount * feeBasisPoints + 5000) / 10_000)
      if (fee !== Number(row.fee)) broken.push(`payout ${row.id} has the fee ${row.fee}, the model ${fee}`)
      const all = amount + fee
      if (row.was === null) {
        move(owner, "available", -all)
        move(owner, "payouts_in_transit", all)
        if (balanceOf(owner, "available") < 0) broken.push(`payout ${row.id} spends what is not there`)
      } else if (row.is_now === "completed") {
        move(owner, "payouts_in_transit", -all)
        move(owner, "acquirer", amount)
        move(owner, "fees", fee)
      } else if (row.is_now === "failed" || row.is_now === "canceled") {
        move(owner, "payouts_in_transit", -all)
        move(owner, "available", all)
      }
    }
    return broken
  }

  return { apply, balanceOf }
}
