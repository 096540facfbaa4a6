/**
 * Who is measured: our service, and peers of the same semantics. A contender says how it is started on an empty
 * database; to add one, write it here and name it in `contenders`.
 *
 * All run on the same PostgreSQL server, each in a database of its own, on loopback, with the same Node.
 */
import { DatabaseLocation, layer as migratedDatabase } from "@pix-payments/server/sql/Database"
import { allScopes } from "@pix-payments/domain/Scope"
import { Settings } from "@pix-payments/server/Settings"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import { execFile } from "node:child_process"
import { randomBytes } from "node:crypto"
import { createRequire } from "node:module"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { Client } from "pg"
import { account, insertAccount } from "../load/Accounts.ts"
import { loadJobs, type Target } from "../load/Jobs.ts"
import { BenchError, type Child, freePort, node, ready } from "./Processes.ts"

export interface Place {
  /** An empty database. */
  readonly databaseUrl: string
  /** A folder of its own. */
  readonly folder: string
  /** Further arguments of `node`: a profiler, say. */
  readonly nodeArgs: ReadonlyArray<string>
  /** How many connections to the database it may have; each one's own choice where it is not given. */
  readonly connections?: number
}

/** A contender that answers. */
interface Running extends Target {
  readonly pid: number
  /** From the start of its process until it said that it is ready. */
  readonly startedInMs: number
  /** Where nothing is asked over HTTP: the program that is told what to do in place of the load generator. */
  readonly program?: Child
  /** Processes that it has for its own needs, and that are none of its own. */
  readonly helpers?: ReadonlyArray<number>
}

/** What `npm start` gives node. */
const nodeFlags = ["--max-semi-space-size=64"]

const poolOf = (connections: number | undefined): Readonly<Record<string, string>> =>
  connections === undefined ? {} : { DATABASE_CONNECTIONS: String(connections) }

/** The root of this checkout, and of another one to compare it with. */
const here = fileURLToPath(new URL("../..", import.meta.url))
const before = process.env["BENCH_BEFORE"]

/** Starts the server of a checkout; settings that are not given have their defaults. */
const ourServer = Effect.fnUntraced(function* (
  { connections, databaseUrl, folder, nodeArgs }: Place,
  settings: Readonly<Record<string, string>> = {},
  checkout = here
) {
  const port = yield* freePort
  const operatorPort = yield* freePort
  const token = randomBytes(24).toString("hex")
  const main = join(checkout, "packages/server/src/main.ts")
  const environment = {
    DATABASE_URL: databaseUrl,
    DATA_DIR: join(folder, "data"),
    PORT: String(port),
    OPERATOR_PORT: String(operatorPort),
    OPERATOR_TOKEN: token,
    LOG_LEVEL: "error",
    SHUTDOWN_DELAY_MS: "0",
    ...poolOf(connections),
    ...settings
  }
  const { child, startedInMs } = yield* started(
    "our server",
    node("our server", [...nodeArgs, ...nodeFlags, main], environment),
    `http://127.0.0.1:${operatorPort}/health/ready`
  )
  return { child, port, operatorPort, token, startedInMs }
})

const started = (name: string, start: ReturnType<typeof node>, readyUrl: string) =>
  Effect.gen(function* () {
    const startedAt = performance.now()
    const child = yield* start
    yield* ready(name, child, readyUrl)
    return { child, startedInMs: performance.now() - startedAt }
  })

