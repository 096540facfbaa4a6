/** Payments that the acquirer reports. */
import type { Charge } from "@pix-payments/domain/Charge"
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { create, reaching, settled } from "../../support/ChargeDeliveries.ts"
import { eventually, loopback, receiver } from "../../support/Receiver.ts"
import { TestService } from "../../support/TestService.ts"

const settings = { webhookAllowedNetworks: loopback, acquirerTimeoutMs: 200, simulatorSettleMs: 0 }

layer(TestService.layer({ settings: { ...settings, databaseConnections: 3 } }), { excludeTestServices: true })(
  "Settlement",
  (it) => {
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
        const second = yield* pay
        assert.deepStrictEqual([second.status, second.body], [202, paid])
        const { body: account } = yield* operate<OperatorAccount>("GET", `/operator/v1/accounts/${accountId}`)
        assert.strictEqual(account.balance.available, 1990)
      })
    )

    it.effect("answers many concurrent notifications with few connections", () =>
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

    it.effect("CHG-9: lets one settlement pay one charge, and continues after a second that claims it", () =>
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

        // Concurrently: one of them wins.
        const rivals = yield* Effect.forEach([c, d], (id) => pay(id, "E99999010202611210800BBBBBBBBBBB"), {
          concurrency: 2
        })
        assert.deepStrictEqual(rivals.map(({ status }) => status).toSorted(), [200, 409])

        // Notifications of the acquirer: the second changes nothing, and the loop continues with the third.
        const { body: e } = yield* create({ key })
        const notify = (report: Readonly<Record<string, string>>) =>
          sql`INSERT INTO simulator_notifications (id, report, due_at)
            VALUES (uuidv7(), ${JSON.stringify(report)}::json, now())`
        yield* notify({ _tag: "charge.paid", txid: txidOf(b!), endToEndId: settlement })
        yield* notify({ _tag: "charge.paid", txid: "no txid of ours", endToEndId: "E99999010202611210800CCCCCCCCCCC" })
        yield* notify({ _tag: "charge.failed", txid: "0".repeat(32) })
        yield* notify({ _tag: "of a later version", txid: txidOf(e.id) })
        yield* notify({ _tag: "charge.paid", txid: txidOf(e.id), endToEndId: "E99999010202611210800DDDDDDDDDDD" })
        yield* reaching(key, e.id, "paid")
        const outcomes = yield* eventually(
          sql<{ outcome: string }>`SELECT outcome FROM notifications
            WHERE subject IN (${txidOf(b!)}, ${"no txid of ours"}, ${"0".repeat(32)}) ORDER BY outcome`,
          ({ length }) => length === 3
        )
        assert.deepStrictEqual(
          outcomes.map(({ outcome }) => outcome),
          // The copy is recorded once.
          ["ignored", "unknown", "unknown"]
        )
        // A notification that cannot be read is kept.
        const [kept] = yield* sql<{ sent_at: Date | null }>`SELECT sent_at FROM simulator_notifications
          WHERE report ->> '_tag' = 'of a later version'`
        assert.isNull(kept?.sent_at)

        assert.strictEqual((yield* pay(b, "E99999010202611210800EEEEEEEEEEE")).status, 200)
        const { body: account } = yield* operate<OperatorAccount>("GET", `/operator/v1/accounts/${accountId}`)
        assert.strictEqual(account.balance.available, 4 * 1990)
        yield* assertLedgerHolds
      })
    )

    it.effect("BAL-3: refuses changes of the ledger", () =>
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

interface OperatorAccount {
  readonly balance: { readonly available: number; readonly pending: number; readonly total: number }
}

const txidOf = (chargeId: string): string => chargeId.replaceAll("-", "")

/** All ledger accounts sum to zero, and each stored balance is the sum of its transfers. */
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
    SELECT c.id FROM charges c
    FULL JOIN (SELECT * FROM ledger_transfers WHERE credit <> 'unallocated') t ON t.resource_id = c.id
    WHERE (c.status = 'paid') IS DISTINCT FROM (t.id IS NOT NULL) OR t.amount <> c.amount`
  assert.deepStrictEqual(wrong, [])
})
