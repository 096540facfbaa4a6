/**
 * What lists and queues read: which indexes their statements use, whatever the statistics say (an empty table, one
 * account, three, a thousand), and how much they read of a million rows that are in the way.
 *
 * The indexes of each list and combination of filters are in `fixtures/plans.json`; `WRITE_PLANS=1` writes it.
 */
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import { randomUUID } from "node:crypto"
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fillQueues, queueTables } from "../../support/Backlogs.ts"
import {
  addListedOperator,
  addListedReconciliation,
  combinationsOf,
  filtersOf,
  isScope,
  isWalked,
  type ListAsked,
  listsFor,
  type Query,
  type TenantAsked
} from "../../support/Lists.ts"
import { loading, loadRows, withoutAutovacuum } from "../../support/Million.ts"
import { makeExplainer, makeRecorder, type Sent, type Work } from "../../support/Plans.ts"
import { asService } from "../../support/Postgres.ts"
import { eventually } from "../../support/Receiver.ts"
import { type TestCaller, TestService } from "../../support/TestService.ts"

/** A statement of a list, and not what goes before it, such as finding the caller. */
const isOfList = ({ text }: Sent) =>
  /\.id (?:DESC|ASC) LIMIT \$\d+::integer$|named AS MATERIALIZED|AS newest LIMIT|WITH examined AS|ORDER BY defense_deadline_at/.test(
    text
  )

const fixture = join(import.meta.dirname, "../../fixtures/plans.json")
const isWriting = process.env["WRITE_PLANS"] === "1"
/** The indexes that the statements of each list may use. */
const allowed: Record<string, ReadonlyArray<string>> = isWriting ? {} : JSON.parse(readFileSync(fixture, "utf8"))

const sorted = (names: ReadonlyArray<string>) => [...new Set(names)].toSorted()

const ALL = 9

const EMPTY = "empty tables"

/** Oldest first, a list uses the same indexes. */
const ASCENDING = " oldest first"

/** Rows and pages of ten statements that look at 5000 rows each. */
const MOST_WALKED = 200_000

/** Lists that look at more rows than they show. */
const walks = new Set<string>()

