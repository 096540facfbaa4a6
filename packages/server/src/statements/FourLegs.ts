/**
 * The comparison of a bank account's day: the bank's lines with the movements of the books.
 *
 * Guarantees:
 * - Pure. Each line and each movement of the day is in one pair or alone, and has one state.
 * - What the entries of the day have of both sides sums up to the difference of the day, cent by cent, whatever is matched.
 * - Pairs are found by id first. An amount alone pairs only where one side has no id of its own, and never the bank's fee or the owner's
 *   investments.
 *
 * Rules: OPR-277, OPR-278.
 */

import { formatInstant } from "@pix-payments/domain/Instant"
import type { LineState } from "@pix-payments/domain/Reconciliation"

/** A line of the bank's statement. */
export interface BankLine {
  readonly id: string
  readonly day: string
  /** Cents; negative where money left. */
  readonly amount: number
  readonly endToEndId: string | null
  readonly description: string
}

/** What the books have of one fact: its transfers together. */
export interface BookMovement {
  /** Of its first transfer. */
  readonly id: string
  readonly day: string
  readonly amount: number
  /** Ids that a bank may write beside it. */
  readonly ids: ReadonlyArray<string>
  /** Whether one of them is its own. A return may have that of its payment only. */
  readonly hasOwnId: boolean
  readonly accountId: string | null
  readonly source: { readonly object: string; readonly id: string }
}

/** What is known of the ids that no movement has. */
export interface IdFacts {
  /** A payout or return of ours that the books have in another state. */
  readonly unsettled: ReadonlyMap<string, { readonly object: string; readonly id: string }>
  /** Pix of another key of the client, as the provider lists them. */
  readonly foreign: ReadonlySet<string>
}

export interface Day {
  readonly day: string
  /** Of the day and `DAYS_AROUND` days around it, and of any day what has the `openIds` of these. */
  readonly bank: ReadonlyArray<BankLine>
  readonly books: ReadonlyArray<BookMovement>
  readonly facts: IdFacts
  /** Whether a statement has a later day: until then, what is missing may be there. */
  readonly isLaterDayKnown: boolean
}

export interface Entry {
  readonly state: LineState
  readonly bank: BankLine | undefined
  readonly books: BookMovement | undefined
  /** The resource, where the books have no movement. */
  readonly resource: { readonly object: string; readonly id: string } | undefined
  /** Movements that it may be, by their amount. */
  readonly suggestions: ReadonlyArray<BookMovement>
}

/** The days before and after a day that its comparison needs, so that it pairs as they do. */
export const DAYS_AROUND = 2

/**
 * The ids to look up on any day before a day is compared: those of lines and movements around it that do not pair by id on their own day.
 * One that pairs by id elsewhere pairs by its amount with none here.
 */
export const openIds = (bank: ReadonlyArray<BankLine>, books: ReadonlyArray<BookMovement>) => {
  const { byId, free } = pairing(bank, books)
  byId(onDay)
  return {
    ofLines: bank.flatMap((line) => (free.has(line) ? (line.endToEndId ?? []) : [])),
    ofBooks: books.flatMap((movement) => (free.has(movement) ? movement.ids : []))
  }
}

/** The cents that an entry adds to the difference of a day: what the bank has of it there, less what the books have. */
export const differenceOf = ({ bank, books }: Pick<Entry, "bank" | "books">, day: string): number =>
  (bank?.day === day ? bank.amount : 0) - (books?.day === day ? books.amount : 0)

/** Every entry with a side on the day. */
export const compare = ({ bank, books, day, facts, isLaterDayKnown }: Day): ReadonlyArray<Entry> => {
  const pairs = pairsOf(bank, books)
  const paired = new Set<BankLine | BookMovement>(pairs.flat())
  const alone = books.filter((movement) => !paired.has(movement))
  const alike = Map.groupBy(alone, ({ amount }) => amount)
  const suggested = ({ amount }: BankLine) => (alike.get(amount) ?? []).slice(0, SUGGESTIONS)
  const entries: Array<Entry> = []
  for (const [line, movement] of pairs) {
    if (line.day !== day && movement.day !== day) continue
    const state = line.amount !== movement.amount ? "amount_differs" : line.day === movement.day ? "matched" : "timing"
    entries.push({ state, bank: line, books: movement, resource: undefined, suggestions: [] })
  }
  for (const line of bank) {
    if (line.day !== day || paired.has(line)) continue
    const resource = line.endToEndId === null ? undefined : facts.unsettled.get(line.endToEndId)
    const state = stateOf(line, facts)
    entries.push({ state, bank: line, books: undefined, resource, suggestions: suggested(line) })
  }
  for (const movement of alone) {
    if (movement.day !== day) continue
    const state = isLaterDayKnown ? "missing_there" : "timing"
    entries.push({ state, bank: undefined, books: movement, resource: undefined, suggestions: [] })
  }
  return entries
}

/** Of a line without a movement. */
const stateOf = (line: BankLine, facts: IdFacts): LineState => {
  const { description, endToEndId } = line
  if (endToEndId !== null) {
    if (facts.unsettled.has(endToEndId)) return "state_differs"
    return facts.foreign.has(endToEndId) ? "other_key" : "missing_here"
  }
  if (isFee(line)) return "bank_fee"
  // A bank that writes no ids calls them Pix.
  return /\bPIX\b/i.test(description) ? "missing_here" : "owner"
}

