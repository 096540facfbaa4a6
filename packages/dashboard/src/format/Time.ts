/**
 * Instants for people: relative and absolute, in Brazil's time or UTC.
 *
 * Guarantee: the zone is a signal, so that a page follows it; it is kept for the next visit.
 */
import { signal } from "@preact/signals"
import { language } from "../words/Words.ts"

export type Zone = "BRT" | "UTC"

const stored = globalThis.localStorage?.getItem("zone")

export const zone = signal<Zone>(stored === "UTC" ? "UTC" : "BRT")

export const setZone = (next: Zone): void => {
  zone.value = next
  globalThis.localStorage?.setItem("zone", next)
}

/** `21 Nov 2026, 18:20:05`. */
export const absolute = (instant: string): string =>
  new Intl.DateTimeFormat(language.value === "pt" ? "pt-BR" : "en-GB", {
    timeZone: zone.value === "UTC" ? "UTC" : "America/Sao_Paulo",
    day: "numeric",
    month: "short",
    year: "numeric",
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit"
  }).format(Date.parse(instant))

const steps = [
  ["second", 60],
  ["minute", 60],
  ["hour", 24],
  ["day", 30],
  ["month", 12],
  ["year", Number.POSITIVE_INFINITY]
] as const

/** `3 minutes ago`, `in 2 days`. */
export const relative = (instant: string, nowMs: number): string => {
  const format = new Intl.RelativeTimeFormat(language.value === "pt" ? "pt-BR" : "en-GB", { numeric: "auto" })
  let value = (Date.parse(instant) - nowMs) / 1000
  for (const [unit, size] of steps) {
    if (Math.abs(value) < size) return format.format(Math.round(value), unit)
    value /= size
  }
  return absolute(instant)
}

/** The day in UTC, as figures name it: `2026-11-21`. */
export const today = (): string =>
  new Intl.DateTimeFormat("sv-SE", { timeZone: "UTC" }).format(
    globalThis.performance.timeOrigin + globalThis.performance.now()
  )
