/** Which addresses a receiver's name resolves to, and which of them may be called. */
import { assert, describe, it, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import * as TestClock from "effect/testing/TestClock"
import { writeFileSync } from "node:fs"
import { NameSourcesRef } from "../../../src/base/network/PublicAddress.ts"
import { assertRefused, create, created } from "../../support/ChargeRequests.ts"
import { nameServer, type Reply } from "../../support/NameServer.ts"
import { eventually, loopback, receiver } from "../../support/Receiver.ts"
import { newKey, TestService } from "../../support/TestService.ts"
import { change, changed, register, registered } from "../../support/Webhooks.ts"
import { withNames, sourcesOf, somewhere, isSilent, soon } from "../../support/Names.ts"

describe("A name", () => {
  it.effect("is asked for A and AAAA at once, and is what it has of both", () =>
    Effect.gen(function* () {
      const { reached, server } = yield* withNames(({ name, type }) =>
        name === "four.test"
          ? { addresses: ["1.1.1.1"] }
          : name === "six.test" && type === "AAAA"
            ? { addresses: ["2606:4700:4700::1111"] }
            : name === "six.test"
              ? "failure"
              : somewhere
      )
      assert.strictEqual(yield* reached("both.test"), "1.1.1.1,2606:4700:4700::1111")
      assert.sameDeepMembers(server.questions, [
        { name: "both.test", type: "A" },
        { name: "both.test", type: "AAAA" }
      ])
      assert.strictEqual(yield* reached("four.test"), "1.1.1.1")
      assert.strictEqual(yield* reached("six.test"), "2606:4700:4700::1111")
    })
  )

  it.effect("URL-2, URL-6: is refused when any address it has is forbidden, at creation and at an attempt", () =>
    Effect.gen(function* () {
      const { addresses, reached } = yield* withNames(({ name }) => ({
        addresses: name.startsWith("mixed") ? ["1.1.1.1", "10.0.0.1"] : ["1.1.1.1", "::1"]
      }))
      for (const name of ["mixed.test", "six.test"]) {
        assert.strictEqual(yield* reached(name), "forbidden address")
        assert.isFalse(yield* addresses.mayReceive(`https://${name}/`, "account"))
      }
    })
  )

  it.effect("URL-6: that does not resolve is accepted at creation, and fails an attempt", () =>
    Effect.gen(function* () {
      const { addresses, reached } = yield* withNames(({ name }) =>
        name === "none.test" ? { addresses: [] } : name === "fails.test" ? "failure" : "no such name"
      )
      for (const name of ["none.test", "fails.test", "unknown.test"]) {
        assert.strictEqual(yield* reached(name), "name does not resolve")
        assert.isTrue(yield* addresses.mayReceive(`https://${name}/`, "account"))
      }
    })
  )

  it.effect("URL-6: that is not answered within a second is accepted at creation", () =>
    Effect.gen(function* () {
      const { addresses, server } = yield* withNames(() => "silence")
      const asked = yield* Effect.forkChild(addresses.mayReceive("https://a.silent.test/", "account"))
      yield* soon(() => server.questions.length === 2)
      yield* TestClock.adjust("1 second")
      assert.isTrue(yield* Fiber.join(asked))
    })
  )

  it.effect("of the hosts file is never asked for, with a dot at its end or not; the file is read again", () =>
    Effect.gen(function* () {
      const hosts = "1.0.0.1 hooks.test Known.test\n127.0.0.1 inside.test"
      const { reached, server, sources } = yield* withNames(() => somewhere, { hosts })
      assert.strictEqual(yield* reached("hooks.test"), "1.0.0.1")
      assert.strictEqual(yield* reached("hooks.test."), "1.0.0.1")
      assert.strictEqual(yield* reached("known.test"), "1.0.0.1")
      assert.strictEqual(yield* reached("inside.test"), "forbidden address")
      writeFileSync(sources.hosts, "1.0.0.2 hooks.test")
      yield* TestClock.adjust("5 seconds")
      assert.strictEqual(yield* reached("hooks.test"), "1.0.0.2")
      assert.deepStrictEqual(server.questions, [])
    })
  )

  it.effect("is looked for along the search list", () =>
    Effect.gen(function* () {
      const resolvConf = "search a.test b.test\noptions ndots:2"
      const { reached, server } = yield* withNames(
        ({ name }) => (["hooks.b.test", "hooks"].includes(name) ? somewhere : "no such name"),
        { resolvConf }
      )
      assert.strictEqual(yield* reached("hooks"), "1.1.1.1,2606:4700:4700::1111")
      assert.deepStrictEqual(server.names(), ["hooks.a.test", "hooks.b.test"])
      assert.strictEqual(yield* reached("hooks."), "1.1.1.1,2606:4700:4700::1111")
      assert.deepStrictEqual(server.names(), ["hooks.a.test", "hooks.b.test", "hooks"])
      assert.strictEqual(yield* reached("nothing"), "name does not resolve")
      assert.deepStrictEqual(server.names().slice(3), ["nothing.a.test", "nothing.b.test", "nothing"])
    })
  )

  it.effect("is kept for 5 seconds, or its TTL; so is that it has none", () =>
    Effect.gen(function* () {
      const { reached, server } = yield* withNames(({ name }) =>
        name === "long.test"
          ? { ...somewhere, ttl: 3600 }
          : name === "short.test"
            ? { ...somewhere, ttl: 2 }
            : name === "fails.test"
              ? "failure"
              : "no such name"
      )
      const names = ["long.test", "short.test", "fails.test", "none.test"]
      const all = Effect.forEach(names, (name) => reached(name))
      const asked = () =>
        names.map((name) => server.questions.filter((one) => one.name === name && one.type === "A").length)
      yield* all
      const first = asked()
      yield* TestClock.adjust("1900 millis")
      yield* all
      assert.deepStrictEqual(asked(), first)
      yield* TestClock.adjust("200 millis")
      yield* all
      assert.deepStrictEqual(asked(), [first[0]!, first[1]! + 1, first[2]!, first[3]!])
      yield* TestClock.adjust("3 seconds")
      yield* all
      assert.deepStrictEqual(asked(), [first[0]! + 1, first[1]! + 2, 2 * first[2]!, first[3]! + 1])
    })
  )

  it.effect("URL-3: that is private by definition is called only where it resolves into an allowed network", () =>
    Effect.gen(function* () {
      const names: Readonly<Record<string, Reply>> = {
        "inside.internal": { addresses: ["10.0.0.1"] },
        "outside.internal": { addresses: ["1.1.1.1"] },
        "both.local": { addresses: ["10.0.0.1", "1.1.1.1"] },
        "elsewhere.local": { addresses: ["192.168.0.1"] },
        "plain.test": { addresses: ["10.0.0.1", "1.1.1.1"] }
      }
      const { addresses, reached } = yield* withNames(({ name }) => names[name] ?? "no such name", {
        allowed: "10.0.0.0/8"
      })
      const may = (name: string) => addresses.mayReceive(`http://${name}/`, "account")
      for (const name of ["inside.internal", "plain.test"]) {
        assert.isTrue(yield* may(name), name)
        assert.match(yield* reached(name), /^10\.0\.0\.1/)
      }
      for (const name of ["outside.internal", "both.local", "elsewhere.local"]) {
        assert.isFalse(yield* may(name), name)
        assert.strictEqual(yield* reached(name), "forbidden address", name)
      }
      // One that does not resolve resolves into no allowed network.
      for (const name of ["nobody.internal", "a.localhost", "localhost"]) assert.isFalse(yield* may(name), name)
    })
  )

  it.effect("is queried once for all that wait for it", () =>
    Effect.gen(function* () {
      let isOpen = false
      const { reached, server } = yield* withNames(() => (isOpen ? somewhere : "silence"))
      const one = yield* Effect.forkChild(reached("one.silent.test", "first"))
      yield* soon(() => server.questions.length === 2)
      const others = yield* Effect.forEach(Array.from({ length: 50 }), (_, index) =>
        Effect.forkChild(reached("one.silent.test", `account ${index}`))
      )
      yield* Effect.yieldNow
      isOpen = true
      assert.strictEqual(yield* reached("another.test"), "1.1.1.1,2606:4700:4700::1111")
      assert.deepStrictEqual(server.names(), ["one.silent.test", "another.test"])
      assert.lengthOf(server.questions, 4)
      yield* Fiber.interruptAll([one, ...others])
    })
  )
})

const zone: Readonly<Record<string, Reply>> = {
  "hooks.test": { addresses: ["127.0.0.1"] },
  "inside.internal": { addresses: ["127.0.0.1", "::1"] },
  "outside.internal": { addresses: ["1.1.1.1"] },
  "both.local": { addresses: ["127.0.0.1", "1.1.1.1"] }
}

const dnsOfTest = Layer.unwrap(
  Effect.gen(function* () {
    const server = yield* nameServer((question) =>
      isSilent(question)
        ? "silence"
        : (zone[question.name.replace(/^.*\.hooks\.test$/, "hooks.test")] ?? "no such name")
    )
    return Layer.succeed(NameSourcesRef, yield* sourcesOf(server.address))
  })
)

layer(
  TestService.layer({ settings: { webhookAllowedNetworks: loopback, webhookTimeoutMs: 60_000 } }).pipe(
    Layer.provide(dnsOfTest)
  ),
  { excludeTestServices: true }
)("Over HTTP", (it) => {
  it.effect(
    "URL-3: names below `.localhost`, `.local`, `.internal` are refused unless they resolve into an allowed network",
    () =>
      Effect.gen(function* () {
        const { call, makeCaller } = yield* TestService
        const { key } = yield* makeCaller()
        const endpoint = yield* registered(key)
        for (const url of ["http://inside.internal/", "http://INSIDE.internal.:8080/", "http://unknown.test/"]) {
          yield* registered(key, { url })
          yield* changed(key, endpoint.id, { url })
          yield* created(key, { webhook_url: url })
        }
        for (const name of ["outside.internal", "both.local", "unknown.internal", "a.localhost", "a.b.local."]) {
          const url = `https://${name}/`
          assertRefused(yield* register(key, { url }), "INVALID_WEBHOOK_URL", ["url"])
          assertRefused(yield* change(key, endpoint.id, { url }), "INVALID_WEBHOOK_URL", ["url"])
          assertRefused(yield* create(key, { webhook_url: url }, newKey()), "INVALID_WEBHOOK_URL", ["webhook_url"])
          const body = { amount: 500, pix_key_type: "email", pix_key: "ana@example.com", webhook_url: url }
          const payout = yield* call("POST", "/v1/payouts", { key, idempotencyKey: newKey(), body })
          assertRefused(payout, "INVALID_WEBHOOK_URL", ["webhook_url"])
        }
      })
  )

  it.effect("DLV-9: deliveries to names of others go out while 400 names of one account are never answered", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const sql = yield* SqlClient
      const [hostile, other] = [yield* makeCaller(), yield* makeCaller()]
      /** Deliveries of an account, each to another destination. */
      const due = (accountId: string, count: number, host: string, path = "/") => sql`
        WITH made AS (
          INSERT INTO changes (id, resource_id, account_id, application_id, kind, actions, status, sequence, data,
            created_at)
          SELECT uuidv7(), uuidv7(), ${accountId}::uuid, NULL, 'charge.pix', '{paid}', 'paid', 3, '{}', now()
          FROM generate_series(1, ${count}::integer)
          RETURNING id, resource_id, account_id, created_at
        )
        INSERT INTO deliveries (id, change_id, event, resource_id, account_id, url, destination, destination_hash, status,
          attempts_made, due_at, created_at)
        SELECT uuidv7(), m.id, 'charge.pix.paid', m.resource_id, m.account_id, 'http://n' || m.id || ${host} || ${path},
          'http://n' || m.id || ${host}, text_digest('http://n' || m.id || ${host}), 'scheduled', 0, now(), m.created_at
        FROM made m`
      yield* due(hostile.accountId, 400, ".silent.test")
      yield* eventually(
        sql<{ count: number }>`SELECT count(*)::integer AS count FROM deliveries WHERE status = 'delivering'`,
        ([row]) => row!.count >= 100
      )
      const { received, url } = yield* receiver()
      const { pathname, port } = new URL(url)
      yield* due(other.accountId, 40, `.hooks.test:${port}`, pathname)
      yield* eventually(
        Effect.sync(() => received.length),
        (count) => count === 40
      )
      assert.match(String(received[0]?.headers.host), /\.hooks\.test:\d+$/)
    })
  )
})
