/**
 * The money of today: received, returned, sent and the net of it, beside yesterday and the same day last week up to the same hour.
 * Today's figures are of this moment, the others some seconds old.
 */
import type { Stats } from "@pix-payments/api/operator/Stats"
import type { ComponentChildren } from "preact"
import { money } from "../../format/Money.ts"
import { dayIn, hourIn } from "../../format/Time.ts"
import { now } from "../../parts/Time.tsx"
import { todayWords } from "./todayWords.ts"

const DAY_MS = 24 * 60 * 60 * 1000

type Figure = "received" | "returned" | "sent" | "net"

export const MoneyToday = ({ stats }: { readonly stats: Stats }) => {
  const text = todayWords()
  const { timezone } = stats
  const hour = hourIn(timezone, now.value)
  const today = stats.volume_per_day.find(({ date }) => date === dayIn(timezone, now.value))
  /** A figure of the day that is `days` ago, up to the end of this hour. */
  const sum = (figure: Figure, days: number) => {
    const day = dayIn(timezone, now.value - days * DAY_MS)
    return stats.periods
      .filter(({ start }) => dayIn(timezone, Date.parse(start)) === day && hourIn(timezone, Date.parse(start)) <= hour)
      .reduce((total, period) => total + period[figure], 0)
  }
  const beside = (figure: Figure) => (
    <>
      {text.yesterdayBy(hour + 1, money(sum(figure, 1)))}
      <br />
      {text.lastWeek(money(sum(figure, 7)))}
    </>
  )
  return (
    <div class="tiles">
      <Tile name={text.received} value={money(today?.received ?? 0)} note={text.charges(today?.charges_paid ?? 0)}>
        {beside("received")}
      </Tile>
      <Tile name={text.returned} value={money(today?.returned ?? 0)} note={text.refunds(today?.refunds_completed ?? 0)}>
        {beside("returned")}
      </Tile>
      <Tile name={text.sent} value={money(today?.sent ?? 0)} note={text.payouts(today?.payouts_completed ?? 0)}>
        {beside("sent")}
      </Tile>
      <Tile name={text.net} value={money(today?.net ?? 0)} note={text.netHint}>
        {beside("net")}
      </Tile>
    </div>
  )
}

const Tile = ({
  children,
  name,
  note,
  value
}: {
  readonly name: string
  readonly value: string
  readonly note: string
  readonly children: ComponentChildren
}) => (
  <section class="card tile">
    <h2>{name}</h2>
    <strong>{value}</strong>
    <span class="quiet">{note}</span>
    <span class="quiet delta">{children}</span>
  </section>
)
