/**
 * Real faults: server processes under load, and their PostgreSQL, are killed, stopped, cut off,
 * filled up and given wrong clocks. After each, over HTTP: nothing is lost, duplicated or unfinished.
 *
 * `FAULT_ROUNDS=50 vitest run packages/server/test/durability/Faults.test.ts` does more of each; `FAULT_SEED` repeats the moments, not
 * what the operating system makes of them.
 */
import * as PgClient from "@effect/sql-pg/PgClient"
import { assert, layer } from "@effect/vitest"
import * as EmbeddedPostgres from "@pix-payments/embedded-postgres/EmbeddedPostgres"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Scope from "effect/Scope"
import { SqlClient } from "effect/sql/SqlClient"
import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { cuttingWire } from "../support/CuttingWire.ts"
import { type Load, OPERATOR_TOKEN, startLoad, type Target } from "../support/Load.ts"
import { randomFrom } from "../support/Model.ts"
import { createMigratedDatabase, temporaryFolder } from "../support/Postgres.ts"
import { type ServiceProcess, startProcess } from "../support/Process.ts"
import { closedPort, eventually, receiver } from "../support/Receiver.ts"

const rounds = Number(process.env["FAULT_ROUNDS"] ?? 3)
const seed = Number(process.env["FAULT_SEED"] ?? Math.floor(Math.random() * 2 ** 31))
const random = randomFrom(seed)
const patienceMs = 600_000 + rounds * 20_000

layer(Layer.empty, { excludeTestServices: true })(`Under load (FAULT_SEED=${seed})`, (it) => {
  it.effect(
    "a server that is killed at any moment, again and again, loses nothing",
    () =>
      Effect.gen(function* () {
        const url = yield* createMigratedDatabase
        const env = yield* environmentOf(url)
        let service = yield* startProcess(env)
        const target = targetOf(service)
        const hooks = yield* receiver()
        const load = yield* startLoad(target, hooks)
        for (let round = 0; round < rounds * 2; round++) {
          yield* someAnswers(load)
          yield* Effect.sleep(random() * 120)
          service.signal("SIGKILL")
          assert.strictEqual(yield* service.ended, "SIGKILL")
          service = yield* startProcess(env)
          Object.assign(target, targetOf(service))
        }
        yield* holds(load, url, service)
      }),
    patienceMs
  )

  it.effect(
    "a PostgreSQL that is stopped, or killed, and started again loses nothing",
    () =>
      Effect.gen(function* () {
        const dataDir = yield* temporaryFolder
        // One that nobody else is given while it is free.
        const port = yield* closedPort
        let database = yield* startDatabase(dataDir, port)
        const service = yield* startProcess(yield* environmentOf(database.url))
        const hooks = yield* receiver()
        const load = yield* startLoad(targetOf(service), hooks)
        for (let round = 0; round < rounds; round++) {
          yield* someAnswers(load)
          yield* Effect.sleep(random() * 120)
          if (round % 2 === 0) {
            const claim = yield* Effect.promise(() => readFile(join(dataDir, "postgres", "postmaster.pid"), "utf8"))
            process.kill(Number(claim.split("\n")[0]), "SIGKILL")
          }
          yield* database.stop
          yield* Effect.sleep(random() * 300)
          database = yield* startDatabase(dataDir, port)
        }
        yield* holds(load, database.url, service)
      }).pipe(Effect.scoped),
    patienceMs
  )

  it.effect(
    "connections that are cut anywhere, in the midst of a commit too, lose nothing",
    () =>
      Effect.gen(function* () {
        const url = yield* createMigratedDatabase
        const wire = yield* cuttingWire(url, random)
        const service = yield* startProcess(yield* environmentOf(wire.url))
        const hooks = yield* receiver()
        const load = yield* startLoad(targetOf(service), hooks)
        for (let round = 0; round < rounds; round++) {
          const before = wire.cuts()
          yield* someAnswers(load)
          wire.fray(true)
          yield* eventually(
            Effect.sync(wire.cuts),
            ({ all, atCommit }) => all >= before.all + 20 && atCommit > before.atCommit
          )
          wire.fray(false)
        }
        yield* holds(load, url, service)
      }),
    patienceMs
  )

  it.effect(
    "a pool without a free connection, and a server without one, lose nothing",
    () =>
      Effect.gen(function* () {
        const dataDir = yield* temporaryFolder
        const database = yield* startDatabase(dataDir)
        const service = yield* startProcess({ ...(yield* environmentOf(database.url)), DATABASE_CONNECTIONS: "3" })
        const hooks = yield* receiver()
        const load = yield* startLoad(targetOf(service), hooks, 24)
        const sql = yield* connect(database.url)
        for (let round = 0; round < rounds; round++) {
          yield* someAnswers(load)
          // Every statement that writes waits for this lock, and holds its connection.
          yield* sql.withTransaction(
            Effect.gen(function* () {
              yield* sql`LOCK TABLE charges, payouts, deliveries IN ACCESS EXCLUSIVE MODE`
              const lockedAt = performance.now()
              yield* eventually(
                // A transaction caches the activity at its first read, until it clears the snapshot.
                Effect.andThen(
                  sql`SELECT pg_stat_clear_snapshot()`,
                  sql<{ count: bigint }>`SELECT count(*) AS count FROM pg_stat_activity
                    WHERE application_name = 'pix-payments' AND wait_event_type = 'Lock'`
                ),
                // A service that sees no answers sends one statement at a time.
                ([row]) => Number(row?.count) >= 2 || performance.now() > lockedAt + 12_000
              )
            })
          )
          yield* someAnswers(load)
          // All connections of the server are taken, and the service's are closed.
          const taking = yield* Scope.fork(yield* Effect.scope)
          yield* takeEveryPlace(database.url).pipe(Scope.provide(taking))
          yield* sql`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'pix-payments'`
          yield* takeEveryPlace(database.url).pipe(Scope.provide(taking))
          yield* Effect.sleep(200 + random() * 300)
          yield* Scope.close(taking, Exit.void)
        }
        yield* holds(load, database.url, service)
      }).pipe(Effect.scoped),
    patienceMs
  )

  it.effect(
    "a clock that steps hours ahead and back loses nothing and leaves nothing waiting for hours",
    () =>
      Effect.gen(function* () {
        const url = yield* createMigratedDatabase
        const hour = 3_600_000
        const stepsMs = Array.from({ length: rounds + 1 }, (_, index) =>
          index === rounds ? 0 : Math.round((index % 2 === 0 ? 1 : -1) * (1 + random() * 5) * hour)
        )
        const service = yield* startProcess({
          ...(yield* environmentOf(url)),
          NODE_OPTIONS: `--import=${join(import.meta.dirname, "../support/Clock.preload.mjs")}`,
          CLOCK_STEPS_MS: stepsMs.join(",")
        })
        const hooks = yield* receiver()
        const load = yield* startLoad(targetOf(service), hooks)
        for (const stepMs of stepsMs) {
          yield* someAnswers(load)
          service.signal("SIGUSR2")
          yield* eventually(Effect.sync(service.written), (text) => text.includes(`the clock is off by ${stepMs} ms`))
        }
        yield* someAnswers(load)
        yield* holds(load, url, service)
      }),
    patienceMs
  )
})

