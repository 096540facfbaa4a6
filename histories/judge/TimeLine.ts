/** A conviction as a person reads it: its calls on a time line, as text and as SVG. */
import type { Conviction, Span } from "./History.ts"

const WIDTH = 60

/** Lines of at most 140 characters: the time line, then what was called and answered. */
export const textOfConviction = (conviction: Conviction, most = 30): string => {
  const { rule, says, subject } = conviction
  const spans = shown(conviction, most)
  const { end, scale, start } = axisOf(spans, WIDTH)
  const lines = spans.map(({ from, isCulprit, label, to }) => {
    const left = scale(from)
    const right = to === undefined ? WIDTH : scale(to)
    const bar = `${" ".repeat(left)}${to === left ? "|" : "├"}${"─".repeat(Math.max(0, right - left - 1))}${to === undefined ? "…" : "┤"}`
    return `${isCulprit === true ? "!" : " "} ${bar.padEnd(WIDTH + 2)} ${label}`
  })
  const left = conviction.spans.length - spans.length
  const scaleLine = `  ${start.toFixed(0)} ms${" ".repeat(Math.max(1, WIDTH - 16))}${end.toFixed(0)} ms`
  return [
    `${rule}  ${subject}`,
    `  ${says}`,
    ...lines,
    ...(lines.length > 0 ? [scaleLine] : []),
    ...(left > 0 ? [`  and ${left} more`] : [])
  ].join("\n")
}

export const svgOfConviction = (conviction: Conviction, most = 60): string => {
  const spans = shown(conviction, most)
  const { scale } = axisOf(spans, 560)
  const height = 60 + spans.length * 20
  const rows = spans.map(({ from, isCulprit, label, to }, index) => {
    const y = 50 + index * 20
    const left = 10 + scale(from)
    const width = Math.max(2, (to === undefined ? 560 : scale(to)) - scale(from))
    const fill = isCulprit === true ? "#c0392b" : "#5b7db1"
    const dash = to === undefined ? ' fill-opacity="0.4" stroke-dasharray="4 3"' : ""
    return (
      `<rect x="${left.toFixed(1)}" y="${y}" width="${width.toFixed(1)}" height="12" fill="${fill}" stroke="${fill}"${dash}/>` +
      `<text x="590" y="${y + 11}" font-size="12">${escaped(label)}</text>`
    )
  })
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="1200" height="${height}" font-family="monospace">`,
    `<rect width="1200" height="${height}" fill="white"/>`,
    `<text x="10" y="20" font-size="14" font-weight="bold">${escaped(`${conviction.rule} ${conviction.subject}`)}</text>`,
    `<text x="10" y="38" font-size="12">${escaped(conviction.says)}</text>`,
    ...rows,
    "</svg>"
  ].join("\n")
}

/** The culprits first, then what is nearest to them in time; in the order of their beginnings. */
const shown = ({ spans }: Conviction, most: number): ReadonlyArray<Span> => {
  const culprit = spans.find(({ isCulprit }) => isCulprit === true) ?? spans[0]
  if (culprit === undefined) return []
  const distance = ({ from, isCulprit }: Span) => (isCulprit === true ? -1 : Math.abs(from - culprit.from))
  return spans
    .toSorted((a, b) => distance(a) - distance(b))
    .slice(0, most)
    .toSorted((a, b) => a.from - b.from)
}

const axisOf = (spans: ReadonlyArray<Span>, width: number) => {
  const start = Math.min(...spans.map(({ from }) => from))
  const end = Math.max(...spans.map(({ from, to }) => to ?? from))
  const scale = (at: number) => (end === start ? 0 : Math.round(((at - start) / (end - start)) * width))
  return { start, end, scale }
}

const escaped = (text: string) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;")
