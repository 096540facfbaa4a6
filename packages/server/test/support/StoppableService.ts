/** A database whose services stop. */
import * as PgClient from "@effect/sql-pg/PgClient"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import type * as Scope from "effect/Scope"
import { SqlClient } from "effect/sql/SqlClient"
import { createMigratedDatabase } from "./Postgres.ts"
import { TestService, type TestServiceOptions } from "./TestService.ts"

type Settings = TestServiceOptions["settings"]

/** One key, for several services on one database. */
export const secretsKey = Buffer.alloc(32, 3).toString("base64")
export const secretsKeys = Option.some(Redacted.make(secretsKey))

/** The client of its owner, and what runs services on it. */
export const stoppable = Effect.fnUntraced(function* (settings: Settings) {
  const databaseUrl = yield* createMigratedDatabase
  const sql = Context.get(yield* Layer.build(PgClient.layer({ url: databaseUrl })), SqlClient)
  const withSettings = <A, E>(also: Settings, work: Work<A, E>) =>
    Layer.build(Layer.fresh(TestService.layer({ databaseUrl, settings: { ...settings, ...also, secretsKeys } }))).pipe(
      Effect.flatMap((built) => Effect.provide(work, built)),
      Effect.scoped
    )
  return {
    databaseUrl,
    sql,
    /** Runs with its own service, which is stopped afterwards. */
    withService: <A, E>(work: Work<A, E>) => withSettings({}, work),
    /** The same with other settings. */
    withSettings
  }
})

type Work<A, E> = Effect.Effect<A, E, Layer.Success<ReturnType<typeof TestService.layer>> | Scope.Scope>
