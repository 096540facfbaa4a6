/**
 * The lines of a bank account's statements, each once, whichever files have it.
 *
 * Guarantees:
 * - Pure. A file has all lines of a day up to its end: it and what is stored are two views of one day, in which equal lines count.
 * - Two lines are one with the same day, amount and end-to-end id, in capitals or not. A line without an id is one without an id.
 * - A bank writes the ids in one form of its files and not in another: a line of a file without any id may be one with an id, and then has it.
 *
 * Rules: OPR-275.
 */
import type { StatementLine } from "./StatementParts.ts"

export interface StoredLine {
  readonly id: string
  readonly day: string
  /** Cents. */
  readonly amount: number
  readonly endToEndId: string | null
  readonly description: string
  /** Whether its file has the ids of Pix. */
  readonly hasIds: boolean
}

/** A line that takes the place of a stored one, which had no id. */
export interface NamedLine extends StatementLine {
  readonly id: string
}

export interface Union {
  readonly added: ReadonlyArray<StatementLine>
  readonly named: ReadonlyArray<NamedLine>
}

/** Whether a file has the ids of Pix. */
export const hasIds = (lines: ReadonlyArray<StatementLine>): boolean => lines.some(hasId)

/** What a file adds to the stored lines of its days and amounts, which are in the order of their ids. */
export const unionOf = (stored: ReadonlyArray<StoredLine>, lines: ReadonlyArray<StatementLine>): Union => {
  const isNamed = hasIds(lines)
  const known = Map.groupBy(stored, dayAndAmount)
  const all: Array<Union> = []
  for (const [key, some] of Map.groupBy(lines, dayAndAmount))
    all.push(unionOfAlike(known.get(key) ?? [], some, isNamed))
  return { added: all.flatMap(({ added }) => added), named: all.flatMap(({ named }) => named) }
}

const dayAndAmount = ({ amount, day }: Line) => `${day} ${amount}`

const unionOfAlike = (
  stored: ReadonlyArray<StoredLine>,
  lines: ReadonlyArray<StatementLine>,
  isNamed: boolean
): Union => {
  const [oldNamed, newNamed] = withoutSame(stored.filter(hasId), lines.filter(hasId), idOf)
  const [oldBare, newBare] = withoutSame(
    stored.filter(hasNoId),
    lines.filter(hasNoId),
    ({ description }) => description
  )
  const unnamed = oldBare.filter((line) => !line.hasIds)
  const named = newNamed.slice(0, unnamed.length).map((line, index) => ({ ...line, id: unnamed[index]!.id }))
  const known = oldBare.length - named.length + (isNamed ? 0 : oldNamed.length)
  return { added: [...newNamed.slice(named.length), ...newBare.slice(known)], named }
}

type Line = StatementLine | StoredLine

const hasId = ({ endToEndId }: Line) => endToEndId !== null
const hasNoId = (line: Line) => !hasId(line)
const idOf = ({ endToEndId }: Line) => endToEndId?.toUpperCase() ?? ""

/** Both without what they have alike, one for one. */
const withoutSame = (
  stored: ReadonlyArray<StoredLine>,
  lines: ReadonlyArray<StatementLine>,
  keyOf: (line: Line) => string
): [Array<StoredLine>, Array<StatementLine>] => {
  const waiting = Map.groupBy(stored, keyOf)
  const same = new Set<StoredLine>()
  const others = lines.filter((line) => {
    const one = waiting.get(keyOf(line))?.pop()
    if (one !== undefined) same.add(one)
    return one === undefined
  })
  return [stored.filter((line) => !same.has(line)), others]
}
