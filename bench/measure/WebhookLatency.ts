/**
 * Measures the latency from the acquirer's payment notification to the first webhook attempt: alone, while charges are
 * created at the full rate, and beside endpoints that hang or fail.
 */
import * as Effect from "effect/Effect"
import { fileURLToPath } from "node:url"
import type { LoadCommand, LoadResult } from "../load/closedLoop.ts"
import { keyPrefixOf, mismatch, type Target } from "../load/Jobs.ts"
import type { PayCommand, PayResult } from "../load/payer.ts"
import { violationsIn, withDatabase } from "./Database.ts"
import { insertDue } from "./DeliveryRows.ts"
import type { Measurement, RunSettings } from "./Measurement.ts"
import { startServer } from "./OurServer.ts"
import { ask, BenchError, freePort, spawnNode } from "./Processes.ts"
import { tableOf } from "./Report.ts"
import { loadGenerator } from "./Requests.ts"
import { type CpuUsage, otherProgramsShare, type Testbed } from "./Testbed.ts"

export const webhookLatency = {
  name: "paid-to-attempt",
  title: "From a payment notification to the first webhook attempt, one payment at a time"
}

const LOAD = { job: "create-charge", connections: 64 }

export const measureWebhookLatency = Effect.fnUntraced(function* (
  name: string,
  settings: RunSettings,
  testbed: Testbed
) {
  const hooksPort = yield* freePort
  const hooks = `http://127.0.0.1:${hooksPort}/hooks/pix`
  const payer = yield* spawnNode("the payer", [program("payer.ts")], { PORT: String(hooksPort) }, "ipc")
  const generator = yield* loadGenerator
  const options = yield* testbed.provision("paid-to-attempt", settings.nodeArgs(name))
  const server = yield* startServer(options, { WEBHOOK_ALLOWED_NETWORKS: "127.0.0.0/8" })
  const usages: Array<CpuUsage> = []
  const errorSamples: Array<string> = []
  let created = 0

  const pay = (run: string, seconds: number) => {
    const { apiKey, operatorPort, port, token } = server
    const command: PayCommand = { port, apiKey, operatorPort, token, keyPrefix: keyPrefixOf(run), seconds }
    return ask<PayResult>("the payer", payer, command, seconds + 60)
  }
  const load = (run: string, seconds: number) => {
    const command: LoadCommand = {
      ...LOAD,
      target: server,
      prepared: [],
      keyPrefix: keyPrefixOf(run),
      seconds
    }
    return Effect.map(ask<LoadResult>("the load generator", generator, command, seconds + 60), (result) => {
      errorSamples.push(...result.errorSamples)
      created += result.answered
    })
  }
  const withCpu = <A, E, R>(turn: Effect.Effect<A, E, R>) =>
    Effect.gen(function* () {
      const endMeasurement = testbed.measureCpu(server.pid, [payer.pid, generator.pid])
      const result = yield* turn
      usages.push(endMeasurement())
      return result
    })

  const seconds = settings.quick ? 0.4 : 15
  const warmup = settings.quick ? 0.2 : 4
  yield* load("warm-load", warmup)
  const warmed = yield* pay("warm-pay", warmup)
  const idle = yield* withCpu(pay("idle", seconds))
  // The load begins before the first payment and ends after the last.
  const [busy] = yield* withCpu(
    Effect.all([Effect.delay(pay("busy", seconds), "200 millis"), load("load", seconds + (settings.quick ? 0.4 : 1))], {
      concurrency: 2
    })
  )

  yield* addFailingEndpoints(server, options.databaseUrl, seconds)
  const besideFailing = yield* withCpu(pay("troubled", seconds))

  const all = [warmed, idle, busy, besideFailing]
  const paid = all.reduce((sum, { latenciesMs }) => sum + latenciesMs.length, 0)
  const violations = yield* violationsIn(options.databaseUrl, async (database) => {
    const { rows } = await database.query<Record<string, string>>(
      `SELECT (SELECT count(*) FROM charges) AS charges,
        (SELECT count(*) FROM charges WHERE status = 'paid') AS paid,
        (SELECT count(*) FROM deliveries WHERE event = 'charge.pix.paid' AND url = $1) AS deliveries`,
      [hooks]
    )
    const found = (column: string) => Number(rows[0]?.[column])
    return [
      mismatch("charges", found("charges"), "created", created + paid),
      mismatch("charges paid", found("paid"), "notified", paid),
      mismatch("deliveries of charge.pix.paid", found("deliveries"), "notified", paid),
      mismatch(
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
    { load: "two more endpoints for all events: one hangs, one fails", ...summaryOf(besideFailing.latenciesMs) }
  ]
  return {
    job: webhookLatency.name,
    title: webhookLatency.title,
    table: tableOf([
      ["concurrent load", "contender", "payments", "p50 ms", "p99 ms", "max ms"],
      ...rows.map((row) => [
        row.load,
        name,
        String(row.payments),
        row.p50Ms.toFixed(1),
        row.p99Ms.toFixed(1),
        row.maxMs.toFixed(1)
      ])
    ]),
    rows,
    turns: usages,
    notes: [
      "From the request to the simulated acquirer's endpoint (which stores the notification and settles the charge) to " +
        "the arrival of the POST, in one process and on one clock.",
      `The endpoint that hangs has ${BACKLOG} deliveries due; the one that fails has ${RETRIES_PER_SECOND} retries due each second.`
    ],
    answered: { [name]: paid },
    errorSamples,
    violations,
    otherProgramsShare: otherProgramsShare(usages)
  } satisfies Measurement
})

const BACKLOG = 10_000
/** As after 6,000 deliveries that failed once or twice: the first retry is after a minute. */
const RETRIES_PER_SECOND = 100

/** Registers an endpoint that hangs and one that fails, with deliveries due to both. */
const addFailingEndpoints = Effect.fnUntraced(function* (server: Target, databaseUrl: string, seconds: number) {
  const [hangingPort, failingPort] = [yield* freePort, yield* freePort]
  const environment = { PORT: String(hangingPort), FAILING_PORT: String(failingPort) }
  yield* spawnNode("the failing receivers", [program("failingReceivers.ts")], environment, "ipc")
  const [hanging, failing] = [`http://127.0.0.1:${hangingPort}/hooks/pix`, `http://127.0.0.1:${failingPort}/hooks/pix`]
  for (const url of [hanging, failing]) {
    yield* Effect.tryPromise({
      try: async () => {
        const response = await fetch(`http://127.0.0.1:${server.port}/v1/webhooks`, {
          method: "POST",
          headers: { "x-api-key": server.apiKey, "content-type": "application/json" },
          body: JSON.stringify({ url, events: ["charge.pix.created", "charge.pix.emitted", "charge.pix.paid"] })
        })
        if (response.status !== 201) throw new Error(`${response.status} ${await response.text()}`)
      },
      catch: (cause) => new BenchError({ message: `POST /v1/webhooks fails: ${String(cause)}` })
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
  // By then the maximum of concurrent deliveries hangs.
  yield* Effect.sleep("1 second")
})

const program = (file: string): string => fileURLToPath(new URL(`../load/${file}`, import.meta.url))

const summaryOf = (latenciesMs: ReadonlyArray<number>) => {
  const sorted = latenciesMs.toSorted((a, b) => a - b)
  const at = (share: number) => sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN
  return { payments: sorted.length, p50Ms: at(0.5), p99Ms: at(0.99), maxMs: at(1) }
}
