/** What is kept through a sudden end, an orderly one, and a database that is away. */
import * as PgClient from "@effect/sql-pg/PgClient"
import { assert, layer } from "@effect/vitest"
import type { Charge } from "@pix-payments/domain/Charge"
import * as EmbeddedPostgres from "@pix-payments/embedded-postgres/EmbeddedPostgres"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Scope from "effect/Scope"
import { SqlClient } from "effect/sql/SqlClient"
import { once } from "node:events"
import * as Fs from "node:fs/promises"
import * as Http from "node:http"
import * as Net from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createDatabase, temporaryFolder } from "../support/Postgres.ts"
import { failedStart, type ServiceProcess, startProcess } from "../support/Process.ts"
import { eventually, type Receiver, receiver } from "../support/Receiver.ts"
import { newKey, TestService, type TestServiceOptions } from "../support/TestService.ts"

layer(Layer.empty, { excludeTestServices: true })("A process", (it) => {
  it.effect(
    "CHG-4, IDEM-9: that is killed in a burst loses nothing, does nothing twice, and tells of everything",
    () =>
      Effect.gen(function* () {
        const { env, sql } = yield* installation
        const { received, url } = yield* receiver()
        let service = yield* startProcess(env)
        const { apiKey } = yield* makeKey(service)
        const keys: Array<string> = []

        // The kill comes after so many answers: before the first one, early, in the midst, and late.
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
            yield* eventually(sql`SELECT id FROM charges WHERE NOT acquirer_answered`, ({ length }) => length > 0)
            killed.signal("SIGKILL")
          }
          yield* Effect.promise(() => begun)
          assert.strictEqual(yield* killed.ended, "SIGKILL")
          assert.isBelow(answered.size, 200)

          // The time that a lease lasts goes by.
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

        yield* eventually(sql`SELECT id FROM charges WHERE NOT acquirer_answered`, ({ length }) => length === 0)
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
        yield* eventually(sql`SELECT id FROM deliveries WHERE status <> 'delivered'`, ({ length }) => length === 0)
        const events = yield* sql<{ id: string; events: string }>`
          SELECT resource_id AS id, string_agg(name, ' ' ORDER BY name) AS events FROM events GROUP BY resource_id`
        assert.strictEqual(events.length, keys.length)
        assert.deepStrictEqual(
          [...new Set(events.map(({ events: names }) => names))],
          ["charge.pix.created charge.pix.emitted"]
        )
        assertToldAll({ received, url }, charges)
        yield* sql`SELECT 1`
        service.signal("SIGTERM")
        assert.strictEqual(yield* service.ended, 0)
      }),
    90_000
  )

  it.effect("that is told to stop finishes what is under way, gives back what it holds, and ends well", () =>
    Effect.gen(function* () {
      const { env, sql } = yield* installation
      const hanging = yield* receiver(() => {})
      const service = yield* startProcess({
        ...env,
        SIMULATOR_LATENCY_MS: "700",
        ACQUIRER_TIMEOUT_MS: "5000",
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
      const underWay = keys.map((key) => createCharge(service, apiKey, key, hanging.url))
      yield* eventually(sql`SELECT id FROM charges WHERE NOT acquirer_answered`, ({ length }) => length === 20)
      service.signal("SIGTERM")
      const answers = yield* Effect.promise(() => Promise.all(underWay))
      for (const { body, status } of answers) {
        assert.strictEqual(status, 201)
        assert.strictEqual(body.status, "pending")
      }
      const code = yield* Effect.timeoutOrElse(service.ended, {
        duration: "8 seconds",
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

  it.effect(
    "OPR-4: says in one sentence which setting is wrong",
    () =>
      Effect.gen(function* () {
        const { env } = yield* installation
        const taken = yield* receiver()
        const cases: ReadonlyArray<readonly [Readonly<Record<string, string>>, RegExp]> = [
          [{ PORT: "abc" }, /^A setting is wrong: .*PORT/s],
          [{ PORT: "70000" }, /^A setting is wrong: .*PORT/s],
          [{ ACQUIRER: "bank" }, /^A setting is wrong: .*ACQUIRER/s],
          [{ WEBHOOK_RETRY_DELAYS: "1m,soon" }, /^A setting is wrong: .*WEBHOOK_RETRY_DELAYS: "soon" is not a delay/s],
          [
            { WEBHOOK_ALLOWED_NETWORKS: "10.0.0.0/99" },
            /^A setting is wrong: .*WEBHOOK_ALLOWED_NETWORKS: "10.0.0.0\/99" is not/s
          ],
          [{ WEBHOOK_TIMEOUT_MS: "0" }, /^A setting is wrong: .*WEBHOOK_TIMEOUT_MS/s],
          [{ DATABASE_CONNECTIONS: "2" }, /^A setting is wrong: .*DATABASE_CONNECTIONS/s],
          [{ RATE_LIMIT_PER_MINUTE: "-1" }, /^A setting is wrong: .*RATE_LIMIT_PER_MINUTE/s],
          [{ LOG_LEVEL: "loud" }, /^A setting is wrong: .*LOG_LEVEL/s],
          [
            { OPERATOR_TOKEN: "hidden-password" },
            /^A setting is wrong: OPERATOR_TOKEN: must have at least 20 characters/
          ],
          [
            { OPERATOR_TOKEN: "hidden-password-hidden-password" },
            /^A setting is wrong: OPERATOR_TOKEN: is too easy to guess: about \d+ bits/
          ],
          [{ SECRETS_KEYS: "c2hvcnQ=" }, /^The service cannot start: SECRETS_KEYS must be/],
          [{ DATABASE_URL: "not a url" }, /^The service cannot start: .*DATABASE_URL/],
          [
            { DATABASE_URL: env.DATABASE_URL.replace(/:[^:@]+@/, ":hidden-password@") },
            /^The service cannot start: .*(connect|reach|password)/i
          ],
          [{ PORT: new URL(taken.url).port }, /^The service cannot start: .*(in use|EADDRINUSE)/]
        ]
        const outcomes = yield* Effect.forEach(
          cases,
          ([also, expected]) =>
            Effect.map(failedStart({ ...env, ...also }), (outcome) => ({ ...outcome, also, expected })),
          { concurrency: 3 }
        )
        for (const { also, code, expected, written } of outcomes) {
          assert.strictEqual(code, 1, JSON.stringify(also))
          assert.match(written, expected)
          assert.notMatch(written, /\n\s+at /, "no stack")
          assert.notInclude(written, "hidden-password")
          assert.isAtMost(written.trim().split("\n").length, 2, written)
        }
      }),
    60_000
  )

  it.effect(
    "OPR-36: of a demo keeps its credentials, and a second one in its folder says that it is in use",
    () =>
      Effect.gen(function* () {
        const folder = yield* passableFolder
        const env = { DATA_DIR: folder }
        const first = yield* startProcess(env, "--demo")
        const second = yield* failedStart(env, "--demo")
        assert.strictEqual(second.code, 1)
        assert.match(
          second.written,
          /^The service cannot start: The data folder .* is in use by another process \(\d+\)\. Stop that process, or set DATA_DIR /
        )
        const file = join(folder, "demo.json")
        const { mode } = yield* Effect.promise(() => Fs.stat(file))
        assert.strictEqual(mode & 0o777, 0o600)
        const credentials = yield* Effect.promise(() => Fs.readFile(file, "utf8"))
        const { api_key: apiKey, operator_token: token } = JSON.parse(credentials)
        assert.match(apiKey, /^pix_/)
        assert.include(first.written(), JSON.stringify(file), "off a terminal the log names the file")
        for (const secret of [apiKey, token]) assert.notInclude(first.written(), secret)
        assert.notInclude(first.written(), "the acquirer is the simulator")
        const created = yield* Effect.promise(() => createCharge(first, apiKey, "first-order", "http://127.0.0.1:9/"))
        assert.strictEqual(created.status, 201)
        first.signal("SIGINT")
        assert.strictEqual(yield* first.ended, 0)

        const again = yield* startProcess(env, "--demo")
        assert.strictEqual(yield* Effect.promise(() => Fs.readFile(file, "utf8")), credentials)
        const repeated = yield* Effect.promise(() => createCharge(again, apiKey, "first-order", null))
        assert.strictEqual(repeated.body.id, created.body.id)
        again.signal("SIGTERM")
        assert.strictEqual(yield* again.ended, 0)
      }),
    60_000
  )
})

layer(Layer.empty, { excludeTestServices: true })("A database that is away", (it) => {
  it.effect(
    "ERR-9: is answered with 503 at once, and all goes on when it is back",
    () =>
      Effect.gen(function* () {
        const dataDir = yield* temporaryFolder
        let database = yield* startDatabase(dataDir)
        const service = yield* startService({ databaseUrl: database.url })
        const { key } = yield* service.makeCaller()
        yield* assertServes(service, key)

        yield* database.stop
        yield* assertSaysUnavailable(service, key)
        database = yield* startDatabase(dataDir, database.port)
        yield* assertRecovers(service, key)
        // The service ends before its database.
      }).pipe(Effect.scoped),
    60_000
  )

  it.effect(
    "ERR-9: is answered with 503 where it is silent, and all goes on when it speaks again",
    () =>
      Effect.gen(function* () {
        const wire = yield* cuttable(yield* createDatabase())
        const service = yield* startService({ databaseUrl: wire.url, settings: { acquirerTimeoutMs: 500 } })
        const { key } = yield* service.makeCaller()
        yield* assertServes(service, key)

        wire.freeze()
        yield* assertSaysUnavailable(service, key)
        wire.thaw()
        yield* assertRecovers(service, key)

        wire.cut()
        yield* assertSaysUnavailable(service, key)
        yield* wire.mend
        yield* assertRecovers(service, key)
      }).pipe(Effect.scoped),
    60_000
  )
})

/** A database, a data folder and settings for processes that share them. */
const installation = Effect.gen(function* () {
  const databaseUrl = yield* createDatabase()
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
const assertToldAll = ({ received }: Receiver, charges: ReadonlyArray<{ readonly id: string }>) => {
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

/** A connection that has had one answer, and waits. */
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

/** A folder that the user whom PostgreSQL runs as can reach as well. */
const passableFolder = Effect.acquireRelease(
  Effect.promise(async () => {
    const folder = await Fs.mkdtemp(join(tmpdir(), "pix-payments-test-"))
    await Fs.chmod(folder, 0o711)
    return folder
  }),
  (folder) => Effect.promise(() => Fs.rm(folder, { recursive: true, force: true, maxRetries: 3 }))
)

const startDatabase = (dataDir: string, port?: number) =>
  Effect.gen(function* () {
    const scope = yield* Scope.fork(yield* Effect.scope)
    const started = yield* EmbeddedPostgres.start(port === undefined ? { dataDir } : { dataDir, port }).pipe(
      Scope.provide(scope)
    )
    return { url: started.url, port: started.port, stop: Scope.close(scope, Exit.void) }
  })

const startService = (options: TestServiceOptions) =>
  Effect.flatMap(Effect.scope, (scope) =>
    Effect.map(
      Layer.buildWithMemoMap(
        TestService.layer({ ...options, settings: { logLevel: "none", ...options.settings } }),
        Layer.makeMemoMapUnsafe(),
        scope
      ),
      (context) => Context.get(context, TestService)
    )
  )

const charge = ({ call }: TestService["Service"], key: string) =>
  call<Charge>("POST", "/v1/charges", { key, idempotencyKey: newKey(), body: someCharge })

const assertServes = (service: TestService["Service"], key: string) =>
  Effect.gen(function* () {
    assert.strictEqual((yield* charge(service, key)).status, 201)
    assert.strictEqual((yield* service.operate("GET", "/health/ready")).status, 200)
  })

const assertSaysUnavailable = (service: TestService["Service"], key: string) =>
  Effect.gen(function* () {
    const id = "0198c0de-0000-7000-8000-000000000000"
    const answers = yield* Effect.all(
      [
        ...Array.from({ length: 40 }, () => charge(service, key)),
        service.call("GET", `/v1/charges/${id}`, { key }),
        service.call("GET", "/v1/charges", { key }),
        service.call("GET", "/v1/account", { key }),
        service.operate("GET", "/operator/v1/accounts"),
        service.operate("GET", `/operator/v1/charges/${id}`),
        service.operate("GET", "/operator/v1/deliveries"),
        service.operate("GET", "/operator/v1/requests"),
        service.operate("GET", "/operator/v1/audit"),
        service.operate("POST", `/operator/v1/simulator/charges/${id}/pay`),
        service.operate("POST", `/operator/v1/keys/${id}/revoke`)
      ],
      { concurrency: "unbounded" }
    ).pipe(Effect.timeoutOrElse({ duration: "10 seconds", orElse: () => Effect.die(new Error("an answer hangs")) }))
    for (const [index, { body, headers, status }] of answers.entries()) {
      assert.strictEqual(status, 503, `${index}`)
      assert.strictEqual((body as { code: string }).code, "SERVICE_UNAVAILABLE")
      assert.match(String(headers["retry-after"]), /^[1-9]\d*$/, `${index}`)
    }
    const ready = yield* eventually(
      service.operate("GET", "/health/ready"),
      ({ body, status }) => status !== 200 || body["database"] === "away"
    )
    // Another server would have the same database: taking this one out of the balancer helps nobody.
    assert.strictEqual(ready.status, 200)
    assert.deepInclude<unknown>(ready.body, { status: "ok", database: "away" })
    assert.strictEqual((yield* service.operate("GET", "/health/live")).status, 200)
  })

const assertRecovers = (service: TestService["Service"], key: string) =>
  Effect.gen(function* () {
    yield* eventually(charge(service, key), ({ status }) => status === 201)
    yield* eventually(service.operate("GET", "/health/ready"), ({ body }) => body["database"] === "ok")
    for (let i = 0; i < 30; i++) yield* assertServes(service, key)
  })

/** A wire to a database that can go silent, and be cut. */
const cuttable = (to: Redacted.Redacted<string>) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const target = new URL(Redacted.value(to))
      const sockets = new Set<Net.Socket>()
      let isFrozen = false
      const server = Net.createServer((inner) => {
        const outer = Net.connect(Number(target.port), target.hostname)
        for (const [socket, other] of [
          [inner, outer],
          [outer, inner]
        ] as const) {
          sockets.add(socket)
          if (isFrozen) socket.pause()
          socket.on("data", (chunk) => other.write(chunk))
          socket.on("error", () => {})
          socket.on("close", () => {
            sockets.delete(socket)
            other.destroy()
          })
          if (isFrozen) socket.pause()
        }
      })
      server.listen(0, "127.0.0.1")
      await once(server, "listening")
      const { port } = server.address() as Net.AddressInfo
      const url = new URL(target)
      url.port = String(port)
      const destroyAll = () => {
        for (const socket of sockets) socket.destroy()
      }
      return {
        url: Redacted.make(url.href),
        freeze: () => {
          isFrozen = true
          for (const socket of sockets) socket.pause()
        },
        thaw: () => {
          isFrozen = false
          for (const socket of sockets) socket.resume()
        },
        cut: () => {
          server.close()
          destroyAll()
        },
        mend: Effect.promise(async () => {
          server.listen(port, "127.0.0.1")
          await once(server, "listening")
        }),
        destroyAll,
        server
      }
    }),
    ({ destroyAll, server }) =>
      Effect.sync(() => {
        server.close()
        destroyAll()
      })
  )
