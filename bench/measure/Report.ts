/**
 * Turns as rows, tables and sentences.
 */
import { type Histogram, merge, quantile } from "../load/Histogram.ts"

/** One contender's turn in one round. */
export interface Turn {
  readonly contender: string
  /** The value that is varied, for example connections. */
  readonly level: string
  readonly round: number
  readonly answered: number
  readonly perSecond: number
  readonly errors: number
  /** The first few errors. */
  readonly errorSamples: ReadonlyArray<string>
  readonly latencies: Histogram
  /** Microseconds of CPU per answer; undefined without /proc. */
  readonly serverMicros: number | undefined
  readonly postgresMicros: number | undefined
  /** Of the load generator or receiver. */
  readonly auxiliaryMicros: number
  /** Microseconds of CPU that other programs used in the whole turn. */
  readonly otherMicros: number
  /** The whole turn, background work included. */
  readonly seconds: number
}

/** The headings of a job's table. */
export interface TableLabels {
  /** Of the level. */
  readonly level: string
  /** Of what is counted: "req". */
  readonly unit: string
  readonly baseline: string
}

/** A line of the table: all turns of a contender at a level. */
export interface Row {
  readonly level: string
  readonly contender: string
  readonly perSecond: number
  readonly ratio: { readonly median: number; readonly min: number; readonly max: number }
  /** Undefined where latency is not measured. */
  readonly p50Ms: number | undefined
  readonly p99Ms: number | undefined
  readonly serverMicros: number | undefined
  readonly postgresMicros: number | undefined
  readonly auxiliaryMicros: number
  readonly errors: number
}

/** A row for each level and contender, in the order of `contenders`. A ratio to `baseline` is of turns in one round. */
export const rowsOf = (
  turns: ReadonlyArray<Turn>,
  contenders: ReadonlyArray<string>,
  baseline: string
): ReadonlyArray<Row> => {
  const levels = [...new Set(turns.map((turn) => turn.level))]
  return levels.flatMap((level) =>
    contenders.flatMap((contender): ReadonlyArray<Row> => {
      const of = (name: string) => turns.filter((turn) => turn.level === level && turn.contender === name)
      const own = of(contender)
      if (own.length === 0) return []
      const base = new Map(of(baseline).map((turn) => [turn.round, turn.perSecond]))
      const ratios = own.map(({ perSecond, round }) => perSecond / (base.get(round) ?? Number.NaN))
      const latencies = merge(own.map((turn) => turn.latencies))
      const isTimed = latencies.some((count) => count > 0)
      const row: Row = {
        level,
        contender,
        perSecond: median(own.map(({ perSecond }) => perSecond)),
        ratio: { median: median(ratios), min: Math.min(...ratios), max: Math.max(...ratios) },
        p50Ms: isTimed ? quantile(latencies, 0.5) / 1000 : undefined,
        p99Ms: isTimed ? quantile(latencies, 0.99) / 1000 : undefined,
        serverMicros: medianOrUndefined(own.map(({ serverMicros }) => serverMicros)),
        postgresMicros: medianOrUndefined(own.map(({ postgresMicros }) => postgresMicros)),
        auxiliaryMicros: median(own.map(({ auxiliaryMicros }) => auxiliaryMicros)),
        errors: own.reduce((sum, { errors }) => sum + errors, 0)
      }
      return [row]
    })
  )
}

/** A sentence with each contender's rate at level `to` divided by its rate at `from`, per round. */
export const scalingOf = (
  turns: ReadonlyArray<Turn>,
  contenders: ReadonlyArray<string>,
  from: string,
  to: string
): string => {
  const spreads = contenders.flatMap((contender) => {
    const of = (level: string) => turns.filter((turn) => turn.contender === contender && turn.level === level)
    const before = new Map(of(from).map((turn) => [turn.round, turn.perSecond]))
    const ratios = of(to).map(({ perSecond, round }) => perSecond / (before.get(round) ?? Number.NaN))
    return ratios.length === 0 || before.size === 0 ? [] : [`${contender} ${spreadOf(ratios, 2)}`]
  })
  return `Rate at ${to} divided by rate at ${from}, median (min..max): ${spreads.join(", ")}.`
}

export const turnsTable = (rows: ReadonlyArray<Row>, { baseline, level, unit }: TableLabels): string => {
  const isTimed = rows.some(({ p50Ms }) => p50Ms !== undefined)
  return tableOf([
    [
      level,
      "contender",
      `${unit}/s`,
      `ratio to ${baseline} (min..max)`,
      ...(isTimed ? ["p50 ms", "p99 ms"] : []),
      `server µs/${unit}`,
      `pg µs/${unit}`,
      "errors"
    ],
    ...rows.map((row) => [
      row.level,
      row.contender,
      row.perSecond.toFixed(0),
      `${row.ratio.median.toFixed(2)} (${row.ratio.min.toFixed(2)}..${row.ratio.max.toFixed(2)})`,
      ...(isTimed ? [oneDigit(row.p50Ms), oneDigit(row.p99Ms)] : []),
      oneDigit(row.serverMicros),
      oneDigit(row.postgresMicros),
      String(row.errors)
    ])
  ])
}

/** A Markdown table; the first line is its heading. */
export const tableOf = (cells: ReadonlyArray<ReadonlyArray<string>>): string => {
  const widths = cells[0]!.map((_, column) => Math.max(...cells.map((line) => line[column]!.length)))
  const lineOf = (line: ReadonlyArray<string>) => `| ${line.map((cell, i) => cell.padEnd(widths[i]!)).join(" | ")} |`
  const rule = `|${widths.map((width) => "-".repeat(width + 2)).join("|")}|`
  const [heading = [], ...body] = cells
  return [lineOf(heading), rule, ...body.map(lineOf)].join("\n")
}

export const median = (values: ReadonlyArray<number>): number => {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}

const medianOrUndefined = (values: ReadonlyArray<number | undefined>): number | undefined => {
  const known = values.filter((value) => value !== undefined)
  return known.length === 0 ? undefined : median(known)
}

/** "median (min..max)" of `values`. */
export const spreadOf = (values: ReadonlyArray<number>, digits: number): string =>
  `${median(values).toFixed(digits)} (${Math.min(...values).toFixed(digits)}..${Math.max(...values).toFixed(digits)})`

const oneDigit = (micros: number | undefined): string => (micros === undefined ? "n/a" : micros.toFixed(1))
