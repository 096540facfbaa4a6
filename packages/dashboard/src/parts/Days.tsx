/** A period of days of the installation's zone, in the address: a choice of them, or the first and the last day. */
import { go, query, withQuery } from "../app/Router.ts"
import { dayAfter, dayText, monthText } from "../format/Time.ts"
import { inBoth } from "../words/Words.ts"

/** Inclusive, `yyyy-mm-dd`. */
export interface Days {
  readonly from: string
  readonly to: string
}

const isDay = (text: string | null): text is string => text !== null && !Number.isNaN(Date.parse(text))

/** The days of the address; by default the month of today. */
export const daysOf = (today: string): Days => {
  const [from, to] = [query.value.get("from"), query.value.get("to")]
  return isDay(from) && isDay(to) ? { from, to } : monthOf(today)
}

/** The month of a day, with all its days. */
const monthOf = (day: string): Days => {
  const from = `${day.slice(0, 7)}-01`
  const later = dayAfter(from, 31)
  return { from, to: dayAfter(`${later.slice(0, 7)}-01`, -1) }
}

const monthBefore = (day: string): string => dayAfter(`${day.slice(0, 7)}-01`, -1)

/** The month that the days are, as `yyyy-mm`; undefined where they are no whole month. */
export const wholeMonthOf = ({ from, to }: Days): string | undefined => {
  const month = monthOf(from)
  return month.from === from && month.to === to ? from.slice(0, 7) : undefined
}

export const daysText = ({ from, to }: Days): string =>
  wholeMonthOf({ from, to }) !== undefined
    ? monthText(from)
    : from === to
      ? dayText(from)
      : `${dayText(from)} – ${dayText(to)}`

export const DaysChoice = ({ days, today }: { readonly days: Days; readonly today: string }) => {
  const text = daysWords()
  const months = [today, monthBefore(today), monthBefore(monthBefore(today))].map(monthOf)
  const choices: ReadonlyArray<readonly [string, Days]> = [
    ...months.map((month) => [monthText(month.from), month] as const),
    [text.week, { from: dayAfter(today, -6), to: today }],
    [text.yesterday, { from: dayAfter(today, -1), to: dayAfter(today, -1) }],
    [text.today, { from: today, to: today }]
  ]
  return (
    <>
      <nav class="tabs" aria-label={text.period}>
        {choices.map(([name, choice]) => (
          <a
            href={withQuery({ ...choice })}
            aria-current={choice.from === days.from && choice.to === days.to ? "page" : undefined}
            key={name}
          >
            {name}
          </a>
        ))}
      </nav>
      <form
        class="filters"
        key={`${days.from} ${days.to}`}
        onSubmit={(event) => {
          event.preventDefault()
          const values = new FormData(event.currentTarget)
          const [from, to] = [String(values.get("from")), String(values.get("to"))]
          if (isDay(from) && isDay(to)) go(withQuery(from <= to ? { from, to } : { from: to, to: from }))
        }}
      >
        <label class="inline">
          {text.from}
          <input type="date" name="from" required defaultValue={days.from} />
        </label>
        <label class="inline">
          {text.to}
          <input type="date" name="to" required defaultValue={days.to} />
        </label>
        <button type="submit">{text.show}</button>
      </form>
    </>
  )
}

const daysWords = inBoth({
  en: {
    period: "Period",
    today: "Today",
    yesterday: "Yesterday",
    week: "Last 7 days",
    from: "From",
    to: "to",
    show: "Show"
  },
  pt: {
    period: "Período",
    today: "Hoje",
    yesterday: "Ontem",
    week: "Últimos 7 dias",
    from: "De",
    to: "até",
    show: "Ver"
  }
})
