/**
 * The lines of a bank account's statements, each once, whichever files have it.
 *
 * Guarantees:
 * - Pure. A file has all lines of a day up to its end: it and what is stored are two views of one day, in which equal lines count.
 * - Two lines are one with the same day, amount and end-to-end id, in capitals or not. A line without an id is one without an id.
 * - A bank writes the ids in one form of its files and not in another: a line without one, of a file without any or that is called Pix, may
 *   be one with an id, and then gets it. An id in capitals becomes that of a file which has it as it is.
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

/** A line that takes the place of a stored one, which had no id, or one in capitals. */
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
  const ids = withoutSame(
    stored.filter(hasId),
    lines.filter(hasId),
    ({ endToEndId }) => endToEndId?.toUpperCase() ?? ""
  )
  const bare = withoutSame(stored.filter(hasNoId), lines.filter(hasNoId), ({ description }) => description)
  const nameable = bare.stored.filter((line) => mayHaveId(line, line.hasIds))
  const found = ids.lines.slice(0, nameable.length).map((line, index) => ({ ...line, id: nameable[index]!.id }))
  const absorbed = Math.min(ids.stored.length, bare.lines.filter((line) => mayHaveId(line, isNamed)).length)
  const known = bare.stored.length - found.length + absorbed
  return {
    added: [...ids.lines.slice(found.length), ...bare.lines.slice(known)],
    named: [...ids.same.filter(isWrittenOut).map(([old, line]) => ({ ...line, id: old.id })), ...found]
  }
}

type Line = StatementLine | StoredLine
type Same = readonly [StoredLine, StatementLine]

const hasId = ({ endToEndId }: Line) => endToEndId !== null
const hasNoId = (line: Line) => !hasId(line)

/** Of a line without an id: a bank that writes no ids calls them Pix, and one payer's message may have the form of an id. */
const mayHaveId = ({ description }: Line, fileHasIds: boolean) => !fileHasIds || /\bPIX\b/i.test(description)

/** An id in capitals that a later file has as it is. */
const isWrittenOut = ([old, line]: Same) =>
  old.endToEndId !== line.endToEndId && old.endToEndId === old.endToEndId?.toUpperCase()

/** What both have alike, one for one, and what is left of each. */
const withoutSame = (
  stored: ReadonlyArray<StoredLine>,
  lines: ReadonlyArray<StatementLine>,
  keyOf: (line: Line) => string
) => {
  const waiting = Map.groupBy(stored, keyOf)
  const same: Array<Same> = []
  const left = lines.filter((line) => {
    const one = waiting.get(keyOf(line))?.pop()
    if (one !== undefined) same.push([one, line])
    return one === undefined
  })
  const gone = new Set(same.map(([one]) => one))
  return { same, stored: stored.filter((line) => !gone.has(line)), lines: left }
}