/** Background work, by words that only its statement has. */
const queues: Readonly<Record<string, RegExp>> = {
  "charges to recover": /WITH\s+due AS MATERIALIZED[^]*unnest\(d.charge_ids\)/,
  "charges to recover again": /WITH RECURSIVE accounts AS[^]*FROM charge_recoveries/,
  "payouts to hand over": /WITH RECURSIVE\s+longest_due AS/,
  "paused payouts": /WITH RECURSIVE\s+places\(account_id, connection_id, n\) AS/,
  "accounts with releases that are due": /WITH RECURSIVE\s+waiting AS \([^]*FROM releases/,
  "simulated reports that are due": /UPDATE simulator_notifications SET due_at/,
  "orders to the acquirer": /UPDATE acquirer_orders SET attempts/,
  "changes to fan out": /WITH RECURSIVE\s+walk AS/,
  "first attempts, as they fall due": /WITH\s+newly_due AS[^]*attempts_made = 0/,
  "retries, as they fall due": /WITH\s+newly_due AS[^]*attempts_made > 0/,
  "first attempts, by account": /WITH RECURSIVE\s+tenants[^]*attempts_made = 0 AND account_id/,
  "retries, by account": /WITH RECURSIVE\s+tenants[^]*attempts_made > 0 AND account_id/,
  "paused deliveries": /WITH RECURSIVE\s+paused_owners/
}

const recorder = makeRecorder()

layer(TestService.layer().pipe(Layer.provide(recorder.layer)), { excludeTestServices: true })(
  "Lists and queues",
  (it) => {
    const explainer = Effect.flatMap(TestService, ({ databaseUrl }) =>
      makeExplainer(asService(databaseUrl), recorder.settings())
    )

    const tenantOf = ({ accountId, applicationId, key, keyId }: TestCaller): TenantAsked => ({
      accountId,
      applicationId,
      key,
      keyId,
      endpointId: randomUUID(),
      some: { charge: randomUUID(), endToEndId: "none", instant: "2020-01-01T00:00:00Z" }
    })

    /** A tenant with what it has by now: of its charges, one that was paid. */
    const withRows = Effect.fnUntraced(function* (tenant: TenantAsked) {
      const sql = yield* SqlClient
      const [charge] = yield* sql<{ id: string; end_to_end_id: string }>`
        SELECT id, end_to_end_id FROM charges WHERE account_id = ${tenant.accountId}::uuid AND status = 'paid' LIMIT 1`
      const some = { ...tenant.some, charge: charge!.id, endToEndId: charge!.end_to_end_id }
      return { ...tenant, some }
    })

    /** The twentieth of a list, filters aside. */
    const cursorOf = Effect.fnUntraced(function* (list: ListAsked, query: Query) {
      const sql = yield* SqlClient
      const asked = Object.entries(query).filter(([name]) => isScope(list, name))
      const scope = [...list.scope, ...asked.map(([name, value]) => list.means(name, value))]
      const [row] = yield* sql.unsafe<{ id: string }>(
        `SELECT id FROM ${list.table} WHERE ${["true", ...scope].join(" AND ")} ORDER BY id DESC OFFSET 20 LIMIT 1`
      )
      return row
    })

    /** Requests each list with every filter, and returns what PostgreSQL did for it. */
    const askAll = Effect.fnUntraced(function* (tenant: TenantAsked, mostFilters: number) {
      const { call, makeKey, operate } = yield* TestService
      const { explain } = yield* explainer
      yield* addListedOperator
      yield* addListedReconciliation
      // The first list of a key has another statement than those of cached callers.
      const keysFor = Effect.fnUntraced(function* (list: ListAsked, query: Query) {
        if (!list.isPublic || query["status"] !== undefined || query["method"] !== undefined) return [tenant.key]
        return [tenant.key, (yield* makeKey(tenant.applicationId)).key]
      })
      const done = new Map<string, Work>()
      for (const list of listsFor(tenant)) {
        for (const query of combinationsOf(list).filter((one) => filtersOf(one).length <= mostFilters)) {
          const isByDeadline = "order" in query || "deadline_before" in query
          const cursor = filtersOf(query).length > 1 || isByDeadline ? undefined : yield* cursorOf(list, query)
          // A cursor reads the same index from another place.
          const orders = list.isOrdered && filtersOf(query).length <= 1 ? [{ order: "asc" }] : []
          for (const from of [{}, ...(cursor === undefined ? [] : [{ starting_after: cursor.id }]), ...orders]) {
            const asked = `${list.path}?${new URLSearchParams({ ...query, ...from })}`
            for (const [uses, key] of (yield* keysFor(list, query)).entries()) {
              recorder.take()
              const answer = list.isPublic ? yield* call("GET", asked, { key }) : yield* operate("GET", asked)
              assert.strictEqual(answer.status, 200, `${asked}: ${answer.text}`)
              const sent = recorder.take().filter(isOfList)
              assert.isAbove(sent.length, 0, `${asked} reads no list`)
              // The further statements of a walk are the same one again.
              const works = yield* Effect.forEach(isWalked(list, query) ? sent.slice(0, 3) : sent, explain)
              const isAscending = "order" in from
              const name = `${nameOf(list.template, { ...query, ...(isAscending ? {} : from) })}${isAscending ? ASCENDING : ""}`
              if (isWalked(list, query)) walks.add(name)
              done.set(uses === 0 ? name : `${name} of a new key`, works.reduce(together))
            }
          }
        }
      }
      return done
    })

    const together = (one: Work, other: Work): Work => ({
      indexes: sorted([...one.indexes, ...other.indexes]),
      readIndexes: sorted([...one.readIndexes, ...other.readIndexes]),
      fullScans: [...one.fullScans, ...other.fullScans],
      rows: one.rows + other.rows,
      pages: one.pages + other.pages
    })

    /** Values that make no difference to the plan are left out. */
    const nameOf = (template: string, query: Query): string =>
      `${template}?${Object.entries(query)
        .filter(([name]) => !name.startsWith("created_"))
        .map(([name, value]) => (/status|method|origin|failing/.test(name) ? `${name}=${value}` : name))
        .join("&")}`

    const assertPlans = (title: string, done: ReadonlyMap<string, Work>, accounts: number) => {
      // How many rows each partition has depends on the day of the quarter. In a small one any index is as good.
      const countedOf = ({ indexes, readIndexes }: Work) => (title === EMPTY ? indexes : readIndexes)
      if (isWriting) {
        for (const [name, work] of done) {
          const plain = name.replace(ASCENDING, "")
          allowed[plain] = sorted([...(allowed[plain] ?? []), ...countedOf(work)])
        }
        writeFileSync(fixture, `${JSON.stringify(allowed, undefined, 2)}\n`)
      }
      const others = [...done].flatMap(([name, work]) => {
        const found = countedOf(work).filter((index) => !(allowed[name.replace(ASCENDING, "")] ?? []).includes(index))
        return found.length === 0 ? [] : [[name, found]]
      })
      assert.deepStrictEqual(others, [], title)
      // Connections are few.
      const mayBeRead = new Set(["acquirer_connections"])
      const whole = [...done].filter(([, work]) => work.fullScans.some((table) => !mayBeRead.has(table)))
      assert.deepStrictEqual(whole, [], title)
      const dear = [...done].filter(([name, { pages, rows }]) => {
        const most = walks.has(name)
          ? MOST_WALKED
          : isOfAllAccounts(name)
            ? 5000 + 50 * accounts * partitionsOf(name)
            : 1000
        return pages > most || rows > most
      })
      assert.deepStrictEqual(dear, [], title)
    }

    /** The service reads every queue itself. */
    const statementsOfQueues = Effect.forEach(Object.entries(queues), ([name, words]) =>
      Effect.map(
        eventually(
          Effect.sync(() => ({ name, sent: [...recorder.seen.values()].find(({ text }) => words.test(text)) })),
          ({ sent }) => sent !== undefined
        ),
        ({ sent }) => ({ name, ...sent! })
      )
    )

    /** Rows that are finished or not due are not read. */
    const assertQueues = Effect.gen(function* () {
      const { explain } = yield* explainer
      for (const sent of yield* statementsOfQueues) {
        const work = yield* explain(sent)
        // Of each of the thousand accounts for which something waits, the next time. Deliveries have six partitions, and each
        // of them is read.
        const most = /by account/.test(sent.name) ? 60_000 : /accounts/.test(sent.name) ? 30_000 : 300
        assert.isBelow(Math.max(work.pages, work.rows), most, `${sent.name}: ${JSON.stringify(work)}`)
      }
    })

    /** Other due rows are not read: a round reads its batch, whatever the backlog of others. */
    const assertBacklogs = Effect.fnUntraced(function* (accounts: ReadonlyArray<string>) {
      const { databaseUrl } = yield* TestService
      const { explainAmid } = yield* makeExplainer(databaseUrl, recorder.settings())
      const statements = yield* statementsOfQueues
      const works = yield* explainAmid((sql) => fillQueues(sql, accounts), queueTables, statements)
      const dear = works.flatMap((work, index) => {
        const { name } = statements[index]!
        // These claims begin at the time of the one before, and find nothing new.
        const leastRows = name.endsWith("as they fall due") ? 0 : 2
        return work.rows < leastRows || work.rows > 15_000 ? [{ name, ...work }] : []
      })
      assert.deepStrictEqual(dear, [], `${accounts.length} accounts`)
    })

    /** A partition is read like a table. */
    const partitionsOf = (name: string) => (/^\/operator\/v1\/(requests|deliveries)/.test(name) ? 6 : 1)

    const isOfAllAccounts = (name: string) =>
      name.startsWith("/operator/") && !/account_id|endpoint_id|key_id|resource_id|charge_id|end_to_end_id/.test(name)

    it.effect("queues read what a round takes, however much is due, of however many accounts", () =>
      Effect.gen(function* () {
        const { makeCaller } = yield* TestService
        const tenants = [yield* makeCaller(), yield* makeCaller(), yield* makeCaller()].map(tenantOf)
        const ids = tenants.map(({ accountId }) => accountId)
        for (const accounts of [ids.slice(0, 1), ids, [...ids, ...Array.from({ length: 997 }, () => randomUUID())]])
          yield* assertBacklogs(accounts)
        // Without the pages of rolled-back rows.
        const sql = yield* SqlClient
        yield* sql.unsafe(`TRUNCATE ${queueTables.join(", ")}`)
      })
    )

    it.effect("a look walks the index of due times, however much more is due than when it was planned", () =>
      Effect.gen(function* () {
        const { databaseUrl, makeCaller } = yield* TestService
        const tenant = tenantOf(yield* makeCaller())
        const { explainAmid } = yield* makeExplainer(databaseUrl, recorder.settings())
        const claims = (yield* statementsOfQueues).filter(({ name }) => name.endsWith("as they fall due"))
        assert.lengthOf(claims, 2)
        const deliveries = (count: number, due: string) => (sql: SqlClient) =>
          sql.unsafe(
            `INSERT INTO deliveries (id, change_id, event, resource_id, account_id, url, destination, destination_hash,
                status, attempts_made, due_at, created_at)
              SELECT uuidv7(), uuidv7(), 'charge.pix.paid', uuidv7(), $1::uuid, 'https://example.com/', 'https://example.com',
                md5((n % 5)::text)::uuid, 'scheduled', n % 2, ${due}, now() FROM generate_series(1, ${count}) n`,
            [tenant.accountId]
          )
        const works = yield* explainAmid(
          (sql) =>
            Effect.andThen(
              deliveries(10_000, "now() + interval '1 day'")(sql),
              deliveries(1000, "now() - n * interval '1 millisecond'")(sql)
            ),
          ["deliveries"],
          // From the beginning of all times on.
          claims.map(({ parameters, text }) => ({ text, parameters: parameters.with(0, "-infinity") })),
          deliveries(20_000, "now() - n * interval '1 millisecond'")
        )
        assert.deepStrictEqual(
          works.filter(({ rows }) => !(rows < 3000)),
          []
        )
      })
    )

    it.effect(
      "each list uses its index, whatever the statistics say, and reads no more than its page",
      () =>
        Effect.gen(function* () {
          const { makeCaller } = yield* TestService
          yield* withoutAutovacuum
          const big = tenantOf(yield* makeCaller())
          assertPlans(EMPTY, yield* askAll(big, ALL), 1)

          yield* loading(loadRows([big], 1, "1 hour"), true)
          assertPlans("one account", yield* askAll(yield* withRows(big), ALL), 1)

          const small = tenantOf(yield* makeCaller())
          const third = tenantOf(yield* makeCaller())
          yield* loading(loadRows([small, third], 0.005, "31 days"), false)
          assertPlans("three accounts, a small one", yield* askAll(yield* withRows(small), 1), 3)

          const others = Array.from({ length: 997 }, () => ({
            accountId: randomUUID(),
            applicationId: randomUUID(),
            keyId: randomUUID(),
            endpointId: randomUUID()
          }))
          yield* loading(loadRows(others, 0, "1 hour"), false)
          assertPlans("a thousand accounts, the large one", yield* askAll(yield* withRows(big), 1), 1000)
          assertPlans("a thousand accounts, a small one", yield* askAll(yield* withRows(small), 2), 1000)
          yield* assertQueues
        }),
      // A second attempt would find the rows of the first.
      { retry: 0, timeout: 1_200_000 }
    )
  }
)
