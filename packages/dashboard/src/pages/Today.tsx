/** The first page: money of the day, what needs a person, and whether the service keeps up. */
import type { Stats } from "@pix-payments/api/operator/Stats"
import { signal } from "@preact/signals"
import type { FunctionComponent } from "preact"
import { useEffect } from "preact/hooks"
import { call } from "../app/Client.ts"
import { useLoaded } from "../app/Loaded.ts"
import { dayIn, installationZone, longDay } from "../format/Time.ts"
import { Problem } from "../parts/Problem.tsx"
import { now } from "../parts/Time.tsx"
import { words } from "../words/Words.ts"
import { NeedsPerson } from "./today/NeedsPerson.tsx"
import { Running } from "./today/Running.tsx"
import { Failures } from "./today/Failures.tsx"
import { MoneyToday } from "./today/MoneyToday.tsx"

const DAY_MS = 24 * 60 * 60 * 1000

const Chart = signal<FunctionComponent<{ readonly stats: Stats }> | undefined>(undefined)

export const Today = () => {
  // A report over whole tables: not at each event.
  const to = dayIn(installationZone.value, now.value)
  const from = dayIn(installationZone.value, now.value - 7 * DAY_MS)
  const query = { from, to, interval: "hour" } as const
  const stats = useLoaded(`stats ${from} ${to}`, (abort) => call((api) => api.stats.retrieve({ query }), abort), {
    events: ["paid", '"event":"payment.'],
    every: 60,
    atMost: 10
  })
  useEffect(() => {
    if (Chart.value !== undefined) return
    import("./today/Chart.tsx").then(
      (file) => {
        Chart.value = file.Chart
      },
      // The page works without its drawing.
      () => {}
    )
  }, [])
  const Drawing = Chart.value
  return (
    <>
      <div class="head">
        <h1>{words().nav.today}</h1>
        <span class="quiet">{longDay(now.value)}</span>
      </div>
      {stats.problem !== undefined && <Problem problem={stats.problem} retry={stats.reload} />}
      {stats.value !== undefined && <MoneyToday stats={stats.value} />}
      <section class="cols">
        <NeedsPerson />
        <Running stats={stats.value} />
      </section>
      {stats.value !== undefined && <Failures stats={stats.value} />}
      {stats.value !== undefined && stats.value.volume_per_day.length > 0 && Drawing !== undefined && (
        <Drawing stats={stats.value} />
      )}
    </>
  )
}
