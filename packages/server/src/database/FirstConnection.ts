/**
 * The first connection to PostgreSQL at start: waits for the server and checks that sessions work.
 *
 * Guarantees:
 * - While PostgreSQL is away, a start waits for it and logs why; a program with a `Patience` only so long.
 * - A connection beyond loopback without TLS is logged as a warning.
 * - Any other error, such as a wrong password, ends the start.
 * - A pooler that shares server connections between sessions ends the start, with the reason: `LISTEN`, session settings
 *   and advisory locks need a session (PgBouncer: `pool_mode = session`).
 * - A session has the settings below, or the start ends with those that are missing: a pooler may refuse them in the startup
 *   message, or drop them in silence (PgBouncer: `ignore_startup_parameters`). The role must have them then.
 */
import * as PgConnection from "@effect/sql-pg/PgConnection"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import type { SqlError } from "effect/sql/SqlError"
import { unprotectedHost } from "../base/DatabaseUrl.ts"
import { sqlStateOf } from "./SqlState.ts"

/** The settings of every session. `database/Database.ts` says why. */
export const sessionSettings = {
  statement_timeout: "5s",
  lock_timeout: "5s",
  idle_in_transaction_session_timeout: "15s",
  synchronous_commit: "on",
  timezone: "UTC",
  enable_seqscan: "off",
  enable_hashjoin: "off",
  enable_mergejoin: "off",
  enable_incremental_sort: "off",
  plan_cache_mode: "force_generic_plan",
  // A server with LLVM compiles a statement that it expects to be long, which takes longer than all of ours.
  jit: "off"
} as const

/** The pooler of `DATABASE_URL` cannot be used. */
export class UnsupportedPooler extends Schema.TaggedError<UnsupportedPooler>()("UnsupportedPooler", {
  message: Schema.String
}) {}

/** PostgreSQL was away for longer than the program waits. */
export class DatabaseAway extends Schema.TaggedError<DatabaseAway>()("DatabaseAway", { message: Schema.String }) {}

/** For how many milliseconds a program waits for PostgreSQL. */
export const Patience = Context.Reference<number>("@pix-payments/server/database/Patience", {
  defaultValue: () => Infinity
})

/** Waits for the server. Returns the startup parameters for all connections: none behind a pooler. */
export const firstConnection = (
  url: Redacted.Redacted<string>
): Effect.Effect<Readonly<Record<string, string>>, SqlError | UnsupportedPooler | DatabaseAway> =>
  Effect.gen(function* () {
    const host = unprotectedHost(url)
    if (host !== undefined) yield* Effect.logWarning(withoutTls(host))
    const patienceMs = yield* Patience
    const untilMs = (yield* Clock.currentTimeMillis) + patienceMs
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, LAST_PAUSE_MS)) {
      const error = yield* Effect.catch(Effect.as(check(url, sessionSettings), undefined), Effect.succeed)
      if (error === undefined) return sessionSettings
      if (refusesSettings(error)) {
        yield* check(url, {})
        return {}
      }
      if (error._tag !== "SqlError" || !isAway(error)) return yield* error
      if ((yield* Clock.currentTimeMillis) + pauseMs > untilMs) {
        return yield* new DatabaseAway({
          message: `The PostgreSQL of DATABASE_URL is away for ${patienceMs / 1000} s: ${reasonOf(error)}`
        })
      }
      yield* Effect.logWarning(`Waiting for the PostgreSQL of DATABASE_URL: ${reasonOf(error)}`)
      yield* Effect.sleep(pauseMs)
    }
  })

const withoutTls = (host: string): string =>
  `The connection to the PostgreSQL at ${host} is not encrypted: passwords and payments can be read on its way. Add sslmode=require to DATABASE_URL (docs/operations/settings.md)`

const FIRST_PAUSE_MS = 250
const LAST_PAUSE_MS = 5000

/** Nobody answers, or the server is starting, stopping or out of connections. A wrong URL is none of these. */
const isAway = (error: SqlError): boolean => {
  const code = sqlStateOf(error)
  if (code === undefined) return /timed out|closed|terminated/i.test(reasonOf(error))
  // An error code of the operating system (`ECONNREFUSED`), or an SQLSTATE.
  return /^(E[A-Z]+|EAI_AGAIN)$/.test(code) || /^(08(?!P)|57P|53300)/.test(code)
}

/** PgBouncer's message. */
const refusesSettings = (error: SqlError | UnsupportedPooler): boolean =>
  error._tag === "SqlError" && /unsupported startup parameter/i.test(reasonOf(error))

const reasonOf = (error: SqlError): string => {
  const { cause, message } = error.reason
  return cause instanceof Error ? cause.message : String(message)
}

const check = (url: Redacted.Redacted<string>, startupParameters: Readonly<Record<string, string>>) =>
  Effect.scoped(
    Effect.gen(function* () {
      const connect = PgConnection.make({
        url,
        applicationName: "pix-payments",
        connectTimeout: "3 seconds",
        startupParameters
      })
      const connection = yield* connect
      const query = (text: string) =>
        Effect.map(connection.query(text, [], false), ({ rows }) => rows as unknown as ReadonlyArray<CheckRow>)
      const [first] = yield* query("SELECT pg_backend_pid() AS pid")
      // Without a pooler, the process id of the startup message is that of the server process.
      if (first?.pid !== connection.processId) yield* requireSessionPooling(query, connect, first?.pid)
      const wrong = yield* query(differingSettings)
      if (wrong.length > 0) {
        return yield* new UnsupportedPooler({
          message:
            "The pooler of DATABASE_URL does not pass on the settings of sessions. Set them for its role: " +
            wrong.map(({ name, wanted }) => `ALTER ROLE CURRENT_USER SET ${name} = '${wanted}';`).join(" ")
        })
      }
    })
  )

interface CheckRow {
  readonly pid?: number
  readonly name?: string
  readonly wanted?: string
}

/** Fails unless a session keeps one server connection, which no other session uses. */
const requireSessionPooling = (
  query: (text: string) => Effect.Effect<ReadonlyArray<CheckRow>, SqlError>,
  connect: ReturnType<typeof PgConnection.make>,
  pid: number | undefined
) =>
  Effect.gen(function* () {
    const other = yield* connect
    const queryOther = (text: string) =>
      Effect.map(other.query(text, [], false), ({ rows }) => rows as unknown as ReadonlyArray<CheckRow>)
    yield* queryOther("BEGIN")
    const [theirs] = yield* queryOther("SELECT pg_backend_pid() AS pid")
    const [again] = yield* query("SELECT pg_backend_pid() AS pid")
    yield* queryOther("ROLLBACK")
    if (theirs?.pid === pid || again?.pid !== pid) {
      return yield* new UnsupportedPooler({
        message:
          "The pooler of DATABASE_URL shares server connections between sessions (PgBouncer: pool_mode = transaction " +
          "or statement). Set pool_mode = session."
      })
    }
  })

const differingSettings = `
  SELECT w.name, w.wanted FROM (VALUES ${Object.entries(sessionSettings)
    .map(([name, wanted]) => `('${name}', '${wanted}')`)
    .join(", ")}) AS w(name, wanted)
  WHERE lower(current_setting(w.name)) <> lower(w.wanted)`
