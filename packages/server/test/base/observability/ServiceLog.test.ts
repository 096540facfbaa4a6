/** Secrets and personal data are neither in the log of a process nor in clear in the database. */
import { allScopes } from "@pix-payments/domain/Scope"
import * as PgClient from "@effect/sql-pg/PgClient"
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { SqlClient } from "effect/sql/SqlClient"
import { create, settled } from "../../support/ChargeDeliveries.ts"
import { changeSchema } from "../../support/LiveSchema.ts"
import { createMigratedDatabase, temporaryFolder } from "../../support/Postgres.ts"
import { startProcess } from "../../support/Process.ts"
import { eventually, loopback, receiver } from "../../support/Receiver.ts"
import { newKey, TestService } from "../../support/TestService.ts"
import { someAccount } from "../../support/Operator.ts"

const settings = { webhookAllowedNetworks: loopback, webhookRetryDelaysMs: [20], acquirerTimeoutMs: 300 }

layer(TestService.layer({ settings }), { excludeTestServices: true })("The database", (it) => {
  it.effect("contains no secret in clear", () =>
    Effect.gen(function* () {
      const { databaseUrl, makeCaller, operatorToken } = yield* TestService
      const { key } = yield* makeCaller()
      const { received, url } = yield* receiver()
      const secret = "webhook-secret-in-clear-é"
      const { body } = yield* create({ key, webhook_url: url, webhook_secret: secret })
      yield* create({ key, webhook_url: url, webhook_secret: secret })
      yield* settled(body.id, 2)
      assert.property(received[0]?.headers, "x-webhook-signature")
      const sql = yield* SqlClient
      const tables = yield* sql<{ name: string }>`SELECT table_name AS name FROM information_schema.tables
        WHERE table_schema = 'public' AND table_type = 'BASE TABLE'`
      assert.isAtLeast(tables.length, 12)
      const needles = [key, secret, operatorToken, Redacted.value(databaseUrl)].flatMap((text) => [
        text,
        Buffer.from(text).toString("base64").replace(/=+$/, ""),
        Buffer.from(text).toString("hex")
      ])
      for (const { name } of tables) {
        const [{ dump } = { dump: "" }] = yield* sql.unsafe<{ dump: string }>(
          `SELECT coalesce(string_agg(t::text, E'\\n'), '') AS dump FROM "${name}" t`
        )
        for (const needle of needles) assert.notInclude(dump, needle, name)
      }
      // The same secret is sealed in another way each time.
      const sealed = yield* sql<{ webhook_secret: string }>`SELECT DISTINCT webhook_secret FROM charges
        WHERE webhook_secret IS NOT NULL`
      assert.isAtLeast(sealed.length, 2)
    })
  )
})

layer(Layer.empty, { excludeTestServices: true })("The log", (it) => {
  it.effect("of a process contains no key, no secret and no data of a payer", () =>
    Effect.gen(function* () {
      const databaseUrl = yield* createMigratedDatabase
      const operatorToken = "the-token-of-this-operator"
      const service = yield* startProcess({
        DATABASE_URL: Redacted.value(databaseUrl),
        DATA_DIR: yield* temporaryFolder,
        OPERATOR_TOKEN: operatorToken,
        LOG_LEVEL: "debug",
        WEBHOOK_RETRY_DELAYS: "10ms",
        WEBHOOK_ALLOWED_NETWORKS: "127.0.0.0/8"
      })
      const send = (url: string, headers: Record<string, string>, body?: unknown) =>
        Effect.promise(async () => {
          const response = await fetch(url, {
            method: body === undefined ? "GET" : "POST",
            headers: { "content-type": "application/json", ...headers },
            ...(body === undefined ? {} : { body: JSON.stringify(body) })
          })
          return { status: response.status, body: (await response.json()) as { id: string; key: string } }
        })
      const operate = (path: string, body?: unknown) =>
        send(`${service.operatorUrl}/operator/v1${path}`, { "x-operator-token": operatorToken }, body)
      const account = yield* operate("/accounts", someAccount)
      const application = yield* operate(`/accounts/${account.body.id}/applications`, { name: "A" })
      const made = yield* operate(`/applications/${application.body.id}/keys`, { name: "k", scopes: allScopes })
      const { received, url } = yield* receiver((_, response) => {
        response.statusCode = 500
        response.end()
      })
      const charge = {
        amount: 1990,
        customer: {
          name: "Ana Segredo",
          email: "ana.segredo@example.com",
          document: "52998224725",
          phone: "+5511912345678"
        },
        webhook_url: url,
        webhook_secret: "secret-of-this-webhook"
      }
      const create = (headers: Record<string, string>, body: unknown) =>
        send(`${service.publicUrl}/v1/charges`, { "idempotency-key": newKey(), ...headers }, body)
      const created = yield* create({ "x-api-key": made.body.key }, charge)
      assert.strictEqual(created.status, 201)
      yield* create({ "x-api-key": `${made.body.key}x` }, charge)
      yield* create({ "x-api-key": made.body.key }, { ...charge, amount: "x" })
      yield* eventually(
        Effect.sync(() => received.length),
        (count) => count >= 4
      )
      // What an internal error logs, once nothing is under way that would fail with it.
      const owner = yield* Layer.build(PgClient.layer({ url: databaseUrl }))
      yield* Effect.provide(changeSchema("ALTER TABLE charges RENAME TO charges_away"), owner)
      assert.strictEqual((yield* create({ "x-api-key": made.body.key }, charge)).status, 500)
      yield* Effect.provide(changeSchema("ALTER TABLE charges_away RENAME TO charges"), owner)
      service.signal("SIGTERM")
      assert.strictEqual(yield* service.ended, 0)
      const log = service.written()
      assert.include(log, "a request failed unexpectedly")
      for (const needle of [
        made.body.key,
        operatorToken,
        "secret-of-this-webhook",
        "52998224725",
        "529.982.247-25",
        "ana.segredo",
        "Ana Segredo",
        "912345678",
        new URL(Redacted.value(databaseUrl)).password
      ]) {
        assert.notInclude(log, needle)
      }
    }).pipe(Effect.scoped)
  )
})
