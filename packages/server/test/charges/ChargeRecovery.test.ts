/** What goes on by itself: recovery, payments, several processes on one database, and the ledger behind it all. */
import type { Charge } from "@pix-payments/domain/Charge"
import { assert, layer } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import * as Migrations from "../../src/sql/Migrations.ts"
import { create, reaching, settled } from "../support/ChargeDeliveries.ts"
import { createDatabase, temporaryFolder } from "../support/Postgres.ts"
import { eventually, loopback, receiver } from "../support/Receiver.ts"
import { newKey, TestService, type TestServiceOptions } from "../support/TestService.ts"

const settings = { webhookAllowedNetworks: loopback, acquirerTimeoutMs: 200, simulatorSettleMs: 0 }

layer(TestService.layer({ settings: { ...settings, databaseConnections: 3 } }), { excludeTestServices: true })(
  "Recovery",
  (it) => {
    it.effect("CHG-4: brings a charge whose emission timed out to pending, with one Pix, and tells of it once", () =>
      Effect.gen(function* () {
        const { call, makeCaller } = yield* TestService
        const { key } = yield* makeCaller()
        const { received, url } = yield* receiver()
        const customer = { email: "timeout@simulator.test" }
        const created = yield* Effect.forEach(
          Array.from({ length: 20 }),
          () => create({ key, webhook_url: url, customer }),
          { concurrency: 20 }
        )
        for (const { body, status } of created) {
          assert.strictEqual(status, 201)
          assert.deepInclude(body, { status: "processing", sequence: 1, paid_at: null, failure_reason: null })
          assert.isNull(body.pix.br_code)
        }
        const sql = yield* SqlClient
        for (const { body } of created) {
          const charge = yield* reaching(key, body.id, "pending")
          assert.include(charge.pix.br_code, txidOf(body.id))
          assert.strictEqual(charge.expires_at, body.expires_at)
          assert.strictEqual(charge.sequence, 2)
          const accepted = yield* sql`SELECT 1 FROM simulator_charges WHERE txid = ${txidOf(body.id)}`
          assert.strictEqual(accepted.length, 1)
          const again = yield* call<Charge>("GET", `/v1/charges/${body.id}`, { key })
          assert.deepStrictEqual(again.body, charge)
          yield* settled(body.id, 2)
        }
        assert.strictEqual(received.length, 40)
        assert.strictEqual(new Set(received.map(({ body }) => `${body.data.id} ${body.event}`)).size, 40)
      })
    )

    it.effect("asks for each charge at its own pace: half as often each time, and every five minutes at least", () =>
      Effect.gen(function* () {
        const { makeCaller } = yield* TestService
        const { accountId, key } = yield* makeCaller()
        const sql = yield* SqlClient
        // A second, and the time that the acquirer has.
        const leaseMs = 1200
        const attempts = [3, 5, 7, 8, 1000]
        for (const attempt of attempts) {
          const { body } = yield* create({ key })
          yield* sql`UPDATE charges SET acquirer_answered = false WHERE id = ${body.id}::uuid`
          yield* sql`INSERT INTO charge_recoveries (due_at, id, charge_ids, account_id, attempts)
            VALUES (now(), ${body.id}::uuid, ARRAY[${body.id}::uuid], ${accountId}::uuid, ${attempt}::integer)`
          const [taken] = yield* eventually(
            sql<{ in_ms: number }>`
              SELECT (extract(epoch FROM due_at - now()) * 1000)::float8 AS in_ms FROM charge_recoveries
              WHERE id = ${body.id}::uuid AND account_id IS NOT NULL AND attempts = ${attempt + 1}::integer`,
            ({ length }) => length === 1
          )
          const expectedMs = Math.min(leaseMs * 2 ** attempt, 300_000)
          assert.isAtMost(taken!.in_ms, expectedMs)
          assert.isAbove(taken!.in_ms, expectedMs / 2)
        }
      })
    )

    it.effect("CHG-4: brings a charge of a slow acquirer to pending", () =>
      Effect.gen(function* () {
        const { makeCaller } = yield* TestService
        const { key } = yield* makeCaller()
        const { body } = yield* create({ key, customer: { email: "slow@simulator.test" } })
        assert.strictEqual(body.status, "processing")
        const charge = yield* reaching(key, body.id, "pending")
        assert.include(charge.pix.br_code, txidOf(body.id))
      })
    )

    it.effect("goes on with the others when one charge cannot be settled", () =>
      Effect.gen(function* () {
        const { makeCaller } = yield* TestService
        const { key } = yield* makeCaller()
        const sql = yield* SqlClient
        const customer = { email: "timeout@simulator.test" }
        const created = yield* Effect.forEach(Array.from({ length: 24 }), () => create({ key, customer }), {
          concurrency: 24
        })
        const ids = created.map(({ body }) => body.id)
        const poisoned = ids.slice(4)
        // Their account is nowhere, and they come first.
        yield* sql`UPDATE charges SET account_id = id WHERE ${sql.in("id", poisoned)}`
        yield* sql`INSERT INTO charge_recoveries (due_at, id, charge_ids)
          SELECT now() - interval '1 hour', uuidv7(), array_agg(id) FROM charges WHERE ${sql.in("id", poisoned)}`
        yield* sql`UPDATE charge_recoveries SET due_at = now() WHERE due_at > now()`
        for (const id of ids.slice(0, 4)) yield* reaching(key, id, "pending")
        yield* sql`DELETE FROM charges WHERE ${sql.in("id", poisoned)}`
      })
    )

    it.effect("leaves what the release before made of a charge that no acquirer has answered", () =>
      Effect.gen(function* () {
        const { makeCaller, operate } = yield* TestService
        const { key } = yield* makeCaller()
        const sql = yield* SqlClient
        const { body: created } = yield* create({ key, customer: { email: "timeout@simulator.test" } })
        assert.strictEqual(created.status, "processing")
        // It reads `pending`, cancels, and knows nothing of `acquirer_answered`.
        yield* sql`UPDATE charges SET status = 'canceled', sequence = 2 WHERE id = ${created.id}::uuid`
        yield* sql`UPDATE charge_recoveries SET due_at = now() WHERE ${created.id}::uuid = ANY (charge_ids)`
        yield* eventually(
          sql`SELECT id FROM charge_recoveries WHERE ${created.id}::uuid = ANY (charge_ids)`,
          ({ length }) => length === 0
        )
        const repeated = yield* operate("POST", `/operator/v1/simulator/charges/${created.id}/pay`)
        assert.strictEqual(repeated.status, 409)
        const charge = yield* reaching(key, created.id, "canceled")
        assert.strictEqual(charge.sequence, 2)
      })
    )

    it.effect("lets a payer pay by itself, even before the creation is answered", () =>
      Effect.gen(function* () {
        const { makeCaller, operate } = yield* TestService
        const { accountId, key } = yield* makeCaller()
        const { received, url } = yield* receiver()
        const customer = { email: "pay@simulator.test" }
        const created = yield* Effect.forEach(
          Array.from({ length: 30 }),
          () => create({ key, webhook_url: url, customer }),
          {
            concurrency: 30
          }
        )
        for (const { body, status } of created) {
          assert.strictEqual(status, 201)
          assert.include(["pending", "paid"], body.status)
          const charge = yield* reaching(key, body.id, "paid")
          assert.match(String(charge.pix.end_to_end_id), /^E00000000\d{12}[A-Za-z0-9]{11}$/)
          assert.isNotNull(charge.paid_at)
          assert.strictEqual(charge.sequence, 3)
          yield* settled(body.id, 3)
        }
        assert.strictEqual(received.length, 90)
        assert.strictEqual(new Set(received.map(({ body }) => `${body.data.id} ${body.event}`)).size, 90)
        const { body: account } = yield* operate<OperatorAccount>("GET", `/operator/v1/accounts/${accountId}`)
        assert.strictEqual(account.balance.available, 30 * 1990)
        yield* assertLedgerHolds
      })
    )

    it.effect("settles a charge that still is processing when a report of it arrives", () =>
      Effect.gen(function* () {
        const { makeCaller, operate } = yield* TestService
        const { key } = yield* makeCaller()
        const { received, url } = yield* receiver()
        const sql = yield* SqlClient
        for (const email of ["timeout@simulator.test", "slow@simulator.test"]) {
          for (const report of ["pay", "fail"]) {
            const { body: created } = yield* create({ key, webhook_url: url, customer: { email } })
            // Recovery comes too late for this one.
            yield* sql`UPDATE charge_recoveries SET due_at = now() + interval '1 hour' WHERE ${created.id}::uuid = ANY (charge_ids)`
            assert.strictEqual(created.status, "processing")
            const { body: reported, status } = yield* operate<Charge>(
              "POST",
              `/operator/v1/simulator/charges/${created.id}/${report}`
            )
            assert.strictEqual(status, 200)
            assert.strictEqual(reported.status, report === "pay" ? "paid" : "failed")
            assert.strictEqual(reported.sequence, 3)
            assert.include(reported.pix.br_code, txidOf(created.id))
            yield* settled(created.id, 3)
            const told = received.filter(({ body }) => body.data.id === created.id)
            assert.deepStrictEqual(
              told.map(({ body }) => `${body.event} ${body.data.status} ${body.sequence}`).toSorted(),
              [
                "charge.pix.created pending 2",
                "charge.pix.emitted pending 2",
                report === "pay" ? "charge.pix.paid paid 3" : "charge.pix.failed failed 3"
              ].toSorted()
            )
          }
        }
      })
    )

    it.effect("CHG-6: takes the money of a charge that has expired", () =>
      Effect.gen(function* () {
        const { call, makeCaller, operate } = yield* TestService
        const { accountId, key } = yield* makeCaller()
        const sql = yield* SqlClient
        const { body: created } = yield* create({ key })
        yield* sql`UPDATE charges SET expires_at = now() - interval '1 day' WHERE id = ${created.id}::uuid`
        assert.strictEqual((yield* call<Charge>("GET", `/v1/charges/${created.id}`, { key })).body.status, "expired")
        const pay = operate<Charge>("POST", `/operator/v1/simulator/charges/${created.id}/pay`)
        const { body: paid, status } = yield* pay
        assert.strictEqual(status, 200)
        assert.strictEqual(paid.status, "paid")
        assert.strictEqual((yield* pay).status, 409)
        const { body: account } = yield* operate<OperatorAccount>("GET", `/operator/v1/accounts/${accountId}`)
        assert.strictEqual(account.balance.available, 1990)
      })
    )

    it.effect("answers many reports at once, however few connections there are", () =>
      Effect.gen(function* () {
        const { makeCaller, operate } = yield* TestService
        const { accountId, key } = yield* makeCaller()
        const created = yield* Effect.forEach(Array.from({ length: 40 }), () => create({ key }), { concurrency: 20 })
        const paid = yield* Effect.forEach(
          created,
          ({ body }) => operate<Charge>("POST", `/operator/v1/simulator/charges/${body.id}/pay`),
          { concurrency: 40 }
        )
        assert.deepStrictEqual(
          paid.map(({ body, status }) => `${status} ${body.status}`),
          Array.from({ length: 40 }, () => "200 paid")
        )
        const { body: account } = yield* operate<OperatorAccount>("GET", `/operator/v1/accounts/${accountId}`)
        assert.deepStrictEqual<unknown>(account.balance, {
          object: "balance",
          currency: "BRL",
          available: 40 * 1990,
          pending: 0,
          total: 40 * 1990
        })
        yield* assertLedgerHolds
      })
    )

    it.effect("CHG-9: lets one settlement pay one charge, and goes on after a second that claims it", () =>
      Effect.gen(function* () {
        const { makeCaller, operate } = yield* TestService
        const { accountId, key } = yield* makeCaller()
        const sql = yield* SqlClient
        const [a, b, c, d] = (yield* Effect.all([
          create({ key }),
          create({ key }),
          create({ key }),
          create({ key })
        ])).map(({ body }) => body.id)
        const pay = (id: string | undefined, end_to_end_id: string) =>
          operate<Charge>("POST", `/operator/v1/simulator/charges/${id}/pay`, { body: { end_to_end_id } })
        const settlement = "E99999010202611210800AAAAAAAAAAA"
        assert.strictEqual((yield* pay(a, settlement)).status, 200)
        const second = yield* pay(b, settlement)
        assert.deepInclude<unknown>({ ...second.body, status: second.status }, { status: 409, code: "INVALID_STATE" })
        assert.strictEqual((yield* reaching(key, b!, "pending")).pix.end_to_end_id, null)

        // At the same moment: one of them.
        const rivals = yield* Effect.forEach([c, d], (id) => pay(id, "E99999010202611210800BBBBBBBBBBB"), {
          concurrency: 2
        })
        assert.deepStrictEqual(rivals.map(({ status }) => status).toSorted(), [200, 409])

        // What the acquirer tells by itself: of the second one nothing comes, and the loop goes on to the third.
        const { body: e } = yield* create({ key })
        const tells = (report: Readonly<Record<string, string>>) =>
          sql`INSERT INTO simulator_reports (id, report, due_at)
            VALUES (uuidv7(), ${JSON.stringify(report)}::json, now())`
        yield* tells({ _tag: "charge.paid", txid: txidOf(b!), endToEndId: settlement })
        yield* tells({ _tag: "charge.paid", txid: "no txid of ours", endToEndId: "E99999010202611210800CCCCCCCCCCC" })
        yield* tells({ _tag: "charge.failed", txid: "0".repeat(32) })
        yield* tells({ _tag: "of a later version", txid: txidOf(e.id) })
        yield* tells({ _tag: "charge.paid", txid: txidOf(e.id), endToEndId: "E99999010202611210800DDDDDDDDDDD" })
        yield* reaching(key, e.id, "paid")
        const outcomes = yield* eventually(
          sql<{ outcome: string }>`SELECT outcome FROM acquirer_reports
            WHERE subject IN (${txidOf(b!)}, ${"no txid of ours"}, ${"0".repeat(32)}) ORDER BY outcome`,
          ({ length }) => length === 4
        )
        assert.deepStrictEqual(
          outcomes.map(({ outcome }) => outcome),
          ["ignored", "ignored", "unknown", "unknown"]
        )
        // What cannot be read is kept for who can.
        const [kept] = yield* sql<{ reported_at: Date | null }>`SELECT reported_at FROM simulator_reports
          WHERE report ->> '_tag' = 'of a later version'`
        assert.isNull(kept?.reported_at)

        assert.strictEqual((yield* pay(b, "E99999010202611210800EEEEEEEEEEE")).status, 200)
        const { body: account } = yield* operate<OperatorAccount>("GET", `/operator/v1/accounts/${accountId}`)
        assert.strictEqual(account.balance.available, 4 * 1990)
        yield* assertLedgerHolds
      })
    )

    it.effect("BAL-3: keeps the ledger as it was written", () =>
      Effect.gen(function* () {
        const { makeCaller, operate } = yield* TestService
        const { key } = yield* makeCaller()
        const sql = yield* SqlClient
        const { body } = yield* create({ key })
        assert.strictEqual((yield* operate("POST", `/operator/v1/simulator/charges/${body.id}/pay`)).status, 200)
        for (const statement of [
          "UPDATE ledger_transfers SET amount = amount + 1",
          "UPDATE ledger_transfers SET reason = reason WHERE false",
          "DELETE FROM ledger_transfers",
          "TRUNCATE ledger_transfers"
        ]) {
          const error = yield* Effect.flip(sql.unsafe(statement))
          assert.include(String(error.reason.cause), "ledger transfers cannot be changed or deleted", statement)
        }
        const [transfer] = yield* sql`SELECT debit, credit, amount, reason FROM ledger_transfers
          WHERE resource_id = ${body.id}::uuid`
        assert.deepStrictEqual(transfer, {
          debit: "acquirer",
          credit: "available",
          amount: 1990n,
          reason: "charge.paid"
        })
        yield* assertLedgerHolds
      })
    )
  }
)

