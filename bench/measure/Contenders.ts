/**
 * The contenders of the request jobs: our service, and peers that give the same answers and rows.
 *
 * All run on one PostgreSQL server, each in its own database, on loopback, with the same Node. To add one, declare it
 * here and list it in `contenders`.
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { randomBytes } from "node:crypto"
import { fileURLToPath } from "node:url"
import { insertAccount } from "../load/Accounts.ts"
import { loadJobs, type Target } from "../load/Jobs.ts"
import { migrate, withDatabase } from "./Database.ts"
import * as NestPeer from "./NestPeer.ts"
import { poolSize, type StartOptions, startServer } from "./OurServer.ts"
import { type BenchError, type Child, freePort, spawnNode, startNode, waitUntilReady } from "./Processes.ts"

export interface Contender {
  readonly name: string
  readonly description: string
  /** Names of the request jobs that it takes part in. */
  readonly jobs: ReadonlyArray<string>
  /** It is left out of turns with fewer connections (1). */
  readonly minConnections?: number
  /** Server processes (1): each is warmed up. */
  readonly processes?: number
  /** What the checks compare with its answers. One that stores nothing gets an empty database. */
  readonly stores: "rows and request log" | "rows" | "nothing"
  /** Packages outside the workspace. */
  readonly packages?: Packages
  readonly start: (options: StartOptions) => Effect.Effect<RunningContender, BenchError, Scope.Scope>
}

interface RunningContender extends Target {
  readonly pid: number
  /** From the start of its process until it was ready. */
  readonly startedInMs: number
  /** Creates the load itself, in place of the HTTP load generator. */
  readonly loadGenerator?: Child
  /** Processes that the contender needs, and whose CPU is not counted as its own. */
  readonly auxiliaryPids?: ReadonlyArray<number>
}

interface Packages {
  readonly names: string
  readonly isInstalled: () => boolean
  /** False where they cannot be installed. */
  readonly install: Effect.Effect<boolean>
}

const pinnedJobs = loadJobs.filter(({ isPinned }) => isPinned === true).map(({ name }) => name)

const allJobs = loadJobs.map(({ name }) => name).filter((name) => !pinnedJobs.includes(name))

const allExcept = (...jobs: ReadonlyArray<string>) => allJobs.filter((job) => !jobs.includes(job))

// ---- our service ----

export const pixPayments: Contender = {
  name: "pix-payments",
  description: "packages/server/dist/main.js with its default settings",
  jobs: [...allJobs, ...pinnedJobs],
  stores: "rows and request log",
  start: (options) => startServer(options)
}

/** An installed checkout of an earlier commit. */
export const earlierCheckout = process.env["BENCH_BEFORE"]

const pixPaymentsBefore: ReadonlyArray<Contender> =
  earlierCheckout === undefined
    ? []
    : [
        {
          name: "pix-payments before",
          description: "the same from the checkout that BENCH_BEFORE names",
          jobs: allJobs,
          stores: "rows and request log",
          start: (options) => startServer(options, {}, earlierCheckout)
        }
      ]

const twoProcesses: Contender = {
  name: "pix-payments x2",
  description: "the same with PROCESSES=2",
  jobs: ["create-charge", "get-charge", "create-payout-hot", ...pinnedJobs],
  minConnections: 8,
  processes: 2,
  stores: "rows and request log",
  start: (options) => startServer(options, { PROCESSES: "2" })
}

const withTelemetry: Contender = {
  name: "pix-payments otlp",
  description:
    "the same with a tenth of the requests traced, exported with logs and metrics to a collector on loopback that discards them",
  jobs: ["create-charge", "get-charge"],
  minConnections: 8,
  stores: "rows and request log",
  start: Effect.fnUntraced(function* (options) {
    const port = yield* freePort
    const main = fileURLToPath(new URL("../load/collector.ts", import.meta.url))
    const collector = yield* spawnNode("the collector", [main], { PORT: String(port) })
    const url = `http://127.0.0.1:${port}`
    yield* waitUntilReady("the collector", collector, url)
    const server = yield* startServer(options, { OTEL_EXPORTER_OTLP_ENDPOINT: url })
    return { ...server, auxiliaryPids: [collector.pid] }
  })
}

// ---- peers ----

/** A program in `peers/` that reads PORT and DATABASE_URL and uses our schema. */
const peer = ({
  compile,
  main,
  ...about
}: Omit<Contender, "start" | "stores"> & {
  readonly main: string
  readonly compile?: Effect.Effect<void, BenchError>
  readonly stores?: Contender["stores"]
}): Contender => ({
  stores: "rows and request log",
  ...about,
  start: Effect.fnUntraced(function* ({ connections, databaseUrl, nodeArgs }) {
    if (compile !== undefined) yield* compile
    yield* migratePeer(databaseUrl)
    const { apiKey } = yield* withDatabase(databaseUrl, insertAccount)
    const port = yield* freePort
    const environment = { DATABASE_URL: databaseUrl, PORT: String(port), ...poolSize(connections) }
    const { child, startedInMs } = yield* startNode(
      about.name,
      spawnNode(about.name, [...nodeArgs, main], environment),
      `http://127.0.0.1:${port}/health/ready`
    )
    return { pid: child.pid, port, apiKey, startedInMs }
  })
})

/**
 * Our tables, except that charges and payouts are plain ones whose unique indexes claim the keys, charges have their receiver
 * and recovery in the row, deliveries no hash of their destination, and transfers no position: what somebody who does not partition writes, and less
 * work for a peer. Rows that are there stay.
 */
