/** The first page: money of the day, and what needs a person. */
import type { Stats } from "@pix-payments/api/operator/Stats"
import type { ComponentChildren } from "preact"
import { call } from "../app/Client.ts"
import { useLoaded } from "../app/Loaded.ts"
import { money } from "../format/Money.ts"
import { today } from "../format/Time.ts"
import { Card } from "../parts/Detail.tsx"
import { Table } from "../parts/List.tsx"
import { Problem } from "../parts/Problem.tsx"
import { Time } from "../parts/Time.tsx"
import { words } from "../words/Words.ts"

/** Rows that a page shows of each reason. */
const SHOWN = 5

export const Today = () => {
  const stats = useLoaded("stats", (signal) => call((api) => api.stats.retrieve({ query: {} }), signal))
  const text = words()
  return (
    <>
      <div class="head">
        <h1>{text.nav.today}</h1>
      </div>
      {stats.problem !== undefined && <Problem problem={stats.problem} retry={stats.reload} />}
      {stats.value !== undefined && <Tiles stats={stats.value} />}
      <NeedsPerson />
      {stats.value !== undefined && (
        <Card title={text.today.perDay} note={text.today.utc}>
          <Bars days={stats.value.volume_per_day} />
        </Card>
      )}
    </>
  )
}

const Tiles = ({ stats }: { readonly stats: Stats }) => {
  const { today: text } = words()
  const day = stats.volume_per_day.find(({ date }) => date === today())
  const all = Object.values(stats.charges).reduce((sum, count) => sum + count, 0)
  const paid = ["paid", "refunded", "charged_back", "infraction"].reduce(
    (sum, state) => sum + (stats.charges[state] ?? 0),
    0
  )
  return (
    <div class="tiles">
      <Tile name={text.received} value={money(day?.charges_amount ?? 0)}>
        {text.charges(day?.charges_paid ?? 0)}
      </Tile>
      <Tile name={text.sent} value={money(day?.payouts_amount ?? 0)}>
        {text.payouts(day?.payouts_created ?? 0)}
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

const NeedsPerson = () => {
  const { value } = useLoaded("person", async (signal) => {
    const payouts = await call((api) => api.payouts.list({ query: { status: "pending", limit: SHOWN } }), signal)
    if (payouts._tag === "Failed") return payouts
    const disputes = await call((api) => api.disputes.list({ query: { status: "open", limit: SHOWN } }), signal)
    if (disputes._tag === "Failed") return disputes
    return { _tag: "Done" as const, value: { payouts: payouts.value.data, disputes: disputes.value.data } }
  })
  const { empty, fields, today: text } = words()
  if (value === undefined) return null
  const rows = [
    ...value.disputes.map(({ amount, defense_deadline_at: at, id }) => ({
      id,
      amount,
      at,
      what: text.defend,
      to: `/disputes/${id}`
    })),
    ...value.payouts.map(({ amount, created_at: at, id }) => ({
      id,
      amount,
      at,
      what: text.approve,
      to: `/payouts/${id}`
    }))
  ]
  return (
    <Card title={text.person}>
      {rows.length === 0 && <p class="quiet pad">{empty.person}</p>}
      {rows.length > 0 && (
        <Table
          rows={rows}
          linkOf={({ to }) => to}
          columns={[
            { name: fields.action, cell: ({ what }) => what },
            { name: fields.amount, cell: ({ amount }) => <span class="nowrap">{money(amount)}</span>, right: true },
            { name: fields.at, cell: ({ at }) => at !== null && <Time of={at} />, right: true }
          ]}
        />
      )}
    </Card>
  )
}

/** One bar for each day. Its title has the amount. */
const Bars = ({ days }: { readonly days: Stats["volume_per_day"] }) => {
  const shown = days.toSorted((one, other) => (one.date < other.date ? -1 : 1)).slice(-30)
  const highest = Math.max(1, ...shown.map((day) => day.charges_amount))
  return (
    <svg class="chart" viewBox="0 0 30 10" preserveAspectRatio="none" role="img" aria-label={words().today.perDay}>
      {shown.map((day, index) => {
        const height = (10 * day.charges_amount) / highest
        return (
          <rect x={30 - shown.length + index + 0.1} y={10 - height} width={0.8} height={height} key={day.date}>
            <title>{`${day.date}: ${money(day.charges_amount)}`}</title>
          </rect>
        )
      })}
    </svg>
  )
}