layer(TestService.layer({ settings: { ...settings, acquirerTimeoutMs: 5000, simulatorSettleMs: 1000 } }), {
  excludeTestServices: true
})("Certainty", (it) => {
  it.effect("CHG-4: is waited for where the acquirer is slow", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const { key } = yield* makeCaller()
      const { body } = yield* create({ key, customer: { email: "slow@simulator.test" } })
      assert.strictEqual(body.status, "pending")
      assert.include(body.pix.br_code, txidOf(body.id))
    })
  )

  it.effect("comes later where the payer takes a second", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const { key } = yield* makeCaller()
      const { body } = yield* create({ key, customer: { email: "pay@simulator.test" } })
      assert.strictEqual(body.status, "pending")
      yield* reaching(key, body.id, "paid")
    })
  )
})

layer(Layer.empty, { excludeTestServices: true })("Several processes", (it) => {
  it.effect("KEY-4, IDEM-5: start at the same moment on an empty database, and share the work", () =>
    Effect.gen(function* () {
      const databaseUrl = yield* createDatabase()
      const dataDir = yield* temporaryFolder
      const start = startService({
        databaseUrl,
        settings: { ...settings, dataDir, webhookRetryDelaysMs: [50, 50, 50] }
      })
      const [first, second, third] = yield* Effect.all([start, start, start] as const, { concurrency: 3 })
      const one = Context.get(first, TestService)
      const two = Context.get(second, TestService)
      const sql = Context.get(third, SqlClient)
      const applied = yield* sql`SELECT migration_id FROM effect_sql_migrations`
      assert.strictEqual(applied.length, Object.keys(Migrations.migrations).length)

      // A key of one is known to the other at once, and so is its end.
      const { applicationId, key } = yield* one.makeCaller()
      const { key: shortLived, keyId } = yield* two.makeKey(applicationId)
      assert.strictEqual((yield* one.call("GET", "/v1/account", { key: shortLived })).status, 200)
      assert.strictEqual((yield* one.operate("POST", `/operator/v1/keys/${keyId}/revoke`)).status, 200)
      assert.strictEqual((yield* two.call("GET", "/v1/account", { key: shortLived })).status, 401)

      // Of one idempotency key at several processes, one charge.
      const idempotencyKey = newKey()
      const same = yield* Effect.forEach(
        [one, two, one, two],
        ({ call }) => call<Charge>("POST", "/v1/charges", { key, idempotencyKey, body: someCharge }),
        { concurrency: 4 }
      )
      assert.deepStrictEqual(
        same.map(({ status }) => status),
        [201, 201, 201, 201]
      )
      assert.strictEqual(new Set(same.map(({ body }) => body.id)).size, 1)

      const failing = new Map<string, number>()
      const { received, url } = yield* receiver(({ body }, response) => {
        const count = (failing.get(body.id) ?? 0) + 1
        failing.set(body.id, count)
        response.statusCode = count === 1 && body.event.endsWith("emitted") ? 500 : 200
        response.end()
      })
      const created = yield* Effect.forEach(
        Array.from({ length: 120 }, (_, index) => (index % 2 === 0 ? one : two)),
        ({ call }, index) =>
          call<Charge>("POST", "/v1/charges", {
            key,
            idempotencyKey: newKey(),
            body: {
              ...someCharge,
              customer: {
                ...someCharge.customer,
                email: index % 3 === 0 ? "timeout@simulator.test" : "pay@simulator.test"
              },
              webhook_url: url
            }
          }),
        { concurrency: 40 }
      )
      yield* eventually(
        sql`SELECT id FROM deliveries WHERE status = 'delivered'`,
        ({ length }) => length === 40 * 2 + 80 * 3
      )
      assert.deepStrictEqual(yield* sql`SELECT id FROM charges WHERE NOT acquirer_answered`, [])
      // Each charge told of once, each delivery sent as often as it had to be.
      const told = yield* sql<{ events: string }>`SELECT string_agg(name, ' ' ORDER BY name) AS events FROM events
        WHERE resource_id <> ${same[0]!.body.id}::uuid GROUP BY resource_id`
      assert.strictEqual(told.length, created.length)
      assert.deepStrictEqual(
        new Set(told.map(({ events }) => events)),
        new Set(["charge.pix.created charge.pix.emitted", "charge.pix.created charge.pix.emitted charge.pix.paid"])
      )
      assert.strictEqual(received.length, 40 * 3 + 80 * 4)
      const [paid] = yield* sql<{ count: bigint }>`SELECT count(*) AS count FROM ledger_transfers`
      assert.strictEqual(paid?.count, 80n)
      yield* Effect.provideService(assertLedgerHolds, SqlClient, sql)
    }).pipe(Effect.scoped)
  )
})

