/**
 * Charges that are created, paid in the simulator and delivered to one endpoint that gets every event.
 *
 * Measures what one costs in all, until its last delivery is stored.
 */
import * as Effect from "effect/Effect"
import { randomUUID } from "node:crypto"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { eventNames } from "@pix-payments/domain/EventCatalog"
import { makeHistogram } from "../load/Histogram.ts"
import { mismatch } from "../load/Jobs.ts"
import { earlierCheckout } from "./Contenders.ts"
import { violationsIn } from "./Database.ts"
import type { Measurement, RunSettings } from "./Measurement.ts"
import { keepsAll, type StartOptions, startServer } from "./OurServer.ts"
import { BenchError } from "./Processes.ts"
import { rowsOf, type Turn, turnsTable } from "./Report.ts"
import type { Testbed } from "./Testbed.ts"

export const paidCharges = {
  name: "paid-charge",
  title: "Create a charge, pay it and deliver its three events to one endpoint that answers 200 immediately"
}

/** Our server, of this checkout and of an earlier one. */
export const paidChargeServers: ReadonlyArray<{
  readonly name: string
  readonly description: string
  readonly checkout?: string
}> = [
  { name: "pix-payments", description: "packages/server/dist/main.js with its default settings, loopback allowed" },
  ...(earlierCheckout === undefined
    ? []
    : [
        {
          name: "pix-payments before",
          description: "the same from the checkout that BENCH_BEFORE names",
          checkout: earlierCheckout
        }
      ])
]

/** Charges of a turn, by how many are created or paid at once. */
const charges = new Map([
  [1, 150],
  [8, 500],
  [64, 1500]
])

export const measurePaidCharges = Effect.fnUntraced(function* (
  servers: typeof paidChargeServers,
  settings: RunSettings,
  testbed: Testbed
) {
  const started = yield* Effect.forEach(servers, ({ checkout, name }, index) =>
    Effect.gen(function* () {
      const options = yield* testbed.provision(`paid-charge-${index}`, settings.nodeArgs(name))
      const server = yield* startWithEndpoint(options, checkout === undefined ? {} : { checkout })
      return { name, databaseUrl: options.databaseUrl, server, paid: 0 }
    })
  )

  const turn = Effect.fnUntraced(function* (each: (typeof started)[number], round: number, atOnce: number) {
    const { databaseUrl, name, server } = each
    const count = settings.quick ? 4 : charges.get(atOnce)!
    const end = testbed.measureCpu(server.pid)
    yield* payCharges(server, databaseUrl, count, atOnce)
    const { otherMicros, postgresMicros, seconds, serverMicros } = end()
    each.paid += count
    return {
      contender: name,
      level: String(atOnce),
      round,
      answered: count,
      perSecond: count / seconds,
      errors: 0,
      errorSamples: [],
      latencies: makeHistogram(),
      serverMicros: serverMicros && serverMicros / count,
      postgresMicros: postgresMicros && postgresMicros / count,
      auxiliaryMicros: 0,
      otherMicros,
      seconds
    } satisfies Turn
  })

  const turns: Array<Turn> = []
  for (const atOnce of charges.keys()) {
    for (const each of started) yield* turn(each, 0, atOnce)
    yield* testbed.checkpoint
    for (let round = 1; round <= settings.rounds; round++) {
      const order = started.map((_, index) => started[(index + round) % started.length]!)
      for (const each of order) turns.push(yield* turn(each, round, atOnce))
    }
  }
  const violations = yield* Effect.forEach(started, ({ databaseUrl, name, paid }) =>
    violationsIn(databaseUrl, async (database) => {
      const { rows } = await database.query<{ paid: string; delivered: string }>(
        `SELECT (SELECT count(*) FROM charges WHERE status = 'paid') AS paid,
          (SELECT count(*) FROM deliveries WHERE status = 'delivered' AND attempts_made = 1) AS delivered`
      )
      return [
        mismatch(`charges paid of ${name}`, Number(rows[0]?.paid), "paid", paid),
        mismatch(`deliveries of ${name}`, Number(rows[0]?.delivered), "three for each", 3 * paid)
      ].filter((found) => found !== undefined)
    })
  )
  const names = started.map(({ name }) => name)
  const [baseline = ""] = names
  const rows = rowsOf(turns, names, baseline)
  return {
    ...paidCharges,
    job: paidCharges.name,
    table: turnsTable(rows, { level: "at once", unit: "charge", baseline }),
    rows,
    turns,
    notes: ["With the simulator: the operator's call that pays a charge is part of it."],
    answered: Object.fromEntries(started.map(({ name, paid }) => [name, paid])),
    errorSamples: [],
    violations: violations.flat(),
    otherProgramsShare: 0
  } satisfies Measurement
})

