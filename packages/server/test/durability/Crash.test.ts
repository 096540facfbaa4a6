/** `kill -9` and an orderly stop: what a process leaves behind. */
import * as PgClient from "@effect/sql-pg/PgClient"
import { assert, layer } from "@effect/vitest"
import type { Charge } from "@pix-payments/domain/Charge"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { SqlClient } from "effect/sql/SqlClient"
import { once } from "node:events"
import * as Http from "node:http"
import { createMigratedDatabase, temporaryFolder } from "../support/Postgres.ts"
import { type ServiceProcess, startProcess } from "../support/Process.ts"
import { eventually, type Receiver, receiver } from "../support/Receiver.ts"
import { newKey } from "../support/TestService.ts"

layer(Layer.empty, { excludeTestServices: true })("A process", (it) => {
  it.effect(
    "CHG-4, IDEM-9: that is killed under load loses nothing, does nothing twice, and delivers every event",
    () =>
      Effect.gen(function* () {
        const { env, sql } = yield* installation
        const { received, url } = yield* receiver()
        let service = yield* startProcess(env)
        const { apiKey } = yield* makeKey(service)
        const keys: Array<string> = []

        // The kill comes after this many answers: before the first one, early, halfway, and late.
        for (const answersBefore of [0, 1, 40, 110, 150]) {
          const burst = Array.from({ length: 200 }, () => newKey())
          keys.push(...burst)
          const answered = new Map<string, string>()
          const killed = service
          const waiting = [...burst]
          const caller = async () => {
            for (let key = waiting.pop(); key !== undefined; key = waiting.pop()) {
              const answer = await createCharge(killed, apiKey, key, url).catch(() => undefined)
              if (answer === undefined) continue
              assert.strictEqual(answer.status, 201)
              answered.set(key, answer.body.id)
              if (answered.size === answersBefore) killed.signal("SIGKILL")
            }
          }
          const begun = Promise.all(Array.from({ length: 30 }, caller))
          if (answersBefore === 0) {
            yield* eventually(sql`SELECT id FROM charges WHERE status = 'processing'`, ({ length }) => length > 0)
            killed.signal("SIGKILL")
          }
          yield* Effect.promise(() => begun)
          assert.strictEqual(yield* killed.ended, "SIGKILL")
          assert.isBelow(answered.size, 200)

          // Leases run out.
          yield* sql`UPDATE deliveries SET due_at = now() WHERE status = 'delivering'`
          service = yield* startProcess(env)
          const repeated = yield* Effect.forEach(
            burst,
            (key) => Effect.promise(() => createCharge(service, apiKey, key, url)),
            { concurrency: 50 }
          )
          for (const [index, { body, replayed, status }] of repeated.entries()) {
            const before = answered.get(burst[index]!)
            assert.strictEqual(status, 201)
            if (before === undefined) continue
            assert.strictEqual(body.id, before)
            assert.strictEqual(replayed, "true")
          }
        }

        yield* eventually(sql`SELECT id FROM charges WHERE status = 'processing'`, ({ length }) => length === 0)
        const charges = yield* sql<{ id: string; idempotency_key: string; status: string; br_code: string }>`
          SELECT id, idempotency_key, status, br_code FROM charges`
        assert.sameMembers(
          charges.map(({ idempotency_key }) => idempotency_key),
          keys
        )
        for (const { br_code, id, status } of charges) {
          assert.strictEqual(status, "pending")
          assert.include(br_code, id.replaceAll("-", ""))
        }
        yield* eventually(
          sql`SELECT id FROM deliveries WHERE status <> 'delivered' UNION ALL SELECT change_id FROM outbox`,
          ({ length }) => length === 0
        )
        const events = yield* sql<{ id: string; events: string }>`
          SELECT resource_id AS id, string_agg(name, ' ' ORDER BY name) AS events FROM events GROUP BY resource_id`
        assert.strictEqual(events.length, keys.length)
        assert.deepStrictEqual(
          [...new Set(events.map(({ events: names }) => names))],
          ["charge.pix.created charge.pix.emitted"]
        )
        assertAllDelivered({ received, url }, charges)
        yield* sql`SELECT 1`
        service.signal("SIGTERM")
        assert.strictEqual(yield* service.ended, 0)
      })
  )

  it.effect("that receives SIGTERM finishes its requests, gives its leases back, and exits with 0", () =>
    Effect.gen(function* () {
      const { env, sql } = yield* installation
      const hanging = yield* receiver(() => {})
      const service = yield* startProcess({
        ...env,
        SIMULATOR_LATENCY_MS: "5000",
        ACQUIRER_TIMEOUT_MS: "20000",
        WEBHOOK_TIMEOUT_MS: "30000"
      })
      const { apiKey, keyId } = yield* makeKey(service)
      // Answers once, and is left open.
      const idle = yield* idleConnection(service.publicUrl, apiKey)
      const silent = yield* idleConnection(service.operatorUrl, undefined)

      yield* Effect.promise(() => createCharge(service, apiKey, newKey(), hanging.url))
      yield* eventually(
        Effect.sync(() => hanging.received.length),
        (count) => count === 2
      )
      const keys = Array.from({ length: 20 }, () => newKey())
      const inFlight = keys.map((key) => createCharge(service, apiKey, key, hanging.url))
      yield* eventually(sql`SELECT id FROM charges WHERE status = 'processing'`, ({ length }) => length === 20)
      service.signal("SIGTERM")
      const answers = yield* Effect.promise(() => Promise.all(inFlight))
      for (const { body, status } of answers) {
        assert.strictEqual(status, 201)
        assert.strictEqual(body.status, "pending")
      }
      const code = yield* Effect.timeoutOrElse(service.ended, {
        // Less than the thirty that the receivers may hang.
        duration: "20 seconds",
        orElse: () => Effect.succeed("did not end" as const)
      })
      assert.strictEqual(code, 0, service.written())
      assert.isTrue(idle.destroyed || idle.readableEnded)
      assert.isTrue(silent.destroyed || silent.readableEnded)

      const held = yield* sql<{ status: string; attempts_made: number }>`
        SELECT DISTINCT status, attempts_made FROM deliveries`
      assert.deepStrictEqual(held, [{ status: "scheduled", attempts_made: 0 }])
      const logged = yield* sql<{ status: number }>`SELECT status FROM requests
        WHERE key_id = ${keyId}::uuid AND route = 'POST /v1/charges'`
      assert.deepStrictEqual(
        logged.map(({ status }) => status),
        Array.from({ length: 21 }, () => 201)
      )
      const refused = yield* Effect.promise(() =>
        createCharge(service, apiKey, newKey(), hanging.url).catch(() => "refused")
      )
      assert.strictEqual(refused, "refused")
    })
  )
})

