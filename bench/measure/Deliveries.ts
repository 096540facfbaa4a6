/**
 * Measures deliveries: rows that fall due at once, sent to a receiver in a process of its own.
 *
 * Rows have the shape that `events/Outbox.ts` writes: a change with the resource as text, and a delivery for each of its
 * two events, to the charge's own address without a secret. They fall due together, a moment after their commit. A turn
 * is timed at the receiver, from the first POST to the last; CPU is counted until all attempts are recorded.
 */
import { Metrics } from "@pix-payments/server/observability/Metrics"
import { DeliveryQueue, now } from "@pix-payments/server/webhooks/DeliveryQueue"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schedule from "effect/Schedule"
import { SqlClient } from "effect/sql/SqlClient"
import { randomUUID } from "node:crypto"
import { fileURLToPath } from "node:url"
import type { Client } from "pg"
import type { PostOrder } from "../peers/plain-undici.ts"
import { type Deliverer, withDatabase, wrongIn } from "./Contenders.ts"
import { makeHistogram } from "../load/Histogram.ts"
import { differs } from "../load/Jobs.ts"
import { disturbance, type Lab } from "./Testbed.ts"
import type { Measured, Pace } from "./Measurement.ts"
import { ask, BenchError, type Child, freePort, node } from "./Processes.ts"
import type { Received, ReceiverOrder } from "../load/receiver.ts"
import { chargeData } from "../load/SampleCharge.ts"
import { rowsOf, spreadOf, type Turn, turnsTable } from "./Report.ts"

export const deliver = {
  name: "deliver",
  title: "Deliver webhooks: first attempts that fall due at once, to one receiver that answers 200 at once"
}

export const measureDeliver = Effect.fnUntraced(function* (deliverers: ReadonlyArray<Deliverer>, pace: Pace, lab: Lab) {
  const port = yield* freePort
  const url = `http://127.0.0.1:${port}/hooks/pix`
  const receiver = yield* node(
    "the receiver",
    [fileURLToPath(new URL("../load/receiver.ts", import.meta.url))],
    { PORT: String(port) },
    "ipc"
  )
  const tell = (order: ReceiverOrder) => ask<Received>("the receiver", receiver, order, 120)

  const started = yield* Effect.forEach(
    deliverers,
    (deliverer, index) =>
      Effect.gen(function* () {
        const place = yield* lab.place(`deliver-${index}`, pace.nodeArgs(deliverer.name))
        const child = yield* deliverer.start(place)
        return { ...deliverer, databaseUrl: place.databaseUrl, child, delivered: 0 }
      }),
    { concurrency: "unbounded" }
  )

  const turn = Effect.fnUntraced(function* (
    deliverer: (typeof started)[number],
    round: number,
    at: string,
    deliveries: number
  ) {
    const { child, databaseUrl, name, reads } = deliverer
    const count = Math.max(2, 2 * Math.round((deliveries * deliverer.share) / 2))
    const begin = Effect.gen(function* () {
      if (reads === "rows")
        yield* withDatabase(databaseUrl, (database) =>
          insertDue(database, url, count, pace.quick ? "200 milliseconds" : "1 second")
        )
      const used = lab.count(child.pid, [receiver.pid])
      if (reads === "orders") yield* post(child, url, count)
      return used
    })
    const [received, used] = yield* Effect.all(
      [
        Effect.mapError(
          tell({ tell: "expect", count }),
          ({ message }) => new BenchError({ message: `${message} (${name}: ${child.lastWords()})` })
        ),
        begin
      ],
      { concurrency: 2 }
    )
    if (reads === "rows") {
      yield* withDatabase(databaseUrl, (database) => allRecorded(database, url)).pipe(
        Effect.repeat({ until: (done) => done, schedule: Schedule.spaced("20 millis") }),
        Effect.timeoutOrElse({
          duration: "30 seconds",
          orElse: () => Effect.fail(new BenchError({ message: `${name} does not record what it delivers` }))
        })
      )
    }
    const cost = used()
    if (cost.hasEnded) return yield* new BenchError({ message: `${name} has ended: ${child.lastWords()}` })
    const { distinct, requests } = yield* tell({ tell: "report", count })
    deliverer.delivered += distinct
    const twice = requests - distinct
    return {
      contender: name,
      at,
      round,
      answered: count,
      perSecond: (count - 1) / received.seconds,
      errors: twice,
      complaints: twice === 0 ? [] : [`${twice} of ${requests} POSTs were repeats`],
      latencies: makeHistogram(),
      serverMicros: cost.serverMicros && cost.serverMicros / count,
      postgresMicros: reads === "rows" && cost.postgresMicros !== undefined ? cost.postgresMicros / count : undefined,
      helperMicros: cost.helperMicros / count,
      elsewhereMicros: cost.elsewhereMicros,
      seconds: cost.seconds
    } satisfies Turn
  })

  const store = started.find(({ name }) => name === "pix-payments")
  const notes: Array<string> = []
  const noteClaims = (at: number) =>
    store === undefined
      ? Effect.void
      : Effect.gen(function* () {
          const { claim, sweep } = yield* claimStatements
          const spread = (statement: Statement) =>
            Effect.map(
              withDatabase(store.databaseUrl, (database) => explainClaims(database, statement, url, pace.deliveries)),
              (times) => spreadOf(times, 2)
            )
          notes.push(
            `Claim of 50 with ${pace.deliveries} due and ${at} not due, EXPLAIN ANALYZE, ms: ${yield* spread(claim)}; ` +
              `by a sweep: ${yield* spread(sweep)}.`
          )
        })

  const turns: Array<Turn> = []
  let waiting = 0
  for (const at of pace.waiting) {
    const withRows = started.filter(({ reads }) => reads === "rows")
    yield* Effect.forEach(withRows, ({ databaseUrl }) =>
      withDatabase(databaseUrl, (database) => insertWaiting(database, url, at - waiting))
    )
    waiting = at
    yield* noteClaims(at)
    yield* Effect.forEach(started, (deliverer) => turn(deliverer, 0, String(at), Math.ceil(pace.deliveries / 2)))
    yield* Effect.forEach(withRows, ({ databaseUrl }) =>
      withDatabase(databaseUrl, (database) => database.query("VACUUM (ANALYZE) deliveries"))
    )
    yield* lab.checkpoint
    for (let round = 1; round <= pace.rounds; round++) {
      const order = started.map((_, index) => started[(index + round) % started.length]!)
      for (const deliverer of order) turns.push(yield* turn(deliverer, round, String(at), pace.deliveries))
    }
  }

  const wrong = yield* Effect.forEach(
    started.filter(({ reads }) => reads === "rows"),
    ({ databaseUrl, delivered, name }) =>
      wrongIn(databaseUrl, async (database) =>
        (await check(database, delivered, waiting)).map((sentence) => `${name}: ${sentence}`)
      )
  )
  const names = started.map(({ name }) => name)
  const [baseline = ""] = names
  const rows = rowsOf(turns, names, baseline)
  return {
    job: deliver.name,
    title: deliver.title,
    table: turnsTable(rows, { at: "waiting, not due", unit: "delivery", baseline }),
    rows,
    turns,
    notes: [
      `${pace.deliveries} deliveries in a turn, ${started
        .filter(({ share }) => share !== 1)
        .map(({ name, share }) => `${Math.round(pace.deliveries * share)} of ${name}`)
        .join(", ")}.`,
      ...notes
    ],
    counted: Object.fromEntries(started.map(({ delivered, name }) => [name, delivered])),
    complaints: turns.flatMap(({ complaints, contender }) => complaints.map((each) => `${contender}: ${each}`)),
    wrong: wrong.flat(),
    elsewhere: disturbance(turns)
  } satisfies Measured
})

