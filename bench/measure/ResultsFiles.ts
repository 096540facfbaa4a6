/**
 * Writes the figures of a run: `RESULTS.md`, and JSON with every turn.
 */
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { dirname } from "node:path"
import { fileURLToPath } from "node:url"
import type { Machine } from "./Machine.ts"
import type { Measurement, RunSettings } from "./Measurement.ts"

export interface JobFigures extends Measurement {
  readonly tookSeconds: number
}

export interface Run {
  readonly settings: RunSettings
  readonly machine: Machine
  readonly contenders: ReadonlyArray<{ readonly name: string; readonly description: string }>
  readonly figures: ReadonlyArray<JobFigures>
}

export const writeJson = Effect.fnUntraced(function* (path: string, { figures, machine, settings }: Run) {
  const at = DateTime.formatIso(yield* DateTime.now)
  const { backlogs, deliveries, requests, rounds, seconds, warmup } = settings
  const run = { at, machine, rounds, seconds, warmup, deliveries, backlogs, requests, jobs: figures }
  // `rows` has the percentiles of the histograms.
  const text = JSON.stringify(run, (key, value) => (key === "latencies" || key === "table" ? undefined : value), 2)
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, `${text}\n`)
})

/**
 * Writes the run as the first one of `bench/RESULTS.md`, or adds its tables to it as a further one. What is written there by
 * hand, from the heading `# Profiles` on, stays. Returns the path.
 */
export const writeResults = Effect.fnUntraced(function* (run: Run, isFurther: boolean) {
  const path = fileURLToPath(new URL("../RESULTS.md", import.meta.url))
  const [runs = "", ...others] = (existsSync(path) ? readFileSync(path, "utf8") : "").split(/^(?=# Profiles$)/m)
  const at = DateTime.formatIso(yield* DateTime.now)
  const written = isFurther ? `${runs.trimEnd()}\n\n${furtherRun(run, at)}` : firstRun(run, at)
  writeFileSync(path, [written, ...others].join("\n"))
  return path
})

const command = () => ["pnpm run bench", ...process.argv.slice(2)].join(" ")

const furtherRun = ({ figures, machine }: Run, at: string) => `# A further run

${at}, with \`${command()}\`, from fresh processes and databases; fdatasync of 8 KiB: ${machine.fdatasyncMicros} µs (median). The run
took ${minutesOf(figures)}.

${figures.map(sectionOf).join("\n\n")}
`

const firstRun = ({ contenders, figures, machine, settings }: Run, at: string) => {
  const { rounds, seconds, warmup } = settings
  const { cores, fdatasyncMicros, memoryGiB, processor, system, versions } = machine
  const descriptions = new Set(contenders.map(({ description, name }) => `- ${name}: ${description}.`))
  return `# Results: our service and its peers

${at}, with \`${command()}\`. The method is in the header of \`bench/main.ts\`.

- ${processor}, ${cores} cores, ${memoryGiB} GiB, ${system}; fdatasync of 8 KiB: ${fdatasyncMicros} µs (median).
- Node ${versions.node}, PostgreSQL ${versions.postgres} (embedded, default settings except max_connections, durable commits), effect
  ${versions.effect}, fastify ${versions.fastify}, pg ${versions.pg}. Load generator, PostgreSQL and contender share the machine.
- ${rounds} interleaved rounds. A turn of requests takes ${seconds} s, after ${warmup} requests of warm-up. Rates and µs are medians of the
  rounds, a ratio is the median (min..max) of the ratios within one round, and latencies are of all rounds.
  The run took ${minutesOf(figures)}.
- µs is CPU time: of the contender's processes, and of PostgreSQL's.
${[...descriptions].join("\n")}

${figures.map(sectionOf).join("\n\n")}
`
}

export const minutesOf = (figures: ReadonlyArray<JobFigures>): string =>
  `${(figures.reduce((sum, { tookSeconds }) => sum + tookSeconds, 0) / 60).toFixed(1)} min`

export const percent = (share: number): string => `${(100 * share).toFixed(0)} %`

const sectionOf = ({ notes, otherProgramsShare, table, title }: JobFigures): string =>
  `## ${title}

${table}

${[...notes, `Other programs used ${percent(otherProgramsShare)} of the processors.`].map((note) => `- ${note}`).join("\n")}`
