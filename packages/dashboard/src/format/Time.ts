/**
 * Instants for people: relative and absolute, in the installation's time zone or UTC.
 *
 * Guarantee: the zone is a signal, so that a page follows it; it is kept for the next visit.
 */
import { DEFAULT_TIMEZONE } from "@pix-payments/domain/Installation"
import { formatInstant } from "@pix-payments/domain/Instant"
import { signal } from "@preact/signals"
import { language } from "../words/Words.ts"

/** Whether instants are shown in UTC, instead of the installation's zone. */
export const isUtc = signal(globalThis.localStorage?.getItem("zone") === "UTC")

export const setUtc = (next: boolean): void => {
  isUtc.value = next
  globalThis.localStorage?.setItem("zone", next ? "UTC" : "")
}

/** The zone of the installation's days, as of the visit before until the server has answered. */
export const installationZone = signal(globalThis.localStorage?.getItem("timezone") ?? DEFAULT_TIMEZONE)

export const setInstallationZone = (next: string): void => {
  installationZone.value = next
  globalThis.localStorage?.setItem("timezone", next)
}

const zoneName = (): string => (isUtc.value ? "UTC" : installationZone.value)

/** What people call the shown zone: `BRT`, `UTC`, or the place of another one, `Manaus`. */
export const zoneLabel = (): string => {
  const name = zoneName()
  return name === DEFAULT_TIMEZONE ? "BRT" : name.slice(name.lastIndexOf("/") + 1).replaceAll("_", " ")
}

/** `2026-11-21T18:20:05` */
const wallTime = (ms: number, timeZone: string): string =>
  new Intl.DateTimeFormat("sv-SE", { timeZone, dateStyle: "short", timeStyle: "medium" }).format(ms).replace(" ", "T")

/** Date and time in the zone, as a field for them has it: `2026-11-21T18:20`. */
export const localTime = (ms: number): string => wallTime(ms, zoneName()).slice(0, 16)

/** The instant of such a text in ISO 8601; undefined where it is none. */
export const instantOf = (text: string, timeZone = zoneName()): string | undefined => {
  const asUtc = Date.parse(`${text}Z`)
  if (Number.isNaN(asUtc)) return undefined
  const offsetMs = Date.parse(`${wallTime(asUtc, timeZone)}Z`) - asUtc
  // A year that is partly typed, such as 0002, is formatted as a text that no date parses.
  return Number.isFinite(offsetMs) ? `${wallTime(asUtc - offsetMs, "UTC")}Z` : undefined
}

/** `21 Nov 2026, 18:20:05`. In Portuguese without the words and points between its parts. */
export const absolute = (instant: string): string =>
  new Intl.DateTimeFormat(language.value === "pt" ? "pt-BR" : "en-GB", {
    timeZone: zoneName(),
    day: "numeric",
    month: "short",
    year: "numeric",
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit"
  })
    .format(Date.parse(instant))
    .replace(/ de (\S+?)\.? de /, " $1 ")

const steps = [
  ["second", 60],
  ["minute", 60],
  ["hour", 24],
  ["day", 30],
  ["month", 12],
  ["year", Number.POSITIVE_INFINITY]
] as const

/** `3 min ago`, `in 2 days`. */
export const relative = (instant: string, nowMs: number): string => {
  const format = new Intl.RelativeTimeFormat(language.value === "pt" ? "pt-BR" : "en-GB", {
    numeric: "auto",
    style: "short"
  })
  let value = (Date.parse(instant) - nowMs) / 1000
  for (const [unit, size] of steps) {
    if (Math.abs(value) < size) return format.format(Math.round(value), unit)
    value /= size
  }
  return absolute(instant)
}

/** `21/11, 18:20`: when a row was, on this year's scale. */
export const moment = (instant: string): string =>
  new Intl.DateTimeFormat("pt-BR", {
    timeZone: zoneName(),
    day: "2-digit",
    month: "2-digit",
    year: "2-digit",
    hour: "2-digit",
    minute: "2-digit"
  }).format(Date.parse(instant))

/** The first instant of a day in the zone: `offset` days after that of an instant. */
export const startOfDay = (ms: number, offset: number, timeZone = zoneName()): number =>
  Date.parse(instantOf(`${dayAfter(dayIn(timeZone, ms), offset)}T00:00`, timeZone) ?? "")

/** The day in a time zone, as figures name it: `2026-11-21`. */
export const dayIn = (timeZone: string, ms: number): string => new Intl.DateTimeFormat("sv-SE", { timeZone }).format(ms)

/** A day as people in Brazil write it, of `2026-11-21`: `21/11/2026`. */
export const dayText = (day: string): string => day.split("-").toReversed().join("/")

/** The day some days after another. */
export const dayAfter = (day: string, days: number): string =>
  formatInstant(Date.parse(day) + days * 86_400_000).slice(0, 10)

/** A month in words, of one of its days: `November 2026`, `novembro de 2026`. */
export const monthText = (day: string): string =>
  new Intl.DateTimeFormat(language.value === "pt" ? "pt-BR" : "en-GB", {
    timeZone: "UTC",
    month: "long",
    year: "numeric"
  }).format(Date.parse(day))

/** `Saturday, 21 November 2026, 18:20 BRT`. */
export const longDay = (ms: number): string => {
  const day = new Intl.DateTimeFormat(language.value === "pt" ? "pt-BR" : "en-GB", {
    timeZone: zoneName(),
    weekday: "long",
    day: "numeric",
    month: "long",
    year: "numeric",
    hour: "2-digit",
    minute: "2-digit"
  }).format(ms)
  return `${day} ${zoneLabel()}`
}

/** The hour of an instant in a time zone, 0 to 23. */
export const hourIn = (timeZone: string, ms: number): number => Number(wallTime(ms, timeZone).slice(11, 13))
