/**
 * A bank's statement file as the service reads it: OFX 1 and 2, and CNAB 240 with segment E.
 *
 * Guarantees:
 * - The core of a line (day, signed amount) is strict: it is read or the line is named among `unread`, with its number. No line is
 *   dropped. Everything else of a line is tolerant: what cannot be read is absent.
 * - The file says its own dialect: encoding, end tags, decimal comma, debits without a sign, balances among the lines.
 * - A line or a closing balance of a day that is more than a week away is not read: banks book a weekend on the Monday, and no later.
 * - Its days end today, whatever its header says: banks write the end of the month that was asked for.
 * - A file that was cut off is named. Its days end with its last line, and what it ends within is not read.
 * - It has at most `MAX_FILE_BYTES` and `MAX_LINES` lines, of one account in reais. Anything else is `UnreadableFile`.
 *
 * Rules: OPR-273, OPR-274.
 */
import type { StatementRemark } from "@pix-payments/domain/BankStatement"
import { formatInstant } from "@pix-payments/domain/Instant"
import * as Clock from "effect/Clock"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import { readCnab240 } from "./Cnab240.ts"
import { readOfx } from "./Ofx.ts"
import type { Statement } from "./StatementParts.ts"

/** The file is no statement that can be read. */
export class UnreadableFile extends Data.TaggedError("UnreadableFile")<{ readonly reason: string }> {}

export const MAX_FILE_BYTES = 8 * 1024 * 1024
export const MAX_LINES = 50_000

/** Reads a file in turns, so that a large one delays no request. */
export const readStatement = Effect.fnUntraced(function* (bytes: Uint8Array) {
  const turns = reading(bytes)
  while (true) {
    const { done, value } = turns.next()
    if (done === true) {
      const nowMs = yield* Clock.currentTimeMillis
      return untilDay(bankDay(nowMs), bankDay(nowMs + WEEK_MS), yield* Effect.fromResult(value))
    }
    yield* Effect.yieldNow
  }
})

/** The same, a turn at each `next`. */
export function* reading(bytes: Uint8Array): Generator<void, Result.Result<Statement, UnreadableFile>> {
  if (bytes.length > MAX_FILE_BYTES) return unreadable(`it has more than ${MAX_FILE_BYTES / 1024 / 1024} MiB`)
  const text = textOf(bytes)
  const read = /<OFX>/i.test(text)
    ? yield* readOfx(text)
    : /^\s*\d{3}00000/.test(text)
      ? yield* readCnab240(text)
      : undefined
  if (read === undefined) return unreadable("it is neither OFX nor CNAB 240")
  if (typeof read === "string") return unreadable(read)
  if (read.lines.length + read.unread.length > MAX_LINES) return unreadable(`it has more than ${MAX_LINES} lines`)
  return Result.succeed({ ...read, problems: [...read.problems, ...differenceOf(read)] })
}

/** Without what is later than `latest`. Its days end today, or with its last line: of a later day it says nothing yet. */
const untilDay = (today: string, latest: string, statement: Statement): Statement => {
  const late = statement.lines.filter(({ day }) => day > latest)
  const lines = statement.lines.filter(({ day }) => day <= latest)
  const end = lines.reduce((last, { day }) => (day > last ? day : last), today)
  const isLate = statement.closing !== null && statement.closing.day > latest
  return {
    ...statement,
    from: statement.from !== null && statement.from > end ? null : statement.from,
    to: statement.to !== null && statement.to > end ? end : statement.to,
    closing: isLate ? null : statement.closing,
    lines,
    unread: [
      ...statement.unread,
      ...late.map(({ day, description, line }) => ({
        line,
        reason: "its day is to come" as const,
        text: `${day} ${description}`
      }))
    ],
    problems: isLate ? [...statement.problems, "the day of its closing balance is to come"] : statement.problems
  }
}

const WEEK_MS = 7 * 24 * 3_600_000

/** In Brasília, which is three hours behind UTC. */
const bankDay = (ms: number): string => formatInstant(ms - 3 * 3_600_000).slice(0, 10)

const unreadable = (reason: string) => Result.fail(new UnreadableFile({ reason }))

/** UTF-8 where it is, else Windows-1252, whatever the header says. */
const textOf = (bytes: Uint8Array): string => {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes)
  } catch {
    return new TextDecoder("windows-1252").decode(bytes)
  }
}

/** The cents by which the lines miss the closing balance. */
const differenceOf = ({ closing, lines, opening }: Statement): ReadonlyArray<StatementRemark> => {
  if (opening === null || closing === null) return []
  const sum = lines.reduce((total, { amount }) => total + amount, opening.amount)
  return sum === closing.amount
    ? []
    : [`opening and lines are ${sum} cents, and its closing is ${closing.amount} cents`]
}
