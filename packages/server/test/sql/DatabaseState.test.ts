/** The state of the database, as its subscribers see it. */
import * as PgClient from "@effect/sql-pg/PgClient"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { SqlError, UnknownError } from "effect/sql/SqlError"
import { DatabaseState } from "../../src/sql/DatabaseState.ts"
import { isTransient } from "../../src/sql/SqlState.ts"
import { createDatabase } from "../support/Postgres.ts"

const stateOver = (config: Parameters<typeof PgClient.layer>[0]) =>
  Effect.flatMap(
    Layer.build(Layer.fresh(DatabaseState.layer.pipe(Layer.provide(PgClient.layer(config))))),
    (built) => Context.get(built, DatabaseState).current
  )

describe("The state of the database", () => {
  it.live("is `ok`, `read_only` or `away`", () =>
    Effect.gen(function* () {
      const url = yield* createDatabase()
      assert.strictEqual(yield* stateOver({ url }), "ok")
      const readOnly = { url, startupParameters: { default_transaction_read_only: "on" } }
      assert.strictEqual(yield* stateOver(readOnly), "read_only")
      assert.strictEqual(yield* stateOver({ url: Redacted.make("postgresql://x@127.0.0.1:1/x") }), "away")
    }).pipe(Effect.scoped)
  )

  it.each(["25006", "25P03", "28P01", "57P01", "53300"])("%s passes", (code) => {
    const cause = Object.assign(new Error("as PostgreSQL says it"), { code })
    assert.isTrue(isTransient(new SqlError({ reason: new UnknownError({ cause }) })))
  })
})
