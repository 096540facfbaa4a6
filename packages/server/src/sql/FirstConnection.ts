/**
 * The first connection: what is found out about the server before anybody works with it.
 *
 * Guarantees: while PostgreSQL is away a start waits for it, and says so; what a person has to mend is told and ends the
 * start. A pooler between (PgBouncer) must leave a session its server connection: in transaction mode neither LISTEN nor
 * settings nor locks of a session hold, and the start is refused with the reason. A pooler refuses settings at the start
 * of a connection: the role has them then, which is checked.
 */
import * as PgConnection from "@effect/sql-pg/PgConnection"
import * as Effect from "effect/Effect"
import type * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import type { SqlError } from "effect/sql/SqlError"
import { codeOf } from "./Unavailable.ts"

/** What every session of the service is set to: see `sql/Database.ts`. */
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
  plan_cache_mode: "force_generic_plan"
} as const

/** There is a pooler between, and it does not fit. */
export class UnsupportedPooler extends Schema.TaggedError<UnsupportedPooler>()("UnsupportedPooler", {
  message: Schema.String
}) {}

/** Waits for the server; the settings that each connection is to send at its start: none behind a pooler. */
export const firstConnection = (
  url: Redacted.Redacted<string>
): Effect.Effect<Readonly<Record<string, string>>, SqlError | UnsupportedPooler> =>
  Effect.gen(function* () {
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, LAST_PAUSE_MS)) {
      const error = yield* Effect.catch(Effect.as(lookAt(url, sessionSettings), undefined), Effect.succeed)
      if (error === undefined) return sessionSettings
      if (refusesSettings(error)) {
        yield* lookAt(url, {})
        return {}
      }
      if (error._tag !== "SqlError" || !isAway(error)) return yield* error
      yield* Effect.logWarning(`PostgreSQL of DATABASE_URL is away, and waited for: ${reasonOf(error)}`)
      yield* Effect.sleep(pauseMs)
    }
  })

const FIRST_PAUSE_MS = 250
const LAST_PAUSE_MS = 5000

/** Nobody answers there, or the server is starting, stopping or full. What is wrong with a URL is none of that. */
const isAway = (error: SqlError): boolean => {
  const code = codeOf(error)
  if (code === undefined) return /timed out|closed|terminated/i.test(reasonOf(error))
  // The operating system's (`ECONNREFUSED`), or PostgreSQL's.
  return /^(E[A-Z]+|EAI_AGAIN)$/.test(code) || /^(08(?!P)|57P|53300)/.test(code)
}

/** As PgBouncer says it. */
const refusesSettings = (error: SqlError | UnsupportedPooler): boolean =>
  error._tag === "SqlError" && /unsupported startup parameter/i.test(reasonOf(error))

const reasonOf = (error: SqlError): string => {
  const { cause, message } = error.reason
  return cause instanceof Error ? cause.message : String(message)
}

const lookAt = (url: Redacted.Redacted<string>, startupParameters: Readonly<Record<string, string>>) =>
  Effect.scoped(
    Effect.gen(function* () {
      const connect = PgConnection.make({
        url,
        applicationName: "pix-payments",
        connectTimeout: "3 seconds",
        startupParameters
      })
      const connection = yield* connect
      const ask = (text: string) =>
        Effect.map(connection.query(text, [], false), ({ rows }) => rows as unknown as ReadonlyArray<Found>)
      const [first] = yield* ask("SELECT pg_backend_pid() AS pid")
      // Without a pooler the server tells its own process at the start of a connection.
      if (first?.pid !== connection.processId) yield* keepsItsSession(ask, connect, first?.pid)
      if (Object.keys(startupParameters).length > 0) return
      const wrong = yield* ask(differing)
      if (wrong.length > 0) {
        return yield* new UnsupportedPooler({
          message:
            "The pooler of DATABASE_URL refuses settings at the start of a connection; its role must have them: " +
            wrong.map(({ name, wanted }) => `ALTER ROLE CURRENT_USER SET ${name} = '${wanted}';`).join(" ")
        })
      }
    })
  )

interface Found {
  readonly pid?: number
  readonly name?: string
  readonly wanted?: string
}

/** In session mode one client's server connection is nobody else's, and always the same. */
const keepsItsSession = (
  ask: (text: string) => Effect.Effect<ReadonlyArray<Found>, SqlError>,
  connect: ReturnType<typeof PgConnection.make>,
  pid: number | undefined
) =>
  Effect.gen(function* () {
    const other = yield* connect
    const asOther = (text: string) =>
      Effect.map(other.query(text, [], false), ({ rows }) => rows as unknown as ReadonlyArray<Found>)
    yield* asOther("BEGIN")
    const [theirs] = yield* asOther("SELECT pg_backend_pid() AS pid")
    const [again] = yield* ask("SELECT pg_backend_pid() AS pid")
    yield* asOther("ROLLBACK")
    if (theirs?.pid === pid || again?.pid !== pid) {
      return yield* new UnsupportedPooler({
        message:
          "The pooler of DATABASE_URL gives a session's server connection to others (PgBouncer: pool_mode = transaction " +
          "or statement). It must be pool_mode = session."
      })
    }
  })

const differing = `
  SELECT w.name, w.wanted FROM (VALUES ${Object.entries(sessionSettings)
    .map(([name, wanted]) => `('${name}', '${wanted}')`)
    .join(", ")}) AS w(name, wanted)
  WHERE lower(current_setting(w.name)) <> lower(w.wanted)`
