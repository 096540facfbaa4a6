/**
 * Measures how long a payment takes from the acquirer's report to the first attempt at its webhook: with nothing else to
 * do, while charges are created as fast as they can be, and beside destinations that hang or fail.
 */
import * as Effect from "effect/Effect"
import { fileURLToPath } from "node:url"
import { startOurs, withDatabase, wrongIn } from "./Contenders.ts"
import { insertDue } from "./Deliveries.ts"
import { differs, type Target } from "../load/Jobs.ts"
import { disturbance, type Lab, type Used } from "./Testbed.ts"
import type { LoadOrder, LoadResult } from "../load/closedLoop.ts"
import type { Measured, Pace } from "./Measurement.ts"
import type { Paid, PayOrder } from "../load/payer.ts"
import { ask, BenchError, freePort, node } from "./Processes.ts"
import { tableOf } from "./Report.ts"

export const latency = {
  name: "paid-to-attempt",
  title: "From the report of a payment to the first attempt at its webhook, one payment after the other"
}

const LOAD = { job: "create-charge", connections: 64 }

export const measureLatency = Effect.fnUntraced(function* (name: string, pace: Pace, lab: Lab) {
  const hooksPort = yield* freePort
  const hooks = `http://127.0.0.1:${hooksPort}/hooks/pix`
  const payer = yield* node("the payer", [program("../load/payer.ts")], { PORT: String(hooksPort) }, "ipc")
  const loader = yield* node("the load generator", [program("../load/closedLoop.ts")], {}, "ipc")
  const place = yield* lab.place("paid-to-attempt", pace.nodeArgs(name))
  const server = yield* startOurs(place, { WEBHOOK_ALLOWED_NETWORKS: "127.0.0.0/8" })
  const turns: Array<Used> = []
  const complaints: Array<string> = []
  let created = 0

  const pay = (run: string, seconds: number) => {
    const { apiKey, operatorPort, port, token } = server
    const order: PayOrder = { port, apiKey, operatorPort, token, run: `${process.pid}-${run}`, seconds }
    return ask<Paid>("the payer", payer, order, seconds + 60)
  }
  const load = (run: string, seconds: number) => {
    const order: LoadOrder = { ...LOAD, target: server, prepared: [], run: `${process.pid}-${run}`, seconds }
    return Effect.map(ask<LoadResult>("the load generator", loader, order, seconds + 60), (result) => {
      complaints.push(...result.complaints)
      created += result.answered
    })
  }
  const counted = <A, E, R>(turn: Effect.Effect<A, E, R>) =>
    Effect.gen(function* () {
      const used = lab.count(server.pid, [payer.pid, loader.pid])
      const done = yield* turn
      turns.push(used())
      return done
    })

  const seconds = pace.quick ? 0.4 : 15
  const warm = pace.quick ? 0.2 : 4
  yield* load("warm-load", warm)
  const warmed = yield* pay("warm-pay", warm)
  const idle = yield* counted(pay("idle", seconds))
  // The load begins before the first payment and ends after the last.
  const [busy] = yield* counted(
    Effect.all([Effect.delay(pay("busy", seconds), "200 millis"), load("load", seconds + (pace.quick ? 0.4 : 1))], {
      concurrency: 2
    })
  )

  yield* trouble(server, place.databaseUrl, seconds)
  const troubled = yield* counted(pay("troubled", seconds))

  const all = [warmed, idle, busy, troubled]
  const paid = all.reduce((sum, { latenciesMs }) => sum + latenciesMs.length, 0)
  const wrong = yield* wrongIn(place.databaseUrl, async (database) => {
    const { rows } = await database.query<Record<string, string>>(
      `SELECT (SELECT count(*) FROM charges) AS charges,
        (SELECT count(*) FROM charges WHERE status = 'paid') AS paid,
        (SELECT count(*) FROM deliveries WHERE event = 'charge.pix.paid' AND url = $1) AS deliveries`,
      [hooks]
    )
    const found = (column: string) => Number(rows[0]?.[column])
    return [
      differs("charges", found("charges"), "created", created + paid),
      differs("charges paid", found("paid"), "reported", paid),
      differs("deliveries of charge.pix.paid", found("deliveries"), "reported", paid),
      differs(
        "POSTs",
        all.reduce((sum, { posts }) => sum + posts, 0),
        "three for each payment",
        3 * paid
      )
    ].filter((sentence) => sentence !== undefined)
  })
  const rows = [
    { load: "none", ...summaryOf(idle.latenciesMs) },
    { load: `${LOAD.job} over ${LOAD.connections} connections`, ...summaryOf(busy.latenciesMs) },
    { load: "all events to one that hangs and one that fails too", ...summaryOf(troubled.latenciesMs) }
  ]
  return {
    job: latency.name,
    title: latency.title,
    table: tableOf([
      ["meanwhile", "contender", "payments", "p50 ms", "p99 ms", "most ms"],
      ...rows.map((row) => [
        row.load,
        name,
        String(row.payments),
        row.p50Ms.toFixed(1),
        row.p99Ms.toFixed(1),
        row.mostMs.toFixed(1)
      ])
    ]),
    rows,
    turns,
    notes: [
      "From the request to the simulated acquirer's endpoint (which stores the report, and what it does to the charge) " +
        "to the arrival of the POST, in one process and so on one clock.",
      `Beside one destination that hangs, with ${BACKLOG} waiting, and one that fails, with ${RETRIES_PER_SECOND} retries due each second.`
    ],
    counted: { [name]: paid },
    complaints,
    wrong,
    elsewhere: disturbance(turns)
  } satisfies Measured
})