interface OperatorAccount {
  readonly balance: { readonly available: number; readonly pending: number; readonly total: number }
}

const someCharge = {
  amount: 1990,
  customer: { name: "Ana Souza", email: "ana@example.com", document: "529.982.247-25" }
}

const txidOf = (chargeId: string): string => chargeId.replaceAll("-", "")

/** A service of its own, beside others of this process; it stops with the scope. */
const startService = (options: TestServiceOptions) =>
  Effect.flatMap(Effect.scope, (scope) =>
    Layer.buildWithMemoMap(TestService.layer(options), Layer.makeMemoMapUnsafe(), scope)
  )

/** All ledger accounts sum to zero, and each kept balance is the sum of its transfers. */
const assertLedgerHolds = Effect.gen(function* () {
  const sql = yield* SqlClient
  const [{ total } = { total: "" }] = yield* sql<{
    total: string
  }>`SELECT sum(balance)::text AS total FROM ledger_accounts`
  assert.strictEqual(total, "0")
  const different = yield* sql`
    SELECT owner_id, kind, sum(amount) FROM (
      SELECT owner_id, kind, balance AS amount FROM ledger_accounts
      UNION ALL
      SELECT account_id, credit, -amount FROM ledger_transfers
      UNION ALL
      SELECT account_id, debit, amount FROM ledger_transfers
    ) sides GROUP BY owner_id, kind HAVING sum(amount) <> 0`
  assert.deepStrictEqual(different, [])
  const wrong = yield* sql`
    SELECT c.id FROM charges c FULL JOIN ledger_transfers t ON t.resource_id = c.id
    WHERE (c.status = 'paid') IS DISTINCT FROM (t.id IS NOT NULL) OR t.amount <> c.amount`
  assert.deepStrictEqual(wrong, [])
})
