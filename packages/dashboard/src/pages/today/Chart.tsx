/**
 * Money per day, or per hour of today, drawn by uPlot. The only file that imports it, loaded after the first page is shown.
 *
 * Guarantee: the amounts are also in a table, for those who cannot see the drawing.
 */
import type { Stats, StatsPeriod } from "@pix-payments/api/operator/Stats"
import { useSignal } from "@preact/signals"
import { useEffect, useRef } from "preact/hooks"
import uPlot from "uplot"
import "uplot/dist/uPlot.min.css"
import { money } from "../../format/Money.ts"
import { dayIn, hourIn } from "../../format/Time.ts"
import { Card } from "../../parts/Detail.tsx"
import { now } from "../../parts/Time.tsx"
import { todayWords } from "./todayWords.ts"

/** A day or an hour. */
type Bar = Pick<StatsPeriod, "received" | "returned" | "sent" | "net"> & {
  /** Seconds. */
  readonly at: number
  readonly name: string
}

interface View {
  readonly bars: ReadonlyArray<Bar>
  readonly stepS: number
  readonly labelOf: (seconds: number) => string
}

const DAYS = 30
const DAY_S = 86_400
const HOUR_S = 3600
const HEIGHT = 200

const nothing = { received: 0, returned: 0, sent: 0, net: 0 }

/** The last 30 days, oldest first, also those without money. */
const byDay = ({ volume_per_day: days }: Stats): View => {
  const byDate = new Map(days.map((day) => [day.date, day]))
  const last = days
    .map(({ date }) => date)
    .toSorted()
    .at(-1)
  const bars = Array.from({ length: last === undefined ? 0 : DAYS }, (_, index) => {
    const at = Date.parse(last!) / 1000 - (DAYS - 1 - index) * DAY_S
    const name = new Intl.DateTimeFormat("sv-SE", { timeZone: "UTC" }).format(at * 1000)
    return { ...(byDate.get(name) ?? nothing), at, name }
  })
  return { bars, stepS: DAY_S, labelOf: dayOfMonth }
}

/** The hours of today. */
const byHour = ({ periods, timezone }: Stats): View => {
  const today = dayIn(timezone, now.value)
  const found = new Map(
    periods
      .filter(({ start }) => dayIn(timezone, Date.parse(start)) === today)
      .map((period) => [hourIn(timezone, Date.parse(period.start)), period])
  )
  const bars = Array.from({ length: 24 }, (_, hour) => ({
    ...(found.get(hour) ?? nothing),
    at: hour * HOUR_S,
    name: `${hour} h`
  }))
  return { bars, stepS: HOUR_S, labelOf: (seconds) => `${Math.round(seconds / HOUR_S)} h` }
}

/** Custom properties are not resolved for a canvas: an element that uses one is. */
const colorOf = (element: HTMLElement, name: string): string => {
  const probe = globalThis.document.createElement("i")
  probe.className = name
  element.append(probe)
  const { color } = globalThis.getComputedStyle(probe)
  probe.remove()
  return color
}

const optionsOf = (
  element: HTMLElement,
  { labelOf, stepS }: View,
  onBar: (index: number | undefined) => void
): uPlot.Options => {
  const quiet = colorOf(element, "quiet")
  const line = colorOf(element, "as-line")
  const bars = (align: 1 | -1) => uPlot.paths.bars!({ size: [0.4, 24], align, radius: 0.1 })
  const axis = { stroke: quiet, grid: { stroke: line, width: 1 }, ticks: { show: false } }
  const received = colorOf(element, "as-received")
  const sent = colorOf(element, "as-sent")
  return {
    width: element.clientWidth,
    height: HEIGHT,
    legend: { show: false },
    cursor: { y: false, points: { show: false } },
    scales: {
      x: { time: false, range: (_, min, max) => [min - stepS / 2, max + stepS / 2] },
      y: { range: (_, __, max) => [0, Math.max(max, 100) * 1.1] }
    },
    axes: [
      { ...axis, grid: { show: false }, space: 56, size: 28, values: (_, splits) => splits.map(labelOf) },
      {
        ...axis,
        size: 92,
        values: (_, splits) => splits.map((cents) => money(cents).replace(/,00$/, ""))
      }
    ],
    series: [
      {},
      { stroke: received, fill: received, paths: bars(-1), points: { show: false } },
      { stroke: sent, fill: sent, paths: bars(1), points: { show: false } }
    ],
    hooks: { setCursor: [({ cursor }) => onBar(cursor.idx ?? undefined)] }
  }
}

