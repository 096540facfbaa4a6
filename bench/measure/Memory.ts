/**
 * Measures resident memory at rest, under load and after it.
 */
import * as Effect from "effect/Effect"
import type { LoadCommand, LoadResult } from "../load/closedLoop.ts"
import { keyPrefixOf, mismatch } from "../load/Jobs.ts"
import type { Contender } from "./Contenders.ts"
import { violationsIn } from "./Database.ts"
import type { Measurement, RunSettings } from "./Measurement.ts"
import { ask, BenchError } from "./Processes.ts"
import { median, tableOf } from "./Report.ts"
import { loadGenerator } from "./Requests.ts"
import { residentMiB } from "./ResourceUsage.ts"
import { type CpuUsage, otherProgramsShare, type Testbed } from "./Testbed.ts"

export const memory = {
  name: "memory",
  title: "Resident memory in MiB: at rest and under load, 19 charges read for each charge created"
}

export const measureMemory = Effect.fnUntraced(function* (
  contenders: ReadonlyArray<Contender>,
  settings: RunSettings,
  testbed: Testbed
) {
  const generator = yield* loadGenerator
  const charges = 10_000
  const seeded = yield* testbed.seeded(charges)
  const usages: Array<CpuUsage> = []
  const errorSamples: Array<string> = []

  const measureOne = (contender: Contender, index: number) =>
    Effect.gen(function* () {
      const options = yield* testbed.provision(`memory-${index}`, settings.nodeArgs(contender.name), seeded)
      const running = yield* contender.start(options)
      const restMiB = yield* idleMiB(running.pid, settings)
      const endMeasurement = testbed.measureCpu(running.pid, [generator.pid])
      let answered = 0
      const send = (job: string, part: number, requests: number) =>
        Effect.gen(function* () {
          const command: LoadCommand = {
            job,
            target: { port: running.port, apiKey: job === "get-charge" ? seeded.apiKey : running.apiKey },
            prepared: [seeded.apiKey, String(charges), String(seeded.every)],
            keyPrefix: keyPrefixOf(String(part)),
            connections: 64,
            seconds: MAX_SECONDS,
            requests
          }
          const result = yield* ask<LoadResult>("the load generator", generator, command, MAX_SECONDS + 60)
          errorSamples.push(...result.errorSamples.map((sample) => `${contender.name}: ${sample}`))
          answered += result.answered
        })
      const loadedMiB: Array<number> = []
      for (let part = 1; part <= PARTS; part++) {
        const requests = Math.round(settings.requests / PARTS)
        yield* send("get-charge", part, Math.round(requests * 0.95))
        yield* send("create-charge", part, Math.round(requests * 0.05))
        yield* Effect.sleep(settings.quick ? "50 millis" : "500 millis")
        loadedMiB.push(yield* currentMiB(running.pid))
      }
      const settledMiB = yield* idleMiB(running.pid, settings)
      usages.push(endMeasurement())
      const violations = yield* violationsIn(options.databaseUrl, async (database) => {
        const { rows } = await database.query<{ lines: string }>("SELECT count(*) AS lines FROM requests")
        const sentence = mismatch("rows in the request log", Number(rows[0]?.lines), "answered", answered)
        return sentence === undefined ? [] : [`${contender.name}: ${sentence}`]
      })
      return { contender: contender.name, answered, restMiB, loadedMiB, settledMiB, violations }
    }).pipe(Effect.scoped)

  const rows = yield* Effect.forEach(contenders, measureOne)
  return {
    job: memory.name,
    title: memory.title,
    table: tableOf([
      [
        "contender",
        "requests",
        "at rest",
        ...Array.from({ length: PARTS }, (_, part) => `after ${(100 * (part + 1)) / PARTS} %`),
        "after load"
      ],
      ...rows.map(({ answered, contender, loadedMiB, restMiB, settledMiB }) => [
        contender,
        String(answered),
        restMiB.toFixed(0),
        ...loadedMiB.map((each) => each.toFixed(0)),
        settledMiB.toFixed(0)
      ])
    ]),
    rows,
    turns: usages,
    notes: [
      `From the first quarter to the last: ${rows
        .map(({ contender, loadedMiB }) => {
          const [first = 0, last = 0] = [loadedMiB[0], loadedMiB.at(-1)]
          return `${contender} ${last >= first ? "+" : ""}${(last - first).toFixed(0)} MiB`
        })
        .join(", ")}.`
    ],
    answered: Object.fromEntries(rows.map(({ answered, contender }) => [contender, answered])),
    errorSamples,
    violations: rows.flatMap(({ violations }) => violations),
    otherProgramsShare: otherProgramsShare(usages)
  } satisfies Measurement
})

const PARTS = 4

/** For a quarter of the requests of one kind. */
const MAX_SECONDS = 240

/** Memory after a moment without requests: the median of five samples. */
export const idleMiB = (pid: number, settings: RunSettings) =>
  Effect.gen(function* () {
    yield* Effect.sleep(settings.quick ? "100 millis" : "1 second")
    const samples: Array<number> = []
    while (samples.length < 5) {
      samples.push(yield* currentMiB(pid))
      yield* Effect.sleep(settings.quick ? "10 millis" : "100 millis")
    }
    return median(samples)
  })

const currentMiB = (pid: number) => {
  const resident = residentMiB(pid)
  return resident === undefined
    ? Effect.fail(new BenchError({ message: "this platform does not report the memory of a process" }))
    : Effect.succeed(resident)
}
