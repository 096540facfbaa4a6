/** Payouts, disputes, balances and the ledger. */
import { assert } from "@effect/vitest"
import type { Balance } from "@pix-payments/domain/Balance"
import type { Charge } from "@pix-payments/domain/Charge"
import type { Payout } from "@pix-payments/domain/Payout"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { eventData, eventJson } from "../../src/events/EventData.ts"
import { created } from "./ChargeRequests.ts"
import { eventually } from "./Receiver.ts"
import { type Fields, newKey, TestService } from "./TestService.ts"
import { fannedOut } from "./Webhooks.ts"

/** A payout that is accepted, where there is money for it. */
export const somePayout = { amount: 500, pix_key_type: "email", pix_key: "ana@example.com" }

/** The recipient of a TED. */
export const someAccount = { bank: "00000000", branch: "0001", account: "12345-6", account_type: "checking" }

/** Pix keys that decide what the simulated acquirer does with a payout. */
export const holding = { pix_key: "hold@simulator.test" }
export const failing = { pix_key: "fail@simulator.test" }
export const timingOut = { pix_key: "timeout@simulator.test" }

export interface PayoutList {
  readonly object: "list"
  readonly data: ReadonlyArray<Payout>
  readonly has_more: boolean
}

export interface OperatorPayout extends Payout {
  readonly account_id: string
  readonly application_id: string | null
  readonly origin: string
  readonly duplicate_of: string | null
}

/** Requests a payout; its body is `somePayout` with these fields. */
export const payOut = (key: string, fields: Fields = {}, idempotencyKey = newKey()) =>
  Effect.flatMap(TestService, ({ call }) =>
    call<Payout>("POST", "/v1/payouts", { key, idempotencyKey, body: { ...somePayout, ...fields } })
  )

/** Creates a payout. */
export const paidOut = (key: string, fields?: Fields, idempotencyKey?: string) =>
  Effect.map(payOut(key, fields, idempotencyKey), (answer) => {
    assert.strictEqual(answer.status, 201, answer.text)
    return answer.body
  })

export const retrievePayout = (key: string, id: string) =>
  Effect.flatMap(TestService, ({ call }) => call<Payout>("GET", `/v1/payouts/${id}`, { key }))

/** A payout once it has this status. */
export const payoutReaching = (key: string, id: string, status: string) =>
  Effect.map(
    eventually(retrievePayout(key, id), ({ body }) => body.status === status),
    ({ body }) => body
  )

/** A payout once the acquirer has accepted it. */
export const submittedPayout = (key: string, id: string) =>
  Effect.map(
    eventually(retrievePayout(key, id), ({ body }) => body.processed_at !== null),
    ({ body }) => body
  )

export const listedPayouts = (key: string, query = "") =>
  Effect.flatMap(TestService, ({ call }) =>
    Effect.map(call<PayoutList>("GET", `/v1/payouts${query}`, { key }), (answer) => {
      assert.strictEqual(answer.status, 200, answer.text)
      return answer.body
    })
  )

/** An operator's call that must answer this status. */
export const operated = <A = Fields>(method: string, path: string, body?: unknown, status = 200) =>
  Effect.flatMap(TestService, ({ operate }) =>
    Effect.map(operate<A>(method, `/operator/v1${path}`, body === undefined ? {} : { body }), (answer) => {
      assert.strictEqual(answer.status, status, `${path} answers ${answer.status}: ${answer.text}`)
      return answer.body
    })
  )

/** Sends a notification of the simulated acquirer that must succeed; of a payout, once it is submitted. */
export const simulated = <A = Fields>(path: string, body?: unknown, status = 200) =>
  Effect.gen(function* () {
    const payoutId = /^\/payouts\/([^/]+)\//.exec(path)?.[1]
    if (payoutId !== undefined) yield* submittedToSimulator(payoutId)
    return yield* operated<A>("POST", `/simulator${path}`, body, status)
  })

const submittedToSimulator = (id: string) =>
  Effect.flatMap(TestService, ({ operate }) =>
    eventually(
      operate<OperatorPayout>("GET", `/operator/v1/payouts/${id}`),
      ({ body: { processed_at, status } }) => processed_at !== null || status !== "processing"
    )
  )

/** A charge of this amount that is paid. */
export const paidCharge = (key: string, amount = 1000, fields: Fields = {}) =>
  Effect.flatMap(created(key, { amount, ...fields }), ({ id }) => simulated<Charge>(`/charges/${id}/pay`))

/** A caller whose account has this available balance. */
export const funded = (amount: number, account: Fields = {}) =>
  Effect.gen(function* () {
    const { makeCaller } = yield* TestService
    const caller = yield* makeCaller({ account })
    yield* paidCharge(caller.key, amount)
    return caller
  })

export const balanceOf = (key: string) =>
  Effect.flatMap(TestService, ({ call }) =>
    Effect.map(call<Balance>("GET", "/v1/balance", { key }), (answer) => {
      assert.strictEqual(answer.status, 200, answer.text)
      return answer.body
    })
  )