/** A database, a data folder and settings for processes that share them. */
const installation = Effect.gen(function* () {
  const databaseUrl = yield* createMigratedDatabase
  const client = yield* Layer.build(PgClient.layer({ url: databaseUrl }))
  return {
    sql: Context.get(client, SqlClient),
    env: {
      DATABASE_URL: Redacted.value(databaseUrl),
      DATA_DIR: yield* temporaryFolder,
      OPERATOR_TOKEN,
      SIMULATOR_LATENCY_MS: "20",
      ACQUIRER_TIMEOUT_MS: "500",
      WEBHOOK_TIMEOUT_MS: "2000",
      WEBHOOK_RETRY_DELAYS: "100ms,100ms,100ms,100ms,100ms,100ms,100ms",
      WEBHOOK_ALLOWED_NETWORKS: "127.0.0.0/8"
    }
  }
})

const OPERATOR_TOKEN = "the operator's token of these tests"

const makeKey = ({ operatorUrl }: ServiceProcess) =>
  Effect.promise(async () => {
    const post = async (path: string, body: object): Promise<{ id: string; key: string }> => {
      const response = await fetch(`${operatorUrl}/operator/v1${path}`, {
        method: "POST",
        headers: { "x-operator-token": OPERATOR_TOKEN, "content-type": "application/json" },
        body: JSON.stringify(body)
      })
      assert.strictEqual(response.status, 201)
      return (await response.json()) as { id: string; key: string }
    }
    const account = await post("/accounts", {
      name: "Loja",
      legal_name: "Loja Ltda",
      document: "11222333000181",
      phone: "+5511999990000"
    })
    const application = await post(`/accounts/${account.id}/applications`, { name: "Loja" })
    const { id, key } = await post(`/applications/${application.id}/keys`, {
      name: "test",
      scopes: ["charge:read", "charge:write", "account:read"]
    })
    return { apiKey: key, keyId: id }
  })

/** Fails when there is no answer. */
const createCharge = async (
  service: { readonly publicUrl: string },
  apiKey: string,
  key: string,
  url: string | null
) => {
  const response = await fetch(`${service.publicUrl}/v1/charges`, {
    method: "POST",
    headers: { "x-api-key": apiKey, "idempotency-key": key, "content-type": "application/json" },
    body: JSON.stringify({ ...someCharge, reference: key, webhook_url: url, webhook_secret: "a secret" })
  })
  return {
    status: response.status,
    replayed: response.headers.get("idempotent-replayed"),
    body: (await response.json()) as Charge
  }
}

const someCharge = {
  amount: 1990,
  customer: { name: "Ana Souza", email: "ana@example.com", document: "529.982.247-25" }
}

/** Created and emitted of every charge came, under one delivery id each, whose bytes never changed. */
const assertAllDelivered = ({ received }: Receiver, charges: ReadonlyArray<{ readonly id: string }>) => {
  const deliveries = new Map<string, Map<string, { readonly id: string; readonly bytes: Buffer }>>()
  for (const { body, bytes, headers } of received) {
    assert.strictEqual(headers["x-webhook-delivery"], body.id)
    const ofCharge = deliveries.get(body.data.id) ?? new Map<string, { readonly id: string; readonly bytes: Buffer }>()
    deliveries.set(body.data.id, ofCharge)
    const first = ofCharge.get(body.event)
    if (first === undefined) ofCharge.set(body.event, { id: body.id, bytes })
    else {
      assert.strictEqual(body.id, first.id)
      assert.isTrue(bytes.equals(first.bytes))
    }
  }
  for (const { id } of charges) {
    assert.sameMembers([...(deliveries.get(id)?.keys() ?? [])], ["charge.pix.created", "charge.pix.emitted"])
  }
  assert.strictEqual(deliveries.size, charges.length)
}

/** An idle connection after one answer. */
const idleConnection = (url: string, apiKey: string | undefined) =>
  Effect.promise(async () => {
    const agent = new Http.Agent({ keepAlive: true, maxSockets: 1 })
    const headers = apiKey === undefined ? {} : { "x-api-key": apiKey }
    const request = Http.get(`${url}${apiKey === undefined ? "/health/live" : "/v1/account"}`, { agent, headers })
    const [response] = (await once(request, "response")) as [Http.IncomingMessage]
    const { socket } = response
    response.resume()
    await once(response, "end")
    assert.strictEqual(response.statusCode, 200)
    return socket
  })
