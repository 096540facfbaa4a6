import { Payments } from "@pix-payments/client"
import { postgresStore, postgresTables, redisStore } from "@pix-payments/client/stores"
import { signForTest } from "@pix-payments/client/testing"
import type { WebhookEvent } from "@pix-payments/client/webhooks"
import { assert, describe, it, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"
import * as Redacted from "effect/Redacted"
import { Pool } from "pg"
import { createDatabase } from "@pix-payments/server/test/Postgres"
import { loopback } from "@pix-payments/server/test/Receiver"
import { TestService } from "@pix-payments/server/test/TestService"
import { startEffectReceiver } from "../receivers/EffectServer.ts"
import { startExpressReceiver } from "../receivers/Express.ts"
import { startFastifyReceiver } from "../receivers/Fastify.ts"
import { startHonoReceiver } from "../receivers/Hono.ts"
import { startNodeHttpReceiver } from "../receivers/NodeHttp.ts"
import { memoryStore } from "../receivers/stores/MemoryStore.ts"
import { RedisDouble } from "./RedisDouble.ts"
import { redisProgram, startRedis } from "./RedisServer.ts"

const receivers = {
  "node:http": startNodeHttpReceiver,
  Express: startExpressReceiver,
  Fastify: startFastifyReceiver,
  Hono: startHonoReceiver,
  Effect: startEffectReceiver
}

const secrets = ["the old secret", "the new secret, ção"]

const paid = (id: string) => ({
  id,
  object: "event",
  event: "charge.pix.paid",
  resource: "charge",
  sequence: 2,
  data: { object: "charge", id: "c", description: "ação 🎉" }
})

layer(TestService.layer({ settings: { webhookAllowedNetworks: loopback } }), { excludeTestServices: true })(
  "the example receiver on",
  (it) => {
    for (const [name, start] of Object.entries(receivers)) {
      /** A running receiver, and the events that it received. */
      const startReceiver = Effect.gen(function* () {
        const events = yield* Queue.unbounded<WebhookEvent>()
        const receiver = yield* Effect.acquireRelease(
          Effect.promise(() =>
            start({ secrets, store: memoryStore(), onEvent: (event) => Queue.offerUnsafe(events, event) })
          ),
          ({ close }) => Effect.promise(close)
        )
        const deliver = (body: string, headers: Readonly<Record<string, string>>) =>
          Effect.promise(async () => (await fetch(receiver.url, { method: "POST", body, headers })).status)
        return { ...receiver, events, deliver }
      })

      it.effect(`${name} accepts each signed delivery once, and rejects others`, () =>
        Effect.gen(function* () {
          const { deliver, events } = yield* startReceiver
          for (const secret of secrets) {
            const { body, headers } = yield* Effect.promise(() => signForTest({ event: paid(secret), secret }))
            assert.strictEqual(yield* deliver(body, headers), 204)
            assert.strictEqual(yield* deliver(body, headers), 204, "a repeated delivery")
            assert.deepStrictEqual<unknown>(yield* Queue.take(events), { ...paid(secret), isStale: false })
            assert.strictEqual(yield* deliver(`${body} `, headers), 401, "a modified body")
            assert.strictEqual(yield* deliver(body, { "content-type": "application/json" }), 401, "no signature")
          }
          const forged = yield* Effect.promise(() => signForTest({ event: paid("3"), secret: "another" }))
          assert.strictEqual(yield* deliver(forged.body, forged.headers), 401)
          const notAnEvent = yield* Effect.promise(() => signForTest({ event: "no event", secret: "the old secret" }))
          assert.strictEqual(yield* deliver(notAnEvent.body, notAnEvent.headers), 401)
          // A repeated or rejected delivery that reached `onEvent` would be in the queue before this one.
          const last = yield* Effect.promise(() => signForTest({ event: paid("last"), secret: "the old secret" }))
          assert.strictEqual(yield* deliver(last.body, last.headers), 204)
          assert.strictEqual((yield* Queue.take(events)).id, "last")
        })
      )

      it.effect(`${name} receives the webhooks of a charge from the service`, () =>
        Effect.gen(function* () {
          const { makeCaller, publicUrl } = yield* TestService
          const { key } = yield* makeCaller()
          const { events, url } = yield* startReceiver
          const payments = new Payments({ baseUrl: publicUrl, apiKey: key })
          const charge = yield* Effect.promise(() =>
            payments.charges.create({
              amount: 1990,
              customer: { name: "Ana Souza", email: "ana@example.com", document: "529.982.247-25" },
              webhook_url: url,
              webhook_secret: "the new secret, ção"
            })
          )
          const received = [yield* Queue.take(events), yield* Queue.take(events)]
          assert.sameMembers(
            received.map(({ event }) => event),
            ["charge.pix.created", "charge.pix.emitted"]
          )
          for (const { data, resource } of received) {
            assert.strictEqual(resource, "charge")
            assert.deepStrictEqual<unknown>(data, charge)
          }
        })
      )
    }
  }
)

describe("the store in", () => {
  const database = Effect.gen(function* () {
    const url = yield* createDatabase()
    return yield* Effect.acquireRelease(
      Effect.promise(async () => {
        const pool = new Pool({ connectionString: Redacted.value(url) })
        // The database is dropped as soon as the pool has ended, and may end a session before it has left.
        pool.on("error", () => {})
        await pool.query(postgresTables)
        return pool
      }),
      (pool) => Effect.promise(() => pool.end())
    )
  })
  /** Redis itself, where this machine has it. */
  const redisServer = (program: string) =>
    Effect.map(
      Effect.acquireRelease(
        Effect.promise(() => startRedis(program)),
        (redis) => Effect.promise(redis.close)
      ),
      ({ pass, send }) => ({ stores: [redisStore(send), redisStore(send)] as const, pass })
    )
  if (redisProgram === undefined) process.stderr.write("There is no redis-server: its store is tested with a double.\n")

  /** Two store objects, as in two processes. */
  const stores = {
    memory: Effect.sync(() => {
      const store = memoryStore()
      return [store, store] as const
    }),
    PostgreSQL: Effect.map(database, (pool) => [postgresStore(pool), postgresStore(pool)] as const),
    Redis: Effect.sync(() => {
      const redis = new RedisDouble()
      return [redisStore(redis.send), redisStore(redis.send)] as const
    }),
    ...(redisProgram && { [redisProgram]: Effect.map(redisServer(redisProgram), ({ stores }) => stores) })
  }
  const delivery = (id: string, sequence = 2) => ({ id, resource: "charge/c", sequence })

  for (const [name, makeStores] of Object.entries(stores)) {
    it.live(`${name}: a delivery has one claim at a time, and none after it was handled`, () =>
      Effect.gen(function* () {
        const [store, other] = yield* makeStores
        yield* Effect.promise(async () => {
          assert.strictEqual(await store.claim(delivery("d1")), "new")
          assert.strictEqual(await other.claim(delivery("d1")), "busy")
          await store.release(delivery("d1"), false)
          assert.strictEqual(await other.claim(delivery("d1")), "new")
          await other.release(delivery("d1"), true)
          assert.strictEqual(await store.claim(delivery("d1")), "done")
        })
      }).pipe(Effect.scoped)
    )

    it.live(
      `${name}: one of many concurrent claims wins; an event older than the latest of its resource is stale`,
      () =>
        Effect.gen(function* () {
          const [store, other] = yield* makeStores
          yield* Effect.promise(async () => {
            const claims = await Promise.all(
              Array.from({ length: 20 }, (_, index) => (index % 2 ? store : other).claim(delivery("d1")))
            )
            assert.deepStrictEqual(claims.toSorted(), [...Array.from({ length: 19 }, () => "busy"), "new"])
            assert.strictEqual(await store.claim(delivery("d2", 2)), "new")
            assert.strictEqual(await other.claim(delivery("d3", 5)), "new")
            assert.strictEqual(await store.claim(delivery("d4", 3)), "stale")
            assert.strictEqual(await store.claim({ ...delivery("d5", 1), resource: "charge/another" }), "new")
            assert.strictEqual(await store.claim(delivery("d6", 5)), "new", "the latest itself, to another endpoint")
          })
        }).pipe(Effect.scoped)
    )
  }

  /** Two stores, and a way to let time pass for their claims. */
  const aging = {
    PostgreSQL: Effect.map(database, (pool) => ({
      stores: [postgresStore(pool), postgresStore(pool)] as const,
      pass: async (seconds: number) => {
        await pool.query("UPDATE webhook_deliveries SET claimed_at = claimed_at - make_interval(secs => $1)", [seconds])
      }
    })),
    Redis: Effect.sync(() => {
      const redis = new RedisDouble()
      return {
        stores: [redisStore(redis.send), redisStore(redis.send)] as const,
        pass: async (seconds: number) => redis.pass(seconds)
      }
    }),
    ...(redisProgram && { [redisProgram]: redisServer(redisProgram) })
  }

  for (const [name, make] of Object.entries(aging)) {
    it.live(`DLV-3: ${name}: the claim of a process that died expires before the service's first retry`, () =>
      Effect.gen(function* () {
        const { pass, stores } = yield* make
        const [store, other] = stores
        yield* Effect.promise(async () => {
          assert.strictEqual(await store.claim(delivery("d1")), "new")
          await pass(20)
          assert.strictEqual(await other.claim(delivery("d1")), "busy")
          await pass(11)
          assert.strictEqual(await other.claim(delivery("d1")), "new")
          assert.strictEqual(await store.claim(delivery("d1")), "busy")
        })
      }).pipe(Effect.scoped)
    )

    it.live(
      `${name}: what was handled stays handled, also if a slower attempt fails, for as long as it is repeated`,
      () =>
        Effect.gen(function* () {
          const { pass, stores } = yield* make
          const [slow, other] = stores
          yield* Effect.promise(async () => {
            assert.strictEqual(await slow.claim(delivery("d1")), "new")
            await pass(31)
            assert.strictEqual(await other.claim(delivery("d1")), "new")
            await other.release(delivery("d1"), true)
            await slow.release(delivery("d1"), false)
            assert.strictEqual(await slow.claim(delivery("d1")), "done")
            await pass(23 * 3600)
            assert.strictEqual(await slow.claim(delivery("d1")), "done")
          })
        }).pipe(Effect.scoped)
    )
  }

  it.live("Redis: every key expires", () =>
    Effect.promise(async () => {
      const redis = new RedisDouble()
      const store = redisStore(redis.send, { prefix: "shop:" })
      await store.claim(delivery("d1"))
      await store.release(delivery("d1"), true)
      await store.claim(delivery("d2"))
      assert.deepStrictEqual(redis.keys(), ["shop:busy:d2", "shop:handled:d1", "shop:latest:charge/c"])
      redis.pass(7 * 24 * 3600 + 1)
      assert.deepStrictEqual(redis.keys(), [])
    })
  )
})
