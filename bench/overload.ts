/**
 * `npm run overload`: what becomes of charges when more is asked than can be done.
 *
 * Rates are offered to one server process with its default settings, from half of what it can do to twice that and
 * back. It fails when, at twice the sustainable rate, goodput is below 80 % of the best, when the p99 of what was
 * accepted is above a second, when an answer is neither 201 nor 503 with `Retry-After`, when what is stored is not what
 * was answered, or when it has not recovered within seconds.
 *
 * Load generator, PostgreSQL and server share the machine: what the generator takes at twice the rate is missing to the
 * others, so that these figures are the lower bound.
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { chmod, mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { contenders, withDatabase } from "./measure/Contenders.ts"
import { quantile } from "./load/Histogram.ts"
import { loadJobs } from "./load/Jobs.ts"
import { makeLab } from "./measure/Testbed.ts"
import type { LoadOrder, LoadResult } from "./load/closedLoop.ts"
import type { Offer, Taken } from "./load/openLoop.ts"
import { ask, BenchError, node } from "./measure/Processes.ts"

const seconds = Number(process.argv[2] ?? 8)
const CONNECTIONS = 4000
const JOB = "create-charge"

const WORST_SHARE = 0.8
const WORST_P99_MS = 1000

const say = (line: string) => Effect.sync(() => void process.stdout.write(`${line}\n`))
const script = (name: string) => fileURLToPath(new URL(name, import.meta.url))

const run = Effect.gen(function* () {
  const folder = yield* temporaryFolder
  const lab = yield* makeLab(folder, true)
  const place = yield* lab.place("overload", [])
  const ours = contenders.find(({ name }) => name === "pix-payments")
  const job = loadJobs.find(({ name }) => name === JOB)
  if (ours === undefined || job === undefined) return yield* new BenchError({ message: "nobody to ask" })
  const running = yield* ours.start(place)
  const target = { port: running.port, apiKey: running.apiKey }
  const closed = yield* node("the load generator", [script("./load/closedLoop.ts")], {}, "ipc")
  const offering = yield* node("the load generator", [script("./load/openLoop.ts")], {}, "ipc")
  let stored = 0

  /** As many as 256 callers that wait for each answer get done in a second: the sustainable rate. */
  const sustainable = Effect.fnUntraced(function* (name: string, forSeconds: number) {
    const order: LoadOrder = {
      job: JOB,
      target,
      prepared: [],
      run: `overload-${name}`,
      connections: 256,
      seconds: forSeconds
    }
    const result = yield* ask<LoadResult>("the load generator", closed, order, forSeconds + 60)
    stored += result.answered
    return result.inTime / result.seconds
  })

  const offer = Effect.fnUntraced(function* (title: string, perSecond: number) {
    const order: Offer = {
      job: JOB,
      target,
      run: `overload-${title.replaceAll(" ", "-")}`,
      connections: CONNECTIONS,
      perSecond,
      seconds
    }
    const used = lab.count(running.pid, [offering.pid])
    const taken = yield* ask<Taken>("the load generator", offering, order, seconds + 90)
    const cost = used()
    stored += taken.accepted
    const row = {
      title,
      offered: perSecond,
      goodput: taken.accepted / seconds,
      p50: quantile(taken.acceptedLatencies, 0.5) / 1000,
      p99: quantile(taken.acceptedLatencies, 0.99) / 1000,
      turnedAway: taken.turnedAway / seconds,
      turnedAwayP99: quantile(taken.turnedAwayLatencies, 0.99) / 1000,
      notSent: taken.notSent / seconds,
      generator: cost.helperMicros / 1e6 / cost.seconds,
      taken
    }
    yield* say(
      `| ${title} | ${Math.round(perSecond)} | ${Math.round(row.goodput)} | ${row.p50.toFixed(1)} | ${row.p99.toFixed(1)} | ` +
        `${Math.round(row.turnedAway)} | ${row.turnedAwayP99.toFixed(1)} | ${Math.round(row.notSent)} | ` +
        `${taken.errors + taken.unanswered} | ${row.generator.toFixed(2)} |`
    )
    return row
  })

  yield* sustainable("warm", seconds)
  const rate = yield* sustainable("best", seconds)
  yield* say(`Sustainable, 256 connections that wait for each answer: ${Math.round(rate)} charges a second.\n`)
  yield* say(
    "| offered | req/s | goodput/s | p50 ms | p99 ms | 503/s | 503 p99 ms | no free connection/s | errors | generator's cores |"
  )
  yield* say("|-|-|-|-|-|-|-|-|-|-|")
  const half = yield* offer("half", rate / 2)
  const full = yield* offer("all", rate)
  const twice = yield* offer("twice", rate * 2)
  const after = yield* offer("half again", rate / 2)

  const counted = yield* withDatabase(place.databaseUrl, async (database) => {
    const { rows } = await database.query<{ count: string }>("SELECT count(*) AS count FROM charges")
    return Number(rows[0]?.count)
  })
  const best = Math.max(rate, ...[half, full, twice].map(({ goodput }) => goodput))
  const share = twice.goodput / best
  const recovered = after.taken.acceptedBySecond.findIndex((accepted) => accepted >= 0.95 * (rate / 2))
  yield* say(`\nGoodput at twice the rate: ${(100 * share).toFixed(0)} % of the best; p99 ${twice.p99.toFixed(0)} ms.`)
  yield* say(`Recovered in second ${recovered + 1} after it. Answered 201: ${stored}; stored: ${counted}.`)
  const all = [half, full, twice, after]
  const complaints = all.flatMap(({ taken }) => taken.complaints)
  const wrong = [
    share < WORST_SHARE && "goodput at twice the rate is too low",
    twice.p99 > WORST_P99_MS && "what is accepted takes too long",
    all.some(({ taken }) => taken.errors + taken.unanswered > 0) && `errors: ${complaints.slice(0, 3).join("; ")}`,
    counted !== stored && "what is stored is not what was answered",
    (recovered < 0 || recovered > 3) && "it did not recover within seconds"
  ].filter((sentence) => sentence !== false)
  for (const sentence of wrong) yield* say(`WRONG: ${sentence}`)
  if (wrong.length > 0) yield* Effect.sync(() => (process.exitCode = 1))
})

// PostgreSQL runs as another user when we are root, and has to walk to its files.
const temporaryFolder = Effect.acquireRelease(
  Effect.promise(async () => {
    const folder = await mkdtemp(join(tmpdir(), "pix-payments-overload-"))
    await chmod(folder, 0o755)
    return folder
  }),
  (folder) => Effect.promise(() => rm(folder, { recursive: true, force: true, maxRetries: 3 }))
)

const exit = await Effect.runPromiseExit(Effect.scoped(run))
if (Exit.isFailure(exit)) {
  process.stderr.write(`${Cause.pretty(exit.cause)}\n`)
  process.exitCode = 1
}
