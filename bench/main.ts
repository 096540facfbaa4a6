/**
 * `npm run bench`: our service and its peers, in turns, on one PostgreSQL server.
 *
 * Rounds are interleaved and every ratio is of turns of one round, since the machine's own speed wanders. What was
 * answered is checked against what was stored before any figure is printed; a difference fails the run.
 *
 * Source of the method: guides/performance.md.
 */
import * as Cause from "effect/Cause"
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Scope from "effect/Scope"
import { mkdirSync, writeFileSync } from "node:fs"
import { chmod, mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { parseArgs } from "node:util"
import { contenders, deliverers, fastify, pixPayments } from "./measure/Contenders.ts"
import { deliver, measureDeliver } from "./measure/Deliveries.ts"
import { loadJobs } from "./load/Jobs.ts"
import { type Lab, makeLab } from "./measure/Testbed.ts"
import { latency, measureLatency } from "./measure/WebhookLatency.ts"
import { measureMemory, measureStartUp, memory, startUp } from "./measure/ProcessCost.ts"
import { measureLoad } from "./measure/Requests.ts"
import type { Measured, Pace } from "./measure/Measurement.ts"
import { BenchError } from "./measure/Processes.ts"
import { topOf } from "./measure/Profile.ts"

interface Named {
  readonly name: string
}

/** What can be measured: by whom, and how. */
interface Job extends Named {
  readonly title: string
  readonly contenders: ReadonlyArray<Named & { readonly description: string }>
  /** `chosen` says who of them is wanted. */
  readonly measure: (chosen: Chosen, pace: Pace, lab: Lab) => Effect.Effect<Measured, BenchError, Scope.Scope>
}

type Chosen = <A extends Named>(all: ReadonlyArray<A>) => ReadonlyArray<A>

const takingPart = (job: string) => contenders.filter(({ jobs }) => jobs.includes(job))

const processes = [fastify, pixPayments]

const jobs: ReadonlyArray<Job> = [
  ...loadJobs.map((job): Job => ({
    name: job.name,
    title: job.title,
    contenders: takingPart(job.name),
    measure: (chosen, pace, lab) => measureLoad(job, chosen(takingPart(job.name)), pace, lab)
  })),
  { ...deliver, contenders: deliverers, measure: (chosen, pace, lab) => measureDeliver(chosen(deliverers), pace, lab) },
  {
    ...latency,
    contenders: [pixPayments],
    measure: (_chosen, pace, lab) => measureLatency(pixPayments.name, pace, lab)
  },
  { ...startUp, contenders: processes, measure: (chosen, pace, lab) => measureStartUp(chosen(processes), pace, lab) },
  { ...memory, contenders: processes, measure: (chosen, pace, lab) => measureMemory(chosen(processes), pace, lab) }
]

const everybody = [...new Map([...contenders, ...deliverers].map((each) => [each.name, each])).values()]

const namesOf = (all: ReadonlyArray<Named>): string => all.map(({ name }) => name).join(", ")

const usage = `npm run bench -- [options]
  --rounds <n>         rounds of each job, and of each number of connections (4)
  --seconds <s>        length of a turn of requests (1.8)
  --warmup <s>         before the first round, for each contender (2.5)
  --connections <list> for all jobs of requests (each job's own: 1,64,256 for charges, 64 for payouts)
  --deliveries <n>     of one turn of ${deliver.name} (10000)
  --waiting <list>     how many deliveries that are not due are beside those of ${deliver.name}, in turn (10000,1000000)
  --requests <n>       of ${memory.name}, to each contender (1000000)
  --jobs <list>        of ${namesOf(jobs)} (all)
  --contenders <list>  of ${namesOf(everybody)} (all)
  --quick              a smoke run: every job for a moment
  --out <file>         where the figures go as JSON (bench/.data/results.json; none with --quick)
  --write              also write bench/RESULTS.md
  --profile <folder>   profile each contender's CPU into this folder, and say where it went (makes it slower)

BENCH_BEFORE=<checkout> adds the contender "pix-payments before": the service of that checkout, with its packages
installed, to compare a change with the commit before it.
`

interface Options extends Pace {
  readonly jobs: ReadonlyArray<Job>
  readonly contenders: ReadonlyArray<string>
  readonly out: string | undefined
  readonly write: boolean
  readonly profile: string | undefined
}

const readOptions = (): Options => {
  const { values } = parseArgs({
    options: {
      rounds: { type: "string" },
      seconds: { type: "string" },
      warmup: { type: "string" },
      connections: { type: "string" },
      deliveries: { type: "string" },
      waiting: { type: "string" },
      requests: { type: "string" },
      jobs: { type: "string" },
      contenders: { type: "string" },
      quick: { type: "boolean", default: false },
      out: { type: "string" },
      write: { type: "boolean", default: false },
      profile: { type: "string" },
      help: { type: "boolean", default: false }
    }
  })
  if (values.help) throw new Error("")
  const { profile, quick } = values
  const positive = (name: string, text: string) => {
    const value = Number(text)
    if (!(value > 0)) throw new Error(`--${name}: ${text} is no number above 0`)
    return value
  }
  const chosen = <A extends { readonly name: string }>(names: string | undefined, all: ReadonlyArray<A>) => {
    const wanted = names?.split(",") ?? all.map(({ name }) => name)
    return wanted.map((name) => {
      const found = all.find((each) => each.name === name)
      if (found === undefined) throw new Error(`there is no ${name}`)
      return found
    })
  }
  return {
    quick,
    rounds: Math.ceil(positive("rounds", values.rounds ?? (quick ? "1" : "4"))),
    seconds: positive("seconds", values.seconds ?? (quick ? "0.2" : "1.8")),
    warmup: positive("warmup", values.warmup ?? (quick ? "0.1" : "2.5")),
    connections: values.connections?.split(",").map((text) => Math.ceil(positive("connections", text))),
    deliveries: Math.ceil(positive("deliveries", values.deliveries ?? (quick ? "400" : "10000"))),
    waiting: (values.waiting ?? (quick ? "100" : "10000,1000000"))
      .split(",")
      .map((text) => Math.ceil(positive("waiting", text)))
      .toSorted((a, b) => a - b),
    requests: Math.ceil(positive("requests", values.requests ?? (quick ? "2000" : "1000000"))),
    nodeArgs: (contender) =>
      profile === undefined ? [] : ["--cpu-prof", `--cpu-prof-dir=${join(profile, contender)}`],
    jobs: chosen(values.jobs, jobs),
    contenders: chosen(values.contenders, everybody).map(({ name }) => name),
    out: values.out ?? (quick ? undefined : fileURLToPath(new URL(".data/results.json", import.meta.url))),
    write: values.write,
    profile
  }
}

const say = (line: string) => Effect.sync(() => void process.stdout.write(`${line}\n`))

/** Measures a job, and says what came of it. */
const measure = Effect.fnUntraced(function* (job: Job, options: Options, lab: Lab) {
  const startedAt = performance.now()
  yield* say(`\n${job.title}`)
  const chosen: Chosen = (all) => all.filter(({ name }) => options.contenders.includes(name))
  const measured: Measured = yield* Effect.scoped(job.measure(chosen, options, lab))
  const { complaints, counted, elsewhere, notes, table, wrong } = measured
  yield* say(`\n${table}\n`)
  for (const note of notes) yield* say(note)
  const counts = Object.entries(counted).map(([name, count]) => `${name} ${count}`)
  if (wrong.length > 0) yield* say(`WRONG: ${wrong.join("; ")}`)
  else if (counts.length > 0) yield* say(`Stored is what was answered: ${counts.join(", ")}.`)
  if (elsewhere > 0.1) yield* say(`DISTURBED: other programs used ${percent(elsewhere)} of the processors.`)
  if (complaints.length > 0) yield* say(`Errors: ${complaints.slice(0, 10).join("\n  ")}`)
  const tookSeconds = Math.round((performance.now() - startedAt) / 1000)
  yield* say(`(${job.name}: ${tookSeconds} s)`)
  return { ...measured, tookSeconds, failed: wrong.length > 0 || complaints.length > 0 }
})

const percent = (share: number): string => `${(100 * share).toFixed(0)} %`

// PostgreSQL runs as another user when we are root, and has to walk to its files.
const temporaryFolder = Effect.acquireRelease(
  Effect.promise(async () => {
    const folder = await mkdtemp(join(tmpdir(), "pix-payments-bench-"))
    await chmod(folder, 0o755)
    return folder
  }),
  (folder) => Effect.promise(() => rm(folder, { recursive: true, force: true, maxRetries: 3 }))
)

type Figures = Effect.Success<ReturnType<typeof measure>>

const minutesOf = (figures: ReadonlyArray<Figures>): string =>
  `${(figures.reduce((sum, { tookSeconds }) => sum + tookSeconds, 0) / 60).toFixed(1)} min`

const write = (options: Options, machine: Lab["machine"], figures: ReadonlyArray<Figures>) =>
  Effect.gen(function* () {
    const at = DateTime.formatIso(yield* DateTime.now)
    const { deliveries, requests, rounds, seconds, waiting, warmup } = options
    if (options.out !== undefined) {
      const all = { at, machine, rounds, seconds, warmup, deliveries, waiting, requests, jobs: figures }
      // The rows have what is in the histograms.
      const text = JSON.stringify(all, (key, value) => (key === "latencies" || key === "table" ? undefined : value), 2)
      mkdirSync(dirname(options.out), { recursive: true })
      writeFileSync(options.out, `${text}\n`)
      yield* say(`Written: ${options.out}`)
    }
    if (!options.write) return
    const { cores, fdatasyncMicros, memoryGiB, processor, system, versions } = machine
    const present = options.jobs
      .flatMap((job) => job.contenders)
      .filter(({ name }) => options.contenders.includes(name))
    const described = new Set(present.map(({ description, name }) => `- ${name}: ${description}.`))
    const text = `# Measured: our service and its peers

${at}, with \`${["npm run bench --", ...process.argv.slice(2)].join(" ")}\`; how: the heading of \`bench/main.ts\`.

- ${processor}, ${cores} cores, ${memoryGiB} GiB, ${system}; fdatasync of 8 KiB: ${fdatasyncMicros} µs (median).
- Node ${versions.node}, PostgreSQL ${versions.postgres} (the embedded one, default settings but for max_connections, durable commits), effect
  ${versions.effect}, fastify ${versions.fastify}, pg ${versions.pg}. Load generator, PostgreSQL and contender share the machine.
- ${rounds} interleaved rounds; of requests each turn takes ${seconds} s, after ${warmup} s of warm-up. Rates and µs are
  medians of the rounds; a ratio is the median (min..max) of the ratios within one round; latencies are of all rounds.
  It took ${minutesOf(figures)}.
- µs is CPU time: of the contender's processes, and of PostgreSQL's.
${[...described].join("\n")}

${figures.map(sectionOf).join("\n\n")}
`
    const path = fileURLToPath(new URL("RESULTS.md", import.meta.url))
    writeFileSync(path, text)
    yield* say(`Written: ${path}`)
  })

const sectionOf = ({ elsewhere, notes, table, title }: Figures): string =>
  `## ${title}

${table}

${[...notes, `Other programs used ${percent(elsewhere)} of the processors meanwhile.`].map((note) => `- ${note}`).join("\n")}`

// ---- the run ----

const bench = Effect.fnUntraced(function* (options: Options) {
  const measureAll = Effect.fnUntraced(function* (folder: string) {
    const lab = yield* makeLab(folder, !options.quick)
    const figures = yield* Effect.forEach(options.jobs, (job) => measure(job, options, lab))
    return { figures, machine: lab.machine }
  })
  const { figures, machine } = yield* Effect.scoped(
    Effect.flatMap(temporaryFolder, (folder) => Effect.scoped(measureAll(folder)))
  )
  if (options.profile !== undefined) {
    for (const name of options.contenders) {
      const top = topOf(join(options.profile, name), 40)
      yield* say(`\nSelf time of ${name}, of the time that it was busy:\n${top.join("\n")}`)
    }
  }
  yield* say(`\nAll of it took ${minutesOf(figures)}.`)
  yield* write(options, machine, figures)
  return figures.every(({ failed }) => !failed)
})

const main = (options: Options) => {
  const fiber = Effect.runFork(bench(options))
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => fiber.interruptUnsafe())
  fiber.addObserver((exit) => {
    if (Exit.isSuccess(exit)) {
      process.exitCode = exit.value ? 0 : 1
      return
    }
    const interrupted = Cause.hasInterruptsOnly(exit.cause)
    process.stderr.write(interrupted ? "Interrupted; everything is stopped.\n" : `${reasonOf(exit.cause)}\n`)
    process.exitCode = interrupted ? 130 : 1
  })
}

const reasonOf = (cause: Cause.Cause<BenchError>): string => {
  const error = Cause.squash(cause)
  return error instanceof BenchError ? error.message : Cause.pretty(cause)
}

try {
  main(readOptions())
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n${usage}`)
  process.exitCode = 2
}
