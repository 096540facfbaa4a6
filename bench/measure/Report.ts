/**
 * What was measured, as a table, and with where and with what.
 */
import type { Histogram } from "../load/Histogram.ts"
import { merge, quantile } from "../load/Histogram.ts"

/** One contender's turn in one round. */
export interface Turn {
  readonly contender: string
  /** What is varied: connections, say. */
  readonly at: string
  readonly round: number
  readonly answered: number
  readonly perSecond: number
  readonly errors: number
  readonly complaints: ReadonlyArray<string>
  readonly latencies: Histogram
  /** Microseconds of CPU for each answer; undefined where the platform does not tell. */
  readonly serverMicros: number | undefined
  readonly postgresMicros: number | undefined
  /** Of those that ask, or are told. */
  readonly helperMicros: number
  /** Microseconds of CPU that nothing of the bench used: what disturbs. */
  readonly elsewhereMicros: number
  /** The whole turn, with the work that is left behind. */
  readonly seconds: number
}

/** The words of a job's table. */
export interface Words {
  /** What `at` is. */
  readonly at: string
  /** What is counted. */
  readonly unit: string
  readonly baseline: string
}

/** A line of a table of turns. */
export interface Row {
  readonly at: string
  readonly contender: string
  readonly perSecond: number
  readonly ratio: { readonly median: number; readonly min: number; readonly max: number }
  /** Undefined where nobody waits for answers. */
  readonly p50Ms: number | undefined
  readonly p99Ms: number | undefined
  readonly serverMicros: number | undefined
  readonly postgresMicros: number | undefined
  readonly helperMicros: number
  readonly errors: number
}

/** A row for each `at` and contender, in the order of `contenders`; ratios are to `baseline`, of turns of one round. */
export const rowsOf = (
  turns: ReadonlyArray<Turn>,
  contenders: ReadonlyArray<string>,
  baseline: string
): ReadonlyArray<Row> => {
  const ats = [...new Set(turns.map((turn) => turn.at))]
  return ats.flatMap((at) =>
    contenders.flatMap((contender): ReadonlyArray<Row> => {
      const of = (name: string) => turns.filter((turn) => turn.at === at && turn.contender === name)
      const own = of(contender)
      if (own.length === 0) return []
      const base = new Map(of(baseline).map((turn) => [turn.round, turn.perSecond]))
      const ratios = own.map(({ perSecond, round }) => perSecond / (base.get(round) ?? Number.NaN))
      const latencies = merge(own.map((turn) => turn.latencies))
      const isTimed = latencies.some((count) => count > 0)
      const row: Row = {
        at,
        contender,
        perSecond: median(own.map(({ perSecond }) => perSecond)),
        ratio: { median: median(ratios), min: Math.min(...ratios), max: Math.max(...ratios) },
        p50Ms: isTimed ? quantile(latencies, 0.5) / 1000 : undefined,
        p99Ms: isTimed ? quantile(latencies, 0.99) / 1000 : undefined,
        serverMicros: medianOrNone(own.map(({ serverMicros }) => serverMicros)),
        postgresMicros: medianOrNone(own.map(({ postgresMicros }) => postgresMicros)),
        helperMicros: median(own.map(({ helperMicros }) => helperMicros)),
        errors: own.reduce((sum, { errors }) => sum + errors, 0)
      }
      return [row]
    })
  )
}

/** How the rates of each contender at `to` are to its rates at `from`, of turns of one round: a sentence. */
export const scalingOf = (
  turns: ReadonlyArray<Turn>,
  contenders: ReadonlyArray<string>,
  from: string,
  to: string
): string => {
  const told = contenders.flatMap((contender) => {
    const of = (at: string) => turns.filter((turn) => turn.contender === contender && turn.at === at)
    const before = new Map(of(from).map((turn) => [turn.round, turn.perSecond]))
    const ratios = of(to).map(({ perSecond, round }) => perSecond / (before.get(round) ?? Number.NaN))
    return ratios.length === 0 || before.size === 0 ? [] : [`${contender} ${spreadOf(ratios, 2)}`]
  })
  return `Rate at ${to} to rate at ${from}, median (min..max): ${told.join(", ")}.`
}

export const turnsTable = (rows: ReadonlyArray<Row>, { at, baseline, unit }: Words): string => {
  const isTimed = rows.some(({ p50Ms }) => p50Ms !== undefined)
  return tableOf([
    [
      at,
      "contender",
      `${unit}/s`,
      `ratio to ${baseline} (min..max)`,
      ...(isTimed ? ["p50 ms", "p99 ms"] : []),
      `server µs/${unit}`,
      `pg µs/${unit}`,
      "errors"
    ],
    ...rows.map((row) => [
      row.at,
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

/** Lines of cells as a table; the first one is its heading. */
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

const medianOrNone = (values: ReadonlyArray<number | undefined>): number | undefined => {
  const known = values.filter((value) => value !== undefined)
  return known.length === 0 ? undefined : median(known)
}

/** The median of `values`, with the least and the most. */
export const spreadOf = (values: ReadonlyArray<number>, digits: number): string =>
  `${median(values).toFixed(digits)} (${Math.min(...values).toFixed(digits)}..${Math.max(...values).toFixed(digits)})`

const oneDigit = (micros: number | undefined): string => (micros === undefined ? "n/a" : micros.toFixed(1))
