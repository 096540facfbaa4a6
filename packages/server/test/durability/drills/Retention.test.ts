/**
 * `pnpm run drill:retention`: a full month is removed by `maintain` while callers create and pay out, and while deliveries of
 * that month are due, in flight and paused. Prints how long each table was locked and how callers were answered.
 *
 * `npm test` runs it with fewer rows.
 */
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { SqlClient } from "effect/sql/SqlClient"
import { loadavg } from "node:os"
import { type Load, OPERATOR_TOKEN, startLoad } from "../../support/Load.ts"
import { asService, createDatabase, temporaryFolder } from "../../support/Postgres.ts"
import { ran, startProcess } from "../../support/Process.ts"
import { eventually, receiver } from "../../support/Receiver.ts"
import { statementWire } from "../../support/StatementWire.ts"
import { clientOf, TestService } from "../../support/TestService.ts"
import { connected } from "../partitions/Crashes.ts"
import { sizesOfMonth, makeOldMonth, type OpenDelivery, openDeliveries, retainedTables } from "./OldMonth.ts"

const isDrill = process.env["RETENTION_DRILL_ROWS"] !== undefined
const rows = Number(process.env["RETENTION_DRILL_ROWS"] ?? 3000)
const size = isDrill ? { callers: 16, open: 100, answers: 300 } : { callers: 4, open: 10, answers: 40 }

layer(Layer.empty, { excludeTestServices: true })("The removal of a month", (it) => {
  it.effect(
    "takes milliseconds of each table while callers go on, and loses no delivery of it that is due, in flight or paused",
    () =>
      Effect.gen(function* () {
        const url = yield* createDatabase()
        const database = { DATABASE_URL: Redacted.value(asService(url)), MIGRATIONS_DATABASE_URL: Redacted.value(url) }
        const migrated = yield* ran("migrate", database)
        assert.strictEqual(migrated.code, 0, migrated.written)
        // Without the owner's role, so that the service removes nothing itself.
        const service = yield* startProcess({
          DATABASE_URL: database.DATABASE_URL,
          DATA_DIR: yield* temporaryFolder,
          OPERATOR_TOKEN,
          SIMULATOR_SETTLE_MS: "50",
          ACQUIRER_TIMEOUT_MS: "200",
          WEBHOOK_TIMEOUT_MS: "600000",
          WEBHOOK_RETRY_DELAYS: "1h",
          WEBHOOK_ALLOWED_NETWORKS: "127.0.0.0/8"
        })
        const client = yield* clientOf(service, OPERATOR_TOKEN)
        const owner = yield* connected(url)
        const given = <A, E, R>(work: Effect.Effect<A, E, R>) =>
          work.pipe(
            Effect.provideService(TestService, TestService.of({ ...client, databaseUrl: url })),
            Effect.provideService(SqlClient, owner)
          )

        yield* given(makeOldMonth)
        const deliveries = yield* given(openDeliveries(rows, size.open))
        const filled = yield* given(sizesOfMonth)
        const before = yield* deliveries.open
        assert.deepStrictEqual(new Set(before.map(({ state }) => state)), new Set(["due", "in flight", "paused"]))

        const load = yield* startLoad(service, yield* receiver(), size.callers)
        const more = (count: number) => {
          const wanted = load.answered() + count
          return eventually(Effect.sync(load.answered), (answered) => answered >= wanted)
        }
        yield* more(size.answers)
        const steps: Array<Step> = []
        const wire = yield* statementWire(url, {
          before: () => undefined,
          after: (statement, notices) => {
            const [, partition] = /DETACH PARTITION (\w+)/.exec(statement) ?? []
            const [, tookMs] = /^duration: ([\d.]+) ms {2}(?:execute|statement)/m.exec(notices.join("\n")) ?? []
            if (partition !== undefined) steps.push({ partition, tookMs: Number(tookMs) })
          }
        })
        const through = new URL(Redacted.value(wire.url))
        // PostgreSQL says how long each statement took.
        through.searchParams.set("options", "-c client_min_messages=log -c log_min_duration_statement=0")
        const startedAt = performance.now()
        const maintained = yield* ran("maintain", {
          ...database,
          MIGRATIONS_DATABASE_URL: through.href
        })
        const endedAt = performance.now()
        assert.strictEqual(maintained.code, 0, maintained.written)
        yield* more(size.answers)
        yield* load.stop
        yield* load.assertNothingLost

        const after = yield* deliveries.open
        const taken = Map.groupBy(yield* given(deliveries.finished), (id) => id)
        const lost = before.filter(({ id }) => !taken.has(id)).length
        const twice = before.filter(({ id }) => (taken.get(id)?.length ?? 0) > 1).length
        const seen = { filled, steps, before, after, lost, twice, duration: endedAt - startedAt }
        if (isDrill) process.stdout.write(report(seen, load, startedAt, endedAt))
        assert.sameMembers(
          [...new Set(steps.map(({ partition }) => partition))],
          filled.map(({ partition }) => partition)
        )
        assert.lengthOf(filled, retainedTables.length)
        assert.deepStrictEqual(
          yield* owner`SELECT name FROM removed_partitions ORDER BY name`,
          filled
            .map(({ partition }) => ({ name: partition }))
            .toSorted((one, other) => (one.name < other.name ? -1 : 1))
        )
        assert.deepStrictEqual(idsOf(after), idsOf(before))
        assert.deepStrictEqual({ lost, twice }, { lost: 0, twice: 0 })
      })
  )
})

