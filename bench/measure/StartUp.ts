/**
 * Measures how long a process takes to be ready, and its memory at rest.
 */
import * as Effect from "effect/Effect"
import type { Contender } from "./Contenders.ts"
import type { Measurement, RunSettings } from "./Measurement.ts"
import { idleMiB } from "./Memory.ts"
import { spreadOf, tableOf } from "./Report.ts"
import { otherProgramsShare, type Testbed } from "./Testbed.ts"

export const startUp = {
  name: "start-up",
  title: "Start-up: from process start to ready, on a migrated database"
}

export const measureStartUp = Effect.fnUntraced(function* (
  contenders: ReadonlyArray<Contender>,
  settings: RunSettings,
  testbed: Testbed
) {
  const provisioned = yield* Effect.forEach(contenders, (contender, index) =>
    Effect.map(testbed.provision(`start-up-${index}`, settings.nodeArgs(contender.name)), (options) => ({
      contender,
      options
    }))
  )
  const start = ({ contender, options }: (typeof provisioned)[number]) =>
    Effect.gen(function* () {
      const running = yield* contender.start(options)
      const restMiB = yield* idleMiB(running.pid, settings)
      return { contender: contender.name, startedInMs: running.startedInMs, restMiB }
    }).pipe(Effect.scoped)

  // The first start runs the migrations.
  yield* Effect.forEach(provisioned, start)
  const starts: Array<Effect.Success<ReturnType<typeof start>>> = []
  const endMeasurement = testbed.measureCpu(process.pid)
  for (let round = 1; round <= Math.max(settings.quick ? 1 : 5, settings.rounds); round++) {
    for (const each of provisioned) starts.push(yield* start(each))
  }
  const usage = endMeasurement()
  const rows = contenders.map(({ name }) => {
    const own = starts.filter(({ contender }) => contender === name)
    return {
      contender: name,
      readyMs: own.map(({ startedInMs }) => startedInMs),
      restMiB: own.map(({ restMiB }) => restMiB)
    }
  })
  return {
    job: startUp.name,
    title: startUp.title,
    table: tableOf([
      ["contender", "starts", "ready after ms (min..max)", "resident at rest MiB (min..max)"],
      ...rows.map((row) => [
        row.contender,
        String(row.readyMs.length),
        spreadOf(row.readyMs, 0),
        spreadOf(row.restMiB, 0)
      ])
    ]),
    rows,
    turns: starts,
    notes: [],
    answered: {},
    errorSamples: [],
    violations: [],
    otherProgramsShare: otherProgramsShare([usage])
  } satisfies Measurement
})
