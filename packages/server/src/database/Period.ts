/**
 * Months and quarters in UTC, and the ids that bound them: a partition has the rows whose UUIDv7 was generated in its
 * period.
 *
 * A period is the epoch millisecond of its first instant.
 */
import { lowestIdAt } from "@pix-payments/domain/Uuid"
import * as DateTime from "effect/DateTime"

export const DAY_MS = 86_400_000

/** How long each partition of a table is. */
export type Period = "month" | "quarter"

const MONTHS = { month: 1, quarter: 3 } as const

/** For how many periods after this one partitions are made: a month ahead at least. */
export const PERIODS_AHEAD = { month: 3, quarter: 1 } as const

/** The period of an instant. */
export const periodOf = (period: Period, epochMs: number): number => periodAfter(period, epochMs, 0)

/** The period that is `count` periods after that of an instant. */
export const periodAfter = (period: Period, epochMs: number, count: number): number => {
  const months = MONTHS[period]
  const first = DateTime.startOf(DateTime.makeUnsafe(epochMs), "month")
  const passed = (DateTime.getPartUtc(first, "month") - 1) % months
  return DateTime.toEpochMillis(DateTime.add(first, { months: count * months - passed }))
}

/** As in the name of a partition: `2026_12`, `2026_q4`. */
export const periodName = (period: Period, epochMs: number): string => {
  const [year, month] = DateTime.formatIso(DateTime.makeUnsafe(epochMs)).split("-")
  return period === "month" ? `${year}_${month}` : `${year}_q${Math.ceil(Number(month) / MONTHS.quarter)}`
}

/** The lowest id of a row of the period. */
export const boundOf = (epochMs: number): string => lowestIdAt(epochMs)

/** The time in an id. */
export const timeOf = (id: string): number => Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16)

/**
 * A constraint that proves a bound refuses rows beyond it while it is validated. So the bound is at least this far ahead:
 * longer than a validation takes, or until it is repeated.
 */
export const MARGIN_MS = 7 * DAY_MS
