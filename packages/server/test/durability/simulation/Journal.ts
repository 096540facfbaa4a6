/**
 * The results of a run of the simulation, a line a seed, and their sums.
 *
 * Guarantees:
 * - A file that an interrupted run has left is read again: a seed without violations is not run twice.
 * - A seed that broke something is run again, and its last result counts.
 */
import { appendFileSync, readFileSync } from "node:fs"
import type { Outcome } from "./Simulation.ts"

interface SeedResult {
  readonly seed: number
  readonly broken: ReadonlyArray<string>
  readonly counts: Readonly<Record<string, number>>
}

export interface Journal {
  readonly has: (seed: number) => boolean
  readonly add: (outcome: Outcome) => void
  /** A line of what matters, then a line a count. */
  readonly summary: (verbose: boolean) => string
}

/** `file` undefined: in memory alone. */
export const openJournal = (file: string | undefined): Journal => {
  const results = new Map<number, SeedResult>()
  for (const line of readLines(file)) {
    const result = JSON.parse(line) as SeedResult
    results.set(result.seed, result)
  }
  return {
    has: (seed) => results.get(seed)?.broken.length === 0,
    add: ({ broken, counts, seed }) => {
      const result: SeedResult = { seed, broken: broken.slice(0, 5), counts: Object.fromEntries(counts) }
      results.set(seed, result)
      if (file !== undefined) appendFileSync(file, `${JSON.stringify(result)}\n`)
    },
    summary: (verbose) => {
      const all = [...results.values()]
      const violations = new Map<Violation, number>(kinds.map((kind) => [kind, 0]))
      for (const { broken } of all) {
        for (const kind of new Set(broken.map(violationOf))) violations.set(kind, violations.get(kind)! + 1)
      }
      const counts = new Map<string, number>()
      for (const result of all) {
        for (const [name, count] of Object.entries(result.counts)) counts.set(name, (counts.get(name) ?? 0) + count)
      }
      const line = [
        `${all.length} seeds`,
        ...["steps", "kills"].map((name) => `${counts.get(name) ?? 0} ${name}`),
        ...[...violations].map(([kind, seeds]) => `${kind} ${seeds}`)
      ].join(", ")
      const names = [...counts].toSorted(([a], [b]) => a.localeCompare(b))
      return [line, ...(verbose ? names.map(([name, count]) => `  ${name}: ${count}`) : [])].join("\n")
    }
  }
}

/** The last line is incomplete where the process was killed in the middle of it. */
const readLines = (file: string | undefined): ReadonlyArray<string> => {
  if (file === undefined) return []
  try {
    return readFileSync(file, "utf8")
      .split("\n")
      .filter((line) => line.startsWith("{") && line.endsWith("}"))
  } catch (error) {
    if ((error as { readonly code?: string }).code === "ENOENT") return []
    throw error
  }
}

const kinds = ["lost", "double", "difference", "other violations"] as const
type Violation = (typeof kinds)[number]

/** The kinds of violations by their messages. */
const violationOf = (message: string): Violation => {
  if (/the provider has|in the model|sum to|sum of its/.test(message)) return "difference"
  if (/is gone|no event of|for ever|no charge|no Pix|nobody took it|0 exceptions/.test(message)) return "lost"
  if (/done again|too many|twice|two refunds|and before with|not as many|[1-9]\d* exceptions/.test(message)) {
    return "double"
  }
  return "other violations"
}
