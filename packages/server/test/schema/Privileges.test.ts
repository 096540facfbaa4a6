/** The privileges of the service's role, which all tests over HTTP use. */
import * as PgClient from "@effect/sql-pg/PgClient"
import { assert, describe, it, layer } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { SqlClient } from "effect/sql/SqlClient"
import { privileges } from "../../src/schema/Privileges.ts"
import * as Migrations from "../../src/schema/Migrations.ts"
import { asService, createDatabase, SERVICE_ROLE, temporaryFolder } from "../support/Postgres.ts"
import { failedStart, ran, startProcess } from "../support/Process.ts"
import { newKey, TestService } from "../support/TestService.ts"

const connected = (url: Redacted.Redacted<string>) =>
  Effect.map(Layer.build(Layer.fresh(PgClient.layer({ url, maxConnections: 2 }))), (built) =>
    Context.get(built, SqlClient)
  )

layer(TestService.layer(), { excludeTestServices: true })("The role of the service", (it) => {
  it.effect("has exactly the privileges that are listed, on every table there is, and owns nothing", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const tables = yield* sql<{ name: string }>`SELECT relname::text AS name FROM pg_class
        WHERE relnamespace = 'public'::regnamespace AND NOT relispartition AND relkind IN ('r', 'p', 'm', 'f', 'S')`
      for (const { name } of tables) {
        assert.property(privileges, name, "a table without a line in schema/Privileges.ts")
        const [has] = yield* sql.unsafe<{ list: string }>(
          `SELECT string_agg(p, ',') AS list FROM unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE', 'TRUNCATE',
             'REFERENCES', 'TRIGGER', 'MAINTAIN']) AS p WHERE has_table_privilege('${SERVICE_ROLE}', '${name}', p)`
        )
        assert.strictEqual(has?.list, privileges[name]?.join(","), name)
      }
      const [role] = yield* sql`
        SELECT rolsuper, rolcreaterole, rolcreatedb, rolreplication, rolbypassrls,
          has_schema_privilege(rolname, 'public', 'CREATE') AS makes,
          has_database_privilege(rolname, current_database(), 'CREATE') AS makes_schemas,
          (SELECT count(*)::integer FROM pg_shdepend WHERE refobjid = r.oid AND deptype = 'o') AS owns,
          (SELECT count(*)::integer FROM pg_auth_members WHERE member = r.oid) AS is_member
        FROM pg_roles r WHERE rolname = ${SERVICE_ROLE}`
      assert.deepStrictEqual(role, {
        rolsuper: false,
        rolcreaterole: false,
        rolcreatedb: false,
        rolreplication: false,
        rolbypassrls: false,
        makes: false,
        makes_schemas: false,
        owns: 0,
        is_member: 0
      })
    })
  )

  it.effect("calls no function that runs with the owner's privileges", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      assert.isEmpty(yield* sql`SELECT FROM pg_proc WHERE pronamespace = 'public'::regnamespace AND prosecdef`)
    })
  )

  it.effect("is the one that the service is connected with", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const sessions = yield* sql<{ role: string }>`SELECT DISTINCT usename::text AS role FROM pg_stat_activity
        WHERE datname = current_database() AND application_name = 'pix-payments'`
      assert.deepStrictEqual(sessions, [{ role: SERVICE_ROLE }])
    })
  )

  it.effect("OPR-12: cannot rewrite the ledger or the history, delete, or change the schema", () =>
    Effect.gen(function* () {
      const { databaseUrl } = yield* TestService
      const sql = yield* connected(asService(databaseUrl))
      for (const statement of [
        "UPDATE ledger_transfers SET amount = 1",
        "DELETE FROM ledger_transfers",
        "TRUNCATE ledger_transfers",
        "ALTER TABLE ledger_transfers DISABLE TRIGGER ALL",
        "DROP TRIGGER ledger_transfers_append_only ON ledger_transfers",
        "SET session_replication_role = replica",
        "UPDATE audit SET operator = 'nobody'",
        "DELETE FROM audit",
        "UPDATE changes SET data = '{}'",
        "UPDATE requests SET status = 200",
        "DELETE FROM charges",
        "UPDATE installation SET value = ''",
        "UPDATE effect_sql_migrations SET name = ''",
        "CREATE TABLE x (y integer)",
        "CREATE FUNCTION f() RETURNS integer LANGUAGE sql AS 'SELECT 1'",
        "ALTER TABLE charges ADD COLUMN x integer",
        "DROP TABLE charges",
        "CREATE ROLE x",
        "COPY charges TO PROGRAM 'true'",
        "SELECT pg_read_file('PG_VERSION')",
        "SELECT rolpassword FROM pg_authid"
      ]) {
        const error = yield* Effect.flip(sql.unsafe(statement))
        assert.match(String(error.reason.cause), /permission denied|must be owner/, statement)
      }
    }).pipe(Effect.scoped)
  )
})

