/** Deliveries of many months: their statements read as much of many partitions as of one, and the oldest are sent as well. */
import * as PgTypes from "@effect/sql-pg/PgTypes"
import { assert, layer } from "@effect/vitest"
import { lowestIdAt, NIL_UUID } from "@pix-payments/domain/Uuid"
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import { randomUUID } from "node:crypto"
import { databaseTime, partitionsOf } from "../../../src/schema/partitions/Catalog.ts"
import { boundOf, periodAfter, timeOf } from "../../../src/database/Period.ts"
import { destinationKey } from "../../../src/webhooks/deliveries/Delivery.ts"
import { look, lookOf, type LookRow } from "../../../src/webhooks/queue/DeliveryClaims.ts"
import { DAY_MS } from "../../support/DatabaseTime.ts"
import { operated, paidCharge } from "../../support/Money.ts"
import { makeExplainer, makeRecorder, type Sent } from "../../support/Plans.ts"
import { eventually, loopback, receiver } from "../../support/Receiver.ts"
import { TestService } from "../../support/TestService.ts"
import { changed, deliveryOf, registered, resend, resendFailed } from "../../support/Webhooks.ts"

const settings = { webhookAllowedNetworks: loopback, webhookRetryDelaysMs: [3_600_000], simulatorSettleMs: 0 }

const MONTHS = 14
/** Rows of each month: one in a hundred failed, the others were delivered. */
const ROWS = 2000

/** The first partition becomes that of its last month, after partitions of the months before. */
const divide = Effect.gen(function* () {
  const sql = yield* SqlClient
  const [first] = (yield* partitionsOf("deliveries"))!
  const bounds = Array.from({ length: MONTHS + 1 }, (_, month) =>
    boundOf(periodAfter("month", timeOf(first!.before), month - MONTHS))
  )
  const months = bounds
    .slice(1)
    .map((before, month) => ({ name: `deliveries_of_${month}`, from: bounds[month]!, before }))
  yield* sql.unsafe(`DO $$ BEGIN
    LOCK TABLE deliveries IN ACCESS EXCLUSIVE MODE;
    ALTER TABLE deliveries DETACH PARTITION ${first!.name};
    ${months
      .map(
        ({ before, from, name }) =>
          `CREATE TABLE ${name} PARTITION OF deliveries FOR VALUES FROM ('${from}') TO ('${before}');`
      )
      .join("\n")}
    INSERT INTO deliveries SELECT * FROM ${first!.name};
    DROP TABLE ${first!.name};
  END $$`)
  return months
})

const fill = Effect.fnUntraced(function* (
  months: ReadonlyArray<{ readonly name: string; readonly from: string }>,
  accountId: string,
  endpointId: string
) {
  const sql = yield* SqlClient
  for (const { from, name } of months) {
    yield* sql.unsafe(
      `INSERT INTO ${name} (id, change_id, event, resource_id, account_id, endpoint_id, url, destination, destination_hash,
        status, attempts_made, created_at)
      SELECT ('${from.slice(0, 24)}' || lpad(to_hex(n), 12, '0'))::uuid, uuidv7(), 'charge.pix.paid', uuidv7(),
        '${accountId}', '${endpointId}', 'https://example.com', 'https://example.com', uuidv7(),
        CASE WHEN n % 100 = 0 THEN 'failed' ELSE 'delivered' END, 1, now()
      FROM generate_series(1, ${ROWS}) n`
    )
  }
  yield* sql`ANALYZE deliveries`
})

/** An array as PostgreSQL reads it, with instants for epoch milliseconds. */
const arrayLiteral = (parameter: unknown): unknown => {
  if (!PgTypes.isParameter(parameter) || !Array.isArray(parameter.value)) return parameter
  const texts = parameter.value.map((value: unknown) => {
    if (typeof value === "number" && value > 1e12) return DateTime.formatIso(DateTime.makeUnsafe(value))
    return value === null ? "NULL" : `"${String(value)}"`
  })
  return `{${texts.join(",")}}`
}

const recorder = makeRecorder()

