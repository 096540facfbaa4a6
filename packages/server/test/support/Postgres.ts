/**
 * One PostgreSQL for a whole test run, and an empty database for each test that asks.
 *
 * The default export is a vitest `globalSetup`: it starts the embedded server in a temporary folder, provides its
 * URL to the workers as `databaseUrl`, and stops the server and removes the folder at the end of the run. It makes the
 * role that services run with, which owns nothing: `asService`.
 */
import * as PgConnection from "@effect/sql-pg/PgConnection"
import * as EmbeddedPostgres from "@pix-payments/embedded-postgres/EmbeddedPostgres"
import { temporaryFolder } from "@pix-payments/embedded-postgres/test/TemporaryFolder"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Redacted from "effect/Redacted"
import * as Scope from "effect/Scope"
import type { SqlError } from "effect/sql/SqlError"
import { randomUUID } from "node:crypto"
import { inject } from "vitest"
import type { TestProject } from "vitest/node"

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
  await temporaryFolder.pipe(
    Effect.flatMap((dataDir) => EmbeddedPostgres.start({ dataDir, maxConnections: 400 })),
    Effect.tap(({ url }) => makeServiceRole(url)),
    Effect.tap(({ url }) => Effect.sync(() => project.provide("databaseUrl", Redacted.value(url)))),
    Effect.onError(() => Effect.promise(close)),
    Scope.provide(scope),
    Effect.runPromise
  )
  return close
}

/** A new empty database, dropped with the scope, even while clients are connected. */
export const createDatabase = (
  name = `test_${randomUUID().replaceAll("-", "")}`
): Effect.Effect<Redacted.Redacted<string>, SqlError, Scope.Scope> =>
  Effect.acquireRelease(Effect.as(onServer(`CREATE DATABASE ${quoted(name)}`), urlOf(name)), () =>
    Effect.orDie(onServer(`DROP DATABASE IF EXISTS ${quoted(name)} WITH (FORCE)`))
  )

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

const urlOf = (name: string): Redacted.Redacted<string> => {
  const url = new URL(inject("databaseUrl"))
  url.pathname = `/${encodeURIComponent(name)}`
  return Redacted.make(url.href)
}

const quoted = (name: string) => `"${name.replaceAll('"', '""')}"`