type Server = Effect.Success<ReturnType<typeof startServer>>

/** Our server, and an endpoint of its account for these events, by default every event. */
export const startWithEndpoint = Effect.fnUntraced(function* (
  options: StartOptions,
  { checkout, events = eventNames }: { readonly checkout?: string; readonly events?: ReadonlyArray<string> } = {}
) {
  const url = yield* acceptingReceiver
  const server = yield* startServer(options, { WEBHOOK_ALLOWED_NETWORKS: "127.0.0.0/8", ...keepsAll }, checkout)
  yield* call(server.port, "/v1/webhooks", { "x-api-key": server.apiKey }, { url, events })
  return server
})

/** Creates and pays charges, at most `atOnce` at a time, and waits until every event was delivered. */
export const payCharges = Effect.fnUntraced(function* (
  { apiKey, operatorPort, port, token }: Server,
  databaseUrl: string,
  count: number,
  atOnce: number
) {
  yield* Effect.forEach(
    Array.from({ length: count }),
    () =>
      Effect.gen(function* () {
        const headers = { "x-api-key": apiKey, "idempotency-key": randomUUID() }
        const { id } = yield* call(port, "/v1/charges", headers, chargeBody)
        yield* call(operatorPort, `/operator/v1/simulator/charges/${id}/pay`, { "x-operator-token": token }, {})
      }),
    { concurrency: atOnce, discard: true }
  )
  const waiting = yield* violationsIn(databaseUrl, async (database) => {
    const { rows } = await database.query<{ waiting: string; logged: string }>(
      `SELECT (SELECT count(*) FROM outbox) + (SELECT count(*) FROM deliveries WHERE status <> 'delivered') AS waiting,
        (SELECT count(*) FROM charges) - (SELECT count(*) FROM requests WHERE route = 'POST /v1/charges') AS logged`
    )
    return rows[0]?.waiting === "0" && rows[0].logged === "0" ? [] : ["deliveries or lines of the log are not written"]
  })
  if (waiting.length > 0) return yield* new BenchError({ message: waiting.join("; ") })
})

/** A POST that succeeds. */
export const call = (port: number, path: string, headers: Readonly<Record<string, string>>, body: object) =>
  Effect.tryPromise({
    try: async () => {
      const response = await fetch(`http://127.0.0.1:${port}${path}`, {
        method: "POST",
        headers: { ...headers, "content-type": "application/json" },
        body: JSON.stringify(body)
      })
      const text = await response.text()
      if (!response.ok) throw new Error(`${response.status} ${text}`)
      return JSON.parse(text) as { readonly id: string }
    },
    catch: (cause) => new BenchError({ message: `POST ${path} fails: ${String(cause)}` })
  })

const acceptingReceiver = Effect.map(
  Effect.acquireRelease(
    Effect.promise(async () => {
      const server = createServer((request, response) => {
        request.resume()
        request.on("end", () => response.writeHead(200).end())
      })
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
      return server
    }),
    (server) =>
      Effect.promise(async () => {
        server.closeAllConnections()
        await new Promise<void>((resolve) => server.close(() => resolve()))
      })
  ),
  (server) => `http://127.0.0.1:${(server.address() as AddressInfo).port}/hooks`
)

const chargeBody = {
  amount: 1990,
  description: "Pedido 10000 na loja",
  reference: "pedido-10000",
  customer: {
    name: "Maria Oliveira da Silva",
    email: "cliente@example.com.br",
    document: "52998224725",
    phone: "+5511987654321"
  }
}
