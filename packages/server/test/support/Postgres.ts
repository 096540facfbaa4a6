/**
 * One PostgreSQL for a whole test run, and a database for each test that asks: empty, or a copy of one that is migrated.
 *
 * The default export is a vitest `globalSetup`: it starts the embedded server, provides its URL to the workers as `databaseUrl`,
 * and stops the server and removes its files at the end of the run. It makes the role that services run with, which owns nothing
 * (`asService`), and the database that others are copied from.
 *
 * Its files are in memory where there is room, because a database has a thousand of them: a copy takes 0.05 s of CPU there and
 * 0.5 s on a disk, and migrations take 1 s. It survives no power failure. A test of durability starts a server of its own.
 */
import * as PgClient from "@effect/sql-pg/PgClient"
import * as PgConnection from "@effect/sql-pg/PgConnection"
import * as EmbeddedPostgres from "@pix-payments/embedded-postgres/EmbeddedPostgres"
import { temporaryFolder } from "@pix-payments/embedded-postgres/test/TemporaryFolder"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Scope from "effect/Scope"
import { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import { randomUUID } from "node:crypto"
import { rmSync } from "node:fs"
import { mkdtemp, rm, statfs } from "node:fs/promises"
import { join } from "node:path"
import { inject } from "vitest"
import type { TestProject } from "vitest/node"
import { timeOf } from "../../src/database/Period.ts"
import * as Migrations from "../../src/schema/Migrations.ts"
import { databaseTime, partitionsOf } from "../../src/schema/partitions/Catalog.ts"
import { partitionedTables } from "../../src/schema/partitions/PartitionedTables.ts"
import { grantTo } from "../../src/schema/Privileges.ts"

export { temporaryFolder }

declare module "vitest" {
  export interface ProvidedContext {
    /** Of the server of this run, with its password. */
    readonly databaseUrl: string
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const scope = Scope.makeUnsafe()
  const close = () => Effect.runPromise(Scope.close(scope, Exit.void))
  await startServer.pipe(
    Effect.tap(({ url }) => makeServiceRole(url)),
    Effect.tap(({ url }) => makeTemplate(url)),
    Effect.tap(({ url }) => Effect.sync(() => project.provide("databaseUrl", Redacted.value(url)))),
    Effect.onError(() => Effect.promise(close)),
    Scope.provide(scope),
    Effect.runPromise
  )
  return close
}

/** Another server as that of this run, for a test that transactions of other tests' databases would disturb. */
export const startServer = Effect.suspend(() =>
  Effect.flatMap(folder, (dataDir) => EmbeddedPostgres.start({ dataDir, maxConnections: 400, settings }))
)

/** A new empty database, dropped with the scope, even while clients are connected. */
export const createDatabase = (
  name = `test_${randomUUID().replaceAll("-", "")}`,
  template = "template1"
): Effect.Effect<Redacted.Redacted<string>, SqlError, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.as(onServer(`CREATE DATABASE ${quoted(name)} TEMPLATE ${template} STRATEGY FILE_COPY`), urlOf(name)),
    () => Effect.orDie(onServer(`DROP DATABASE IF EXISTS ${quoted(name)} WITH (FORCE)`))
  )

/** The same, migrated and with the privileges of the role that services run with. */
export const createMigratedDatabase = Effect.suspend(() => createDatabase(undefined, TEMPLATE))

/** The same database for the role that services run with: its privileges are those of `schema/Privileges.ts`. */
export const asService = (url: Redacted.Redacted<string>): Redacted.Redacted<string> => {
  const withRole = new URL(Redacted.value(url))
  withRole.username = SERVICE_ROLE
  withRole.password = SERVICE_ROLE
  return Redacted.make(withRole.href)
}

/** The two roles of a database of this run's server: one migrates, the other one serves. */
export const rolesOf = (
  url: Redacted.Redacted<string>
): { readonly url: Redacted.Redacted<string>; readonly migrationsUrl: Redacted.Redacted<string> | undefined } =>
  isOfThisRun(Redacted.value(url)) ? { url: asService(url), migrationsUrl: url } : { url, migrationsUrl: undefined }

/** A server that this run has not made knows nothing of its roles. */
const isOfThisRun = (url: string): boolean =>
  URL.canParse(url) && new URL(url).password === new URL(inject("databaseUrl")).password

/** The rows of a query on a connection to the server of this run. */
export const onServer = (statement: string, url = urlOf("postgres")) =>
  PgConnection.make({ url }).pipe(
    Effect.flatMap((connection) => connection.queryValues(statement, [], false)),
    Effect.scoped
  )

export const SERVICE_ROLE = "pix_payments_service"

const makeServiceRole = (url: Redacted.Redacted<string>) =>
  onServer(`CREATE ROLE ${SERVICE_ROLE} LOGIN PASSWORD '${SERVICE_ROLE}'`, url)

/** No client connects to it, because only then can it be copied. */
const makeTemplate = (server: Redacted.Redacted<string>) =>
  Effect.gen(function* () {
    yield* onServer(`CREATE DATABASE ${TEMPLATE}`, server)
    const url = new URL(Redacted.value(server))
    url.pathname = `/${TEMPLATE}`
    const built = yield* Layer.build(PgClient.layer({ url: Redacted.make(url.href), maxConnections: 3 }))
    yield* Effect.provideContext(Migrations.runWith(grantTo(SERVICE_ROLE)), built)
    yield* Effect.provideContext(beyondMonthEnd, built)
    yield* onServer(`ALTER DATABASE ${TEMPLATE} ALLOW_CONNECTIONS false`, server)
  }).pipe(Effect.scoped)

const TEMPLATE = "migrated"

/** What a run makes is of the first partitions, also where it begins in the last hours of a month. */
const beyondMonthEnd = Effect.gen(function* () {
  const sql = yield* SqlClient
  const end = (yield* databaseTime) + RUN_MS
  for (const { name, period } of partitionedTables) {
    const [first, second] = (yield* partitionsOf(name))!
    if (period !== "month" || timeOf(first!.before) > end) continue
    yield* sql.unsafe(`DROP TABLE ${second!.name}`)
    yield* sql.unsafe(`ALTER TABLE ${name} DETACH PARTITION ${first!.name}`)
    yield* sql.unsafe(
      `ALTER TABLE ${name} ATTACH PARTITION ${first!.name} FOR VALUES FROM (MINVALUE) TO ('${second!.before}')`
    )
  }
})

/** More than a run takes. */
const RUN_MS = 2 * 3_600_000

/** In memory where Linux has room for some hundred databases and the log, else in the system's temporary folder. */
const folder = Effect.gen(function* () {
  const hasRoom = yield* Effect.promise(() =>
    statfs(MEMORY).then(
      ({ bavail, bsize }) => bavail * bsize >= MEMORY_NEEDED,
      () => false
    )
  )
  const path = yield* hasRoom ? folderIn(MEMORY) : temporaryFolder
  // An interrupted run closes no scope. A server whose files are gone ends within a minute.
  process.once("exit", () => rmSync(path, { recursive: true, force: true }))
  return path
})

const folderIn = (parent: string) =>
  Effect.acquireRelease(
    Effect.promise(() => mkdtemp(join(parent, "pix-payments-test-"))),
    (path) => Effect.promise(() => rm(path, { recursive: true, force: true, maxRetries: 3 }))
  )

const MEMORY = "/dev/shm"
const MEMORY_NEEDED = 3 * 2 ** 30

const settings = {
  autovacuum: "off",
  fsync: "off",
  full_page_writes: "off",
  shared_buffers: "256MB",
  min_wal_size: "128MB",
  max_wal_size: "1GB"
}

const urlOf = (name: string): Redacted.Redacted<string> => {
  const url = new URL(inject("databaseUrl"))
  url.pathname = `/${encodeURIComponent(name)}`
  return Redacted.make(url.href)
}

const quoted = (name: string) => `"${name.replaceAll('"', '""')}"`
