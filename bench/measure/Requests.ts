/**
 * Measures a job of requests: contenders in turns, each asked by the load generator.
 */
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import * as Scope from "effect/Scope"
import { fileURLToPath } from "node:url"
import { type Contender, withDatabase, wrongIn } from "./Contenders.ts"
import type { LoadJob } from "../load/Jobs.ts"
import type { Lab } from "./Testbed.ts"
import type { LoadOrder, LoadResult } from "../load/closedLoop.ts"
import { disturbance } from "./Testbed.ts"
import type { Measured, Pace } from "./Measurement.ts"
import { ask, BenchError, node } from "./Processes.ts"
import { rowsOf, scalingOf, spreadOf, type Turn, turnsTable } from "./Report.ts"

/** One job, from empty databases to checked figures. */
export const measureLoad = Effect.fnUntraced(function* (
  job: LoadJob,
  contenders: ReadonlyArray<Contender>,
  pace: Pace,
  lab: Lab
) {
  const loader = yield* node(
    "the load generator",
    [fileURLToPath(new URL("../load/closedLoop.ts", import.meta.url))],
    {},
    "ipc"
  )
  const points = pointsOf(job, pace)

  const sizes = [...new Set(points.map(({ charges }) => charges))]
  const seeds = new Map(
    yield* Effect.forEach(
      sizes.filter((charges) => charges > 0),
      (charges) => Effect.map(lab.seeded(charges), (seeded) => [charges, seeded] as const)
    )
  )
  const places = yield* Effect.forEach(
    sizes.flatMap((charges) => contenders.map((contender) => ({ contender, charges }))),
    ({ charges, contender }, index) => {
      const seeded = contender.keeps === "nothing" ? undefined : seeds.get(charges)
      return Effect.map(lab.place(`${job.name}-${index}`, pace.nodeArgs(contender.name), seeded), (place) => ({
        contender,
        charges,
        place
      }))
    }
  )
  // They end together, and before their databases.
  const together = yield* Effect.acquireRelease(Scope.make("parallel"), Scope.close)
  const started = yield* Effect.forEach(
    places,
    ({ charges, contender, place }) =>
      Effect.gen(function* () {
        const running = yield* Scope.provide(contender.start(place), together)
        const { databaseUrl } = place
        const prepared = yield* withDatabase(databaseUrl, (database) =>
          job.prepare(running, database, seeds.get(charges))
        )
        return { ...contender, databaseUrl, running, prepared, charges, answered: 0 }
      }),
    { concurrency: 4 }
  )
  yield* lab.checkpoint

  /** Waits for what the answers leave to be done: a part of their cost, and nothing for the next turn to bear. */
  const settle = (databaseUrl: string) =>
    Effect.gen(function* () {
      const startedAt = performance.now()
      // The request log is written soon after.
      yield* Effect.sleep(pace.quick ? "20 millis" : "400 millis")
      const { settled } = job
      if (settled === undefined || pace.quick) return 0
      yield* withDatabase(databaseUrl, settled).pipe(
        Effect.repeat({ until: (isSettled) => isSettled, schedule: Schedule.spaced("100 millis") }),
        Effect.timeoutOrElse({
          duration: "5 minutes",
          orElse: () =>
            Effect.fail(new BenchError({ message: `${job.name}: what requests leave behind is never done` }))
        })
      )
      return (performance.now() - startedAt) / 1000
    })

  const turn = Effect.fnUntraced(function* (
    contender: (typeof started)[number],
    round: number,
    { at, connections }: Point,
    seconds: number
  ) {
    const { databaseUrl, prepared, running } = contender
    const used = lab.count(running.pid, [loader.pid, ...(running.helpers ?? [])])
    const run = `${process.pid}-${round}-${connections}`
    const target = { port: running.port, apiKey: running.apiKey }
    const order: LoadOrder = { job: job.name, target, prepared, run, connections, seconds }
    const result = yield* ask<LoadResult>("the load generator", running.program ?? loader, order, seconds + 60)
    const settleSeconds = yield* settle(databaseUrl)
    const cost = used()
    if (cost.hasEnded) return yield* new BenchError({ message: `${contender.name} has ended` })
    contender.answered += result.answered
    const each = (micros: number | undefined) => micros && micros / Math.max(1, result.answered)
    return {
      contender: contender.name,
      at,
      round,
      answered: result.answered,
      perSecond: result.inTime / result.seconds,
      errors: result.errors,
      complaints: result.complaints,
      latencies: result.latencies,
      serverMicros: each(cost.serverMicros),
      postgresMicros: each(cost.postgresMicros),
      helperMicros: cost.helperMicros / Math.max(1, result.answered),
      elsewhereMicros: cost.elsewhereMicros,
      seconds: cost.seconds,
      settleSeconds
    } satisfies Turn & { readonly settleSeconds: number }
  })

  const warmups = yield* Effect.forEach(started, (contender) =>
    turn(
      contender,
      0,
      { at: "", charges: contender.charges, connections: Math.min(64, Math.max(...points.map((p) => p.connections))) },
      pace.warmup
    )
  )
  // From here on tables only grow; plans and autovacuum start from what is there.
  yield* Effect.forEach(started, ({ databaseUrl }) =>
    withDatabase(databaseUrl, (database) => database.query("ANALYZE"))
  )

  const turns: Array<Effect.Success<ReturnType<typeof turn>>> = []
  for (let round = 1; round <= pace.rounds; round++) {
    for (const point of points) {
      const present = started.filter(({ charges, from = 1 }) => charges === point.charges && point.connections >= from)
      // Each one goes first as often as the others.
      const order = present.map((_, index) => present[(index + round) % present.length]!)
      for (const contender of order) turns.push(yield* turn(contender, round, point, pace.seconds))
    }
  }

  const wrong = yield* Effect.forEach(
    started,
    (contender) =>
      Effect.map(settledCheck(job, contender), (sentences) =>
        sentences.map((sentence) => `${contender.name}: ${sentence}`)
      ),
    { concurrency: "unbounded" }
  )
  const names = contenders.map(({ name }) => name)
  const [baseline = ""] = names
  const rows = rowsOf(turns, names, baseline)
  const [small, large, more] = points.map(({ at }) => at)
  const scaling =
    job.charges === undefined || small === undefined || large === undefined || more !== undefined
      ? []
      : [
          scalingOf(
            turns,
            contenders.filter(({ keeps }) => keeps !== "nothing").map(({ name }) => name),
            small,
            large
          )
        ]
  const settling =
    job.settled === undefined || pace.quick
      ? []
      : [
          `Seconds from the last answer until all work behind was done, median (min..max): ${names
            .map((name) => {
              const own = turns.filter(({ contender }) => contender === name)
              return `${name} ${spreadOf(
                own.map(({ settleSeconds }) => settleSeconds),
                1
              )}`
            })
            .join(", ")}.`
        ]
  return {
    job: job.name,
    title: job.title,
    table: turnsTable(rows, { at: job.charges === undefined ? "connections" : "charges", unit: "req", baseline }),
    rows,
    turns,
    notes: [...scaling, ...settling],
    counted: Object.fromEntries(
      names.map((name) => [
        name,
        started.filter((each) => each.name === name).reduce((sum, { answered }) => sum + answered, 0)
      ])
    ),
    complaints: [...warmups, ...turns].flatMap((each) =>
      each.complaints.map((complaint) => `${each.contender}: ${complaint}`)
    ),
    wrong: wrong.flat(),
    elsewhere: disturbance(turns)
  } satisfies Measured
})

/** A line of the table: how many ask, and what is there beforehand. */
interface Point {
  readonly at: string
  readonly connections: number
  readonly charges: number
}

const pointsOf = (job: LoadJob, pace: Pace): ReadonlyArray<Point> => {
  const connections = pace.connections ?? (pace.quick ? job.quickConnections : job.connections)
  if (job.charges === undefined) return connections.map((each) => ({ at: String(each), connections: each, charges: 0 }))
  const sizes = pace.quick ? job.charges.quick : job.charges.full
  return connections.flatMap((each) =>
    sizes.map((charges) => ({
      at: connections.length === 1 ? String(charges) : `${charges}, ${each} connections`,
      connections: each,
      charges
    }))
  )
}

const settledCheck = (
  job: LoadJob,
  {
    answered,
    databaseUrl,
    keeps,
    prepared
  }: Contender & {
    readonly databaseUrl: string
    readonly answered: number
    readonly prepared: ReadonlyArray<string>
  }
) =>
  keeps === "nothing"
    ? Effect.succeed([])
    : wrongIn(databaseUrl, (database) => job.check(database, answered, keeps === "rows and log", prepared))