const BACKLOG = 10_000
/** As of 6,000 deliveries that have failed once or twice: the curve begins with a minute. */
const RETRIES_PER_SECOND = 100

/** Registers an endpoint that hangs and one that fails, with what waits there. */
const trouble = Effect.fnUntraced(function* (server: Target, databaseUrl: string, seconds: number) {
  const [hangs, fails] = [yield* freePort, yield* freePort]
  yield* node(
    "the troubled",
    [program("../load/failingReceivers.ts")],
    { PORT: String(hangs), FAILING_PORT: String(fails) },
    "ipc"
  )
  const [hanging, failing] = [`http://127.0.0.1:${hangs}/hooks/pix`, `http://127.0.0.1:${fails}/hooks/pix`]
  for (const url of [hanging, failing]) {
    yield* Effect.tryPromise({
      try: async () => {
        const answer = await fetch(`http://127.0.0.1:${server.port}/v1/webhooks`, {
          method: "POST",
          headers: { "x-api-key": server.apiKey, "content-type": "application/json" },
          body: JSON.stringify({ url, events: ["charge.pix.created", "charge.pix.emitted", "charge.pix.paid"] })
        })
        if (answer.status !== 201) throw new Error(`${answer.status} ${await answer.text()}`)
      },
      catch: (cause) => new BenchError({ message: `our server takes no endpoint: ${String(cause)}` })
    })
  }
  yield* withDatabase(databaseUrl, async (database) => {
    await insertDue(database, hanging, BACKLOG, "0")
    const retries = Math.ceil(seconds * RETRIES_PER_SECOND)
    await insertDue(database, failing, retries, "1 hour")
    await database.query(
      `UPDATE deliveries SET attempts_made = 1, due_at = now() + ($2 * random()) * interval '1 second' WHERE url = $1`,
      [failing, seconds]
    )
  })
  // Until as many hang as may, at once.
  yield* Effect.sleep("1 second")
})

const program = (file: string): string => fileURLToPath(new URL(file, import.meta.url))

const summaryOf = (latenciesMs: ReadonlyArray<number>) => {
  const sorted = latenciesMs.toSorted((a, b) => a - b)
  const at = (share: number) => sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN
  return { payments: sorted.length, p50Ms: at(0.5), p99Ms: at(0.99), mostMs: at(1) }
}