/** `21/11`, of an instant in seconds. */
const dayOfMonth = (seconds: number): string =>
  new Intl.DateTimeFormat("pt-BR", { timeZone: "UTC", day: "2-digit", month: "2-digit" }).format(seconds * 1000)

/** A day without money has no bar. */
const barOf = (cents: number): number | null => (cents === 0 ? null : cents)

const dataOf = (bars: ReadonlyArray<Bar>): uPlot.AlignedData => [
  bars.map(({ at }) => at),
  bars.map((bar) => barOf(bar.received)),
  bars.map((bar) => barOf(bar.sent))
]

export const Chart = ({ stats }: { readonly stats: Stats }) => {
  const isByHour = useSignal(false)
  const view = isByHour.value ? byHour(stats) : byDay(stats)
  const { bars } = view
  const text = todayWords()
  const box = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot | undefined>(undefined)
  const pointed = useSignal<number | undefined>(undefined)
  const data = dataOf(bars)

  useEffect(() => {
    const element = box.current
    if (element === null) return
    const draw = () => {
      plot.current?.destroy()
      plot.current = new uPlot(
        optionsOf(element, view, (index) => {
          pointed.value = index
        }),
        data,
        element
      )
    }
    draw()
    const scheme = globalThis.matchMedia("(prefers-color-scheme: dark)")
    scheme.addEventListener("change", draw)
    const sizes = new ResizeObserver(() => plot.current?.setSize({ width: element.clientWidth, height: HEIGHT }))
    sizes.observe(element)
    return () => {
      scheme.removeEventListener("change", draw)
      sizes.disconnect()
      plot.current?.destroy()
      plot.current = undefined
    }
  }, [isByHour.value])
  useEffect(() => plot.current?.setData(data), [JSON.stringify(data)])

  const bar = bars[pointed.value ?? -1]
  return (
    <Card
      title={isByHour.value ? text.perHour : text.perDay}
      note={
        <span class="legend">
          <i class="as-received" /> {text.received.split(" ")[0]} {bar !== undefined && money(bar.received)}
          <i class="as-sent" /> {text.sent.split(" ")[0]} {bar !== undefined && money(bar.sent)}{" "}
          <span>{bar?.name ?? text.zone(stats.timezone)}</span>
        </span>
      }
    >
      <p class="pad">
        <button
          type="button"
          class="small"
          aria-pressed={isByHour.value}
          onClick={() => {
            isByHour.value = !isByHour.value
          }}
        >
          {text.byHour}
        </button>
      </p>
      <div class="plot" ref={box} role="img" aria-label={isByHour.value ? text.perHour : text.perDay} />
      <details class="pad">
        <summary>{text.table}</summary>
        <table>
          <thead>
            <tr>
              <th scope="col">{isByHour.value ? text.hour : text.day}</th>
              {[text.received, text.returned, text.sent].map((name) => (
                <th scope="col" class="right" key={name}>
                  {name.split(" ")[0]}
                </th>
              ))}
              <th scope="col" class="right">
                {text.netOfDay}
              </th>
            </tr>
          </thead>
          <tbody>
            {bars.toReversed().map((row) => (
              <tr key={row.name}>
                <td>{row.name}</td>
                <td class="right">{money(row.received)}</td>
                <td class="right">{money(row.returned)}</td>
                <td class="right">{money(row.sent)}</td>
                <td class="right">{money(row.net)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </details>
    </Card>
  )
}
