/**
 * Logs at trace level, traces and metrics contain no secret and no personal data. Every route
 * is called with good and bad requests and while PostgreSQL fails, and then all output is searched.
 */
import * as PgClient from "@effect/sql-pg/PgClient"
import { assert, layer } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { SqlClient } from "effect/sql/SqlClient"
import { collector } from "../../support/Collector.ts"
import { operatorRoutes, pathWith, paymentsRoutes, unknownId } from "../../support/Declared.ts"
import { changeSchema } from "../../support/LiveSchema.ts"
import { createMigratedDatabase, temporaryFolder } from "../../support/Postgres.ts"
import { startProcess } from "../../support/Process.ts"
import { eventually, receiver } from "../../support/Receiver.ts"
import { clientOf, TestService } from "../../support/TestService.ts"
import { acceptedBy, makeWorld, type Personal } from "../../support/World.ts"

const person: Personal = {
  name: "Joana'); DROP TABLE charges; --",
  email: "joana.oculta@example.com",
  document: "11144477735",
  phone: "+5521987654321",
  pixKey: "chave.oculta@example.com",
  secret: "segredo-da-assinatura-é",
  reference: "referencia-oculta-'; SELECT pg_sleep(9); --"
}

layer(Layer.empty, { excludeTestServices: true })("Logs, traces and metrics", (it) => {
  it.effect("hold no key, token, secret, document, e-mail or Pix key, and no SQL is made of what somebody sent", () =>
    Effect.gen(function* () {
      const databaseUrl = yield* createMigratedDatabase
      const operatorToken = "the-token-of-this-operator"
      const secretsKey = Buffer.alloc(32, 7).toString("base64")
      const exported = yield* collector
      const receiving = yield* receiver((_, response) => {
        response.statusCode = 500
        response.end(`you sent me ${person.secret}`)
      })
      const url = `${receiving.url}/hook?token=token-in-the-address`
      const service = yield* startProcess({
        DATABASE_URL: Redacted.value(databaseUrl),
        DATA_DIR: yield* temporaryFolder,
        OPERATOR_TOKEN: operatorToken,
        SECRETS_KEYS: secretsKey,
        SIMULATOR_SETTLE_MS: "0",
        LOG_LEVEL: "debug",
        WEBHOOK_RETRY_DELAYS: "10ms",
        WEBHOOK_ALLOWED_NETWORKS: "127.0.0.0/8",
        OTEL_EXPORTER_OTLP_ENDPOINT: exported.url,
        OTEL_TRACES_SAMPLER: "always_on"
      })
      const client = TestService.of({ ...(yield* clientOf(service, operatorToken)), databaseUrl })
      const { call, operate } = client
      const world = yield* makeWorld(url, person).pipe(Effect.provideService(TestService, client))

      const routes = [
        ...paymentsRoutes.map((route) => ({ route, ask: call, isPublic: true })),
        ...operatorRoutes.map((route) => ({ route, ask: operate, isPublic: false }))
      ]
      const keys: Array<string> = [world.key]
      const tour = Effect.forEach(routes, ({ ask, isPublic, route }) =>
        Effect.gen(function* () {
          const { options, path } = acceptedBy(route, world, url, person)
          const { key } = isPublic ? world : { key: undefined }
          const good = yield* ask(route.method, path, { ...options, key })
          if (typeof good.body?.["key"] === "string") keys.push(good.body["key"])
          yield* ask(route.method, path, { ...options, key, body: JSON.stringify(options.body)?.replace("}", "") })
          yield* ask(route.method, path, { ...options, key: `${world.key}x` })
          yield* ask(route.method, pathWith(route, unknownId), { ...options, key })
          const query = new URLSearchParams({ reference: person.reference, status: person.email, limit: "5" })
          yield* ask(route.method, `${path}?${query.toString()}`, { ...options, key })
          return good.status
        })
      )
      const statuses = yield* tour
      assert.isAbove(statuses.filter((status) => status < 300).length, 25, statuses.join(" "))

      // What an internal error logs.
      const owner = yield* Layer.build(PgClient.layer({ url: databaseUrl }))
      const sql = Context.get(owner, SqlClient)
      yield* sql.unsafe(`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN RAISE EXCEPTION 'not this row: %', to_json(NEW); END $$`)
      const tables = yield* sql<{ name: string }>`SELECT relname::text AS name FROM pg_class
          WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition`
      for (const { name } of tables) {
        const refused = `CREATE TRIGGER refuse BEFORE INSERT OR UPDATE ON ${name} FOR EACH ROW EXECUTE FUNCTION refuse()`
        yield* Effect.provide(changeSchema(refused), owner)
      }
      assert.include(yield* tour, 500)
      yield* eventually(
        Effect.sync(() => exported.text()),
        (text) => text.includes("db.query.text") && text.includes("a request failed unexpectedly")
      )
      service.signal("SIGTERM")
      yield* service.ended

      const outputs = { log: service.written(), exported: exported.text() }
      assert.include(outputs.log, "a request failed unexpectedly")
      for (const path of ["/v1/traces", "/v1/logs", "/v1/metrics"]) assert.include(exported.paths(), path)
      const secrets = [
        ...keys,
        operatorToken,
        secretsKey,
        new URL(Redacted.value(databaseUrl)).password,
        person.secret,
        "token-in-the-address",
        person.document,
        "111.444.777-35",
        "joana.oculta",
        "chave.oculta",
        // Instants in nanoseconds have any nine digits.
        "21987654321",
        "Joana"
      ]
      for (const [where, text] of Object.entries(outputs)) {
        for (const secret of secrets) {
          for (const written of [secret, JSON.stringify(secret).slice(1, -1), encodeURIComponent(secret)]) {
            assert.notInclude(around(text, written), written, where)
          }
        }
      }

      const statements = [
        ...outputs.exported.matchAll(/"db\.query\.text","value":\{"stringValue":"((?:[^"\\]|\\.)*)"/g)
      ]
      assert.isAbove(statements.length, 100)
      for (const [, statement = ""] of statements) {
        for (const sent of ["oculta", "pg_sleep", "Joana", ...Object.values(world.ids).flat()]) {
          assert.notInclude(statement, sent)
        }
      }
    }).pipe(Effect.scoped)
  )
})

/** Where a text is found, with what is around it: a failure that prints megabytes helps nobody. */
const around = (text: string, needle: string): string => {
  const at = text.indexOf(needle)
  return at < 0 ? "" : text.slice(Math.max(0, at - 300), at + 300)
}
