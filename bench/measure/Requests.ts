/**
 * Measures a request job: contenders take turns, each under the load generator.
 *
 * Guarantees:
 * - rounds are interleaved, and each contender goes first equally often;
 * - rows are checked against answers after the last turn;
 * - where the job asks for it, each contender has a processor to itself (`Pinning.ts`).
 */
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import * as Scope from "effect/Scope"
import { fileURLToPath } from "node:url"
import type { LoadCommand, LoadResult } from "../load/closedLoop.ts"
import { keyPrefixOf, type LoadJob } from "../load/Jobs.ts"
import type { Contender } from "./Contenders.ts"
import { violationsIn, withDatabase } from "./Database.ts"
import type { Measurement, RunSettings } from "./Measurement.ts"
import { contenderCores, otherCores, pin, pinWhileOpen } from "./Pinning.ts"
import { ask, BenchError, spawnNode } from "./Processes.ts"
import { rowsOf, scalingOf, spreadOf, type Turn, turnsTable } from "./Report.ts"
import { otherProgramsShare, type Testbed } from "./Testbed.ts"

export const loadGenerator = Effect.suspend(() =>
  spawnNode("the load generator", [fileURLToPath(new URL("../load/closedLoop.ts", import.meta.url))], {}, "ipc")
)

/** For a contender that answers a few hundred requests a second. */
const MAX_WARMUP_SECONDS = 120

export const measureRequests = Effect.fnUntraced(function* (
  job: LoadJob,
  contenders: ReadonlyArray<Contender>,
  settings: RunSettings,
  testbed: Testbed
) {
  const generator = yield* loadGenerator
  const levels = levelsOf(job, settings)
  const others = job.isPinned === true ? [generator.pid, testbed.postmaster] : []
  const pinned = yield* Effect.forEach(others, (pid) => pinWhileOpen(pid, otherCores))
  const started = yield* startAll(job, contenders, levels, settings, testbed)
  if (job.isPinned === true) {
    pinned.push(...(yield* Effect.forEach(started, ({ running }) => pin(running.pid, contenderCores))))
  }

  const turn = Effect.fnUntraced(function* (
    contender: (typeof started)[number],
    round: number,
    { connections, level }: Level,
    seconds: number,
    requests?: number
  ) {
    const { databaseUrl, prepared, running } = contender
    const endMeasurement = testbed.measureCpu(running.pid, [generator.pid, ...(running.auxiliaryPids ?? [])])
    const keyPrefix = keyPrefixOf(`${round}-${connections}`)
    const target = { port: running.port, apiKey: running.apiKey }
    const command: LoadCommand = {
      job: job.name,
      target,
      prepared,
      keyPrefix,
      connections,
      seconds,
      ...(requests && { requests })
    }
    const source = running.loadGenerator ?? generator
    const result = yield* ask<LoadResult>("the load generator", source, command, seconds + 60)
    const settleSeconds = yield* settle(job, databaseUrl, settings)
    const usage = endMeasurement()
    if (usage.hasExited) return yield* new BenchError({ message: `${contender.name} has exited` })
    contender.answered += result.answered
    const perAnswer = (micros: number | undefined) => micros && micros / Math.max(1, result.answered)
    return {
      contender: contender.name,
      level,
      round,
      answered: result.answered,
      perSecond: result.inTime / result.seconds,
      errors: result.errors,
      errorSamples: result.errorSamples,
      latencies: result.latencies,
      serverMicros: perAnswer(usage.serverMicros),
      postgresMicros: perAnswer(usage.postgresMicros),
      auxiliaryMicros: usage.auxiliaryMicros / Math.max(1, result.answered),
      otherMicros: usage.otherMicros,
      seconds: usage.seconds,
      settleSeconds
    } satisfies Turn & { readonly settleSeconds: number }
  })

  // By requests, not by seconds: V8 has optimized a process after some 35,000 of them, however fast it is.
  const warmupConnections = Math.min(64, Math.max(...levels.map(({ connections }) => connections)))
  const warmups = yield* Effect.forEach(started, (contender) =>
    turn(
      contender,
      0,
      { level: "", charges: contender.charges, connections: warmupConnections },
      MAX_WARMUP_SECONDS,
      settings.warmup * (contender.processes ?? 1)
    )
  )
  // Plans and autovacuum start from the tables as they are after the warm-up.
  yield* Effect.forEach(started, ({ databaseUrl }) =>
    withDatabase(databaseUrl, (database) => database.query("ANALYZE"))
  )

  const turns: Array<Effect.Success<ReturnType<typeof turn>>> = []
  for (let round = 1; round <= settings.rounds; round++) {
    for (const level of levels) {
      const present = started.filter(
        ({ charges, minConnections = 1 }) => charges === level.charges && level.connections >= minConnections
      )
      const order = present.map((_, index) => present[(index + round) % present.length]!)
      for (const contender of order) turns.push(yield* turn(contender, round, level, settings.seconds))
    }
  }

  const violations = yield* Effect.forEach(
    started,
    (contender) =>
      Effect.map(checkRows(job, contender), (sentences) =>
        sentences.map((sentence) => `${contender.name}: ${sentence}`)
      ),
    { concurrency: "unbounded" }
  )
  const names = contenders.map(({ name }) => name)
  const [baseline = ""] = names
  const rows = rowsOf(turns, names, baseline)
  return {
    job: job.name,
    title: job.title,
    table: turnsTable(rows, { level: job.charges === undefined ? "connections" : "charges", unit: "req", baseline }),
    rows,
    turns,
    notes: [
      ...scalingNotes(job, contenders, levels, turns),
      ...settleNotes(job, names, turns, settings),
      ...costNotes(job, names, levels, turns),
      ...warmupNotes(started, warmups, settings),
      ...(pinned.includes(false)
        ? ["Processes could not be bound to processors: there is no taskset, or one processor."]
        : [])
    ],
    answered: Object.fromEntries(
      names.map((name) => [
        name,
        started.filter((each) => each.name === name).reduce((sum, { answered }) => sum + answered, 0)
      ])
    ),
    errorSamples: [...warmups, ...turns].flatMap((each) =>
      each.errorSamples.map((sample) => `${each.contender}: ${sample}`)
    ),
    violations: violations.flat(),
    otherProgramsShare: otherProgramsShare(turns)
  } satisfies Measurement
})