/** After the faults: started work finishes, then the service stops. */
const holds = (load: Load, url: Redacted.Redacted<string>, service: ServiceProcess) =>
  Effect.gen(function* () {
    yield* load.stop
    yield* letLeasesRunOut(url)
    yield* load.assertNothingLost
    if (process.env["FAULT_ROUNDS"] !== undefined) process.stdout.write(`${load.summary()}\n`)
    service.signal("SIGTERM")
    assert.strictEqual(yield* service.ended, 0, service.written())
  })

/** Lets leases run out; nothing else is changed. */
const letLeasesRunOut = (url: Redacted.Redacted<string>) =>
  Effect.gen(function* () {
    const sql = yield* connect(url)
    // Work in progress has no expired lease.
    yield* sql`UPDATE deliveries SET due_at = least(due_at, now() + interval '1 second') WHERE id IN (
      SELECT id FROM deliveries WHERE status = 'delivering' FOR UPDATE SKIP LOCKED)`
    yield* sql`UPDATE charge_recoveries SET due_at = least(due_at, now() + interval '1 second') WHERE id IN (
      SELECT id FROM charge_recoveries FOR UPDATE SKIP LOCKED)`
    yield* sql`UPDATE payouts SET due_at = least(due_at, now() + interval '1 second') WHERE id IN (
      SELECT id FROM payouts WHERE status = 'processing' FOR UPDATE SKIP LOCKED)`
    yield* sql`UPDATE simulator_notifications SET due_at = least(due_at, now() + interval '1 second') WHERE id IN (
      SELECT id FROM simulator_notifications WHERE sent_at IS NULL FOR UPDATE SKIP LOCKED)`
  })

const someAnswers = (load: Load) => {
  const before = load.answered()
  return eventually(Effect.sync(load.answered), (count) => count >= before + 40)
}

const connect = (url: Redacted.Redacted<string>) =>
  Effect.map(Layer.build(PgClient.layer({ url, maxConnections: 3 })), (context) => Context.get(context, SqlClient))

/** Connects until the server refuses. */
const takeEveryPlace = (url: Redacted.Redacted<string>) =>
  Effect.gen(function* () {
    for (let refused = false; !refused;) {
      const client = yield* Effect.exit(Layer.build(Layer.fresh(PgClient.layer({ url, maxConnections: 1 }))))
      refused =
        Exit.isFailure(client) || Exit.isFailure(yield* Effect.exit(Context.get(client.value, SqlClient)`SELECT 1`))
    }
  })

const targetOf = ({ operatorUrl, publicUrl }: ServiceProcess): Target => ({ publicUrl, operatorUrl })

const environmentOf = (url: Redacted.Redacted<string>) =>
  Effect.map(temporaryFolder, (dataDir) => ({
    DATABASE_URL: Redacted.value(url),
    DATA_DIR: dataDir,
    OPERATOR_TOKEN,
    SIMULATOR_LATENCY_MS: "5",
    SIMULATOR_SETTLE_MS: "50",
    ACQUIRER_TIMEOUT_MS: "1000",
    WEBHOOK_TIMEOUT_MS: "2000",
    WEBHOOK_RETRY_DELAYS: "100ms,100ms,100ms,100ms,100ms,100ms,100ms",
    WEBHOOK_ALLOWED_NETWORKS: "127.0.0.0/8"
  }))

const startDatabase = (dataDir: string, port?: number) =>
  Effect.gen(function* () {
    const scope = yield* Scope.fork(yield* Effect.scope)
    const started = yield* EmbeddedPostgres.start({
      dataDir,
      maxConnections: 300,
      ...(port === undefined ? {} : { port })
    }).pipe(Scope.provide(scope))
    return { url: started.url, port: started.port, stop: Scope.close(scope, Exit.void) }
  })