describe("Two roles", () => {
  it.live("without a schema the service's role says what to do; after `migrate` it starts, and changes nothing", () =>
    Effect.gen(function* () {
      const owner = yield* createDatabase()
      const env = {
        DATABASE_URL: Redacted.value(asService(owner)),
        DATA_DIR: yield* temporaryFolder,
        OPERATOR_TOKEN: newKey()
      }
      const refused = yield* failedStart(env)
      assert.strictEqual(refused.code, 1)
      assert.match(refused.written, /older than this release.*pnpm run migrate.*MIGRATIONS_DATABASE_URL/)

      // The owner's step twice: the second does nothing.
      for (const _ of [1, 2]) {
        const step = yield* migrate({ ...env, MIGRATIONS_DATABASE_URL: Redacted.value(owner) })
        assert.deepStrictEqual([step.code, step.written], [0, "The schema is up to date.\n"])
      }
      const service = yield* startProcess(env)
      service.signal("SIGTERM")
      assert.strictEqual(yield* service.ended, 0)
      assert.include(service.written(), "the acquirer is the simulator", "a start without --demo warns")
      const sql = yield* connected(asService(owner))
      assert.isTrue(yield* Effect.provideService(Migrations.areApplied, SqlClient, sql))
    }).pipe(Effect.scoped)
  )

  it.live("an error of MIGRATIONS_DATABASE_URL names the setting, without the password", () =>
    Effect.gen(function* () {
      const owner = yield* createDatabase()
      const wrong = new URL(Redacted.value(owner))
      wrong.password = "not-this-password"
      const refused = yield* migrate({
        DATABASE_URL: Redacted.value(asService(owner)),
        MIGRATIONS_DATABASE_URL: wrong.href
      })
      assert.strictEqual(refused.code, 1)
      assert.include(refused.written, "MIGRATIONS_DATABASE_URL")
      assert.notInclude(refused.written, "not-this-password")
      const other = yield* migrate({ DATABASE_URL: wrong.href, MIGRATIONS_DATABASE_URL: Redacted.value(owner) })
      assert.match(other.written, /the database of DATABASE_URL refuses/)
    }).pipe(Effect.scoped)
  )

  it.live("what an earlier release was given and this one does not need is taken back", () =>
    Effect.gen(function* () {
      const owner = yield* createDatabase()
      const env = { DATABASE_URL: Redacted.value(asService(owner)), MIGRATIONS_DATABASE_URL: Redacted.value(owner) }
      yield* migrate(env)
      const sql = yield* connected(owner)
      yield* sql.unsafe(`GRANT DELETE ON charges TO ${SERVICE_ROLE}`)
      yield* sql.unsafe(`REVOKE INSERT ON payouts FROM ${SERVICE_ROLE}`)
      yield* migrate(env)
      const [has] = yield* sql`SELECT has_table_privilege(${SERVICE_ROLE}, 'charges', 'DELETE') AS deletes,
        has_table_privilege(${SERVICE_ROLE}, 'payouts', 'INSERT') AS inserts`
      assert.deepStrictEqual(has, { deletes: false, inserts: true })
    }).pipe(Effect.scoped)
  )

  it.live("what a later release was given is left to it, when a server of this one starts beside it", () =>
    Effect.gen(function* () {
      const owner = yield* createDatabase()
      const env = { DATABASE_URL: Redacted.value(asService(owner)), MIGRATIONS_DATABASE_URL: Redacted.value(owner) }
      yield* migrate(env)
      const sql = yield* connected(owner)
      yield* sql`CREATE TABLE later (id uuid)`
      yield* sql.unsafe(`GRANT INSERT ON later TO ${SERVICE_ROLE}`)
      yield* sql`INSERT INTO effect_sql_migrations (migration_id, name) VALUES (9999, 'later')`
      assert.strictEqual((yield* migrate(env)).code, 0)
      const [has] = yield* sql`SELECT has_table_privilege(${SERVICE_ROLE}, 'later', 'INSERT') AS inserts`
      assert.deepStrictEqual(has, { inserts: true })
    }).pipe(Effect.scoped)
  )
})

const migrate = (env: Readonly<Record<string, string>>) => ran("migrate", env)