/** Our server with an account, an application and a key, which its operator API has made. */
export const startOurs = Effect.fnUntraced(function* (
  place: Place,
  settings: Readonly<Record<string, string>> = {},
  checkout = here
) {
  const server = yield* ourServer(place, settings, checkout)
  const create = (path: string, body: object) =>
    Effect.tryPromise({
      try: async () => {
        const answer = await fetch(`http://127.0.0.1:${server.operatorPort}/operator/v1${path}`, {
          method: "POST",
          headers: { "x-operator-token": server.token, "content-type": "application/json" },
          body: JSON.stringify(body)
        })
        const text = await answer.text()
        if (answer.status !== 201) throw new Error(`${answer.status} ${text}`)
        return JSON.parse(text) as { readonly id: string; readonly key?: string }
      },
      catch: (cause) => new BenchError({ message: `our server refuses POST ${path}: ${String(cause)}` })
    })
  const made = yield* create("/accounts", account)
  const application = yield* create(`/accounts/${made.id}/applications`, { name: "bench" })
  const { key } = yield* create(`/applications/${application.id}/keys`, {
    name: "bench",
    scopes: allScopes
  })
  if (key === undefined) return yield* new BenchError({ message: "our server answers a key without its text" })
  return { ...server, pid: server.child.pid, apiKey: key }
})

export interface Contender {
  readonly name: string
  readonly description: string
  /** Names of the jobs of requests that it takes part in. */
  readonly jobs: ReadonlyArray<string>
  /** The fewest connections that it is asked over (1). */
  readonly from?: number
  /** What is compared with what it answers; that which keeps nothing is given an empty database. */
  readonly keeps: "rows and log" | "rows" | "nothing"
  readonly start: (place: Place) => Effect.Effect<Running, BenchError, Scope.Scope>
}

const all = loadJobs.map(({ name }) => name)

const except = (...jobs: ReadonlyArray<string>) => all.filter((job) => !jobs.includes(job))

export const pixPayments: Contender = {
  name: "pix-payments",
  description: "packages/server/src/main.ts with its default settings",
  jobs: all,
  keeps: "rows and log",
  start: (place) => startOurs(place)
}

/** The service as it was: `BENCH_BEFORE` names an installed checkout of an earlier commit. */
const pixPaymentsBefore: ReadonlyArray<Contender> =
  before === undefined
    ? []
    : [
        {
          name: "pix-payments before",
          description: "the same from the checkout that BENCH_BEFORE names",
          jobs: all,
          keeps: "rows and log",
          start: (place) => startOurs(place, {}, before)
        }
      ]

const twoProcesses: Contender = {
  name: "pix-payments x2",
  description: "the same with PROCESSES=2",
  jobs: ["create-charge", "get-charge", "create-payout-hot"],
  from: 8,
  keeps: "rows and log",
  start: (place) => startOurs(place, { PROCESSES: "2" })
}

const withTelemetry: Contender = {
  name: "pix-payments otlp",
  description: "the same with traces and metrics on, sent to a collector on loopback that throws them away",
  jobs: ["create-charge", "get-charge"],
  from: 8,
  keeps: "rows and log",
  start: Effect.fnUntraced(function* (place) {
    const port = yield* freePort
    const main = fileURLToPath(new URL("../load/collector.ts", import.meta.url))
    const collector = yield* node("the collector", [main], { PORT: String(port) })
    const url = `http://127.0.0.1:${port}`
    yield* ready("the collector", collector, url)
    const server = yield* startOurs(place, { OTEL_EXPORTER_OTLP_ENDPOINT: url })
    return { ...server, helpers: [collector.pid] }
  })
}

/**
 * A peer in `peers/`: a program that reads PORT and DATABASE_URL, on the schema of our migrations. `compile` makes it,
 * where Node cannot run it as it stands.
 */
const peer = ({
  compile,
  main,
  ...about
}: Omit<Contender, "start" | "keeps"> & {
  readonly main: string
  readonly compile?: Effect.Effect<void, BenchError>
}): Contender => ({
  ...about,
  keeps: "rows and log",
  start: Effect.fnUntraced(function* ({ connections, databaseUrl, nodeArgs }) {
    if (compile !== undefined) yield* compile
    yield* migrate(databaseUrl)
    // The same account, application and key that our server is asked for.
    const { apiKey } = yield* withDatabase(databaseUrl, async (database) => {
      // The room in the pages is for our updates; theirs make no use of it.
      await database.query("ALTER TABLE charges SET (fillfactor = 100)")
      return insertAccount(database)
    })
    const port = yield* freePort
    const file = fileURLToPath(new URL(main, import.meta.url))
    const environment = { DATABASE_URL: databaseUrl, PORT: String(port), ...poolOf(connections) }
    const { child, startedInMs } = yield* started(
      about.name,
      node(about.name, [...nodeArgs, file], environment),
      `http://127.0.0.1:${port}/health/ready`
    )
    return { pid: child.pid, port, apiKey, startedInMs }
  })
})

