/**
 * Partitions change while the service works. Each change is interrupted
 * between any two steps: the process ends, or only its connection.
 *
 * After each crash callers create, pay and pay out, receivers get their deliveries, earlier keys give the resources of before, and
 * open work is as it was. The next run continues, until everything is done.
 *
 * `PARTITION_CRASHES=1 vitest run …` runs it: some six minutes, on a machine that does nothing else, because connections of the
 * maintenance have three seconds.
 */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import { SqlClient } from "effect/sql/SqlClient"
import { DatabaseLocation } from "../../src/database/Database.ts"
import { databaseTime, partitionsOf } from "../../src/schema/partitions/Catalog.ts"
import * as Maintenance from "../../src/schema/partitions/Maintenance.ts"
import { hasRetention, partitionedTables } from "../../src/schema/partitions/PartitionedTables.ts"
import { timeOf } from "../../src/database/Period.ts"
import { DAY_MS } from "../support/DatabaseTime.ts"
import { asService } from "../support/Postgres.ts"
import { loopback } from "../support/Receiver.ts"
import type { End } from "../support/StatementWire.ts"
import { TestService } from "../support/TestService.ts"
import { makeCrashes } from "./partitions/Crashes.ts"
import { fillMoney, fullDatabase } from "./partitions/FullTables.ts"
import { makeTraffic } from "./partitions/Traffic.ts"

const settings = {
  webhookAllowedNetworks: loopback,
  webhookRetryDelaysMs: [3_600_000],
  webhookTimeoutMs: 600_000,
  simulatorSettleMs: 0,
  secretsKeys: Option.some(Redacted.make(Buffer.alloc(32, 3).toString("base64")))
}

/** A service whose role owns nothing, so that it changes no partition itself. */
const serviceOn = (url: Redacted.Redacted<string>) =>
  Layer.build(Layer.fresh(TestService.layer({ settings, databaseUrl: asService(url) })))

/** The longest retention. */
const RETENTION_DAYS = 396

/** How many resources and transfers there are. */
const moneyOf = (owner: SqlClient) =>
  Effect.map(
    owner<{ charges: number; payouts: number; transfers: number }>`SELECT
      (SELECT count(DISTINCT id)::integer FROM charges) AS charges,
      (SELECT count(DISTINCT id)::integer FROM payouts) AS payouts,
      (SELECT count(*)::integer FROM ledger_transfers) AS transfers`,
    ([row]) => row!
  )

/** How many of the rows that filled the tables are there. */
const closedRows = (owner: SqlClient) =>
  owner`SELECT (SELECT count(*) FROM requests WHERE request_id LIKE 'request-%') AS requests,
    (SELECT count(*) FROM deliveries WHERE url = 'https://example.com') AS deliveries,
    (SELECT count(*) FROM changes WHERE transaction_id = '0') AS changes`

describe.skipIf(process.env["PARTITION_CRASHES"] === undefined)("The partitions", () => {
  it.live.each<End>(["process", "connection"])(
    "are changed by the next run, where a %s ends between any two steps",
    (end) =>
      Effect.gen(function* () {
        const { owner, url } = yield* fullDatabase
        const crashes = yield* makeCrashes(url, owner, end)
        const continues = Effect.gen(function* () {
          const traffic = yield* makeTraffic(owner)
          yield* traffic.round
          yield* Effect.provideService(fillMoney(traffic.newest("charge"), traffic.newest("payout")), SqlClient, owner)
          let money = yield* moneyOf(owner)
          const assertHolds = Effect.gen(function* () {
            yield* traffic.assertHolds
            const now = yield* moneyOf(owner)
            assert.isAbove(now.charges, money.charges)
            assert.isAbove(now.payouts, money.payouts)
            assert.isAbove(now.transfers, money.transfers)
            money = now
          })
          /** Runs to its end, past each crash. */
          const finished = (options?: Readonly<Record<string, string>>) =>
            Effect.gen(function* () {
              const location = DatabaseLocation.of({ url: crashes.url(options), embeddedIn: undefined })
              const run = Effect.gen(function* () {
                const maintained = yield* Maintenance.run
                const rebuilt = Option.getOrThrow(yield* Maintenance.rebuildIndexes())
                // It ends early without an error.
                if (rebuilt.failed.length > 0) return yield* Effect.die(new Error(rebuilt.failed.join()))
                return maintained
              }).pipe(Effect.provideService(DatabaseLocation, location))
              // A table whose locks were not free waits for the next run.
              const { done, postponed } = yield* Effect.repeat(crashes.finished(run, assertHolds), {
                until: (maintained) => maintained.postponed.length === 0,
                times: 9
              })
              assert.deepStrictEqual({ done, postponed }, { done: true, postponed: [] })
              yield* assertHolds
            })

          const closed = yield* closedRows(owner)
          yield* finished()
          assert.deepStrictEqual(yield* closedRows(owner), closed, "no row is lost, and none is there twice")

          // A default partition that is not read under a lock.
          yield* owner`INSERT INTO requests (id, request_id, route, status, duration_us, at)
            SELECT uuidv7('10 years'), 'far-' || n, 'GET /v1/balance', 200, n, now() FROM generate_series(1, 60000) n`
          // Every month of now is expired, by the clock of the maintenance alone.
          const [first] = (yield* Effect.provideService(partitionsOf("deliveries"), SqlClient, owner))!
          const now = yield* Effect.provideService(databaseTime, SqlClient, owner)
          yield* owner`CREATE FUNCTION public.now() RETURNS timestamptz LANGUAGE sql STABLE AS $$
            SELECT pg_catalog.now() + current_setting('test.ahead_ms')::double precision * interval '1 millisecond' $$`
          yield* finished({
            "test.ahead_ms": String(timeOf(first!.before) - now + RETENTION_DAYS * DAY_MS),
            search_path: "public,pg_catalog"
          })
          yield* traffic.assertFinishes

          const all = [...crashes.changes]
          for (const table of partitionedTables) {
            const steps = all.filter((change) => change.includes(`ALTER TABLE ${table.name} ATTACH PARTITION`))
            assert.isAbove(steps.length, 1, `${table.name} is partitioned, and gets partitions ahead`)
            if (hasRetention(table)) {
              assert.isTrue(
                all.some((change) => change.includes(`ALTER TABLE ${table.name} DETACH PARTITION`)),
                `months of ${table.name} are removed`
              )
            }
          }
          const rebuilt = all.flatMap((change) => /^REINDEX INDEX CONCURRENTLY (\w+)$/.exec(change)?.[1] ?? [])
          assert.isNotEmpty(rebuilt)
          for (const name of rebuilt) assert.include(all, `ALTER INDEX ${name} RESET (deduplicate_items)`)
          assert.deepStrictEqual(
            yield* owner`SELECT relname FROM pg_class WHERE 'deduplicate_items=on' = ANY (reloptions)`,
            []
          )
          for (const table of ["requests", "deliveries", "changes", "charges", "payouts", "requests_default"]) {
            assert.include(all.join("\n"), `COMMIT of ALTER TABLE ${table} VALIDATE CONSTRAINT`)
          }
        })
        yield* Effect.scoped(Effect.provide(continues, yield* serviceOn(url)))
      }).pipe(Effect.scoped)
  )
})