/** A step that removes a partition, with the time that it waited for its locks. */
interface Step {
  readonly partition: string
  readonly tookMs: number
}

type Filled = Effect.Success<typeof sizesOfMonth>

const idsOf = (deliveries: ReadonlyArray<OpenDelivery>) => deliveries.map(({ id }) => id)

interface Seen {
  readonly filled: Filled
  readonly steps: ReadonlyArray<Step>
  readonly before: ReadonlyArray<OpenDelivery>
  readonly after: ReadonlyArray<OpenDelivery>
  readonly lost: number
  readonly twice: number
  readonly duration: number
}

const report = (seen: Seen, load: Load, startedAt: number, endedAt: number): string => {
  const slowest = (from: number, to: number) => {
    const answers = load.answers().filter(({ answeredAt, askedAt }) => answeredAt >= from && askedAt <= to)
    return { count: answers.length, ms: Math.max(...answers.map(({ answeredAt, askedAt }) => answeredAt - askedAt)) }
  }
  const during = slowest(startedAt, endedAt)
  const earlier = slowest(startedAt - seen.duration, startedAt)
  const states = (deliveries: ReadonlyArray<OpenDelivery>) =>
    [...Map.groupBy(deliveries, ({ state }) => state)].map(([state, { length }]) => `${length} ${state}`).join(", ")
  return [
    "",
    "| removed | rows | MiB | steps | locked at most, ms |",
    "|---|---|---|---|---|",
    ...seen.filled.map(({ bytes, partition, rows: count }) => {
      const ofIt = seen.steps.filter((step) => step.partition === partition)
      const locked = ofIt.map(({ tookMs }) => tookMs.toFixed(1)).join(", ")
      return `| ${partition} | ${count} | ${(bytes / 2 ** 20).toFixed(0)} | ${ofIt.length} | ${locked} |`
    }),
    "",
    `maintain, s: ${(seen.duration / 1000).toFixed(1)}`,
    `answers during it: ${during.count}, slowest ${during.ms.toFixed(0)} ms`,
    `answers in as long before it: ${earlier.count}, slowest ${earlier.ms.toFixed(0)} ms`,
    `open deliveries of the month before: ${states(seen.before)}`,
    `open deliveries of the month after: ${states(seen.after)}`,
    `lost: ${seen.lost}, delivered twice: ${seen.twice}`,
    load.summary(),
    `load of the machine: ${loadavg()[0]!.toFixed(1)}`,
    ""
  ].join("\n")
}
