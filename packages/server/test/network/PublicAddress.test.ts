/** Names of receivers: where they are looked up, who may look up how many, and which may be called. */
import { assert, describe, it, layer } from "@effect/vitest"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import * as TestClock from "effect/testing/TestClock"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { Settings } from "../../src/Settings.ts"
import { lookupLimits, makeLookupScheduler } from "../../src/network/LookupScheduler.ts"
import { makeNameLookups } from "../../src/network/NameLookups.ts"
import { type NameSources } from "../../src/network/NameQuery.ts"
import { NameSourcesRef, PublicAddress } from "../../src/network/PublicAddress.ts"
import { candidatesOf, parseHosts, parseSearchList } from "../../src/network/SystemNames.ts"
import { assertRefused, create, created } from "../support/ChargeRequests.ts"
import { nameServer, type Question, type Reply } from "../support/NameServer.ts"
import { temporaryFolder } from "../support/Postgres.ts"
import { eventually, loopback, receiver } from "../support/Receiver.ts"
import { newKey, TestService } from "../support/TestService.ts"
import { change, changed, register, registered } from "../support/Webhooks.ts"

describe("hosts(5) and resolv.conf(5)", () => {
  it("a name of the hosts file has the addresses of all its lines, in any case", () => {
    const hosts = parseHosts(
      "127.0.0.1\tlocalhost Loop # comment\n::1 localhost\n# 9.9.9.9 localhost\nnonsense localhost\n10.0.0.1 db db.example"
    )
    assert.deepStrictEqual(hosts.get("localhost"), [
      { address: "127.0.0.1", family: 4 },
      { address: "::1", family: 6 }
    ])
    assert.deepStrictEqual(parseHosts("").get("localhost"), hosts.get("localhost"))
    assert.deepStrictEqual(hosts.get("loop"), [{ address: "127.0.0.1", family: 4 }])
    assert.deepStrictEqual(hosts.get("db.example"), [{ address: "10.0.0.1", family: 4 }])
  })

  it("the search list: the last line counts, `ndots` decides what comes first, a final dot ends it", () => {
    const list = parseSearchList(
      "nameserver 10.0.0.2\ndomain old\nsearch a.test. b.test ; comment\noptions ndots:2 rotate\n"
    )
    assert.deepStrictEqual(list, { domains: ["a.test", "b.test"], ndots: 2 })
    assert.deepStrictEqual(candidatesOf("hooks", false, list), ["hooks.a.test", "hooks.b.test", "hooks"])
    assert.deepStrictEqual(candidatesOf("a.b.c", false, list), ["a.b.c", "a.b.c.a.test", "a.b.c.b.test"])
    assert.deepStrictEqual(candidatesOf("hooks", true, list), ["hooks"])
    assert.deepStrictEqual(candidatesOf("hooks", false, parseSearchList("")), ["hooks"])
    const long = Array.from({ length: 4 }, () => "a".repeat(62)).join(".")
    assert.deepStrictEqual(candidatesOf(long, false, list), [long])
  })
})

describe("Shares of look-ups: 4 of 64 at once for an account while others want them, 16 alone", () => {
  const make = (limits: Partial<Parameters<typeof makeLookupScheduler>[0]> = {}) => {
    const started: Array<string> = []
    const refused: Array<string> = []
    const scheduler = makeLookupScheduler({
      running: 64,
      shared: 4,
      alone: 16,
      waitingOfAccount: 128,
      waiting: 4096,
      ...limits
    })
    const ask = (account: string, count = 1) =>
      Array.from({ length: count }, () => {
        const job = { account, start: () => void started.push(account), refuse: () => void refused.push(account) }
        scheduler.submit(job)
        return job
      })
    const of = (account: string, list = started) => list.filter((each) => each === account).length
    return { ...scheduler, ask, started, of, refused }
  }

  it("an account alone has 16; 4 once there is another, which starts its own at once", () => {
    const { ask, started, finished, of } = make()
    ask("a", 100)
    assert.strictEqual(of("a"), 16)
    ask("b", 100)
    assert.deepStrictEqual([of("a"), of("b")], [16, 4])
    // Of 16 that a has, 12 end before it starts another.
    for (let count = 0; count < 12; count++) finished("a")
    assert.strictEqual(of("a"), 16)
    finished("a")
    assert.strictEqual(of("a"), 17)
    finished("b")
    assert.strictEqual(of("b"), 5)
    assert.lengthOf(started, 22)
  })

  it("at most 64 in all; free ones go to the accounts in turn", () => {
    const { ask, started, counts, finished } = make()
    const accounts = Array.from({ length: 20 }, (_, index) => `account ${index}`)
    for (const account of accounts) ask(account, 10)
    assert.deepStrictEqual(counts(), { running: 64, waiting: 200 - 64 })
    const before = started.length
    // The first has 10 from when it was alone; what ends of it goes to those that have less than 4.
    for (let count = 0; count < 10; count++) finished("account 0")
    const after = started.slice(before)
    assert.lengthOf(after, 10)
    assert.deepStrictEqual(new Set(after), new Set(accounts.slice(14)))
  })

  it("128 of an account wait, one more is refused; past 4,096 the last of the longest backlog is refused", () => {
    const { ask, counts, of, refused } = make({ waiting: 300 })
    ask("a", 16 + 128)
    assert.deepStrictEqual(refused, [])
    ask("a")
    assert.deepStrictEqual(refused, ["a"])
    ask("b", 4 + 128)
    ask("c", 4 + 44)
    assert.strictEqual(counts().waiting, 300)
    ask("d", 5)
    assert.deepStrictEqual([of("a", refused) + of("b", refused), of("d", refused)], [1 + 1, 0])
    assert.strictEqual(counts().waiting, 300)
    assert.strictEqual(of("d"), 4)
  })

  it("a cancelled lookup is not started, and leaves nothing", () => {
    const { ask, counts, finished, cancel, of } = make()
    const jobs = ask("a", 20)
    for (const job of jobs.slice(16)) cancel(job)
    for (let count = 0; count < 16; count++) finished("a")
    assert.deepStrictEqual(counts(), { running: 0, waiting: 0 })
    assert.strictEqual(of("a"), 16)
    ask("a", 1)
    assert.strictEqual(of("a"), 17)
  })
})

