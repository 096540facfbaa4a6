/** A picture of one trace: its spans below each other, with what is inside them, on one line of time. */
import { attributeOf, type Span } from "./Collector.ts"

const WIDTH = 900
const LABELS = 330
const ROW = 18
const TOP = 26

export const pictureOf = (spans: ReadonlyArray<Span>): string => {
  const rows = below(undefined, spans)
  const starts = spans.map(({ startTimeUnixNano }) => BigInt(startTimeUnixNano))
  const start = starts.reduce((one, other) => (one < other ? one : other))
  const msOf = (nanos: string) => Number(BigInt(nanos) - start) / 1e6
  const end = Math.max(...spans.map(({ endTimeUnixNano }) => msOf(endTimeUnixNano)))
  const x = (ms: number) => LABELS + (ms / end) * (WIDTH - LABELS - 70)
  const lines = rows.map(({ depth, span }, index) => {
    const [from, to] = [msOf(span.startTimeUnixNano), msOf(span.endTimeUnixNano)]
    const y = TOP + index * ROW
    return `<text x="${10 + depth * 14}" y="${y + 12}">${labelOf(span)}</text>
<rect x="${x(from).toFixed(1)}" y="${y + 2}" width="${Math.max(1.5, x(to) - x(from)).toFixed(1)}" height="12" fill="${colourOf(span)}"/>
<text x="${(x(to) + 5).toFixed(1)}" y="${y + 12}" fill="#666">${(to - from).toFixed(1)}</text>`
  })
  const height = TOP + rows.length * ROW + 10
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}" viewBox="0 0 ${WIDTH} ${height}" font-family="sans-serif" font-size="11">
<rect width="${WIDTH}" height="${height}" fill="#fff"/>
<text x="10" y="16" font-weight="bold">one trace, milliseconds</text>
${lines.join("\n")}
</svg>
`
}

interface Row {
  readonly span: Span
  readonly depth: number
}

const below = (parent: Span | undefined, spans: ReadonlyArray<Span>, depth = 0): ReadonlyArray<Row> =>
  spans
    .filter(({ parentSpanId }) =>
      parent === undefined ? !spans.some(({ spanId }) => spanId === parentSpanId) : parentSpanId === parent.spanId
    )
    .toSorted((one, other) => (BigInt(one.startTimeUnixNano) < BigInt(other.startTimeUnixNano) ? -1 : 1))
    .flatMap((span) => [{ span, depth }, ...below(span, spans, depth + 1)])

const isStatement = (span: Span) => attributeOf(span, "db.system.name") !== undefined

const labelOf = (span: Span): string => {
  if (isStatement(span)) return span.name === "sql.transaction" ? "transaction" : "PostgreSQL"
  const event = attributeOf(span, "pix.event")
  return event === undefined
    ? span.name
    : `${span.name} ${String(event)}: ${String(attributeOf(span, "http.response.status_code"))}`
}

const colourOf = (span: Span): string =>
  isStatement(span)
    ? "#9bb8d3"
    : span.name === "POST"
      ? "#2f9e6e"
      : span.name.startsWith("acquirer")
        ? "#d98e32"
        : "#4a6fa5"
