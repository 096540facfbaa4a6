/** Something for every page of the dashboard to show. */
import { assert } from "@effect/vitest"
import type { Reconciliation } from "@pix-payments/api/operator/Reconciliations"
import { statementFile, tidy } from "@pix-payments/psp-double/statement/StatementFile"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { startDouble } from "../support/Bank.ts"
import { created } from "../support/ChargeRequests.ts"
import { closeDays } from "../support/Closing.ts"
import { connectTo } from "../support/Connections.ts"
import { med } from "../support/Disputes.ts"
import { exceptionOf, notified, paymentOf } from "../support/Exceptions.ts"
import { funded, holding, operated, paidCharge, paidOut, simulated } from "../support/Money.ts"
import { withToken } from "../support/Operators.ts"
import { eventually, receiver } from "../support/Receiver.ts"
import { loading, withoutTriggers } from "../support/Million.ts"
import { TestService } from "../support/TestService.ts"
import { deliveriesOf, registered } from "../support/Webhooks.ts"

const EVENTS = ["charge.pix.created", "charge.pix.paid", "charge.pix.refunded", "payment.pix.processing"]

export type DashboardWorld = Effect.Success<typeof makeDashboardWorld>

export const makeDashboardWorld = Effect.gen(function* () {
  const { accountId, applicationId, key } = yield* funded(1_250_000, { auto_payout_enabled: false })
  const { url } = yield* receiver(({ body }, response) =>
    body.event === "charge.pix.paid" || body.event.startsWith("payment.")
      ? response.writeHead(503).end("later")
      : response.end("ok")
  )
  const endpoint = yield* registered(key, { url: `${url}/pix`, description: "the shop's orders", events: EVENTS })
  const pending = yield* created(key, { amount: 12_990, reference: "order-1001" })
  const paid = yield* paidCharge(key, 4590, { reference: "order-1002" })
  yield* operated("POST", `/charges/${paid.id}/refund`, { amount: 590, description: "one loaf was missing" })
  const contested = yield* paidCharge(key, 8990, { reference: "order-1003" })
  const dispute = yield* med(contested.id)
  yield* simulated(`/disputes/${dispute.id}/message`, { text: "Please send the proof of delivery." })
  const wrong = yield* created(key, { amount: 8990, reference: "order-1004" })
  const payer = { name: "Ana Souza", document: "52998224725" }
  const payment = paymentOf(wrong.id, { amount: 9990, payer, key: "pix@padaria.example" })
  yield* notified(payment)
  const exception = yield* exceptionOf(payment.endToEndId)
  const connection = yield* connectTo(yield* startDouble(), { name: "Banco de teste" })
  yield* operated("PATCH", `/connections/${connection.id}`, { payouts_paused: true })
  const payout = yield* paidOut(key, { amount: 25_000, reference: "supplier 17" })
  const sent = yield* paidOut(key, { ...holding, amount: 182_000, reference: "rent" })
  yield* operated("POST", `/payouts/${sent.id}/approve`)
  yield* simulated(`/payouts/${sent.id}/complete`)
  for (const day of [1, 2]) {
    yield* closeDays(day)
    yield* paidCharge(key, 2990 * day, { reference: `order-200${day}` })
  }
  const { adminToken, operatorId } = yield* requestedByOperator(accountId, key)
  yield* loading(withoutTriggers(pastMonth(accountId, applicationId)), false)
  const sql = yield* SqlClient
  yield* sql`INSERT INTO outbox_failures (id, change_id, account_id, endpoints_version, error, first_failed_at, last_failed_at)
    SELECT uuidv7(), id, account_id, 0, 'value too long for type character varying(64)', now(), now() FROM changes
    WHERE resource_id = ${pending.id}::uuid LIMIT 1`
  const [delivery] = yield* eventually(
    deliveriesOf(`resource_id=${paid.id}&event=charge.pix.paid`),
    (rows) => rows.length > 0 && rows.every(({ attempts_made }) => attempts_made > 0)
  )
  yield* sql`UPDATE deliveries SET status = 'failed', due_at = NULL WHERE id = ${delivery!.id}::uuid`
  return {
    accountId,
    applicationId,
    endpointId: endpoint.id,
    operatorId,
    /** Of an admin, who may approve what the operator asked for. */
    adminToken,
    chargeId: paid.id,
    pendingId: pending.id,
    disputeId: dispute.id,
    exceptionId: exception.id,
    wrongChargeId: wrong.id,
    connectionId: connection.id,
    payoutId: payout.id,
    sentPayoutId: sent.id,
    deliveryId: delivery!.id,
    reconciliationId: yield* comparedDay(connection.id)
  }
})