export const availableOf = (key: string) => Effect.map(balanceOf(key), ({ available }) => available)

/** The stored balances of an account's ledger accounts, without the counterparts `acquirer` and `fees`. */
export const ledgerBalancesOf = (accountId: string) =>
  Effect.flatMap(SqlClient, (sql) =>
    Effect.map(
      sql<{ kind: string; balance: bigint }>`SELECT kind, balance FROM ledger_accounts
        WHERE owner_id = ${accountId}::uuid AND kind NOT IN ('acquirer', 'fees')`,
      (rows) => Object.fromEntries(rows.map(({ balance, kind }) => [kind, Number(balance)]))
    )
  )

interface LedgerEnd {
  readonly account_id: string | null
  readonly name: string
}

interface LedgerEntry {
  readonly object: string
  readonly reason: string
  readonly resource_id: string
  readonly from: LedgerEnd
  readonly to: LedgerEnd
  readonly amount: number
}

/** The entries of a resource, oldest first: `reason from>to amount`. */
export const entriesOf = (resourceId: string) =>
  Effect.map(
    operated<{ data: ReadonlyArray<LedgerEntry> }>("GET", `/ledger/entries?resource_id=${resourceId}&limit=100`),
    ({ data }) => data.map(({ amount, from, reason, to }) => `${reason} ${from.name}>${to.name} ${amount}`).toReversed()
  )

export interface Verification {
  readonly object: string
  readonly consistent: boolean
  readonly accounts: ReadonlyArray<{ account: LedgerEnd; kept: number; computed: number }>
  readonly differences: ReadonlyArray<{ account: LedgerEnd; kept: number; computed: number }>
  readonly states: ReadonlyArray<{ account: LedgerEnd; kept: number; computed: number }>
  readonly closes: ReadonlyArray<{
    account_id: string | null
    connection_id: string | null
    day: string
    problem: string
  }>
}

export const verification = operated<Verification>("GET", "/ledger/verify")

/** CHG-26: each charge says what the ledger has returned of it. */
export const assertRefundedAmounts = Effect.flatMap(SqlClient, (sql) =>
  Effect.map(
    sql`SELECT c.id, c.refunded_amount, l.amount AS returned FROM charges c LEFT JOIN (
        SELECT resource_id, sum(CASE WHEN credit = 'acquirer' THEN amount ELSE -amount END) AS amount FROM ledger_transfers
        WHERE 'acquirer' IN (credit, debit) AND reason <> 'charge.paid' GROUP BY resource_id
      ) l ON l.resource_id = c.id WHERE c.refunded_amount <> coalesce(l.amount, 0)`,
    (wrong) => assert.deepStrictEqual(wrong, [])
  )
)

/** The ledger adds up: `verify` says so, and all ledger accounts together sum to zero. */
export const assertLedgerHolds = Effect.gen(function* () {
  const { accounts, closes, consistent, differences, states } = yield* verification
  assert.deepStrictEqual(
    { consistent, differences, states, closes },
    { consistent: true, differences: [], states: [], closes: [] }
  )
  assert.strictEqual(
    accounts.reduce((sum, { kept }) => sum + kept, 0),
    0
  )
})

/** An event of a resource, as its change is stored. */
export interface StoredEvent {
  readonly event: string
  readonly sequence: number
  readonly created_at: string
  readonly data: Fields
}

/** The events of a resource, oldest first. */
export const eventsOf = (resourceId: string) =>
  Effect.flatMap(SqlClient, (sql) =>
    Effect.map(
      sql<{ kind: string; actions: ReadonlyArray<string>; sequence: number; data: string; created_at: Date }>`
        SELECT kind, actions, sequence, ${sql.literal(eventData)} AS data, created_at FROM changes c
        WHERE resource_id = ${resourceId}::uuid ORDER BY sequence, id`,
      (rows) =>
        rows.flatMap(({ actions, created_at, data, kind, sequence }) =>
          actions.map((action): StoredEvent => ({
            event: `${kind}.${action}`,
            sequence,
            created_at: created_at.toISOString(),
            data: JSON.parse(eventJson(data))
          }))
        )
    )
  )

/** The same, as `name status`. */
export const eventStatusesOf = (resourceId: string) =>
  Effect.map(eventsOf(resourceId), (events) => events.map(({ data, event }) => `${event} ${String(data["status"])}`))

/** The delivered events of a resource and their destination: its `webhook_url` or an endpoint. */
export const deliveredOf = (resourceId: string) =>
  Effect.flatMap(Effect.andThen(fannedOut, SqlClient), (sql) =>
    Effect.map(
      sql<{ event: string; to: string }>`
        SELECT event, CASE WHEN endpoint_id IS NULL THEN 'webhook_url' ELSE 'endpoint' END AS to FROM deliveries
        WHERE resource_id = ${resourceId}::uuid ORDER BY id`,
      (rows) => rows.map(({ event, to }) => `${event} ${to}`).toSorted()
    )
  )
