/** Two cells: installations with a database each, of which a server knows its own. */
import * as PgClient from "@effect/sql-pg/PgClient"
import { assert, layer } from "@effect/vitest"
import * as Context from "effect/Context"
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { SqlClient } from "effect/sql/SqlClient"
import { asService, createDatabase, SERVICE_ROLE, temporaryFolder } from "../support/Postgres.ts"
import { failedStart, ran, startProcess } from "../support/Process.ts"
import { eventually } from "../support/Receiver.ts"
import { secretsKey } from "../support/StoppableService.ts"
import { clientOf, newKey } from "../support/TestService.ts"

layer(Layer.empty, { excludeTestServices: true })("A cell", (it) => {
  it.effect("OPR-390, OPR-393, OPR-8: is named by its first start, and says its name everywhere", () =>
    Effect.gen(function* () {
      const env = yield* environment
      const unnamed = yield* startProcess(env)
      const before = yield* clientOf(unnamed, env.OPERATOR_TOKEN)
      assert.isNull((yield* before.operate("GET", "/health/ready")).body["cell"])
      assert.notMatch((yield* before.operate("GET", "/metrics")).text, /^pix_payments_cell_info/m)
      unnamed.signal("SIGTERM")
      assert.strictEqual(yield* unnamed.ended, 0)

      const service = yield* startProcess({
        ...env,
        CELL: "sul-1",
        CELLS: "sul-1=http://127.0.0.1:1,sul-2=https://sul-2.example.com/",
        PROCESSES: "2"
      })
      const { operate } = yield* clientOf(service, env.OPERATOR_TOKEN)
      assert.strictEqual((yield* operate("GET", "/health/ready")).body["cell"], "sul-1")
      assert.strictEqual((yield* operate("GET", "/operator/v1/installation")).body["cell"], "sul-1")
      const session = yield* operate<{ settings: unknown }>("GET", "/operator/v1/session")
      assert.deepStrictEqual(session.body.settings, {
        acquirer: "simulator",
        cell: "sul-1",
        cells: [
          { name: "sul-1", url: "http://127.0.0.1:1" },
          { name: "sul-2", url: "https://sul-2.example.com" }
        ]
      })
      assert.match((yield* operate("GET", "/metrics")).text, /^pix_payments_cell_info\{cell="sul-1"\} 1$/m)
      yield* operate("GET", "/operator/v1/accounts", { headers: { "x-operator-token": "wrong" } })
      const lines = () =>
        service
          .written()
          .split("\n")
          .flatMap((line) => (line.startsWith("{") ? [JSON.parse(line) as LogLine] : []))
      const logged = yield* eventually(Effect.sync(lines), (all) => all.some(({ message }) => /sign-in/.test(message)))
      assert.isAtLeast(logged.length, 2)
      for (const { annotations, message } of logged) {
        assert.strictEqual(annotations["cell"], "sul-1", message)
        assert.isNumber(annotations["pid"], message)
        assert.isString(annotations["version"], message)
      }
    })
  )

  it.effect("OPR-390: no server, migration or other program runs on the database of another one", () =>
    Effect.gen(function* () {
      const env = yield* environment
      const owner = Redacted.make(env.DATABASE_URL)
      const migrations = {
        ...env,
        DATABASE_URL: Redacted.value(asService(owner)),
        MIGRATIONS_DATABASE_URL: env.DATABASE_URL
      }
      const first = yield* ran("migrate", { ...migrations, CELL: "sul" })
      assert.strictEqual(first.code, 0, first.written)
      // `migrate` takes it back, where it does anything.
      const sql = Context.get(yield* Layer.build(PgClient.layer({ url: owner, maxConnections: 1 })), SqlClient)
      yield* sql.unsafe(`GRANT DELETE ON charges TO ${SERVICE_ROLE}`)
      const since = DateTime.formatIso(yield* DateTime.now)
      for (const [cell, said] of [
        ["norte", "The database is of cell sul, and CELL is norte. Start it with CELL=sul, or with"],
        ["", "The database is of cell sul, and CELL is not set. Start it with CELL=sul, or with"],
        ["Sul", "A setting is wrong: CELL: must be a name of 1 to 20 characters"]
      ] as const) {
        for (const ended of [
          yield* failedStart({ ...env, CELL: cell }),
          yield* ran("migrate", { ...migrations, CELL: cell }),
          yield* ran("secrets", { ...env, CELL: cell }, "count"),
          yield* ran("maintain", { ...migrations, CELL: cell }),
          yield* ran("reconcile", { ...env, CELL: cell }, "--since", since)
        ]) {
          assert.isAbove(ended.code as number, 0, ended.written)
          assert.include(ended.written, said)
        }
      }
      const deletes = sql`SELECT has_table_privilege(${SERVICE_ROLE}, 'charges', 'DELETE') AS may`
      assert.deepStrictEqual(yield* deletes, [{ may: true }])
      for (const ended of [
        yield* ran("migrate", { ...migrations, CELL: "sul" }),
        yield* ran("secrets", { ...env, CELL: "sul" }, "count"),
        yield* ran("maintain", { ...migrations, CELL: "sul" })
      ]) {
        assert.strictEqual(ended.code, 0, ended.written)
      }
      assert.deepStrictEqual(yield* deletes, [{ may: false }])
    })
  )
})

const environment = Effect.gen(function* () {
  return {
    DATABASE_URL: Redacted.value(yield* createDatabase()),
    DATA_DIR: yield* temporaryFolder,
    OPERATOR_TOKEN: newKey(),
    SECRETS_KEYS: secretsKey
  }
})

interface LogLine {
  readonly message: string
  readonly annotations: Readonly<Record<string, unknown>>
}