/** Who was too slow to answer all requests of the warm-up in its time. */
const warmupNotes = (
  started: ReadonlyArray<Contender>,
  warmups: ReadonlyArray<{ readonly contender: string; readonly answered: number }>,
  { warmup }: RunSettings
): ReadonlyArray<string> =>
  warmups.flatMap(({ answered, contender }, index) =>
    answered < warmup * (started[index]?.processes ?? 1)
      ? [`${contender} answered ${answered} requests of its warm-up in ${MAX_WARMUP_SECONDS} s.`]
      : []
  )

// ---- levels ----

/** A line of the table: how many connections, and how many charges exist at the start. */
interface Level {
  readonly level: string
  readonly connections: number
  readonly charges: number
}

const levelsOf = (job: LoadJob, settings: RunSettings): ReadonlyArray<Level> => {
  const connections = settings.connections ?? (settings.quick ? job.quickConnections : job.connections)
  if (job.charges === undefined) {
    return connections.map((each) => ({ level: String(each), connections: each, charges: 0 }))
  }
  const sizes = job.charges[settings.quick ? "quick" : settings.grown ? "grown" : "full"]
  return connections.flatMap((each) =>
    sizes.map((charges) => ({
      level: connections.length === 1 ? String(charges) : `${charges}, ${each} connections`,
      connections: each,
      charges
    }))
  )
}

// ---- contenders ----

/** Every contender, once for each number of charges; they stop in parallel, before their databases are dropped. */
const startAll = Effect.fnUntraced(function* (
  job: LoadJob,
  contenders: ReadonlyArray<Contender>,
  levels: ReadonlyArray<Level>,
  settings: RunSettings,
  testbed: Testbed
) {
  const sizes = [...new Set(levels.map(({ charges }) => charges))]
  const seeds = new Map(
    yield* Effect.forEach(
      sizes.filter((charges) => charges > 0),
      (charges) => Effect.map(testbed.seeded(charges, settings.grown), (seeded) => [charges, seeded] as const)
    )
  )
  const provisioned = yield* Effect.forEach(
    sizes.flatMap((charges) => contenders.map((contender) => ({ contender, charges }))),
    ({ charges, contender }, index) => {
      const seeded = contender.stores === "nothing" ? undefined : seeds.get(charges)
      return Effect.map(
        testbed.provision(`${job.name}-${index}`, settings.nodeArgs(contender.name), seeded),
        (options) => ({ contender, charges, options })
      )
    }
  )
  const scope = yield* Effect.acquireRelease(Scope.make("parallel"), Scope.close)
  const started = yield* Effect.forEach(
    provisioned,
    ({ charges, contender, options }) =>
      Effect.gen(function* () {
        const running = yield* Scope.provide(contender.start(options), scope)
        const { databaseUrl } = options
        const prepared = yield* withDatabase(databaseUrl, (database) =>
          job.prepare(running, database, seeds.get(charges))
        )
        return { ...contender, databaseUrl, running, prepared, charges, answered: 0 }
      }),
    { concurrency: 4 }
  )
  yield* testbed.checkpoint
  return started
})

