/** Payouts under `kill -9`, while they are created, submitted and settled. */
import * as PgClient from "@effect/sql-pg/PgClient"
import { assert, layer } from "@effect/vitest"
import type { Payout } from "@pix-payments/domain/Payout"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { SqlClient } from "effect/sql/SqlClient"
import { orderIdOf } from "../../src/payments/payouts/PayoutTable.ts"
import { createMigratedDatabase, temporaryFolder } from "../support/Postgres.ts"
import { type ServiceProcess, startProcess } from "../support/Process.ts"
import { eventually } from "../support/Receiver.ts"
import { newKey } from "../support/TestService.ts"

const COUNT = 100
const AMOUNT = 700
const FEE = 17
const FUNDS = 100 * (AMOUNT + FEE) + 5

/** When the process is killed: after this many answers, or this many more settled payouts. */
const kills: ReadonlyArray<{ readonly answers?: number; readonly settled?: number }> = [
  { answers: 1 + Math.floor(Math.random() * 12) },
  { answers: 20 + Math.floor(Math.random() * 20) },
  { answers: 45 + Math.floor(Math.random() * 35) },
  { settled: 1 + Math.floor(Math.random() * 8) },
  { settled: 1 + Math.floor(Math.random() * 4) }
]

const keyOf = (index: number) =>
  ["ana@example.com", "timeout@simulator.test", "hold@simulator.test", "fail@simulator.test"][index % 4]!

