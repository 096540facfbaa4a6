/**
 * Work on a database that ends before each of its changes once: what it changes is learned from what it sends, so a new step
 * is covered as soon as it exists.
 *
 * Between two changes a crash is the same wherever it happens: the database has the first and not the second.
 */
import * as PgClient from "@effect/sql-pg/PgClient"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { SqlClient } from "effect/sql/SqlClient"
import { eventually } from "../../support/Receiver.ts"
import { type End, statementWire } from "../../support/StatementWire.ts"

/** The name of the sessions of `Maintenance.run`. */
const MAINTENANCE = "pix-payments maintenance"

interface Options {
  readonly sessions?: string
  readonly isCovered?: (change: string) => boolean
}

/** A client with the role that owns the schema. */
export const connected = (url: Redacted.Redacted<string>) =>
  Effect.map(Layer.build(Layer.fresh(PgClient.layer({ url, maxConnections: 4 }))), (built) =>
    Context.get(built, SqlClient)
  )

/** `sessions` is the name of those that do the work, which ends before the changes that `isCovered`. */
export const makeCrashes = Effect.fnUntraced(function* (
  url: Redacted.Redacted<string>,
  owner: SqlClient,
  end: End,
  { isCovered = () => true, sessions = MAINTENANCE }: Options = {}
) {
  const changes = new Set<string>()
  const wire = yield* statementWire(url, {
    before: (statement, transaction) => {
      const change = changeOf(statement, transaction)
      if (change === undefined || changes.has(change) || !isCovered(change)) return undefined
      changes.add(change)
      return end
    }
  })
  const running = owner`SELECT FROM pg_stat_activity
    WHERE datname = current_database() AND application_name = ${sessions}`
  return {
    /** The wire to the database; `options` are those of `postgres -c`. */
    url: (options: Readonly<Record<string, string>> = {}) => {
      const through = new URL(Redacted.value(wire.url))
      const text = Object.entries(options).map(([name, value]) => `-c ${name}=${value}`)
      if (text.length > 0) through.searchParams.set("options", text.join(" "))
      return Redacted.make(through.href)
    },
    /** The changes before which work has ended. */
    changes,
    /** Repeats the work until it does not end early any more, and returns its result. After each end `between` runs. */
    finished: <A, E, R, E2, R2>(work: Effect.Effect<A, E, R>, between: Effect.Effect<unknown, E2, R2>) =>
      Effect.gen(function* () {
        for (;;) {
          const ends = wire.ends()
          const exit = yield* Effect.exit(work)
          if (wire.ends() === ends) return yield* exit
          if (Exit.isSuccess(exit)) return yield* Effect.die(new Error("it ended early and did not notice"))
          wire.restart()
          yield* eventually(running, ({ length }) => length === 0)
          yield* between
        }
      })
  }
})

/** A name of the change that a statement makes, whatever ids are in it. `undefined` where it makes none. */
const changeOf = (statement: string, transaction: string | undefined): string | undefined => {
  const text = statement
    .replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, "…")
    .replaceAll(/\s+/g, " ")
    .trim()
  if (/^COMMIT/i.test(text)) {
    return transaction === undefined ? undefined : `COMMIT of ${changeOf(transaction, undefined) ?? "a read"}`
  }
  return /^(SELECT|SET|RESET|SHOW|BEGIN|ROLLBACK|SAVEPOINT|RELEASE)\b/i.test(text) ? undefined : text
}
