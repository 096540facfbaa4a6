/**
 * Instants on the wire: ISO 8601 in UTC with milliseconds, `2026-11-21T12:00:00.000Z` (API-2).
 *
 * Guarantees
 * - The service writes the form of 24 characters.
 * - It reads instants with `Z` or an offset, of the years 0000 to 9999 in UTC.
 * - A fraction below one millisecond is never rounded to a whole millisecond, so that filters exclude exactly the
 *   instant that they name (LIST-6).
 */
import * as Option from "effect/Option"
import * as DateTime from "effect/DateTime"
import * as Schema from "effect/Schema"

/** An instant as the service writes it. */
export const Instant = Schema.String.annotate({
  identifier: "Instant",
  description: "ISO 8601 in UTC with milliseconds.",
  format: "date-time"
})

/** The wire form of a time in epoch milliseconds. */
export const formatInstant = (epochMs: number): string => {
  // Dates are cached: the instants of a list lie in few days.
  const day = Math.floor(epochMs / DAY_MS)
  const ms = Math.floor(epochMs - day * DAY_MS)
  const time = `${two(Math.floor(ms / 3_600_000))}:${two(Math.floor(ms / 60_000) % 60)}:${two(Math.floor(ms / 1000) % 60)}`
  const fraction = ms % 1000
  return `${dateOf(day)}${time}.${fraction < 10 ? "00" : fraction < 100 ? "0" : ""}${fraction}Z`
}

/**
 * Epoch milliseconds of an ISO 8601 instant with an offset or `Z`, or `undefined` if the text is no instant. Without an
 * offset it is read in `zone`, and is no instant where none is given. An instant between two milliseconds is half way, which
 * compares correctly with both.
 */
export const parseInstant = (text: string, zone?: string): number | undefined => {
  const match = instantPattern.exec(text)
  if (match === null) return undefined
  const [, date, time = "00:00:00", fraction = "", offset] = match
  const seconds = time.length === 5 ? `${time}:00` : time
  const parsed = DateTime.make(`${date}T${seconds}Z`)
  if (Option.isNone(parsed)) return undefined
  const localMs = DateTime.toEpochMillis(parsed.value)
  if (DateTime.formatIso(parsed.value).slice(0, 19) !== `${date}T${seconds}`) return undefined
  const offsetMs = offset === undefined ? zoneOffset(zone, localMs) : parseOffset(offset)
  if (offsetMs === undefined) return undefined
  const ms = Number(fraction.slice(0, 3).padEnd(3, "0"))
  const epochMs = localMs - offsetMs + ms + (/[1-9]/.test(fraction.slice(3)) ? 0.5 : 0)
  return epochMs < FIRST_MS || epochMs >= BEYOND_MS ? undefined : epochMs
}

/** An instant in a request. */
export const InstantInput = Schema.String.check(
  Schema.makeFilter((value) => parseInstant(value) !== undefined, {
    expected: "an ISO 8601 instant with an offset or Z",
    toJsonSchema: () => [{ format: "date-time" }, true]
  })
).annotate({ format: "date-time", description: "ISO 8601 with an offset or `Z`." })

const DAY_MS = 86_400_000
const FIRST_MS = Date.parse("0000-01-01T00:00:00Z")
const BEYOND_MS = Date.UTC(10_000, 0)

const KNOWN_DAYS = 1000
const dates = new Map<number, string>()

/** The date of a day since the epoch, with the `T` after it. */
const dateOf = (day: number): string => {
  const known = dates.get(day)
  if (known !== undefined) return known
  const date = DateTime.formatIso(DateTime.makeUnsafe(day * DAY_MS)).slice(0, -13)
  if (dates.size >= KNOWN_DAYS) dates.clear()
  dates.set(day, date)
  return date
}

const two = (value: number): string => (value < 10 ? `0${value}` : String(value))

const instantPattern = /^(\d{4}-\d{2}-\d{2})[Tt](\d{2}:\d{2}(?::\d{2})?)(?:[.,](\d{1,9}))?([Zz]|[+-]\d{2}:?\d{2})?$/

/** The offset that clocks of a zone have when they show a time. */
const zoneOffset = (timeZone: string | undefined, localMs: number): number | undefined =>
  timeZone === undefined
    ? undefined
    : localMs - DateTime.toEpochMillis(DateTime.makeZonedUnsafe(localMs, { timeZone, adjustForTimeZone: true }))

const parseOffset = (offset: string): number | undefined => {
  if (offset === "Z" || offset === "z") return 0
  const hours = Number(offset.slice(1, 3))
  const minutes = Number(offset.slice(-2))
  if (hours > 23 || minutes > 59) return undefined
  return (offset.startsWith("-") ? -1 : 1) * (hours * 60 + minutes) * 60_000
}