// ---- rows ----

const EVENTS = ["charge.pix.created", "charge.pix.emitted"]

/** `count` deliveries of half as many changes, due together after `delay`. */
export const insertDue = (database: Client, url: string, count: number, delay: string) =>
  database.query(
    `WITH told AS (
      INSERT INTO changes (id, resource_id, account_id, application_id, kind, actions, status, sequence, data, created_at)
      SELECT uuidv7(), uuidv7(), $1, $2, 'charge.pix', '{created,emitted}', 'pending', 2, $3, now()
      FROM generate_series(1, $4::integer / 2)
      RETURNING id, resource_id, account_id, created_at
    )
    INSERT INTO deliveries (id, change_id, event, resource_id, account_id, endpoint_id, url, destination, secret, status,
      due_at, created_at)
    SELECT uuidv7(), t.id, e.event, t.resource_id, t.account_id, NULL, $5, $6, NULL, 'scheduled', now() + $7::interval,
      t.created_at
    FROM told t CROSS JOIN unnest($8::text[]) AS e(event)`,
    [randomUUID(), randomUUID(), chargeData, count, url, new URL(url).origin, delay, EVENTS]
  )

/**
 * Deliveries that are due tomorrow, half of them first attempts and half retries: to 100 destinations, of which the
 * receiver is one. A thousand of them share a change, which nobody reads before they are due.
 */
const insertWaiting = async (database: Client, url: string, count: number) => {
  for (let done = 0; done < count; done += 50_000) {
    await database.query(
      `WITH told AS (
        INSERT INTO changes (id, resource_id, account_id, application_id, kind, actions, status, sequence, data,
          created_at)
        SELECT uuidv7(), uuidv7(), $1, $2, 'charge.pix', '{created,emitted}', 'pending', 2, $3, now()
        FROM generate_series(1, greatest(1, $4::integer / 1000))
        RETURNING id, account_id, created_at
      ),
      numbered AS (SELECT row_number() OVER () AS n, count(*) OVER () AS all, * FROM told)
      INSERT INTO deliveries (id, change_id, event, resource_id, account_id, endpoint_id, url, destination, secret,
        status, attempts_made, due_at, created_at)
      SELECT uuidv7(), t.id, $7, uuidv7(), t.account_id, NULL,
        CASE s.i % 100 WHEN 0 THEN $5 ELSE 'https://shop-' || s.i % 100 || '.example.com/hooks/pix' END,
        CASE s.i % 100 WHEN 0 THEN $6 ELSE 'https://shop-' || s.i % 100 || '.example.com' END,
        NULL, 'scheduled', (s.i / 100) % 2, now() + interval '1 day', t.created_at
      FROM generate_series(1, $4::integer) AS s(i) JOIN numbered t ON t.n = 1 + s.i % t.all`,
      [
        randomUUID(),
        randomUUID(),
        chargeData,
        Math.min(50_000, count - done),
        url,
        new URL(url).origin,
        "charge.pix.emitted"
      ]
    )
  }
  await database.query("VACUUM (ANALYZE) deliveries")
}