/** The addresses of names by a server of the test, none of whose silences ends before the test. */
const withNames = Effect.fnUntraced(function* (
  reply: (question: Question) => Reply,
  options: { readonly hosts?: string; readonly resolvConf?: string; readonly allowed?: string } = {}
) {
  const server = yield* nameServer(reply)
  const sources = yield* sourcesOf(server.address, options)
  const context = yield* Layer.build(
    PublicAddress.layer.pipe(
      Layer.provide(Settings.layer),
      Layer.provide(
        ConfigProvider.layer(
          ConfigProvider.fromEnv({ env: { WEBHOOK_ALLOWED_NETWORKS: options.allowed ?? "", LOG_LEVEL: "error" } })
        )
      ),
      Layer.provide(Layer.succeed(NameSourcesRef, sources))
    )
  )
  const addresses = yield* PublicAddress.pipe(Effect.provide(context))
  /** What an attempt at the name comes to: the addresses that it may connect to, or why it may not. */
  const reached = (name: string, account = "account") =>
    addresses
      .withPinnedAddress(`http://${name}/`, account, ({ hostname }) =>
        Effect.callback<string>((resume) =>
          addresses.lookup(hostname, { all: true }, (error, found) =>
            resume(
              Effect.succeed(
                error === null && typeof found !== "string" ? found.map(({ address }) => address).join() : String(error)
              )
            )
          )
        )
      )
      .pipe(Effect.catchTag("NotReachable", ({ reason }) => Effect.succeed(reason)))
  return { addresses, reached, server, sources }
})

const sourcesOf = Effect.fnUntraced(function* (
  server: string,
  files: { readonly hosts?: string; readonly resolvConf?: string } = {}
) {
  const folder = yield* temporaryFolder
  const sources: NameSources = {
    hosts: join(folder, "hosts"),
    resolvConf: join(folder, "resolv.conf"),
    servers: [server],
    timeoutMs: 120_000,
    tries: 1,
    deadlineMs: 120_000
  }
  writeFileSync(sources.hosts, files.hosts ?? "")
  writeFileSync(sources.resolvConf, files.resolvConf ?? "")
  return sources
})