/** Waits for the background work of a turn, whose CPU counts for that turn; returns the seconds it took. */
const settle = (job: LoadJob, databaseUrl: string, settings: RunSettings) =>
  Effect.gen(function* () {
    const startedAt = performance.now()
    // The request log is written within this time.
    yield* Effect.sleep(settings.quick ? "20 millis" : "400 millis")
    const { isSettled } = job
    if (isSettled === undefined || settings.quick) return 0
    yield* withDatabase(databaseUrl, isSettled).pipe(
      Effect.repeat({ until: (settled) => settled, schedule: Schedule.spaced("100 millis") }),
      Effect.timeoutOrElse({
        duration: "5 minutes",
        orElse: () => Effect.fail(new BenchError({ message: `${job.name}: background work does not end` }))
      })
    )
    return (performance.now() - startedAt) / 1000
  })

const checkRows = (
  job: LoadJob,
  {
    answered,
    databaseUrl,
    prepared,
    stores
  }: Contender & {
    readonly databaseUrl: string
    readonly answered: number
    readonly prepared: ReadonlyArray<string>
  }
) =>
  stores === "nothing"
    ? Effect.succeed([])
    : violationsIn(databaseUrl, (database) =>
        job.check(database, answered, stores === "rows and request log", prepared)
      )

// ---- notes ----

const scalingNotes = (
  job: LoadJob,
  contenders: ReadonlyArray<Contender>,
  levels: ReadonlyArray<Level>,
  turns: ReadonlyArray<Turn>
): ReadonlyArray<string> => {
  const [small, large, ...more] = levels.map(({ level }) => level)
  if (job.charges === undefined || small === undefined || large === undefined || more.length > 0) return []
  const names = contenders.filter(({ stores }) => stores !== "nothing").map(({ name }) => name)
  return [scalingOf(turns, names, small, large)]
}

/** CPU time of the contender and PostgreSQL, compared with that of the first one in the same round. */
const costNotes = (
  job: LoadJob,
  names: ReadonlyArray<string>,
  levels: ReadonlyArray<Level>,
  turns: ReadonlyArray<Turn>
): ReadonlyArray<string> => {
  const [first, ...rest] = names
  if (job.isPinned !== true || first === undefined) return []
  const costOf = ({ postgresMicros = 0, serverMicros = 0 }: Turn) => serverMicros + postgresMicros
  return rest.flatMap((name) =>
    levels.map(({ level }) => {
      // Both in the order of their rounds.
      const [own, other] = [name, first].map((contender) =>
        turns.filter((turn) => turn.contender === contender && turn.level === level)
      ) as [Array<Turn>, Array<Turn>]
      const ratios = own.map((turn, round) => costOf(turn) / costOf(other[round]!))
      return `CPU time a request of ${name}, ${level} connections, divided by that of ${first}: ${spreadOf(ratios, 2)}.`
    })
  )
}

const settleNotes = (
  job: LoadJob,
  names: ReadonlyArray<string>,
  turns: ReadonlyArray<Turn & { readonly settleSeconds: number }>,
  settings: RunSettings
): ReadonlyArray<string> => {
  if (job.isSettled === undefined || settings.quick) return []
  const spreads = names.map((name) => {
    const own = turns.filter(({ contender }) => contender === name)
    return `${name} ${spreadOf(
      own.map(({ settleSeconds }) => settleSeconds),
      1
    )}`
  })
  return [`Seconds from the last answer to the end of background work, median (min..max): ${spreads.join(", ")}.`]
}
