/**
 * Why payments failed today and yesterday: the hours in which some failed, and the reasons of all or of the chosen hour. A reason
 * leads to the charges or payouts that failed then.
 */
import type { Stats, StatsPeriod } from "@pix-payments/api/operator/Stats"
import { formatInstant } from "@pix-payments/domain/Instant"
import { useSignal } from "@preact/signals"
import { dayIn, hourIn, startOfDay } from "../../format/Time.ts"
import { Card } from "../../parts/Detail.tsx"
import { inWords } from "../../parts/reasons.ts"
import { now } from "../../parts/Time.tsx"
import { todayWords } from "./todayWords.ts"

const HOUR_MS = 60 * 60 * 1000
/** The lists are of what was created so long before it failed: without this bound one may look at all charges that there are. */
const OLDEST_MS = 31 * 24 * HOUR_MS
/** Reasons that are shown, those of most payments. */
const REASONS = 8

export const Failures = ({ stats: { periods, timezone } }: { readonly stats: Stats }) => {
  const text = todayWords()
  const chosen = useSignal<string | undefined>(undefined)
  const yesterday = startOfDay(now.value, -1, timezone)
  const failing = periods.filter(({ failed, start }) => failed.length > 0 && Date.parse(start) >= yesterday)
  const hour = failing.find(({ start }) => start === chosen.value)
  if (failing.length === 0) return null
  const today = dayIn(timezone, now.value)
  const byDay = Map.groupBy(failing, ({ start }) => dayIn(timezone, Date.parse(start)) === today)
  return (
    <Card title={text.failures} note={hour === undefined ? text.sinceYesterday : text.ofHour}>
      <div class="pad hours">
        {[false, true].map((isToday) => (
          <Hours
            name={isToday ? text.thatDay.today : text.thatDay.yesterday}
            of={byDay.get(isToday) ?? []}
            timezone={timezone}
            chosen={chosen.value}
            choose={(start) => {
              chosen.value = start === chosen.value ? undefined : start
            }}
            key={String(isToday)}
          />
        ))}
      </div>
      <Reasons
        of={hour === undefined ? failing : [hour]}
        failed={failedSince(
          hour === undefined ? yesterday : Date.parse(hour.start),
          hour && { failed_before: formatInstant(Date.parse(hour.start) + HOUR_MS) }
        )}
      />
    </Card>
  )
}

/** The filter of the lists: what failed from an instant on. */
const failedSince = (ms: number, end: Readonly<Record<string, string>> = {}): Readonly<Record<string, string>> => ({
  failed_after: formatInstant(ms - 1),
  ...end,
  created_after: formatInstant(ms - OLDEST_MS)
})

/** The hours of a day that have failures, each with their number. */
const Hours = ({
  choose,
  chosen,
  name,
  of,
  timezone
}: {
  readonly name: string
  readonly of: ReadonlyArray<StatsPeriod>
  readonly timezone: string
  readonly chosen: string | undefined
  readonly choose: (start: string) => void
}) => {
  if (of.length === 0) return null
  return (
    <div role="group" aria-label={name}>
      <span class="quiet">{name}</span>
      {of.map(({ failed, start }) => {
        const hour = hourIn(timezone, Date.parse(start))
        return (
          <button
            type="button"
            class="small"
            aria-pressed={start === chosen}
            onClick={() => choose(start)}
            key={start}
            title={todayWords().hours(hour)}
          >
            {hour} h <b>{failed.reduce((sum, { count }) => sum + count, 0)}</b>
          </button>
        )
      })}
    </div>
  )
}

const Reasons = ({
  failed,
  of
}: {
  readonly of: ReadonlyArray<StatsPeriod>
  /** The filter of the lists. */
  readonly failed: Readonly<Record<string, string>>
}) => {
  const text = todayWords()
  const counts = new Map<string, StatsPeriod["failed"][number]>()
  for (const each of of.flatMap((period) => period.failed)) {
    const key = `${each.resource} ${each.reason}`
    counts.set(key, { ...each, count: each.count + (counts.get(key)?.count ?? 0) })
  }
  const rows = [...counts.values()].toSorted((one, other) => other.count - one.count).slice(0, REASONS)
  return (
    <ul class="reasons">
      {rows.map(({ count, reason, resource }) => (
        <li key={`${resource} ${reason}`}>
          <a href={`/${resource}s?${new URLSearchParams({ status: "failed", failure_reason: reason, ...failed })}`}>
            <span>
              <b>{resource === "charge" ? text.charges(count) : text.payouts(count)}</b>{" "}
              <span class="quiet">{inWords(reason)}</span>
            </span>
          </a>
        </li>
      ))}
    </ul>
  )
}