/** A fee's text begins with what it is: the name of somebody who was paid may have such a word, too. */
const isFee = ({ amount, description, endToEndId }: BankLine): boolean =>
  amount < 0 && endToEndId === null && fee.test(description)

const fee =
  /^\s*(?:(?:COBR|COBRANCA|COBRANÇA|DEB|DEBITO|DÉBITO)\b[.\s]*(?:DE\s+)?)?(?:TARIFAS?|TAR|CESTA|MENSALIDADE|IOF|JUROS|ENCARGOS|ANUIDADE|CUSTO)\b/i

/** What the owner puts into a savings product of the bank, and takes out of it: no Pix of the same amount. */
const isInvestment = ({ description, endToEndId }: BankLine): boolean =>
  endToEndId === null && /^\s*(?:RESG|RESGATE|APLIC|APLICACAO|APLICAÇÃO|REND|RENDIMENTOS?)\b/i.test(description)

/** Movements that an entry names at most. */
const SUGGESTIONS = 5

type Side = Pick<BankLine, "amount" | "day">

/**
 * By id: with the same amount first, of the same day, then of the days beside it, then of any; then with another amount. Then by amount,
 * of the same day and of the days beside it, lines without an id before movements without one.
 *
 * Of days beside each other, first all lines that are a day later than their movement are paired, then those a day earlier. What a day's
 * pairs depend on is thus at most `DAYS_AROUND` days away, so that each of the two days finds the same pair.
 */
const pairsOf = (bank: ReadonlyArray<BankLine>, books: ReadonlyArray<BookMovement>) => {
  const { byId, pairs, pass } = pairing(bank, books)
  const daysLater = [0, 1, -1].map(onDayAfter)
  for (const later of daysLater) byId(later, onDay)
  byId(({ amount }) => `${amount}`)
  byId(({ amount }) => (amount < 0 ? "-" : "+"))
  for (const later of daysLater) {
    for (const ofIds of [false, true]) {
      const isOpen = ({ hasOwnId }: BookMovement) => !ofIds || !hasOwnId
      const mayPair = (line: BankLine) => !isFee(line) && !isInvestment(line) && (ofIds || line.endToEndId === null)
      pass(
        (movement) => (isOpen(movement) ? [later(movement)] : []),
        (line) => (mayPair(line) ? onDay(line) : undefined)
      )
    }
  }
  return pairs
}

/** In the order of days and ids, so that each day pairs the same of several that are alike. */
const pairing = (bank: ReadonlyArray<BankLine>, books: ReadonlyArray<BookMovement>) => {
  const lines = bank.toSorted(inOrder)
  const movements = books.toSorted(inOrder)
  const pairs: Array<readonly [BankLine, BookMovement]> = []
  const free = new Set<BankLine | BookMovement>([...lines, ...movements])
  const pass = (
    keysOf: (movement: BookMovement) => ReadonlyArray<string>,
    keyOf: (line: BankLine) => string | undefined
  ) => {
    const waiting = new Map<string, { readonly list: Array<BookMovement>; at: number }>()
    for (const movement of movements) {
      if (!free.has(movement)) continue
      for (const key of keysOf(movement)) {
        const known = waiting.get(key)
        if (known === undefined) waiting.set(key, { list: [movement], at: 0 })
        else known.list.push(movement)
      }
    }
    for (const line of lines) {
      const key = free.has(line) ? keyOf(line) : undefined
      const candidates = key === undefined ? undefined : waiting.get(key)
      if (candidates === undefined) continue
      // Those before the first that is free are taken for good.
      while (candidates.at < candidates.list.length && !free.has(candidates.list[candidates.at]!)) candidates.at++
      const movement = candidates.list[candidates.at]
      if (movement === undefined) continue
      free.delete(line)
      free.delete(movement)
      pairs.push([line, movement])
    }
  }
  // Some banks write all texts of a file in capitals.
  const byId = (ofMovement: (movement: Side) => string, ofLine = ofMovement) =>
    pass(
      (movement) => movement.ids.map((id) => `${id.toUpperCase()} ${ofMovement(movement)}`),
      (line) => (line.endToEndId === null ? undefined : `${line.endToEndId.toUpperCase()} ${ofLine(line)}`)
    )
  return { byId, free, pairs, pass }
}

const inOrder = (a: BankLine | BookMovement, b: BankLine | BookMovement) =>
  a.day < b.day ? -1 : a.day > b.day ? 1 : a.id < b.id ? -1 : 1

const onDay = ({ amount, day }: Side): string => `${amount} ${day}`

/** Each day is computed once: a comparison has few days and many sides. */
const onDayAfter = (days: number) => {
  const after = new Map<string, string>()
  return ({ amount, day }: Side): string => {
    const later = after.get(day) ?? dayAfter(day, days)
    after.set(day, later)
    return onDay({ amount, day: later })
  }
}

export const dayAfter = (day: string, days: number): string =>
  formatInstant(Date.parse(day) + days * 86_400_000).slice(0, 10)