layer(Layer.empty, { excludeTestServices: true })("A process that is killed while payouts go out", (it) => {
  it.effect("OPR-35, PAY-6: makes no payout twice, leaves none behind, and loses no cent", () =>
    Effect.gen(function* () {
      const databaseUrl = yield* createMigratedDatabase
      const sql = Context.get(yield* Layer.build(PgClient.layer({ url: databaseUrl })), SqlClient)
      const env = {
        DATABASE_URL: Redacted.value(databaseUrl),
        DATA_DIR: yield* temporaryFolder,
        OPERATOR_TOKEN,
        SIMULATOR_LATENCY_MS: "10",
        SIMULATOR_SETTLE_MS: "50",
        // A busy machine must not make an answer unclear: each claim before it doubles the time until the next inquiry.
        ACQUIRER_TIMEOUT_MS: "1000"
      }
      let service = yield* startProcess(env)
      const { accountId, apiKey } = yield* fundedCaller(service)

      const payouts = Array.from({ length: COUNT }, (_, index) => ({ key: newKey(), pixKey: keyOf(index) }))
      const answered = new Map<string, string>()
      const settledCount = Effect.map(
        sql`SELECT id FROM payouts WHERE status IN ('completed', 'failed')`,
        ({ length }) => length
      )
      for (const { answers, settled } of kills) {
        const killed = service
        const settledBefore = yield* settledCount
        const waiting = payouts.filter(({ key }) => !answered.has(key))
        const caller = async () => {
          for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
            const answer = await create(killed, apiKey, next.key, next.pixKey).catch(() => undefined)
            if (answer === undefined) continue
            assert.strictEqual(answer.status, 201, JSON.stringify(answer.body))
            answered.set(next.key, answer.body.id)
            if (answers !== undefined && answered.size >= answers) killed.signal("SIGKILL")
          }
        }
        const begun = Promise.all(Array.from({ length: 12 }, caller))
        if (settled !== undefined) {
          // The acquirer never settles 25 of them.
          yield* eventually(settledCount, (count) => count >= Math.min(settledBefore + settled, COUNT - 25))
          killed.signal("SIGKILL")
        }
        yield* Effect.promise(() => begun)
        assert.strictEqual(yield* killed.ended, "SIGKILL")

        // The stored rows are consistent after every kill.
        yield* assertWhole(sql)
        // Leases run out.
        yield* sql`UPDATE payouts SET due_at = now() WHERE status = 'processing'`
        service = yield* startProcess(env)
      }

      // Every key is repeated, and names the resource that it created.
      const repeated = yield* Effect.forEach(
        payouts,
        ({ key, pixKey }) => Effect.promise(() => create(service, apiKey, key, pixKey)),
        { concurrency: 20 }
      )
      for (const [index, { body, replayed, status }] of repeated.entries()) {
        assert.strictEqual(status, 201)
        assert.strictEqual(body.recipient.pix_key, keyOf(index))
        const before = answered.get(payouts[index]!.key)
        if (before === undefined) continue
        assert.strictEqual(body.id, before)
        assert.strictEqual(replayed, "true")
      }

      // Only those that the acquirer does not settle are unfinished.
      yield* eventually(
        sql`SELECT id FROM payouts WHERE status = 'processing' AND (pix_key <> 'hold@simulator.test' OR processed_at IS NULL)`,
        ({ length }) => length === 0
      )
      const rows = yield* sql<{ idempotency_key: string; pix_key: string; status: string; sent: bigint }>`
          SELECT p.idempotency_key, p.pix_key, p.status,
            (SELECT count(*) FROM simulator_payouts s WHERE s.order_id = ${sql.literal(orderIdOf("p"))} AND s.amount = p.amount) AS sent
          FROM payouts p`
      assert.sameMembers(
        rows.map(({ idempotency_key }) => idempotency_key),
        payouts.map(({ key }) => key)
      )
      const expected: Readonly<Record<string, string>> = {
        "ana@example.com": "completed",
        "timeout@simulator.test": "completed",
        "hold@simulator.test": "processing",
        "fail@simulator.test": "failed"
      }
      for (const { pix_key, sent, status } of rows) {
        assert.strictEqual(status, expected[pix_key], pix_key)
        assert.strictEqual(sent, 1n)
      }
      const sent = yield* sql`SELECT order_id FROM simulator_payouts`
      assert.strictEqual(sent.length, COUNT)

      const kept = yield* sql<{ kind: string; balance: bigint }>`SELECT kind, balance FROM ledger_accounts
          WHERE owner_id = ${accountId}::uuid AND kind <> 'acquirer' ORDER BY kind`
      assert.deepStrictEqual(Object.fromEntries(kept.map(({ balance, kind }) => [kind, Number(balance)])), {
        available: FUNDS - 75 * (AMOUNT + FEE),
        blocked: 0,
        fees: 50 * FEE,
        payouts_in_transit: 25 * (AMOUNT + FEE),
        pending: 0,
        returns_in_transit: 0
      })
      // Each change has its event.
      const events = yield* sql<{ pix_key: string; actions: string }>`
          SELECT DISTINCT p.pix_key, (
            SELECT string_agg(array_to_string(c.actions, ' '), ' ' ORDER BY c.sequence, c.id) FROM changes c
            WHERE c.resource_id = p.id
          ) AS actions FROM payouts p ORDER BY 1`
      assert.deepStrictEqual(
        events.map(({ actions, pix_key }) => `${pix_key} ${actions}`),
        [
          "ana@example.com created processing completed",
          "fail@simulator.test created processing failed",
          "hold@simulator.test created processing",
          "timeout@simulator.test created processing completed"
        ]
      )
      yield* assertWhole(sql)
      const verified = yield* Effect.promise(() => operate(service, "GET", "/ledger/verify"))
      assert.deepStrictEqual([verified["consistent"], verified["differences"]], [true, []])
      service.signal("SIGTERM")
      assert.strictEqual(yield* service.ended, 0)
    })
  )
})

