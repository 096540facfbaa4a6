/**
 * `pnpm run bench`: our service and its peers on one PostgreSQL server.
 *
 * Guarantees:
 * - rounds are interleaved and a ratio is of turns in one round, because the speed of the machine varies over time;
 * - rows are checked against answers before a job's figures are printed, and a difference fails the run.
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { join } from "node:path"
import type { Job, Named } from "./measure/AllJobs.ts"
import { contenders } from "./measure/Contenders.ts"
import type { Measurement } from "./measure/Measurement.ts"
import { type Options, readOptions, usage } from "./measure/Options.ts"
import { BenchError } from "./measure/Processes.ts"
import { topFunctions } from "./measure/Profile.ts"
import { minutesOf, percent, writeJson, writeResults } from "./measure/ResultsFiles.ts"
import { makeTestbed, temporaryFolder, type Testbed } from "./measure/Testbed.ts"

const print = (line: string) => Effect.sync(() => void process.stdout.write(`${line}\n`))

/** The names of the contenders whose packages are installed. A smoke run does not install any. */
const installedContenders = Effect.fnUntraced(function* ({ contenders: names, jobs, quick }: Options) {
  const missing = new Set<string>()
  for (const { name, packages } of contenders) {
    const isWanted = names.includes(name) && jobs.some((job) => job.contenders.some((each) => each.name === name))
    if (packages === undefined || !isWanted || packages.isInstalled()) continue
    if (!quick) {
      yield* print(`Installing ${packages.names} for ${name}.`)
      if (yield* packages.install) continue
    }
    yield* print(`${name} is left out: ${packages.names} are not installed. Run: pnpm run peers:install`)
    missing.add(name)
  }
  return names.filter((name) => !missing.has(name))
})

/** Measures a job and prints its figures. */
const measure = Effect.fnUntraced(function* (job: Job, options: Options, testbed: Testbed) {
  const startedAt = performance.now()
  yield* print(`\n${job.title}`)
  const select = <A extends Named>(all: ReadonlyArray<A>) => all.filter(({ name }) => options.contenders.includes(name))
  const measured: Measurement = yield* Effect.scoped(job.measure(select, options, testbed))
  const { answered, errorSamples, notes, otherProgramsShare, table, violations } = measured
  yield* print(`\n${table}\n`)
  for (const note of notes) yield* print(note)
  const counts = Object.entries(answered).map(([name, count]) => `${name} ${count}`)
  if (violations.length > 0) yield* print(`FAILED CHECKS: ${violations.join("; ")}`)
  else if (counts.length > 0) yield* print(`Rows match answers: ${counts.join(", ")}.`)
  if (otherProgramsShare > 0.1) {
    yield* print(`NOISY MACHINE: other programs used ${percent(otherProgramsShare)} of the processors.`)
  }
  if (errorSamples.length > 0) yield* print(`Errors: ${errorSamples.slice(0, 10).join("\n  ")}`)
  const tookSeconds = Math.round((performance.now() - startedAt) / 1000)
  yield* print(`(${job.name}: ${tookSeconds} s)`)
  return { ...measured, tookSeconds, hasFailed: violations.length > 0 || errorSamples.length > 0 }
})

/** Whether all checks passed. */
const bench = Effect.fnUntraced(function* (given: Options) {
  const options = { ...given, contenders: yield* installedContenders(given) }
  const measureAll = Effect.fnUntraced(function* (folder: string) {
    const testbed = yield* makeTestbed(folder, options.quick)
    const figures = yield* Effect.forEach(options.jobs, (job) => measure(job, options, testbed))
    return { figures, machine: testbed.machine }
  })
  // PostgreSQL stops before its folder is removed.
  const { figures, machine } = yield* Effect.scoped(
    Effect.flatMap(temporaryFolder("pix-payments-bench-"), (folder) => Effect.scoped(measureAll(folder)))
  )
  if (options.profile !== undefined) {
    for (const name of options.contenders) {
      const top = topFunctions(join(options.profile, name), 40)
      yield* print(`\nSelf time of ${name}, as a share of its busy time:\n${top.join("\n")}`)
    }
  }
  yield* print(`\nThe run took ${minutesOf(figures)}.`)
  const present = options.jobs.flatMap((job) => job.contenders).filter(({ name }) => options.contenders.includes(name))
  const run = { settings: options, machine, contenders: present, figures }
  if (options.out !== undefined) {
    yield* writeJson(options.out, run)
    yield* print(`Written: ${options.out}`)
  }
  if (options.write || options.append) yield* print(`Written: ${yield* writeResults(run, options.append)}`)
  return figures.every(({ hasFailed }) => !hasFailed)
})

const main = (options: Options) => {
  const fiber = Effect.runFork(bench(options))
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => fiber.interruptUnsafe())
  fiber.addObserver((exit) => {
    if (Exit.isSuccess(exit)) {
      process.exitCode = exit.value ? 0 : 1
      return
    }
    const isInterrupted = Cause.hasInterruptsOnly(exit.cause)
    process.stderr.write(isInterrupted ? "Interrupted; all processes have ended.\n" : `${messageOf(exit.cause)}\n`)
    process.exitCode = isInterrupted ? 130 : 1
  })
}

const messageOf = (cause: Cause.Cause<BenchError>): string => {
  const error = Cause.squash(cause)
  return error instanceof BenchError ? error.message : Cause.pretty(cause)
}

try {
  main(readOptions())
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n${usage}`)
  process.exitCode = 2
}
