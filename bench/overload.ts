/**
 * `pnpm run overload`: creates charges at half, once and twice the sustainable rate of one server process, and at half
 * again.
 *
 * Guarantees, each of which fails the run when broken:
 * - at twice the rate, goodput is at least 80 % of the best, and the p99 of accepted requests is at most a second;
 * - every answer is 201, or 503 with `Retry-After`;
 * - the charges stored are the charges answered;
 * - goodput recovers within four seconds.
 *
 * Load generator, PostgreSQL and server share the machine. What the generator uses at twice the rate is missing for the
 * others, so these figures are a lower bound.
 */
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as Effect from "effect/Effect"
import { fileURLToPath } from "node:url"
import type { LoadCommand, LoadResult } from "./load/closedLoop.ts"
import { quantile } from "./load/Histogram.ts"
import type { OpenLoopCommand, OpenLoopResult } from "./load/openLoop.ts"
import { pixPayments } from "./measure/Contenders.ts"
import { withDatabase } from "./measure/Database.ts"
import { ask, spawnNode } from "./measure/Processes.ts"
import { loadGenerator } from "./measure/Requests.ts"
import { makeTestbed, temporaryFolder } from "./measure/Testbed.ts"

const seconds = Number(process.argv[2] ?? 8)
const CONNECTIONS = 4000
const JOB = "create-charge"

const MIN_GOODPUT_SHARE = 0.8
const MAX_P99_MS = 1000

const print = (line: string) => Effect.sync(() => void process.stdout.write(`${line}\n`))
const openLoop = fileURLToPath(new URL("load/openLoop.ts", import.meta.url))

const run = Effect.gen(function* () {
  const folder = yield* temporaryFolder("pix-payments-overload-")
  const testbed = yield* makeTestbed(folder, false)
  const options = yield* testbed.provision("overload", [])
  const running = yield* pixPayments.start(options)
  const target = { port: running.port, apiKey: running.apiKey }
  const closedLoopGenerator = yield* loadGenerator
  const openLoopGenerator = yield* spawnNode("the open-loop load generator", [openLoop], {}, "ipc")
  let answered = 0

  /** Charges per second over 256 connections that each wait for their answer. */
  const sustainableRate = Effect.fnUntraced(function* (name: string, forSeconds: number) {
    const command: LoadCommand = {
      job: JOB,
      target,
      prepared: [],
      keyPrefix: `overload-${name}`,
      connections: 256,
      seconds: forSeconds
    }
    const result = yield* ask<LoadResult>("the load generator", closedLoopGenerator, command, forSeconds + 60)
    answered += result.answered
    return result.inTime / result.seconds
  })

  const offer = Effect.fnUntraced(function* (title: string, perSecond: number) {
    const command: OpenLoopCommand = {
      job: JOB,
      target,
      keyPrefix: `overload-${title.replaceAll(" ", "-")}`,
      connections: CONNECTIONS,
      perSecond,
      seconds
    }
    const endMeasurement = testbed.measureCpu(running.pid, [openLoopGenerator.pid])
    const result = yield* ask<OpenLoopResult>("the open-loop load generator", openLoopGenerator, command, seconds + 90)
    const usage = endMeasurement()
    answered += result.accepted
    const row = {
      title,
      offered: perSecond,
      goodput: result.accepted / seconds,
      p50: quantile(result.acceptedLatencies, 0.5) / 1000,
      p99: quantile(result.acceptedLatencies, 0.99) / 1000,
      shed: result.shed / seconds,
      shedP99: quantile(result.shedLatencies, 0.99) / 1000,
      notSent: result.notSent / seconds,
      generator: usage.auxiliaryMicros / 1e6 / usage.seconds,
      result
    }
    yield* print(
      `| ${title} | ${Math.round(perSecond)} | ${Math.round(row.goodput)} | ${row.p50.toFixed(1)} | ${row.p99.toFixed(1)} | ` +
        `${Math.round(row.shed)} | ${row.shedP99.toFixed(1)} | ${Math.round(row.notSent)} | ` +
        `${result.errors + result.unanswered} | ${row.generator.toFixed(2)} |`
    )
    return row
  })

  yield* sustainableRate("warm", seconds)
  const rate = yield* sustainableRate("best", seconds)
  yield* print(`Sustainable rate (256 connections that each wait for their answer): ${Math.round(rate)} charges/s.\n`)
  yield* print(
    "| offered | req/s | goodput/s | p50 ms | p99 ms | 503/s | 503 p99 ms | no free connection/s | errors | generator's cores |"
  )
  yield* print("|-|-|-|-|-|-|-|-|-|-|")
  const half = yield* offer("half", rate / 2)
  const full = yield* offer("once", rate)
  const twice = yield* offer("twice", rate * 2)
  const after = yield* offer("half again", rate / 2)

  const stored = yield* withDatabase(options.databaseUrl, async (database) => {
    const { rows } = await database.query<{ count: string }>("SELECT count(*) AS count FROM charges")
    return Number(rows[0]?.count)
  })
  const best = Math.max(rate, ...[half, full, twice].map(({ goodput }) => goodput))
  const share = twice.goodput / best
  const recovered = after.result.acceptedBySecond.findIndex((accepted) => accepted >= 0.95 * (rate / 2))
  yield* print(
    `\nGoodput at twice the rate: ${(100 * share).toFixed(0)} % of the best; p99 ${twice.p99.toFixed(0)} ms.`
  )
  yield* print(`Recovered in second ${recovered + 1} after it. Answered 201: ${answered}; stored: ${stored}.`)
  const all = [half, full, twice, after]
  const errorSamples = all.flatMap(({ result }) => result.errorSamples)
  const violations = [
    share < MIN_GOODPUT_SHARE && "goodput at twice the rate is too low",
    twice.p99 > MAX_P99_MS && "p99 of accepted requests is too high",
    all.some(({ result }) => result.errors + result.unanswered > 0) && `errors: ${errorSamples.slice(0, 3).join("; ")}`,
    stored !== answered && "the charges stored are not the charges answered",
    (recovered < 0 || recovered > 3) && "goodput did not recover within four seconds"
  ].filter((sentence) => sentence !== false)
  for (const sentence of violations) yield* print(`FAILED: ${sentence}`)
  if (violations.length > 0) yield* Effect.sync(() => (process.exitCode = 1))
})

// Ends its processes where it is ended.
NodeRuntime.runMain(Effect.scoped(run))