/** No payout without its transfer, no transfer without its payout, each key once, and nothing sent that is not stored. */
const assertWhole = Effect.fnUntraced(function* (sql: SqlClient) {
  const different = yield* sql`
    SELECT owner_id, kind, sum(amount) FROM (
      SELECT owner_id, kind, balance AS amount FROM ledger_accounts WHERE kind NOT IN ('acquirer', 'fees')
      UNION ALL
      SELECT account_id, credit, -amount FROM ledger_transfers WHERE credit NOT IN ('acquirer', 'fees')
      UNION ALL
      SELECT account_id, debit, amount FROM ledger_transfers WHERE debit NOT IN ('acquirer', 'fees')
    ) sides GROUP BY owner_id, kind HAVING sum(amount) <> 0`
  assert.deepStrictEqual(different, [])
  const wrong = yield* sql`
    SELECT p.id FROM payouts p LEFT JOIN LATERAL (
      SELECT sum(CASE WHEN debit = 'available' THEN amount WHEN credit = 'available' THEN -amount ELSE 0 END) AS taken,
        sum(CASE WHEN credit = 'payouts_in_transit' THEN amount WHEN debit = 'payouts_in_transit' THEN -amount
          ELSE 0 END) AS in_transit
      FROM ledger_transfers t WHERE t.resource_id = p.id
    ) moved ON true
    WHERE moved.taken IS DISTINCT FROM CASE WHEN p.status IN ('failed', 'canceled') THEN 0 ELSE p.amount + p.fee END
      OR moved.in_transit IS DISTINCT FROM CASE WHEN p.status = 'processing' THEN p.amount + p.fee ELSE 0 END
      OR p.idempotency_key IS NULL`
  assert.deepStrictEqual(wrong, [])
  const orphans = yield* sql`SELECT resource_id FROM ledger_transfers t WHERE reason LIKE 'payout.%'
    AND NOT EXISTS (SELECT 1 FROM payouts p WHERE p.id = t.resource_id)`
  assert.deepStrictEqual(orphans, [])
  const unknown = yield* sql`SELECT order_id FROM simulator_payouts s
    WHERE NOT EXISTS (SELECT 1 FROM payouts p WHERE ${sql.literal(orderIdOf("p"))} = s.order_id)`
  assert.deepStrictEqual(unknown, [])
})

const OPERATOR_TOKEN = "the operator's token of these tests"

const operate = async (service: ServiceProcess, method: string, path: string, body?: object) => {
  const response = await fetch(`${service.operatorUrl}/operator/v1${path}`, {
    method,
    headers: { "x-operator-token": OPERATOR_TOKEN, "content-type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) })
  })
  assert.isBelow(response.status, 300, path)
  return (await response.json()) as Readonly<Record<string, unknown>>
}

const fundedCaller = (service: ServiceProcess) =>
  Effect.promise(async () => {
    const account = await operate(service, "POST", "/accounts", {
      name: "Loja",
      legal_name: "Loja Ltda",
      document: "11222333000181",
      phone: "+5511999990000",
      payout_fee: { fixed: 10, basis_points: 100 }
    })
    const accountId = String(account["id"])
    const application = await operate(service, "POST", `/accounts/${accountId}/applications`, { name: "Loja" })
    const { key } = await operate(service, "POST", `/applications/${String(application["id"])}/keys`, {
      name: "test",
      scopes: ["payout:write"]
    })
    const charge = await operate(service, "POST", `/applications/${String(application["id"])}/checkout-charges`, {
      amount: FUNDS,
      customer: { name: "Ana Souza", email: "ana@example.com", document: "529.982.247-25" }
    })
    await operate(service, "POST", `/simulator/charges/${String(charge["id"])}/pay`, {})
    return { accountId, apiKey: String(key) }
  })

/** Fails when there is no answer. */
const create = async (service: ServiceProcess, apiKey: string, key: string, pixKey: string) => {
  const response = await fetch(`${service.publicUrl}/v1/payouts`, {
    method: "POST",
    headers: { "x-api-key": apiKey, "idempotency-key": key, "content-type": "application/json" },
    body: JSON.stringify({ amount: AMOUNT, pix_key_type: "email", pix_key: pixKey })
  })
  return {
    status: response.status,
    replayed: response.headers.get("idempotent-replayed"),
    body: (await response.json()) as Payout
  }
}