/** A day of a bank that has lines which the books lack. */
const comparedDay = Effect.fnUntraced(function* (connectionId: string) {
  const line = (cents: number, text: string, endToEndId = "") => ({
    atMs: Date.parse("2026-11-25T15:00:00Z"),
    cents,
    endToEndId,
    text
  })
  const file = statementFile(
    {
      bank: "364",
      branch: "0001",
      account: "12345-6",
      from: "2026-11-25",
      to: "2026-11-25",
      openingCents: 1_000_000,
      lines: [
        line(12_990, "PIX RECEBIDO ANA SOUZA", "E1234567820261125150000000000001"),
        line(-150, "TARIFA PIX"),
        line(-500_000, "APLICACAO CDB")
      ]
    },
    { ...tidy, format: "cnab240" }
  )
  const body = { connection_id: connectionId, content: Buffer.from(file).toString("base64") }
  yield* operated("POST", "/bank-statements", body, 201)
  const { data } = yield* eventually(
    operated<{ data: ReadonlyArray<Reconciliation> }>("GET", `/reconciliations?connection_id=${connectionId}`),
    (list) => list.data.every(({ status }) => status !== "requested")
  )
  const { id } = data.find(({ day }) => day === "2026-11-25")!
  // As the bank says it in the night after.
  const sql = yield* SqlClient
  yield* sql`UPDATE reconciliations SET balance_at = '2026-11-26T03:10:00Z', balance = 1012840, balance_books = 12990,
    balance_before = 1000000, balance_problem = NULL WHERE id = ${id}::uuid`
  return id
})

/** An operator, who asks two admins for a payout above the account's limit. */
const requestedByOperator = Effect.fnUntraced(function* (accountId: string, key: string) {
  const { operate } = yield* TestService
  const add = Effect.fnUntraced(function* (name: string, role: string) {
    const email = `${name.split(" ")[0]!.toLowerCase()}@padaria.example`
    const { id } = yield* operated<{ id: string }>("POST", "/operators", { name, role, email }, 201)
    const path = `/operators/${id}/tokens`
    const { token } = yield* operated<{ token: string }>("POST", path, { name: "laptop" }, 201)
    return { id, token }
  })
  const admin = yield* add("Caio Reis", "admin")
  yield* add("Dora Alves", "admin")
  const { id, token } = yield* add("Bia Lima", "operator")
  yield* operated("PATCH", `/accounts/${accountId}`, { approval_limit: 100_000 })
  const payout = yield* paidOut(key, { amount: 320_000, pix_key: "moinho@example.com", reference: "flour" })
  const asked = yield* withToken(operate, token)("POST", `/operator/v1/payouts/${payout.id}/approve`)
  assert.strictEqual(asked.status, 202, asked.text)
  return { operatorId: id, adminToken: admin.token }
})

/** Charges and payouts of the last 30 days, without ledger entries: what the chart of the first page shows. */
const pastMonth = Effect.fnUntraced(function* (accountId: string, applicationId: string) {
  const sql = yield* SqlClient
  yield* sql`
    INSERT INTO charges (id, account_id, application_id, origin, status, method, amount, reference, end_to_end_id,
      expires_at, paid_at, created_at, sequence)
    SELECT uuidv7(at - now()), ${accountId}::uuid, ${applicationId}::uuid, 'api',
      CASE WHEN n % 6 = 0 THEN 'canceled' ELSE 'paid' END, 'pix', 90000 + (n * 7919) % 210000, 'order-' || n,
      CASE WHEN n % 6 <> 0 THEN 'E00000000' || lpad(n::text, 23, '0') END, at + interval '1 hour',
      CASE WHEN n % 6 <> 0 THEN at END, at, 2
    FROM generate_series(1, 150) AS n, LATERAL (SELECT now() - n * interval '4.7 hours' AS at) made`
  yield* sql`
    INSERT INTO payouts (id, account_id, application_id, origin, status, method, amount, fee, pix_key_type, pix_key,
      created_at, sequence)
    SELECT uuidv7(at - now()), ${accountId}::uuid, ${applicationId}::uuid, 'api', 'completed', 'pix',
      150000 + (n * 6007) % 300000, 0, 'email', 'fornecedor@example.com', at, 2
    FROM generate_series(1, 40) AS n, LATERAL (SELECT now() - n * interval '17 hours' AS at) made`
  // The statistics are counted from changes, which these have none of.
  yield* sql`
    INSERT INTO daily_volumes (date, account_id, resource, count, amount)
    SELECT (paid_at AT TIME ZONE 'America/Sao_Paulo')::date, account_id, 'charge', count(*), sum(amount) FROM charges
      WHERE reference LIKE 'order-%' AND created_at < now() - interval '1 hour' AND paid_at IS NOT NULL GROUP BY 1, 2
    UNION ALL
    SELECT (created_at AT TIME ZONE 'America/Sao_Paulo')::date, account_id, 'payout', count(*), sum(amount) FROM payouts
      WHERE pix_key = 'fornecedor@example.com' AND status = 'completed' GROUP BY 1, 2
    ON CONFLICT (date, account_id, resource)
    DO UPDATE SET count = daily_volumes.count + excluded.count, amount = daily_volumes.amount + excluded.amount`
  yield* sql`
    INSERT INTO status_counts (account_id, resource, status, expires_at, count)
    SELECT account_id, 'charge', status, 'infinity', count(*) FROM charges
      WHERE reference LIKE 'order-%' AND created_at < now() - interval '1 hour' GROUP BY 1, 2, 3
    ON CONFLICT (account_id, resource, status, expires_at) DO UPDATE SET count = status_counts.count + excluded.count`
})
