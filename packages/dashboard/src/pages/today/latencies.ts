/** How long the acquirer takes, from the histogram in the metrics. */

export interface Latency {
  /** Its id, or `simulator`. */
  readonly connection: string
  /** Milliseconds: the upper bounds of the buckets that have the median and the 95th percentile. */
  readonly p50: number
  readonly p95: number
}

const bucket = /_acquirer_call_duration_seconds_bucket\{(.*)\} (\S+)$/

const labelsIn = (text: string): Readonly<Record<string, string>> =>
  Object.fromEntries([...text.matchAll(/(\w+)="([^"]*)"/g)].map(([, name, value]) => [name, value]))

/** Of each connection, all calls together but those of sweeps, which list. */
export const latenciesIn = (lines: ReadonlyArray<string>): ReadonlyArray<Latency> => {
  const counts = new Map<string, Map<number, number>>()
  for (const line of lines) {
    const [, labels = "", count = ""] = bucket.exec(line) ?? []
    const { connection, le, operation } = labelsIn(labels)
    if (connection === undefined || le === undefined || operation === "list") continue
    const bounds = counts.get(connection) ?? new Map<number, number>()
    const bound = le === "+Inf" ? Infinity : 1000 * Number(le)
    counts.set(connection, bounds.set(bound, (bounds.get(bound) ?? 0) + Number(count)))
  }
  return [...counts].flatMap(([connection, bounds]) => {
    const sorted = [...bounds].toSorted(([one], [other]) => one - other)
    const all = sorted.at(-1)?.[1] ?? 0
    // Counts are cumulative.
    const boundOf = (share: number) => sorted.find(([, count]) => count >= all * share)?.[0] ?? Infinity
    return all === 0 ? [] : [{ connection, p50: boundOf(0.5), p95: boundOf(0.95) }]
  })
}