/** What `tsc` makes of a project is made once, and again when it has changed. */
const compiled = (project: string) =>
  Effect.tryPromise({
    try: () => {
      const typescript = dirname(createRequire(import.meta.url).resolve("typescript/package.json"))
      const folder = fileURLToPath(new URL(project, import.meta.url))
      return promisify(execFile)(process.execPath, [join(typescript, "bin/tsc"), "-b", folder])
    },
    catch: (cause) => new BenchError({ message: `${project} does not compile: ${String(cause)}` })
  }).pipe(Effect.asVoid, Effect.cached, Effect.runSync)

/** Our HTTP layer with stores in memory. */
const httpAlone: Contender = {
  name: "http alone",
  description: "a limit: the HTTP layer and services of pix-payments, stores in memory (peers/http-alone.ts)",
  jobs: ["create-charge", "get-charge"],
  keeps: "nothing",
  start: Effect.fnUntraced(function* ({ nodeArgs }) {
    const port = yield* freePort
    const main = fileURLToPath(new URL("../peers/http-alone.ts", import.meta.url))
    const { child, startedInMs } = yield* started(
      "http alone",
      node("http alone", [...nodeArgs, main], { PORT: String(port), LOG_LEVEL: "error" }),
      `http://127.0.0.1:${port}/openapi.json`
    )
    return { pid: child.pid, port, startedInMs, apiKey: `pix_${randomBytes(32).toString("base64url")}` }
  })
}

const postgresAlone: Contender = {
  name: "postgres alone",
  description:
    "a limit: the same rows in batches of 50 made inside PostgreSQL, with as many commits as a batch of the service " +
    "has, or the one query of a page; 4 connections, no HTTP, no rules (peers/postgres-alone.ts)",
  jobs: ["create-charge", "list-first", "list-500", "create-payout-hot", "create-payout-16"],
  from: 8,
  keeps: "rows",
  start: Effect.fnUntraced(function* ({ databaseUrl, nodeArgs }) {
    yield* migrate(databaseUrl)
    const main = fileURLToPath(new URL("../peers/postgres-alone.ts", import.meta.url))
    const child = yield* node("postgres alone", [...nodeArgs, main], { DATABASE_URL: databaseUrl }, "ipc")
    return { pid: child.pid, port: 0, apiKey: "", startedInMs: 0, program: child }
  })
}

export const fastify = peer({
  name: "fastify+pg",
  description: "Fastify 5 and pg, statement by statement, pool of 20 (peers/fastify-pg.ts)",
  jobs: all,
  main: "../peers/fastify-pg.ts"
})

/** The first one is what the ratios are to. */
export const contenders: readonly [Contender, ...Array<Contender>] = [
  fastify,
  peer({
    name: "fastify+pg batched",
    description: "the same with the very batching of pix-payments, pool of 10 (peers/fastify-pg-batched.ts)",
    jobs: except("complete-payout-hot", "complete-payout-16"),
    main: "../peers/fastify-pg-batched.ts"
  }),
  peer({
    name: "nestjs+orm",
    description:
      "NestJS 11 on Express, class-validator and TypeORM as most would write it, pool of 20 (peers/nestjs-orm)",
    jobs: except("complete-payout-hot", "complete-payout-16"),
    main: "../.data/nestjs-orm/nestjs-orm/main.js",
    compile: compiled("../peers/nestjs-orm")
  }),
  pixPayments,
  ...pixPaymentsBefore,
  twoProcesses,
  withTelemetry,
  httpAlone,
  postgresAlone
]

const toLoopback = { WEBHOOK_ALLOWED_NETWORKS: "127.0.0.0/8" }

