/**
 * Measures deliveries: rows that fall due at the same time, sent to a receiver in its own process.
 *
 * Guarantees:
 * - the rate is measured at the receiver, from the first POST to the last;
 * - rounds are interleaved: each backlog has its own database and process;
 * - CPU is counted until all attempts are recorded.
 */
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import { randomUUID } from "node:crypto"
import { fileURLToPath } from "node:url"
import { makeHistogram } from "../load/Histogram.ts"
import type { ReceiverCommand, ReceiverResult } from "../load/receiver.ts"
import { chargeData } from "../load/SampleCharge.ts"
import type { PostCommand } from "../peers/plain-undici.ts"
import { lookDurations, lookStatements, type Statement } from "./ClaimPlans.ts"
import { violationsIn, withDatabase } from "./Database.ts"
import { areAllRecorded, checkDeliveries, insertBacklog, insertDue } from "./DeliveryRows.ts"
import type { Measurement, RunSettings } from "./Measurement.ts"
import { ask, BenchError, type Child, freePort, spawnNode } from "./Processes.ts"
import { rowsOf, scalingOf, spreadOf, type Turn, turnsTable } from "./Report.ts"
import { otherProgramsShare, type Testbed } from "./Testbed.ts"
import type { WebhookSender } from "./WebhookSenders.ts"

export const deliver = {
  name: "deliver",
  title: "Deliver webhooks: first attempts due at the same time, to one receiver that answers 200 immediately"
}