layer(TestService.layer({ settings }).pipe(Layer.provide(recorder.layer)), { excludeTestServices: true })(
  "Deliveries of many months",
  (it) => {
    it.effect("DLV-8: are sent again at once, and by any process that finds them due", () =>
      Effect.gen(function* () {
        const { makeCaller } = yield* TestService
        const sql = yield* SqlClient
        const { key } = yield* makeCaller()
        const { received, url } = yield* receiver()
        yield* registered(key, { url, events: ["charge.pix.paid"] })
        const { id: chargeId } = yield* paidCharge(key)
        const ofCharge = sql<{ id: string }>`SELECT id FROM deliveries
          WHERE resource_id = ${chargeId}::uuid AND status = 'delivered'`
        const [made] = yield* eventually(ofCharge, ({ length }) => length === 1)
        const old = lowestIdAt((yield* databaseTime) - 500 * DAY_MS)
        yield* sql`UPDATE deliveries SET id = ${old}::uuid WHERE id = ${made!.id}::uuid`
        assert.strictEqual((yield* resend(old)).status, 202)
        yield* eventually(deliveryOf(old), (row) => row.status === "delivered" && row.attempts_made === 2)
        // As a resend of another process, of which this one hears nothing.
        yield* sql`UPDATE deliveries SET status = 'scheduled', due_at = now() WHERE id = ${old}::uuid`
        yield* eventually(deliveryOf(old), (row) => row.status === "delivered" && row.attempts_made === 3)
        assert.deepStrictEqual(
          received.map(({ body }) => body.id),
          [made!.id, old, old]
        )
      }).pipe(Effect.scoped)
    )

    it.effect("DLV-8: are found with a backlog, and else by a look that reads all months", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient
        const old = lowestIdAt((yield* databaseTime) - 500 * DAY_MS)
        const [accountId, origin] = [randomUUID(), randomUUID()]
        const destination = destinationKey(accountId, origin)
        const insert = sql`INSERT INTO deliveries (id, change_id, event, resource_id, account_id, url, destination,
            destination_hash, status, due_at, created_at)
          VALUES (${old}::uuid, uuidv7(), 'charge.pix.paid', uuidv7(), ${accountId}::uuid, 'https://example.com',
            'https://example.com', ${origin}::uuid, 'scheduled', now() - interval '1 second', now())`
        const found = (isOfAllTime: boolean, backlogged: ReadonlyArray<string>) =>
          Effect.map(
            sql.unsafe<LookRow>(
              ...look.first({
                fromDueAt: "-infinity",
                fromId: NIL_UUID,
                isOfAllTime,
                backlogged,
                perDestination: 50,
                excludedIds: []
              })
            ),
            ([row]) => lookOf(row!).due.map(({ id }) => id)
          )
        // In a transaction, of which the service sees nothing.
        const each = yield* sql.withTransaction(
          Effect.gen(function* () {
            yield* insert
            const ids = [yield* found(false, []), yield* found(true, []), yield* found(false, [destination])]
            yield* sql`DELETE FROM deliveries WHERE id = ${old}::uuid`
            return ids
          })
        )
        assert.deepStrictEqual(each, [[], [old], [old]])
      })
    )

    it.effect("LIST-2, DLV-1: are read as those of one month, by claims, sweeps, lists, and by id", () =>
      Effect.gen(function* () {
        const { databaseUrl, makeCaller } = yield* TestService
        const sql = yield* SqlClient
        const { accountId, key } = yield* makeCaller()
        const { url } = yield* receiver(({ path }, response) =>
          response.writeHead(path === "/failing" ? 503 : 200).end()
        )
        const { id: endpoint } = yield* registered(key, { url, events: ["charge.pix.paid"] })
        const { id: failing } = yield* registered(key, { url: `${url}/failing`, events: ["charge.pix.paid"] })
        yield* fill(yield* divide, accountId, endpoint)

        const own = { webhook_url: url, webhook_secret: "s" }
        const deliveriesOf = (chargeId: string) =>
          eventually(
            sql<{ id: string; endpoint_id: string }>`SELECT id, endpoint_id FROM deliveries
              WHERE resource_id = ${chargeId}::uuid AND endpoint_id IS NOT NULL AND attempts_made = 1`,
            ({ length }) => length === 2
          )
        const charge = yield* paidCharge(key, 1000, own)
        const deliveries = yield* deliveriesOf(charge.id)
        const retried = deliveries.find(({ endpoint_id }) => endpoint_id === failing)!.id
        yield* operated("GET", `/deliveries/${retried}`)
        yield* operated("GET", "/deliveries")
        yield* operated("GET", `/deliveries?endpoint_id=${endpoint}`)
        yield* operated("GET", "/deliveries?status=failed")
        yield* operated("GET", `/deliveries?resource_id=${charge.id}`)
        yield* resend(retried)
        yield* resendFailed({ endpoint_id: endpoint, since: "2020-01-01T00:00:00Z", dry_run: true })
        yield* changed(key, failing, { active: false })
        yield* changed(key, failing, { active: true })
        yield* deliveriesOf((yield* paidCharge(key)).id)

        const { explain, explainAmid } = yield* makeExplainer(databaseUrl, recorder.settings())
        const sentAs = (words: RegExp): Sent => {
          const found = [...recorder.seen.values()].find(({ text }) => words.test(text))
          assert.isDefined(found, `nothing was sent like ${words}`)
          return found!
        }
        const assertReads = (
          title: string,
          work: { readonly fullScans: ReadonlyArray<string>; readonly rows: number; readonly pages: number },
          rows: number,
          pages: number
        ) => {
          assert.deepStrictEqual(work.fullScans, [], title)
          assert.isAtMost(work.rows, rows, title)
          assert.isAtMost(work.pages, pages, title)
        }
        const idle = [0, 1].flatMap((lane) => {
          const made = lane === 0 ? "= 0" : "> 0"
          return [
            ["look", new RegExp(`WITH\\s+newly_due AS[^]*attempts_made ${made}`), 5 * 8],
            ["sweep", new RegExp(`WITH RECURSIVE\\s+tenants[^]*attempts_made ${made}`), 16 * MONTHS]
          ] as const
        })
        for (const [title, words, pages] of idle) {
          const { parameters, text } = sentAs(words)
          // Not the look after a resend.
          const usual = parameters.map((parameter) => (parameter === true ? false : parameter))
          assertReads(title, yield* explain({ text, parameters: usual }), 10, pages)
        }
        assertReads("paused", yield* explain(sentAs(/WITH RECURSIVE\s+paused_owners/)), 10, 4 * MONTHS)
        assertReads("find", yield* explain(sentAs(/FROM deliveries LEFT JOIN[^]*deliveries\.id = \$1/)), 2, 10)
        assertReads("resend", yield* explain(sentAs(/^\s*UPDATE deliveries d SET status = 'scheduled'/)), 10, 60)
        const pagesOfLists = [...recorder.seen.values()].filter(({ text }) =>
          /^SELECT deliveries\.[^]*DESC LIMIT \$\d+::integer$/.test(text)
        )
        assert.isAtLeast(pagesOfLists.length, 4)
        for (const sent of pagesOfLists) {
          assertReads(sent.text.slice(-400), yield* explain(sent), 8 * 21, 40 * MONTHS)
        }

        // With a change to fan out again, and with the attempts of a claim.
        const fanOut = sentAs(/WITH RECURSIVE\s+walk AS/)
        const [again] = yield* explainAmid(
          (
            client
          ) => client`INSERT INTO outbox (account_id, change_id, endpoints_version, normalized_hash, destination_hash)
            SELECT c.account_id, c.id, (SELECT max(from_version) FROM webhook_endpoint_versions), w.normalized_hash,
              w.destination_hash
            FROM changes c JOIN webhook_endpoints w ON w.id = ${endpoint}::uuid
            WHERE c.resource_id = ${charge.id}::uuid`,
          ["outbox"],
          [fanOut]
        )
        assertReads("fan-out", again!, 60, 140)
        const withArrays = ({ parameters, text }: Sent) => ({ text, parameters: parameters.map(arrayLiteral) })
        const record = withArrays(sentAs(/WITH input AS MATERIALIZED[^]*UPDATE deliveries d SET status = i\.status/))
        const [recorded] = yield* explainAmid(
          (client) =>
            Effect.andThen(
              client`DELETE FROM delivery_attempts`,
              client`UPDATE deliveries SET status = 'delivering', attempts_made = 0 WHERE account_id = ${accountId}::uuid
                AND attempts_made > 0 AND created_at > now() - interval '1 hour' AND status || '' <> 'failed'
                AND destination_hash IN (SELECT destination_hash FROM webhook_endpoints)`
            ),
          ["delivery_attempts"],
          [record]
        )
        assertReads("record", recorded!, 10, 60)
        const store = withArrays(sentAs(/WITH input AS MATERIALIZED[^]*INSERT INTO deliveries/))
        const [stored] = yield* explainAmid(
          (client) =>
            Effect.andThen(
              client`DELETE FROM delivery_attempts`,
              client`DELETE FROM deliveries WHERE account_id = ${accountId}::uuid
                AND created_at > now() - interval '1 hour' AND status || '' <> 'failed'
                AND destination_hash IN (SELECT destination_hash FROM webhook_endpoints)`
            ),
          ["delivery_attempts"],
          [store]
        )
        assertReads("store", stored!, 20, 100)
        // Also in partitions that are empty when the plan is made, and are not for long.
        const byId = [
          again!,
          recorded!,
          stored!,
          ...(yield* Effect.forEach(idle, ([, words]) => explain(sentAs(words))))
        ]
        for (const { indexes } of byId) assert.notInclude(indexes, "deliveries_of_resource")
      }).pipe(Effect.scoped)
    )
  }
)