const migratePeer = Effect.fnUntraced(function* (databaseUrl: string) {
  const { rowCount: plain } = yield* withDatabase(databaseUrl, (database) =>
    database.query("SELECT FROM pg_class WHERE oid = to_regclass('charges') AND relkind = 'r'")
  )
  if (plain === 1) return
  yield* migrate(databaseUrl)
  yield* withDatabase(databaseUrl, (database) =>
    database.query(`
      ALTER TABLE deliveries ALTER destination_hash DROP NOT NULL;
      ALTER TABLE ledger_transfers ALTER position SET DEFAULT 1, ALTER day SET DEFAULT current_date;
      DROP INDEX ledger_transfers_of_day, ledger_transfers_at_bank;
      ALTER TABLE charges RENAME TO charges_partitioned;
      CREATE TABLE charges (LIKE charges_partitioned INCLUDING ALL);
      ALTER TABLE charges ADD recover_at timestamptz, ADD receiver json;
      INSERT INTO charges SELECT c.*, NULL, r.receiver
        FROM charges_partitioned c LEFT JOIN receivers r ON r.id = c.receiver_id;
      DROP TABLE charges_partitioned;
      CREATE UNIQUE INDEX charges_key ON charges (application_id, origin, idempotency_key)
        WHERE idempotency_key IS NOT NULL;
      CREATE INDEX charges_recover ON charges (recover_at) WHERE status = 'processing';
      ALTER TABLE payouts RENAME TO payouts_partitioned;
      CREATE TABLE payouts (LIKE payouts_partitioned INCLUDING ALL);
      INSERT INTO payouts SELECT * FROM payouts_partitioned;
      DROP TABLE payouts_partitioned;
      CREATE UNIQUE INDEX payouts_key ON payouts (coalesce(application_id, account_id), origin, idempotency_key)
        WHERE idempotency_key IS NOT NULL`)
  )
})

const peerPath = (file: string): string => fileURLToPath(new URL(`../peers/${file}`, import.meta.url))

export const fastify = peer({
  name: "fastify+pg",
  description: "Fastify 5 and pg, one statement at a time, pool of 20 (peers/fastify-pg.ts)",
  jobs: allJobs,
  main: peerPath("fastify-pg.ts")
})

export const lean = peer({
  name: "fastify+pg lean",
  description:
    "the same without a request log and the receiver object, one statement a step (peers/fastify-pg-lean.ts)",
  jobs: allJobs,
  stores: "rows",
  main: peerPath("fastify-pg-lean.ts")
})

const fastifyBatched = peer({
  name: "fastify+pg batched",
  description: "the same with the batching of pix-payments, pool of 10 (peers/fastify-pg-batched.ts)",
  jobs: allExcept("complete-payout-hot", "complete-payout-16"),
  main: peerPath("fastify-pg-batched.ts")
})

export const nest = peer({
  name: "nestjs+orm",
  description: "NestJS 11 on Express with class-validator and TypeORM, pool of 20 (peers/nestjs-orm)",
  jobs: allExcept("complete-payout-hot", "complete-payout-16"),
  packages: { names: "NestJS and TypeORM", isInstalled: NestPeer.isInstalled, install: NestPeer.install },
  main: NestPeer.program,
  compile: NestPeer.compile
})

// ---- limits ----

const httpAlone: Contender = {
  name: "http alone",
  description: "a limit: the HTTP layer and services of pix-payments with stores in memory (peers/http-alone.ts)",
  jobs: ["create-charge", "get-charge"],
  stores: "nothing",
  start: Effect.fnUntraced(function* ({ nodeArgs }) {
    const port = yield* freePort
    const { child, startedInMs } = yield* startNode(
      "http alone",
      spawnNode("http alone", [...nodeArgs, peerPath("http-alone.ts")], { PORT: String(port), LOG_LEVEL: "error" }),
      `http://127.0.0.1:${port}/openapi.json`
    )
    return { pid: child.pid, port, startedInMs, apiKey: `pix_${randomBytes(32).toString("base64url")}` }
  })
}

const postgresAlone: Contender = {
  name: "postgres alone",
  description:
    "a limit: the same rows in batches of 50 generated inside PostgreSQL, with as many commits as a batch of the " +
    "service, the one query of a page, or one look-up of ten ids for ten gets; 4 connections, no HTTP, no rules (peers/postgres-alone.ts)",
  jobs: ["create-charge", "get-charge", "list-first", "list-500", "create-payout-hot", "create-payout-16"],
  minConnections: 8,
  stores: "rows",
  start: Effect.fnUntraced(function* ({ databaseUrl, nodeArgs }) {
    yield* migratePeer(databaseUrl)
    const main = peerPath("postgres-alone.ts")
    const child = yield* spawnNode("postgres alone", [...nodeArgs, main], { DATABASE_URL: databaseUrl }, "ipc")
    return { pid: child.pid, port: 0, apiKey: "", startedInMs: 0, loadGenerator: child }
  })
}

/** Ratios are to the first one, the leanest peer without batching. */
export const contenders: readonly [Contender, ...Array<Contender>] = [
  lean,
  fastify,
  fastifyBatched,
  nest,
  pixPayments,
  ...pixPaymentsBefore,
  twoProcesses,
  withTelemetry,
  httpAlone,
  postgresAlone
]
