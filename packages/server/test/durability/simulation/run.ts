/**
 * `pnpm run simulate --seeds 10000`: as many simulated histories as asked for, in a process for each core.
 *
 * `--from 1` begins at that seed, else at one that the clock gives; `SIMULATION_SEED=<seed>` does one alone and prints
 * what happened. It ends with 1 at the first seeds that break something, and prints their histories.
 */
import * as PgConnection from "@effect/sql-pg/PgConnection"
import * as EmbeddedPostgres from "@pix-payments/embedded-postgres/EmbeddedPostgres"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { type ChildProcess, fork } from "node:child_process"
import { mkdtemp, rm } from "node:fs/promises"
import { availableParallelism, tmpdir } from "node:os"
import { join } from "node:path"
import { parseArgs } from "node:util"
import { openDatabase } from "./Database.ts"
import { type Outcome, simulate, told } from "./Simulation.ts"

const say = (text: string) => void process.stdout.write(`${text}\n`)

/** What a worker tells of a seed. */
type OutboxEntry = Pick<Outcome, "seed"> & {
  readonly counts: ReadonlyArray<readonly [string, number]>
  readonly failure?: string
}

const work = (url: string, first: number, last: number, stride: number) =>
  Effect.gen(function* () {
    const database = yield* openDatabase(Redacted.make(url))
    yield* Effect.promise(async () => {
      for (let seed = first; seed <= last; seed += stride) {
        const outcome = await simulate(seed >>> 0, database)
        const { broken, counts } = outcome
        const one: OutboxEntry = {
          seed: outcome.seed,
          counts: [...counts],
          ...(broken.length > 0 || first === last ? { failure: told(outcome) } : undefined)
        }
        process.send?.(one)
        if (broken.length > 0) {
          process.exitCode = 1
          return
        }
      }
    })
  }).pipe(Effect.scoped)

const supervise = (seeds: number, from: number) =>
  Effect.gen(function* () {
    const dataDir = yield* Effect.acquireRelease(
      Effect.promise(() => mkdtemp(join(tmpdir(), "pix-payments-simulation-"))),
      (folder) => Effect.promise(() => rm(folder, { recursive: true, force: true, maxRetries: 3 }))
    )
    const { url } = yield* EmbeddedPostgres.start({ dataDir })
    const workers = Math.min(availableParallelism(), seeds)
    const server = yield* PgConnection.make({ url })
    for (let i = 0; i < workers; i++) yield* server.query(`CREATE DATABASE simulation_${i}`)
    const startedAt = performance.now()
    const counts = new Map<string, number>()
    let done = 0
    const hear = ({ counts: more, failure }: OutboxEntry) => {
      done++
      for (const [name, count] of more) counts.set(name, (counts.get(name) ?? 0) + count)
      if (failure !== undefined) say(failure)
      if (done % 500 === 0) say(`${done} seeds, ${Math.round((performance.now() - startedAt) / 1000)} s`)
    }
    const codes = yield* Effect.promise(() =>
      Promise.all(
        Array.from({ length: workers }, (_, index) => {
          const of = new URL(Redacted.value(url))
          of.pathname = `/simulation_${index}`
          const child = fork(import.meta.filename, [], {
            env: { ...process.env, SIMULATION_WORK: JSON.stringify([of.href, from + index, from + seeds - 1, workers]) }
          })
          child.on("message", hear)
          return ended(child)
        })
      )
    )
    say(`${done} seeds from ${from} on, in ${Math.round((performance.now() - startedAt) / 1000)} s:`)
    for (const [name, count] of [...counts].toSorted(([a], [b]) => a.localeCompare(b))) say(`  ${name}: ${count}`)
    if (codes.some((code) => code !== 0)) process.exitCode = 1
    say(process.exitCode === 1 ? "Something is broken: see above." : "Nothing is broken.")
  }).pipe(Effect.scoped)

const ended = (child: ChildProcess) =>
  new Promise<number>((resolve) => child.once("close", (code) => resolve(code ?? 1)))

const given = process.env["SIMULATION_WORK"]
if (given !== undefined) {
  const [url, first, last, stride] = JSON.parse(given) as [string, number, number, number]
  await Effect.runPromise(work(url, first, last, stride))
} else {
  const { values } = parseArgs({
    args: process.argv.slice(2).filter((arg) => arg !== "--"),
    options: { seeds: { type: "string", default: "1000" }, from: { type: "string" } }
  })
  const only = process.env["SIMULATION_SEED"]
  const seeds = only === undefined ? Number(values.seeds) : 1
  const from = Number(only ?? values.from ?? Math.floor(performance.timeOrigin) % 2 ** 31)
  if (!Number.isSafeInteger(seeds) || seeds < 1 || !Number.isSafeInteger(from) || from < 0) {
    say("--seeds and --from are whole numbers.")
    process.exitCode = 1
  } else await Effect.runPromise(supervise(seeds, from))
}
