/**
 * Measures what a process takes: the time until it is ready, and memory at rest and after many requests.
 */
import * as Effect from "effect/Effect"
import { fileURLToPath } from "node:url"
import { type Contender, wrongIn } from "./Contenders.ts"
import { residentMiB } from "./ResourceUsage.ts"
import { differs } from "../load/Jobs.ts"
import { disturbance, type Lab, type Used } from "./Testbed.ts"
import type { LoadOrder, LoadResult } from "../load/closedLoop.ts"
import type { Measured, Pace } from "./Measurement.ts"
import { ask, BenchError, node } from "./Processes.ts"
import { median, spreadOf, tableOf } from "./Report.ts"

export const startUp = {
  name: "start-up",
  title: "Start-up: from the start of the process until it says that it is ready, on a database that has the schema"
}

export const measureStartUp = Effect.fnUntraced(function* (contenders: ReadonlyArray<Contender>, pace: Pace, lab: Lab) {
  const places = yield* Effect.forEach(contenders, (contender, index) =>
    Effect.map(lab.place(`start-up-${index}`, pace.nodeArgs(contender.name)), (place) => ({ contender, place }))
  )
  const start = ({ contender, place }: (typeof places)[number]) =>
    Effect.gen(function* () {
      const running = yield* contender.start(place)
      const atRest = yield* restOf(running.pid, pace)
      return { contender: contender.name, startedInMs: running.startedInMs, restMiB: atRest }
    }).pipe(Effect.scoped)

  // The first start makes the schema.
  yield* Effect.forEach(places, start)
  const starts: Array<Effect.Success<ReturnType<typeof start>>> = []
  const used = lab.count(process.pid)
  for (let round = 1; round <= Math.max(pace.quick ? 1 : 5, pace.rounds); round++) {
    for (const place of places) starts.push(yield* start(place))
  }
  const cost = used()
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
    counted: {},
    complaints: [],
    wrong: [],
    elsewhere: disturbance([cost])
  } satisfies Measured
})

export const memory = {
  name: "memory",
  title:
    "Resident memory, MiB: at rest, and while requests are answered: nineteen charges read for each that is created"
}

export const measureMemory = Effect.fnUntraced(function* (contenders: ReadonlyArray<Contender>, pace: Pace, lab: Lab) {
  const loader = yield* node(
    "the load generator",
    [fileURLToPath(new URL("../load/closedLoop.ts", import.meta.url))],
    {},
    "ipc"
  )
  const charges = 10_000
  const seeded = yield* lab.seeded(charges)
  const turns: Array<Used> = []
  const complaints: Array<string> = []

  const measureOne = (contender: Contender, index: number) =>
    Effect.gen(function* () {
      const place = yield* lab.place(`memory-${index}`, pace.nodeArgs(contender.name), seeded)
      const running = yield* contender.start(place)
      const restMiB = yield* restOf(running.pid, pace)
      const used = lab.count(running.pid, [loader.pid])
      let answered = 0
      const askFor = (job: string, part: number, requests: number) =>
        Effect.gen(function* () {
          const order: LoadOrder = {
            job,
            target: { port: running.port, apiKey: job === "get-charge" ? seeded.apiKey : running.apiKey },
            prepared: [seeded.apiKey, String(charges)],
            run: `${process.pid}-${part}`,
            connections: 64,
            seconds: MOST_SECONDS,
            requests
          }
          const result = yield* ask<LoadResult>("the load generator", loader, order, MOST_SECONDS + 60)
          complaints.push(...result.complaints.map((complaint) => `${contender.name}: ${complaint}`))
          answered += result.answered
        })
      const afterMiB: Array<number> = []
      for (let part = 1; part <= PARTS; part++) {
        const requests = Math.round(pace.requests / PARTS)
        yield* askFor("get-charge", part, Math.round(requests * 0.95))
        yield* askFor("create-charge", part, Math.round(requests * 0.05))
        yield* Effect.sleep(pace.quick ? "50 millis" : "500 millis")
        afterMiB.push(yield* residentOf(running.pid))
      }
      const settledMiB = yield* restOf(running.pid, pace)
      turns.push(used())
      const wrong = yield* wrongIn(place.databaseUrl, async (database) => {
        const { rows } = await database.query<{ lines: string }>("SELECT count(*) AS lines FROM requests")
        const sentence = differs("lines in the request log", Number(rows[0]?.lines), "answered", answered)
        return sentence === undefined ? [] : [`${contender.name}: ${sentence}`]
      })
      return { contender: contender.name, answered, restMiB, afterMiB, settledMiB, wrong }
    }).pipe(Effect.scoped)

  const measured = yield* Effect.forEach(contenders, measureOne)
  return {
    job: memory.name,
    title: memory.title,
    table: tableOf([
      [
        "contender",
        "requests",
        "at rest",
        ...Array.from({ length: PARTS }, (_, part) => `after ${(100 * (part + 1)) / PARTS} %`),
        "a moment later"
      ],
      ...measured.map(({ afterMiB, answered, contender, restMiB, settledMiB }) => [
        contender,
        String(answered),
        restMiB.toFixed(0),
        ...afterMiB.map((each) => each.toFixed(0)),
        settledMiB.toFixed(0)
      ])
    ]),
    rows: measured,
    turns,
    notes: [
      `From the first quarter to the last: ${measured
        .map(({ afterMiB, contender }) => {
          const [first = 0, last = 0] = [afterMiB[0], afterMiB.at(-1)]
          return `${contender} ${last >= first ? "+" : ""}${(last - first).toFixed(0)} MiB`
        })
        .join(", ")}.`
    ],
    counted: Object.fromEntries(measured.map(({ answered, contender }) => [contender, answered])),
    complaints,
    wrong: measured.flatMap(({ wrong }) => wrong),
    elsewhere: disturbance(turns)
  } satisfies Measured
})

const PARTS = 4

/** Of a quarter of the requests of one kind. */
const MOST_SECONDS = 240

/** Memory when nothing has been asked for a while: the median of some looks. */
const restOf = (pid: number, pace: Pace) =>
  Effect.gen(function* () {
    yield* Effect.sleep(pace.quick ? "100 millis" : "1 second")
    const looks: Array<number> = []
    for (let look = 0; look < 5; look++) {
      looks.push(yield* residentOf(pid))
      yield* Effect.sleep(pace.quick ? "10 millis" : "100 millis")
    }
    return median(looks)
  })

const residentOf = (pid: number) => {
  const resident = residentMiB(pid)
  return resident === undefined
    ? Effect.fail(new BenchError({ message: "this platform does not tell how much memory a process has" }))
    : Effect.succeed(resident)
}
