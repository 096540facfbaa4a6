/**
 * Metrics as values: what a process has, what several processes have together, and the text that Prometheus reads.
 *
 * Guarantees:
 * - Every metric of the catalog has HELP and TYPE, also while it has no series.
 * - The sum of workers only grows: what an ended worker has counted stays in it.
 */
import { catalog, declaredOf, type MetricName } from "./MetricCatalog.ts"

/** One series. A histogram has the counts up to each bound. */
export interface Sample {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number | HistogramValue
}

export interface HistogramValue {
  readonly count: number
  readonly sum: number
  /** Bound and cumulative count. */
  readonly buckets: ReadonlyArray<readonly [number, number]>
}

/** The series of several workers as those of one service. */
export const merged = (
  workers: Iterable<readonly [worker: string, samples: ReadonlyArray<Sample>]>
): ReadonlyArray<Sample> => {
  const series = new Map<string, Sample>()
  for (const [worker, samples] of workers) {
    for (const sample of samples) {
      const declared = declaredOf(sample.name)
      if (declared === undefined) continue
      const labels = declared.across === "worker" ? { ...sample.labels, worker } : sample.labels
      const key = `${sample.name}${labelsText(labels)}`
      const known = series.get(key)
      series.set(key, {
        name: sample.name,
        labels,
        value: known === undefined ? sample.value : together(declared.across, known.value, sample.value)
      })
    }
  }
  return [...series.values()]
}

/** What stays of a worker that has ended. */
export const countedBy = (samples: ReadonlyArray<Sample>): ReadonlyArray<Sample> =>
  samples.filter(({ name }) => declaredOf(name)?.kind !== "gauge")

const together = (across: string, one: Sample["value"], other: Sample["value"]): Sample["value"] => {
  if (typeof one === "number" && typeof other === "number") {
    if (across === "max") return Math.max(one, other)
    return across === "min" ? Math.min(one, other) : one + other
  }
  if (typeof one === "number" || typeof other === "number") return one
  return {
    count: one.count + other.count,
    sum: one.sum + other.sum,
    buckets: one.buckets.map(([bound, count], index) => [bound, count + (other.buckets[index]?.[1] ?? 0)] as const)
  }
}

/** The text format of Prometheus, version 0.0.4. */
export const textOf = (samples: ReadonlyArray<Sample>): string => {
  const byName = Map.groupBy(samples, ({ name }) => name)
  const lines: Array<string> = []
  for (const name of Object.keys(catalog) as ReadonlyArray<MetricName>) {
    const { help, kind } = catalog[name]
    const full = `${PREFIX}${name}`
    lines.push(`# HELP ${full} ${help}`, `# TYPE ${full} ${kind}`)
    for (const { labels, value } of byName.get(name) ?? []) {
      if (typeof value === "number") {
        lines.push(`${full}${labelsText(labels)} ${numberText(value)}`)
        continue
      }
      for (const [bound, count] of [...value.buckets, [Infinity, value.count] as const]) {
        lines.push(`${full}_bucket${labelsText({ ...labels, le: numberText(bound) })} ${count}`)
      }
      lines.push(`${full}_sum${labelsText(labels)} ${numberText(value.sum)}`)
      lines.push(`${full}_count${labelsText(labels)} ${value.count}`)
    }
  }
  return `${lines.join("\n")}\n`
}

export const PREFIX = "pix_payments_"

const labelsText = (labels: Readonly<Record<string, string>>): string => {
  const text = Object.entries(labels).map(([name, value]) => `${name}="${escaped(value)}"`)
  return text.length === 0 ? "" : `{${text.join(",")}}`
}

const escaped = (value: string) => value.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n")

const numberText = (value: number): string =>
  value === Infinity ? "+Inf" : value === -Infinity ? "-Inf" : String(value)
