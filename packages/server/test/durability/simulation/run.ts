/**
 * `pnpm run simulate --seeds 10000`: simulated histories, in a process for each core.
 *
 * - `--from 1`: the first seed; by default the clock gives it.
 * - `--acquirer double` or `simulator`: every second seed, whose histories have that acquirer.
 * - `--workers 1`: in so many processes.
 * - `--journal FILE`: a line a seed. A run with the file of an interrupted one continues it.
 * - `SIMULATION_SEED=<seed>`: one alone, with its history.
 *
 * Ends with 1 after the first seeds that break something and prints their histories. With a journal it continues.
 */
import * as PgConnection from "@effect/sql-pg/PgConnection"
import * as EmbeddedPostgres from "@pix-payments/embedded-postgres/EmbeddedPostgres"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { type ChildProcess, fork } from "node:child_process"
import { once } from "node:events"
import { chmod, mkdtemp, rm } from "node:fs/promises"
import { availableParallelism, tmpdir } from "node:os"
import { join } from "node:path"
import { parseArgs } from "node:util"
import { openDatabase } from "./Database.ts"
import { openJournal } from "./Journal.ts"
import { hasDouble, type Outcome, report, simulate } from "./Simulation.ts"

const say = (text: string) => void process.stdout.write(`${text}\n`)

interface Place {
  readonly url: string
  readonly socket: string
}

/** A worker: runs the seeds that it is sent, one after the other. */
const work = ({ socket, url }: Place) =>
  Effect.gen(function* () {
    const database = yield* openDatabase(Redacted.make(url), socket)
    yield* Effect.promise(async () => {
      process.once("disconnect", () => process.exit())
      process.send!("ready")
      for (;;) {
        const [seed] = (await once(process, "message")) as [number | "done"]
        if (seed === "done") return
        const outcome = await simulate(seed, database)
        process.send!({ ...outcome, counts: [...outcome.counts] })
      }
    })
    process.removeAllListeners("disconnect").disconnect?.()
  }).pipe(Effect.scoped)

interface Run {
  readonly seeds: ReadonlyArray<number>
  readonly workers: number
  readonly journal: string | undefined
}

/** What is killed without its finalizers stays in memory: some 5 MB a seed. */
const SEEDS_OF_A_WORKER = 100

const supervise = ({ journal: file, seeds, workers }: Run) =>
  Effect.gen(function* () {
    const dataDir = yield* Effect.acquireRelease(
      Effect.promise(() => mkdtemp(join(tmpdir(), "pix-payments-simulation-"))),
      (folder) => Effect.promise(() => rm(folder, { recursive: true, force: true, maxRetries: 3 }))
    )
    // PostgreSQL has its own user where this process runs as root.
    const socketFolder = yield* Effect.acquireRelease(
      Effect.promise(() => mkdtemp(join(tmpdir(), "pix-simulation-"))),
      (folder) => Effect.promise(() => rm(folder, { recursive: true, force: true, maxRetries: 3 }))
    )
    yield* Effect.promise(() => chmod(socketFolder, 0o777))
    const { port, url } = yield* EmbeddedPostgres.start({ dataDir, socketFolder })
    const server = yield* PgConnection.make({ url })
    const startedAt = performance.now()
    const journal = openJournal(file)
    const left = seeds.filter((seed) => !journal.has(seed))
    if (left.length < seeds.length)
      say(`${seeds.length - left.length} seeds were run before: ${journal.summary(false)}`)
    let done = 0
    let broken = 0
    const hear = (outcome: Outcome) => {
      done++
      journal.add(outcome)
      if (outcome.broken.length > 0) broken++
      if (outcome.broken.length > 0 || seeds.length === 1) say(report(outcome))
      if (done % 100 === 0) say(`${Math.round((performance.now() - startedAt) / 1000)} s: ${journal.summary(false)}`)
    }
    const children: Array<ChildProcess> = []
    let databases = 0
    let isInterrupted = false
    const startWorker = async (): Promise<number | null> => {
      const place = new URL(Redacted.value(url))
      place.pathname = `/simulation_${databases++}`
      await Effect.runPromise(server.query(`CREATE DATABASE ${place.pathname.slice(1)}`))
      let sent = 0
      const child = fork(import.meta.filename, [], {
        env: {
          ...process.env,
          SIMULATION_WORK: JSON.stringify({ url: place.href, socket: join(socketFolder, `.s.PGSQL.${port}`) })
        }
      })
      children.push(child)
      child.on("message", (message) => {
        if (message !== "ready") {
          const outcome = message as Omit<Outcome, "counts"> & { readonly counts: ReadonlyArray<[string, number]> }
          hear({ ...outcome, counts: new Map(outcome.counts) })
        }
        const isLast = (broken > 0 && file === undefined) || sent++ === SEEDS_OF_A_WORKER
        child.send(isLast ? "done" : (left.shift() ?? "done"))
      })
      const [code] = (await once(child, "close")) as [number | null]
      return code === 0 && left.length > 0 && sent > SEEDS_OF_A_WORKER && !isInterrupted ? startWorker() : code
    }
    // An interrupted run sums up what it has done.
    const interrupt = () => {
      isInterrupted = true
      for (const child of children) child.kill()
    }
    process.once("SIGINT", interrupt).once("SIGTERM", interrupt)
    const codes = yield* Effect.promise(() => Promise.all(Array.from({ length: workers }, startWorker)))
    say(`\n${done} seeds in ${Math.round((performance.now() - startedAt) / 1000)} s. ${journal.summary(true)}`)
    if (broken > 0 || codes.some((code) => code !== 0)) process.exitCode = 1
    if (broken > 0) say(`${broken} seeds broke something.`)
    else say(left.length > 0 ? "Interrupted. Nothing is broken so far." : "Nothing is broken.")
  }).pipe(Effect.scoped)

const place = process.env["SIMULATION_WORK"]
if (place !== undefined) {
  await Effect.runPromise(work(JSON.parse(place) as Place))
} else {
  const { values } = parseArgs({
    args: process.argv.slice(2).filter((arg) => arg !== "--"),
    options: {
      seeds: { type: "string", default: "1000" },
      from: { type: "string" },
      acquirer: { type: "string" },
      workers: { type: "string" },
      journal: { type: "string" }
    }
  })
  const only = process.env["SIMULATION_SEED"]
  const count = only === undefined ? Number(values.seeds) : 1
  const from = Number(only ?? values.from ?? Math.floor(performance.timeOrigin) % 2 ** 31)
  const workers = Math.min(count, Number(values.workers ?? availableParallelism()))
  const isAcquirer = values.acquirer === undefined || ["double", "simulator"].includes(values.acquirer)
  if (![count, workers].every((number) => Number.isSafeInteger(number) && number > 0) || !Number.isSafeInteger(from)) {
    say("--seeds, --from and --workers are whole numbers.")
    process.exitCode = 1
  } else if (!isAcquirer) {
    say("--acquirer is double or simulator.")
    process.exitCode = 1
  } else {
    const seeds: Array<number> = []
    for (let seed = from; seeds.length < count; seed++) {
      if (only !== undefined || values.acquirer === undefined || hasDouble(seed) === (values.acquirer === "double")) {
        seeds.push(seed)
      }
    }
    await Effect.runPromise(supervise({ seeds, workers, journal: values.journal }))
  }
}