/** Who sends webhooks. */
export interface Deliverer {
  readonly name: string
  readonly description: string
  /** What it gets of the deliveries of a turn: as much as it takes to be measured. */
  readonly share: number
  /** What it sends comes from rows: it has a database. */
  readonly reads: "rows" | "orders"
  readonly start: (place: Place) => Effect.Effect<Child, BenchError, Scope.Scope>
}

/** The first one is what the ratios are to. */
export const deliverers: readonly [Deliverer, ...Array<Deliverer>] = [
  {
    name: "one at a time",
    description: "a loop with fetch and pg: one row, one POST, one record (peers/one-at-a-time.ts)",
    share: 0.1,
    reads: "rows",
    start: Effect.fnUntraced(function* ({ databaseUrl, nodeArgs }) {
      yield* migrate(databaseUrl)
      // What its claim reads; ours it does not need.
      yield* withDatabase(databaseUrl, (database) =>
        database.query(`DROP INDEX deliveries_first_places, deliveries_repeated_places;
          CREATE INDEX deliveries_due ON deliveries (due_at) WHERE status IN ('scheduled', 'delivering')`)
      )
      const main = fileURLToPath(new URL("../peers/one-at-a-time.ts", import.meta.url))
      return yield* node("one at a time", [...nodeArgs, main], { DATABASE_URL: databaseUrl })
    })
  },
  {
    name: "pix-payments",
    description: "packages/server/src/main.ts with its default settings, loopback allowed",
    share: 1,
    reads: "rows",
    start: (place) => Effect.map(ourServer(place, toLoopback), ({ child }) => child)
  },
  ...(before === undefined
    ? []
    : [
        {
          name: "pix-payments before",
          description: "the same from the checkout that BENCH_BEFORE names",
          share: 1,
          reads: "rows" as const,
          start: (place: Place) => Effect.map(ourServer(place, toLoopback, before), ({ child }) => child)
        }
      ]),
  {
    name: "plain undici",
    description: "the limit: the same POSTs, 64 at once over one undici Pool, no database (peers/plain-undici.ts)",
    // It is through with as many as the others in a quarter of a second.
    share: 5,
    reads: "orders",
    start: ({ nodeArgs }) => {
      const main = fileURLToPath(new URL("../peers/plain-undici.ts", import.meta.url))
      return node("plain undici", [...nodeArgs, main], {}, "ipc")
    }
  }
]

/** Brings a database to the schema of our server. */
export const migrate = (databaseUrl: string) =>
  Layer.build(
    migratedDatabase.pipe(
      Layer.provide(
        Layer.succeed(DatabaseLocation, DatabaseLocation.of({ url: Redacted.make(databaseUrl), embeddedIn: undefined }))
      ),
      Layer.provide(Settings.layer),
      Layer.provide(ConfigProvider.layer(ConfigProvider.fromUnknown({})))
    )
  ).pipe(
    Effect.scoped,
    Effect.mapError((error) => new BenchError({ message: `the migrations fail: ${error.message}` }))
  )

/** Does something with a connection of the bench's own. */
export const withDatabase = <A>(databaseUrl: string, use: (database: Client) => Promise<A>) =>
  Effect.tryPromise({
    try: async () => {
      const database = new Client({ connectionString: databaseUrl })
      await database.connect()
      try {
        return await use(database)
      } finally {
        await database.end()
      }
    },
    catch: (cause) => new BenchError({ message: `the database refuses: ${String(cause)}` })
  })

/**
 * What is wrong in the database, once the work beside the requests (the request log, deliveries) has had its time. That
 * is no part of what is measured: on a busy machine it may lag behind the last answer.
 */
export const wrongIn = (databaseUrl: string, check: (database: Client) => Promise<ReadonlyArray<string>>) =>
  withDatabase(databaseUrl, check).pipe(
    Effect.repeat({
      until: (sentences) => sentences.length === 0,
      schedule: Schedule.max([Schedule.spaced("300 millis"), Schedule.recurs(70)])
    })
  )
