/** An amount on a day, as people say it: `352,21 25/11`, `97 ontem`. */
import { formatInstant, parseInstant } from "@pix-payments/domain/Instant"
import * as DateTime from "effect/DateTime"

export interface SearchedDay {
  /** The text without the day. */
  readonly rest: string
  readonly createdAfterMs: number
  readonly createdBeforeMs: number
}

/**
 * The day at the end of a text: `25/11`, `25/11/2026`, `hoje`, `yesterday`. Without a year it is the last such day.
 * `undefined` where the text ends with none.
 */
export const searchedDay = (text: string, nowMs: number, timeZone: string): SearchedDay | undefined => {
  const [, rest, word = "", date, month, year] = DAY.exec(text) ?? []
  if (rest === undefined) return undefined
  const dayBefore = (days: number) =>
    DateTime.formatIsoDate(DateTime.makeZonedUnsafe(nowMs - days * DAY_MS, { timeZone }))
  const today = dayBefore(0)
  const inYear = (of: number | string) => `${of}-${month?.padStart(2, "0")}-${date?.padStart(2, "0")}`
  const thisYear = Number(today.slice(0, 4))
  const day =
    date === undefined
      ? dayBefore(/^(hoje|today)$/i.test(word) ? 0 : 1)
      : year === undefined
        ? inYear(inYear(thisYear) <= today ? thisYear : thisYear - 1)
        : inYear(year.padStart(4, "20"))
  const startMs = parseInstant(`${day}T00:00`, timeZone)
  // The next day begins after 23 to 25 hours.
  const endMs = parseInstant(`${dateOf(Date.parse(day) + DAY_MS)}T00:00`, timeZone)
  if (startMs === undefined || endMs === undefined) return undefined
  return { rest, createdAfterMs: startMs - 1, createdBeforeMs: endMs }
}

/** Whether a text may end with a day. */
export const endsWithDay = (text: string): boolean => DAY.test(text)

const DAY_MS = 86_400_000
const DAY = /^(\S.*?)\s+(?:(hoje|today|ontem|yesterday)|(\d{1,2})\/(\d{1,2})(?:\/(\d{2}|\d{4}))?)$/i

const dateOf = (epochMs: number): string => (Number.isNaN(epochMs) ? "" : formatInstant(epochMs).slice(0, 10))
