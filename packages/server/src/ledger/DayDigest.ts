/**
 * The sums and the hash of one day of the books. Pure.
 *
 * Guarantees:
 * - The hash covers all transfers of the day with the ids of what they are of, the reasons of adjustments as their SHA-256, the
 *   sums, the balances and the hash of the day before. It covers no text of a person.
 * - `examples/verify-books.py` computes the same from an export.
 *
 * Rules: OPR-256.
 */
import { createHash, type Hash } from "node:crypto"
import type { Movement } from "./Lines.ts"

/** The transfers of an owner, or what a connection's bank moves. */
export type Book = "ledger" | "bank"

/** What a day begins with: the end of the one before. */
export interface DayStart {
  readonly closing: number
  readonly balances: Readonly<Record<string, number>>
  readonly lastPosition: number
  readonly hash: string | null
}

export const firstStart: DayStart = { closing: 0, balances: {}, lastPosition: 0, hash: null }

/** A closed day. */
export interface ClosedDay extends DayStart {
  readonly day: string
  readonly opening: number
  readonly credits: number
  readonly debits: number
  readonly fees: number
  readonly lines: number
  readonly linesHash: string
  readonly previousHash: string | null
  readonly hash: string
}

/** A day to which lines are added, in their order. */
export interface OpenDay {
  readonly day: string
  readonly add: (lines: ReadonlyArray<Movement>) => void
  readonly close: () => ClosedDay
}

export const openDay = (book: Book, ownerId: string, day: string, start: DayStart): OpenDay => {
  const hash: Hash = createHash("sha256")
  const balances: Record<string, number> = { ...start.balances }
  const sums = { credits: 0, debits: 0, fees: 0, lines: 0 }
  let { lastPosition } = start

  const addOne = (line: Movement): void => {
    const amount = Number(line.amount)
    const { net, fee } = movedBy(book, line)
    sums.lines++
    sums.fees += fee
    if (net > 0) sums.credits += net
    else sums.debits -= net
    lastPosition = book === "ledger" ? Number(line.position) : lastPosition + 1
    if (book === "bank") return
    balances[line.credit] = (balances[line.credit] ?? 0) + amount
    balances[line.debit] = (balances[line.debit] ?? 0) - amount
  }

  return {
    day,
    add: (lines) => {
      for (const line of lines) addOne(line)
      hash.update(lines.map(lineText).join(""))
    },
    close: () => {
      const closed = {
        day,
        opening: start.closing,
        ...sums,
        closing: start.closing + sums.credits - sums.debits,
        lastPosition,
        balances,
        linesHash: hash.digest("hex"),
        previousHash: start.hash
      }
      return { ...closed, hash: hashOf(book, ownerId, closed) }
    }
  }
}

/** Cents that a transfer adds to `available`, or to the bank account, and the fee among them. */
export const movedBy = (book: Book, { amount, credit, debit, fee }: Movement): { net: number; fee: number } => {
  const [gains, loses] = book === "bank" ? [debit, credit] : [credit, debit]
  const side = book === "bank" ? "acquirer" : "available"
  const sign = gains === side ? 1 : loses === side ? -1 : 0
  return { net: sign * Number(amount), fee: book === "bank" || fee === null || sign === 0 ? 0 : -sign * Number(fee) }
}

/** A transfer as it is hashed: one line. */
const lineText = (line: Movement): string =>
  `${[
    line.id,
    line.position,
    line.reason,
    line.debit,
    line.credit,
    line.amount,
    line.fee ?? "",
    line.debit_after ?? "",
    line.credit_after ?? "",
    line.created_at.toISOString(),
    line.resource_id,
    line.source_id ?? "",
    line.adjusted_because === null ? "" : createHash("sha256").update(line.adjusted_because).digest("hex")
  ].join("|")}\n`

/** The hash of a close. */
export const hashOf = (book: Book, ownerId: string, close: Omit<ClosedDay, "hash">): string =>
  createHash("sha256")
    .update(
      [
        "close",
        book,
        ownerId,
        close.day,
        close.opening,
        close.credits,
        close.debits,
        close.fees,
        close.closing,
        close.lines,
        close.lastPosition,
        balancesText(close.balances),
        close.linesHash,
        close.previousHash ?? ""
      ].join("|")
    )
    .digest("hex")

const balancesText = (balances: Readonly<Record<string, number>>): string =>
  Object.keys(balances)
    .toSorted()
    .map((kind) => `${kind}=${balances[kind]}`)
    .join(",")
