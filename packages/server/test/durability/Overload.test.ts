/**
 * Overload: requests beyond the bounds are refused at once, requests within them are answered, and clients that only
 * hold a connection take nothing from the others. `pnpm run overload` measures it.
 */
import { assert, layer } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { SqlClient } from "effect/sql/SqlClient"
import { once } from "node:events"
import * as Net from "node:net"
import { assertRefused, create, created, listed, someCharge } from "../support/ChargeRequests.ts"
import { operated } from "../support/Money.ts"
import { eventually } from "../support/Receiver.ts"
import { newKey, TestService } from "../support/TestService.ts"

const AT_ONCE = 8
/** The slots of one account while it is alone. */
const ALONE = 7

layer(TestService.layer({ settings: { maxRequestsInFlight: AT_ONCE } }), { excludeTestServices: true })(
  "Overload",
  (it) => {
    it.effect(
      "ERR-9: the database stalls: requests in flight wait, the next is answered 503 with `Retry-After`, and all recover",
      () =>
        Effect.gen(function* () {
          const sql = yield* SqlClient
          const { call, makeCaller, operate } = yield* TestService
          // One account alone would not get all slots.
          const callers = yield* Effect.forEach(Array.from({ length: AT_ONCE }), () =>
            Effect.map(makeCaller(), ({ key }) => key)
          )
          for (const known of callers) yield* call("GET", "/v1/account", { key: known })
          const [key = ""] = callers
          const stalled = yield* Deferred.make<void>()
          const release = yield* Deferred.make<void>()
          const lock = yield* Effect.forkChild(
            sql.withTransaction(
              Effect.gen(function* () {
                yield* sql`LOCK TABLE charges IN ACCESS EXCLUSIVE MODE`
                yield* Deferred.succeed(stalled, undefined)
                yield* Deferred.await(release)
              })
            )
          )
          yield* Deferred.await(stalled)
          const held = yield* Effect.forEach(callers, (each) =>
            Effect.forkChild(create(each), { startImmediately: true })
          )
          // All slots are taken as soon as a request that does not need the locked table is refused.
          const refused = yield* eventually(call("GET", "/v1/account", { key }), ({ status }) => status === 503)
          assertRefused(refused, "SERVICE_UNAVAILABLE")
          assert.match(String(refused.headers["retry-after"]), /^[1-9]\d*$/)
          const keys = Array.from({ length: 20 }, newKey)
          // At once: those that are held wait for the table no longer than five seconds.
          const refusals = yield* Effect.forEach(
            keys,
            (idempotencyKey) => call("POST", "/v1/charges", { key, idempotencyKey, body: someCharge }),
            { concurrency: "unbounded" }
          )
          for (const answer of refusals) assertRefused(answer, "SERVICE_UNAVAILABLE")
          for (const fiber of held) assert.isUndefined(fiber.pollUnsafe(), "one that was held has been answered")
          // Operators have their own listener.
          assert.strictEqual((yield* operate("GET", "/operator/v1/accounts")).status, 200)

          yield* Deferred.succeed(release, undefined)
          yield* Fiber.join(lock)
          for (const fiber of held) assert.strictEqual((yield* Fiber.join(fiber)).status, 201)
          // Nothing was partially done: the keys of refused requests are free.
          for (const each of callers) assert.lengthOf((yield* listed(each)).data, 1)
          for (const idempotencyKey of keys) {
            const answer = yield* create(key, {}, idempotencyKey)
            assert.deepStrictEqual([answer.status, answer.headers["idempotent-replayed"]], [201, undefined])
          }
          const metrics = yield* operate("GET", "/metrics")
          assert.match(metrics.text, /http_requests_total\{[^}]*route="\/v1\/charges",status="503"\} [1-9]/)
        })
    )

    it.effect("slots are released by every kind of answer, and by callers that disconnect", () =>
      Effect.gen(function* () {
        const { call, makeCaller, publicUrl } = yield* TestService
        const { key } = yield* makeCaller()
        for (let i = 0; i < 3 * AT_ONCE; i++) {
          yield* call("GET", "/v1/account", { key: "wrong" })
          yield* call("POST", "/v1/charges", { key, body: "{" })
          yield* call("POST", "/v1/charges", { key, body: "x".repeat(300 * 1024) })
          const socket = yield* open(publicUrl)
          socket.end(`GET /v1/charges HTTP/1.1\r\nhost: x\r\nx-api-key: ${key}\r\n\r\n`)
          socket.destroy()
        }
        // Requests of closed connections may still run: all slots are released.
        yield* eventually(
          Effect.forEach(Array.from({ length: ALONE }), () => create(key), { concurrency: ALONE }),
          (answers) => answers.every(({ status }) => status === 201)
        )
      })
    )

    it.effect(
      "slow headers, half-sent bodies and thousands of idle connections take nothing from the others, and end",
      () =>
        Effect.gen(function* () {
          const { call, makeCaller, operatorUrl, publicUrl } = yield* TestService
          const { key } = yield* makeCaller()
          // A key that is not known yet takes one of few slots until it is looked up.
          assert.strictEqual((yield* call("GET", "/v1/account", { key })).status, 200)
          const many = (count: number, url: string) =>
            Effect.forEach(Array.from({ length: count }), () => open(url), { concurrency: 100 })
          const idleSince = performance.now()
          const idle = yield* many(2000, publicUrl)
          const slow = [...(yield* many(200, publicUrl)), ...(yield* many(50, operatorUrl))]
          for (const socket of slow) socket.write("POST /v1/charges HTTP/1.1\r\nhost: x\r\nx-slow: ")
          const drip = setInterval(() => {
            for (const socket of slow) if (socket.writable) socket.write("x")
          }, 200)
          yield* Effect.addFinalizer(() => Effect.sync(() => clearInterval(drip)))
          // More connections than slots.
          const halfSince = performance.now()
          const half = yield* many(200, publicUrl)
          for (const socket of half) {
            socket.write(
              `POST /v1/charges HTTP/1.1\r\nhost: x\r\nx-api-key: ${key}\r\nidempotency-key: ${newKey()}\r\n` +
                `content-length: 1000\r\n\r\n{"amount":`
            )
          }
          for (let i = 0; i < 30; i++) yield* created(key)
          yield* operated("GET", "/accounts")
          // The silent end after ten seconds and the half-sent after thirty, which a busy machine may need for all this.
          if (performance.now() - idleSince < 10_000) for (const socket of idle) assert.isFalse(socket.destroyed)
          if (performance.now() - halfSince < 30_000) for (const socket of half) assert.isFalse(socket.destroyed)
          // A slow sender is disconnected.
          yield* eventually(
            Effect.sync(() => slow.filter(({ destroyed }) => !destroyed).length),
            (open) => open === 0
          )
          yield* created(key)
          assert.lengthOf((yield* listed(key, "?limit=100")).data, 31)
        }).pipe(Effect.scoped)
    )
  }
)

/** A connection, closed with the scope. */
const open = (url: string) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const { hostname, port } = new URL(url)
      const socket = Net.connect({ host: hostname, port: Number(port) })
      socket.on("error", () => {})
      socket.resume()
      await once(socket, "connect")
      return socket
    }),
    (socket) => Effect.sync(() => socket.destroy())
  )
