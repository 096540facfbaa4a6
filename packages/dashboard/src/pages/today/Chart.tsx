/**
 * Money per day, drawn by uPlot. The only file that imports it, loaded after the first page is shown.
 *
 * Guarantee: the amounts are also in a table, for those who cannot see the drawing.
 */
import type { Stats } from "@pix-payments/api/operator/Stats"
import { useSignal } from "@preact/signals"
import { useEffect, useRef } from "preact/hooks"
import uPlot from "uplot"
import "uplot/dist/uPlot.min.css"
import { money } from "../../format/Money.ts"
import { Card } from "../../parts/Detail.tsx"
import { todayWords } from "./todayWords.ts"

type Days = Stats["volume_per_day"]

const DAYS = 30
const DAY_S = 86_400
const HEIGHT = 200

const nothing = {
  charges_paid: 0,
  received: 0,
  refunds_completed: 0,
  returned: 0,
  payouts_completed: 0,
  sent: 0,
  net: 0
}

/** The last 30 days, oldest first, also those without money. */
const filled = (days: Days): Days => {
  const byDate = new Map(days.map((day) => [day.date, day]))
  const last = days
    .map(({ date }) => date)
    .toSorted()
    .at(-1)
  if (last === undefined) return []
  return Array.from({ length: DAYS }, (_, index) => {
    const at = (Date.parse(last) / 1000 - (DAYS - 1 - index) * DAY_S) * 1000
    const date = new Intl.DateTimeFormat("sv-SE", { timeZone: "UTC" }).format(at)
    return byDate.get(date) ?? { ...nothing, date }
  })
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

const optionsOf = (element: HTMLElement, onDay: (index: number | undefined) => void): uPlot.Options => {
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
      x: { range: (_, min, max) => [min - DAY_S / 2, max + DAY_S / 2] },
      y: { range: (_, __, max) => [0, Math.max(max, 100) * 1.1] }
    },
    axes: [
      { ...axis, grid: { show: false }, space: 56, size: 28, values: (_, splits) => splits.map(dayOfMonth) },
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
    hooks: { setCursor: [({ cursor }) => onDay(cursor.idx ?? undefined)] }
  }
}

/** `21/11`, of an instant in seconds. */
const dayOfMonth = (seconds: number): string =>
  new Intl.DateTimeFormat("pt-BR", { timeZone: "UTC", day: "2-digit", month: "2-digit" }).format(seconds * 1000)

/** A day without money has no bar. */
const barOf = (cents: number): number | null => (cents === 0 ? null : cents)

const dataOf = (days: Days): uPlot.AlignedData => [
  days.map(({ date }) => Date.parse(date) / 1000),
  days.map((day) => barOf(day.received)),
  days.map((day) => barOf(day.sent))
]

export const Chart = ({ days: given, timezone }: { readonly days: Days; readonly timezone: string }) => {
  const days = filled(given)
  const text = todayWords()
  const box = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot | undefined>(undefined)
  const pointed = useSignal<number | undefined>(undefined)
  const data = dataOf(days)

  useEffect(() => {
    const element = box.current
    if (element === null) return
    const draw = () => {
      plot.current?.destroy()
      plot.current = new uPlot(
        optionsOf(element, (index) => {
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
  }, [])
  useEffect(() => plot.current?.setData(data), [JSON.stringify(data)])

  const day = days[pointed.value ?? -1]
  return (
    <Card
      title={text.perDay}
      note={
        <span class="legend">
          <i class="as-received" /> {text.received.split(" ")[0]} {day !== undefined && money(day.received)}
          <i class="as-sent" /> {text.sent.split(" ")[0]} {day !== undefined && money(day.sent)}{" "}
          <span>{day?.date ?? text.zone(timezone)}</span>
        </span>
      }
    >
      <div class="plot" ref={box} role="img" aria-label={text.perDay} />
      <details class="pad">
        <summary>{text.table}</summary>
        <table>
          <thead>
            <tr>
              <th scope="col">{text.day}</th>
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
            {days.toReversed().map((row) => (
              <tr key={row.date}>
                <td>{row.date}</td>
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
