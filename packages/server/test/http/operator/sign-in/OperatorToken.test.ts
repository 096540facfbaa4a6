/** The token of an installation that sets none. */
import { assert, describe, it } from "@effect/vitest"
import * as PgClient from "@effect/sql-pg/PgClient"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { SqlClient } from "effect/sql/SqlClient"
import { createHash } from "node:crypto"
import { createMigratedDatabase, temporaryFolder } from "../../../support/Postgres.ts"
import { startProcess } from "../../../support/Process.ts"
import { eventually } from "../../../support/Receiver.ts"

describe("Without OPERATOR_TOKEN", () => {
  it.live(
    "OPR-3, OPR-36: the first start shows a token once, every process accepts it, and only its SHA-256 is stored",
    () =>
      Effect.gen(function* () {
        const databaseUrl = yield* createMigratedDatabase
        const start = startProcess({
          DATABASE_URL: Redacted.value(databaseUrl),
          DATA_DIR: yield* temporaryFolder,
          DATABASE_CONNECTIONS: "4"
        })
        const first = yield* start
        const shown = yield* eventually(Effect.sync(first.written), (text) => /Operator token.*\n/.test(text))
        const [, token = ""] = /Operator token, shown this once: (\S+)/.exec(shown) ?? []
        assert.match(token, /^[\w-]{32}$/)
        const second = yield* start
        assert.notMatch(second.written(), /Operator token/)
        for (const { written } of [first, second]) {
          yield* eventually(Effect.sync(written), (text) => text.includes("the acquirer is the simulator"))
          assert.notMatch(written(), /pix_[\w-]{20}/)
        }

        for (const { operatorUrl } of [first, second]) {
          const statusWith = (sent: string) =>
            Effect.promise(async () => {
              const headers = { "x-operator-token": sent }
              return (await fetch(`${operatorUrl}/operator/v1/accounts`, { headers })).status
            })
          assert.strictEqual(yield* statusWith(token), 200)
          assert.strictEqual(yield* statusWith(`${token}x`), 401)
        }
        const sql = Context.get(yield* Layer.build(PgClient.layer({ url: databaseUrl })), SqlClient)
        const stored = yield* sql<{ value: string }>`SELECT value FROM installation WHERE name = 'operator_token'`
        assert.deepStrictEqual(stored, [{ value: createHash("sha256").update(token).digest("hex") }])
      }).pipe(Effect.scoped)
  )
})