export const measureDeliveries = Effect.fnUntraced(function* (
  senders: ReadonlyArray<WebhookSender>,
  settings: RunSettings,
  testbed: Testbed
) {
  const port = yield* freePort
  const url = `http://127.0.0.1:${port}/hooks/pix`
  const receiver = yield* spawnNode(
    "the receiver",
    [fileURLToPath(new URL("../load/receiver.ts", import.meta.url))],
    { PORT: String(port) },
    "ipc"
  )
  const askReceiver = (command: ReceiverCommand) => ask<ReceiverResult>("the receiver", receiver, command, 120)

  const started = yield* Effect.forEach(
    settings.backlogs.flatMap((backlog) => senders.map((sender) => ({ ...sender, backlog }))),
    (sender, index) =>
      Effect.gen(function* () {
        const options = yield* testbed.provision(`deliver-${index}`, settings.nodeArgs(sender.name))
        const child = yield* sender.start(options)
        return { ...sender, databaseUrl: options.databaseUrl, child, delivered: 0 }
      }),
    { concurrency: "unbounded" }
  )
  const withRows = started.filter(({ source }) => source === "rows")

  const turn = Effect.fnUntraced(function* (sender: (typeof started)[number], round: number, deliveries: number) {
    const { backlog, child, databaseUrl, name, source } = sender
    const count = Math.max(2, 2 * Math.round((deliveries * sender.share) / 2))
    const begin = Effect.gen(function* () {
      if (source === "rows") {
        yield* withDatabase(databaseUrl, (database) =>
          insertDue(database, url, count, settings.quick ? "200 milliseconds" : "1 second")
        )
      }
      const end = testbed.measureCpu(child.pid, [receiver.pid])
      if (source === "message") yield* sendPosts(child, url, count)
      return end
    })
    const [received, endMeasurement] = yield* Effect.all(
      [
        Effect.mapError(
          askReceiver({ command: "expect", count }),
          ({ message }) => new BenchError({ message: `${message} (${name}: ${child.recentOutput()})` })
        ),
        begin
      ],
      { concurrency: 2 }
    )
    if (source === "rows") {
      yield* withDatabase(databaseUrl, (database) => areAllRecorded(database, url)).pipe(
        Effect.repeat({ until: (done) => done, schedule: Schedule.spaced("20 millis") }),
        Effect.timeoutOrElse({
          duration: "30 seconds",
          orElse: () => Effect.fail(new BenchError({ message: `${name} does not record its deliveries` }))
        })
      )
    }
    const usage = endMeasurement()
    if (usage.hasExited) return yield* new BenchError({ message: `${name} has exited: ${child.recentOutput()}` })
    const { distinct, requests } = yield* askReceiver({ command: "report", count })
    sender.delivered += distinct
    const repeats = requests - distinct
    return {
      contender: name,
      level: String(backlog),
      round,
      answered: count,
      perSecond: (count - 1) / received.seconds,
      errors: repeats,
      errorSamples: repeats === 0 ? [] : [`${repeats} of ${requests} POSTs were repeats`],
      latencies: makeHistogram(),
      serverMicros: usage.serverMicros && usage.serverMicros / count,
      postgresMicros:
        source === "rows" && usage.postgresMicros !== undefined ? usage.postgresMicros / count : undefined,
      auxiliaryMicros: usage.auxiliaryMicros / count,
      otherMicros: usage.otherMicros,
      seconds: usage.seconds
    } satisfies Turn
  })

  const lookNote = Effect.fnUntraced(function* ({ backlog, databaseUrl }: (typeof started)[number]) {
    const { look, sweep } = yield* lookStatements
    const spread = (statement: Statement) =>
      Effect.map(
        withDatabase(databaseUrl, (database) => lookDurations(database, statement, url, settings.deliveries)),
        (durations) => spreadOf(durations, 2)
      )
    return (
      `Look with ${settings.deliveries} due and ${backlog} not due, EXPLAIN ANALYZE, ms: ` +
      `${yield* spread(look)}; sweep: ${yield* spread(sweep)}.`
    )
  })

  yield* Effect.forEach(withRows, ({ backlog, databaseUrl }) =>
    withDatabase(databaseUrl, (database) => insertBacklog(database, url, backlog))
  )
  const lookNotes = yield* Effect.forEach(
    withRows.filter(({ name }) => name === "pix-payments"),
    lookNote
  )
  yield* Effect.forEach(started, (sender) => turn(sender, 0, Math.ceil(settings.deliveries / 2)))
  yield* Effect.forEach(withRows, ({ databaseUrl }) =>
    withDatabase(databaseUrl, (database) => database.query("VACUUM (ANALYZE) deliveries"))
  )
  yield* testbed.checkpoint
  const turns: Array<Turn> = []
  for (let round = 1; round <= settings.rounds; round++) {
    const order = started.map((_, index) => started[(index + round - 1) % started.length]!)
    for (const sender of order) turns.push(yield* turn(sender, round, settings.deliveries))
  }

  const violations = yield* Effect.forEach(withRows, ({ backlog, databaseUrl, delivered, name }) =>
    violationsIn(databaseUrl, async (database) =>
      (await checkDeliveries(database, delivered, backlog)).map((sentence) => `${name}: ${sentence}`)
    )
  )
  const names = senders.map(({ name }) => name)
  const [baseline = ""] = names
  const rows = rowsOf(turns, names, baseline)
  const [smallest = "", ...larger] = settings.backlogs.map(String)
  return {
    job: deliver.name,
    title: deliver.title,
    table: turnsTable(rows, { level: "backlog, not due", unit: "delivery", baseline }),
    rows,
    turns,
    notes: [
      `${[
        `${settings.deliveries} deliveries in a turn`,
        ...senders
          .filter(({ share }) => share !== 1)
          .map(({ name, share }) => `${Math.round(settings.deliveries * share)} of ${name}`)
      ].join(", ")}.`,
      ...larger.map((size) => scalingOf(turns, names, smallest, size)),
      ...lookNotes
    ],
    answered: Object.fromEntries(
      names.map((name) => [
        name,
        started.filter((each) => each.name === name).reduce((sum, { delivered }) => sum + delivered, 0)
      ])
    ),
    errorSamples: turns.flatMap((each) => each.errorSamples.map((sample) => `${each.contender}: ${sample}`)),
    violations: violations.flat(),
    otherProgramsShare: otherProgramsShare(turns)
  } satisfies Measurement
})

const sendPosts = (child: Child, url: string, count: number) =>
  Effect.sync(() => {
    const command: PostCommand = {
      url,
      ids: Array.from({ length: count }, () => randomUUID()),
      event: "charge.pix.emitted",
      createdAt: "2026-01-01T00:00:00.000Z",
      dataJson: chargeData
    }
    child.process.send(command)
  })
