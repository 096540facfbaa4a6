/** The first page: money of the day, what needs a person, and whether the service keeps up. */
import type { Stats } from "@pix-payments/api/operator/Stats"
import { signal } from "@preact/signals"
import type { ComponentChildren, FunctionComponent } from "preact"
import { useEffect } from "preact/hooks"
import { call } from "../app/Client.ts"
import { useLoaded } from "../app/Loaded.ts"
import { money } from "../format/Money.ts"
import { dayIn, longDay } from "../format/Time.ts"
import { Problem } from "../parts/Problem.tsx"
import { now, Time } from "../parts/Time.tsx"
import { words } from "../words/Words.ts"
import { NeedsPerson } from "./today/NeedsPerson.tsx"
import { Running } from "./today/Running.tsx"
import { todayWords } from "./today/todayWords.ts"

const DAY_MS = 24 * 60 * 60 * 1000

const Chart = signal<
  FunctionComponent<{ readonly days: Stats["volume_per_day"]; readonly timezone: string }> | undefined
>(undefined)

export const Today = () => {
  // A report over whole tables: not at each event.
  const stats = useLoaded("stats", (abort) => call((api) => api.stats.retrieve({ query: {} }), abort), {
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
      {stats.value !== undefined && <Tiles stats={stats.value} />}
      <section class="cols">
        <NeedsPerson />
        <Running stats={stats.value} />
      </section>
      {stats.value !== undefined && stats.value.volume_per_day.length > 0 && Drawing !== undefined && (
        <Drawing days={stats.value.volume_per_day} timezone={stats.value.timezone} />
      )}
    </>
  )
}

const Tiles = ({ stats }: { readonly stats: Stats }) => {
  const text = todayWords()
  const dayOf = (date: string) => stats.volume_per_day.find((day) => day.date === date)
  const day = dayOf(dayIn(stats.timezone, now.value))
  const yesterday = dayOf(dayIn(stats.timezone, now.value - DAY_MS))
  const all = Object.values(stats.charges).reduce((sum, count) => sum + count, 0)
  const paid = ["paid", "refunded", "charged_back", "infraction"].reduce(
    (sum, state) => sum + (stats.charges[state] ?? 0),
    0
  )
  return (
    <div class="tiles">
      <Tile name={text.received} value={money(day?.received ?? 0)}>
        {text.charges(day?.charges_paid ?? 0)}, {text.yesterday(money(yesterday?.received ?? 0))}
      </Tile>
      <Tile name={text.returned} value={money(day?.returned ?? 0)}>
        {text.refunds(day?.refunds_completed ?? 0)}, {text.yesterday(money(yesterday?.returned ?? 0))}
      </Tile>
      <Tile name={text.sent} value={money(day?.sent ?? 0)}>
        {text.payouts(day?.payouts_completed ?? 0)}, {text.yesterday(money(yesterday?.sent ?? 0))}
      </Tile>
      <Tile name={text.net} value={money(day?.net ?? 0)}>
        {text.netHint}, {text.yesterday(money(yesterday?.net ?? 0))}
      </Tile>
      <Tile
        name={text.paidOf}
        value={all === 0 ? "–" : `${((100 * paid) / all).toLocaleString("pt-BR", { maximumFractionDigits: 1 })} %`}
      >
        {text.ofCharges(all)}
      </Tile>
      <Tile name={text.due} value={String(stats.deliveries_due)}>
        {stats.oldest_due_at === null ? (
          text.noneDue
        ) : (
          <>
            {text.oldest} <Time of={stats.oldest_due_at} />
          </>
        )}
      </Tile>
    </div>
  )
}

const Tile = ({
  children,
  name,
  value
}: {
  readonly name: string
  readonly value: string
  readonly children: ComponentChildren
}) => (
  <section class="card tile">
    <h2>{name}</h2>
    <strong>{value}</strong>
    <span class="quiet delta">{children}</span>
  </section>
)
