/** PostgreSQL stops, falls silent, or drops its connections. */
import { assert, layer } from "@effect/vitest"
import type { Charge } from "@pix-payments/domain/Charge"
import * as EmbeddedPostgres from "@pix-payments/embedded-postgres/EmbeddedPostgres"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Scope from "effect/Scope"
import { once } from "node:events"
import * as Net from "node:net"
import { createMigratedDatabase, temporaryFolder } from "../support/Postgres.ts"
import { closedPort, eventually } from "../support/Receiver.ts"
import { newKey, TestService, type TestServiceOptions } from "../support/TestService.ts"

layer(Layer.empty, { excludeTestServices: true })("An outage of PostgreSQL", (it) => {
  it.effect("ERR-9: is answered with 503 at once, and the service recovers", () =>
    Effect.gen(function* () {
      const dataDir = yield* temporaryFolder
      let database = yield* startDatabase(dataDir, yield* closedPort)
      const service = yield* startService({ databaseUrl: database.url })
      const { key } = yield* service.makeCaller()
      yield* assertServes(service, key)

      yield* database.stop
      yield* assertUnavailable(service, key)
      database = yield* startDatabase(dataDir, database.port)
      yield* assertRecovers(service, key)
      // The service ends before its database.
    }).pipe(Effect.scoped)
  )

  it.effect("ERR-9: is answered with 503 while PostgreSQL is silent, and the service recovers", () =>
    Effect.gen(function* () {
      const wire = yield* cuttable(yield* createMigratedDatabase)
      const service = yield* startService({ databaseUrl: wire.url, settings: { acquirerTimeoutMs: 500 } })
      const { key } = yield* service.makeCaller()
      yield* assertServes(service, key)

      wire.freeze()
      yield* assertUnavailable(service, key)
      wire.thaw()
      yield* assertRecovers(service, key)

      wire.cut()
      yield* assertUnavailable(service, key)
      yield* wire.mend
      yield* assertRecovers(service, key)
    }).pipe(Effect.scoped)
  )
})

const someCharge = {
  amount: 1990,
  customer: { name: "Ana Souza", email: "ana@example.com", document: "529.982.247-25" }
}

/** The port is one that nobody else is given while it is free. */
const startDatabase = (dataDir: string, port: number) =>
  Effect.gen(function* () {
    const scope = yield* Scope.fork(yield* Effect.scope)
    const started = yield* EmbeddedPostgres.start({ dataDir, port }).pipe(Scope.provide(scope))
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

const assertUnavailable = (service: TestService["Service"], key: string) =>
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
    ).pipe(Effect.timeoutOrElse({ duration: "30 seconds", orElse: () => Effect.die(new Error("an answer hangs")) }))
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