const somewhere = { addresses: ["1.1.1.1", "2606:4700:4700::1111"] }
const isSilent = ({ name }: Question) => name.endsWith(".silent.test")

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

  it.effect("is asked for once, whoever waits for it", () =>
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

describe("What is kept of names", () => {
  it.effect("is bounded: the 4,097th takes the place of the first", () =>
    Effect.gen(function* () {
      const asked: Array<string> = []
      const { counts, lookUp } = makeNameLookups(
        (name) => {
          asked.push(name)
          return Promise.resolve({ _tag: "NoSuchName" })
        },
        lookupLimits,
        () => 0
      )
      const ask = (index: number) => lookUp("account", { name: `n${index}.test`, isAbsolute: false })
      for (let index = 0; index < 4096; index++) yield* ask(index)
      yield* ask(0)
      assert.lengthOf(asked, 4096)
      yield* ask(4096)
      yield* ask(1)
      assert.lengthOf(asked, 4097)
      yield* ask(0)
      assert.lengthOf(asked, 4098)
      assert.deepStrictEqual(counts(), { running: 0, waiting: 0 })
    })
  )

  it.effect("does not hold a failure of the query itself against anybody: its place is given back", () =>
    Effect.gen(function* () {
      const { counts, lookUp } = makeNameLookups(
        () => Promise.reject(new Error("no sockets")),
        lookupLimits,
        () => 0
      )
      const lookup = yield* lookUp("account", { name: "a.test", isAbsolute: false })
      assert.strictEqual(lookup._tag, "NotAnswered")
      assert.deepStrictEqual(counts(), { running: 0, waiting: 0 })
    })
  )
})

describe("400 names of one account that are never answered", () => {
  it.effect("take 16 places, 4 once another account looks up names, and none of those that others have", () =>
    Effect.gen(function* () {
      const { reached, server } = yield* withNames((question) => (isSilent(question) ? "silence" : somewhere))
      const silent = () => server.names().filter((name) => name.endsWith(".silent.test"))
      const results: Array<string> = []
      const hostile = yield* Effect.forEach(Array.from({ length: 400 }), (_, index) =>
        Effect.forkChild(Effect.map(reached(`n${index}.silent.test`, "hostile"), (result) => void results.push(result)))
      )
      yield* soon(() => silent().length === 16)
      // Those for which there is no room to wait have failed at once.
      yield* soon(() => results.length === 400 - 16 - 128)
      assert.deepStrictEqual(new Set(results), new Set(["too many name look-ups"]))
      for (let account = 0; account < 20; account++) {
        const found = yield* Effect.forEach(
          Array.from({ length: 10 }),
          (_, index) => reached(`n${index}.account${account}.test`, `account ${account}`),
          { concurrency: "unbounded" }
        )
        assert.deepStrictEqual(new Set(found), new Set(["1.1.1.1,2606:4700:4700::1111"]))
      }
      assert.lengthOf(silent(), 16)
      yield* Fiber.interruptAll(hostile)
    })
  )

  it.effect("that come while another account has look-ups under way take 4 places", () =>
    Effect.gen(function* () {
      const { reached, server } = yield* withNames(() => "silence")
      const of = (zone: string) => server.names().filter((name) => name.endsWith(zone))
      const begin = (count: number, zone: string, account: string) =>
        Effect.forEach(Array.from({ length: count }), (_, index) =>
          Effect.forkChild(reached(`n${index}${zone}`, account))
        )
      const other = yield* begin(2, ".other.silent.test", "other")
      yield* soon(() => of(".other.silent.test").length === 2)
      const hostile = yield* begin(400, ".hostile.silent.test", "hostile")
      yield* soon(() => of(".hostile.silent.test").length === 4)
      const third = yield* begin(10, ".third.silent.test", "third")
      yield* soon(() => of(".third.silent.test").length === 4)
      assert.deepStrictEqual([of(".other.silent.test").length, of(".hostile.silent.test").length], [2, 4])
      yield* Fiber.interruptAll([...other, ...hostile, ...third])
    })
  )
})

/** Waits for what comes over real sockets, on a clock that stands still. */
const soon = (isThere: () => boolean) => TestClock.withLive(eventually(Effect.sync(isThere), (there) => there))

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
      /** Deliveries of an account, each to a destination of its own. */
      const due = (accountId: string, count: number, host: string) => sql`
        WITH made AS (
          INSERT INTO changes (id, resource_id, account_id, application_id, kind, actions, status, sequence, data,
            created_at)
          SELECT uuidv7(), uuidv7(), ${accountId}::uuid, NULL, 'charge.pix', '{paid}', 'paid', 3, '{}', now()
          FROM generate_series(1, ${count}::integer)
          RETURNING id, resource_id, account_id, created_at
        )
        INSERT INTO deliveries (id, change_id, event, resource_id, account_id, url, destination, destination_hash, status,
          attempts_made, due_at, created_at)
        SELECT uuidv7(), m.id, 'charge.pix.paid', m.resource_id, m.account_id, 'http://n' || m.id || ${host} || '/',
          'http://n' || m.id || ${host}, text_digest('http://n' || m.id || ${host}), 'scheduled', 0, now(), m.created_at
        FROM made m`
      yield* due(hostile.accountId, 400, ".silent.test")
      yield* eventually(
        sql<{ count: number }>`SELECT count(*)::integer AS count FROM deliveries WHERE status = 'delivering'`,
        ([row]) => row!.count >= 100
      )
      const { received, url } = yield* receiver()
      yield* due(other.accountId, 40, `.hooks.test:${new URL(url).port}`)
      yield* eventually(
        Effect.sync(() => received.length),
        (count) => count === 40
      )
      assert.match(String(received[0]?.headers.host), /\.hooks\.test:\d+$/)
    })
  )
})