/** By an index, whatever else waits. */
const allRecorded = async (database: Client, url: string): Promise<boolean> => {
  const { rowCount } = await database.query(
    `SELECT 1 FROM deliveries
     WHERE status IN ('scheduled', 'delivering') AND due_at IS NOT NULL AND attempts_made = 0 AND destination = $1
       AND due_at < now() + interval '1 hour' LIMIT 1`,
    [new URL(url).origin]
  )
  return rowCount === 0
}

const check = async (database: Client, delivered: number, waiting: number) => {
  const { rows } = await database.query<Record<string, string>>(`
    SELECT count(*) FILTER (WHERE d.status = 'delivered' AND d.attempts_made = 1) AS delivered, count(*) AS deliveries,
      (SELECT count(*) FROM delivery_attempts) AS attempts,
      (SELECT count(*) FROM delivery_attempts WHERE status_code = 200 AND error IS NULL) AS right
    FROM deliveries d`)
  const found = (name: string) => Number(rows[0]?.[name])
  return [
    differs("deliveries recorded as delivered at their first attempt", found("delivered"), "received", delivered),
    differs("deliveries", found("deliveries"), "received or not due", delivered + waiting),
    differs("attempts", found("attempts"), "received", delivered),
    differs("attempts answered 200", found("right"), "received", delivered)
  ].filter((sentence) => sentence !== undefined)
}

const post = (child: Child, url: string, count: number) =>
  Effect.sync(() => {
    const order: PostOrder = {
      url,
      ids: Array.from({ length: count }, () => randomUUID()),
      event: "charge.pix.emitted",
      createdAt: "2026-01-01T00:00:00.000Z",
      dataJson: chargeData
    }
    child.process.send(order)
  })

// ---- the claim ----

interface Statement {
  readonly statement: string
  readonly parameters: ReadonlyArray<unknown>
}

/** The statements of our store, as it sends them: a claim in the order of due times, and a sweep of all destinations. */
const claimStatements = Effect.gen(function* () {
  const sent: Array<Statement> = []
  const listening = {
    unsafe: (statement: string, parameters: ReadonlyArray<unknown>) => {
      sent.push({ statement, parameters })
      return Effect.succeed([])
    }
  }
  const layer = Layer.provide(
    DeliveryQueue.layer,
    Layer.merge(Layer.succeed(SqlClient, listening as unknown as SqlClient), Metrics.layer)
  )
  const context = yield* Layer.build(layer)
  const queue = Context.get(context, DeliveryQueue)
  const nobody = new Set<string>()
  const room = {
    limit: 100,
    perAccount: 192,
    perDestination: 50,
    perOrigin: 100,
    fullAccounts: nobody,
    full: nobody,
    fullOrigins: nobody
  }
  const limits = { ...room, leaseMs: 30_000, except: [] }
  // What they are told of what was claimed is nothing.
  yield* Effect.exit(queue.claim("first", { ...limits, from: { ...now, dueAt: "-infinity" }, behind: [] }))
  yield* Effect.exit(queue.sweep("first", { ...limits, after: "", resume: [] }))
  const [claim, sweep] = sent
  return claim !== undefined && sweep !== undefined
    ? { claim, sweep }
    : yield* new BenchError({ message: "the store claims without a statement" })
}).pipe(Effect.scoped)

/** How long it takes with `count` due, in milliseconds; nothing of it is kept. */
const explainClaims = async (
  database: Client,
  { parameters, statement }: Statement,
  url: string,
  count: number
): Promise<ReadonlyArray<number>> => {
  // As our server's connections.
  await database.query("SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off")
  await database.query("BEGIN")
  await insertDue(database, url, count, "-1 second")
  await database.query("ANALYZE deliveries")
  const times: Array<number> = []
  for (let round = 0; round < 6; round++) {
    const { rows } = await database.query<{ "QUERY PLAN": ReadonlyArray<{ "Execution Time": number }> }>(
      `EXPLAIN (ANALYZE, FORMAT JSON) ${statement}`,
      [...parameters]
    )
    // The first one fills the caches.
    if (round > 0) times.push(rows[0]?.["QUERY PLAN"][0]?.["Execution Time"] ?? Number.NaN)
  }
  await database.query("ROLLBACK")
  await database.query("VACUUM (ANALYZE) deliveries")
  return times
}
