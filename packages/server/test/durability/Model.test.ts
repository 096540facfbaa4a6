/**
 * Random histories, run by the service on PostgreSQL and by a model in memory: after every step the stored balances are
 * the model's and the ledger verifies, and at the end every status and every event.
 * Its seeds are those of `MODEL` (`support/Seeds.ts`).
 */
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { SimulatorNotifications } from "../../src/reports/SimulatorNotifications.ts"
import { ChargeRecovery } from "../../src/payments/charges/ChargeRecovery.ts"
import { LedgerVerification } from "../../src/ledger/LedgerVerification.ts"
import { Releases } from "../../src/ledger/Releases.ts"
import { PayoutSubmission } from "../../src/payments/payouts/PayoutSubmission.ts"
import { wrongStates } from "../support/ChargeStates.ts"
import { applyLoop, type Loop } from "../support/Model.ts"
import { begin, fail, type History, takeStep } from "../support/ModelHistory.ts"
import { runDue, unusedCapacity } from "../support/DueCalls.ts"
import { domainServicesLayer } from "../support/DomainServices.ts"
import { seedsOf } from "../support/Seeds.ts"

const STEPS = 40
/** Little more than the database connections: a step that waits 6 s for one of them is `Unavailable`. */
const CONCURRENCY = 16
const seeds = seedsOf("MODEL", 1000)

layer(domainServicesLayer({ acquirerTimeoutMs: 5, simulatorSettleMs: 0, databaseConnections: 12 }), {
  excludeTestServices: true
})("Random histories", (it) => {
  it.effect(
    "BAL-1, CHG-7, PAY-4: keep the balances, the states and the events that a model of the contract keeps",
    () =>
      Effect.gen(function* () {
        // An account that was made twice is in no history.
        const all = yield* Effect.forEach(seeds, (seed) => Effect.retry(begin(seed), { times: 10 }), {
          concurrency: CONCURRENCY
        })
        for (let step = 0; step < STEPS; step++) {
          yield* Effect.forEach(all, takeStep, { concurrency: CONCURRENCY, discard: true })
          yield* assertLedger(all)
          const loops = loopsAfter(step)
          for (const loop of loops) {
            for (const { log, world } of all) {
              applyLoop(world, loop)
              log.push(`   — ${loop} —`)
            }
            yield* runLoop(loop)
          }
          if (loops.length > 0) yield* assertLedger(all)
        }
        yield* ofAllRows(assertStates(all))
        assert.deepStrictEqual(
          yield* ofAllRows(SqlClient.use((sql) => sql.unsafe(wrongStates))),
          [],
          "lists find charges by their states"
        )
      }),
    seeds.length > 1000 ? 3_600_000 : 2_400_000
  )
})

const loopsAfter = (step: number): ReadonlyArray<Loop> => [
  ...(step % 4 === 3 ? (["submit"] as const) : []),
  ...(step % 5 === 4 ? (["release"] as const) : []),
  ...(step % 6 === 5 ? (["recover"] as const) : []),
  ...(step % 7 === 6 ? (["notify"] as const) : [])
]

/** A statement over the rows of all histories may take longer than one of the service. */
const ofAllRows = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  SqlClient.use((sql) =>
    sql.withTransaction(Effect.andThen(sql`SELECT set_config('statement_timeout', '0', true)`, effect))
  )

const untilNothingIsDue = <E, R>(round: Effect.Effect<number, E, R>) =>
  Effect.repeat(round, { until: (done) => done === 0 })

/** How many it recovered, and one more where recoveries were examined that needed no call. */
const recoverDue = ({ claimDue }: ChargeRecovery["Service"]) =>
  Effect.flatMap(claimDue(unusedCapacity(64)), ({ due, hasMore }) =>
    Effect.as(
      Effect.forEach(due, ({ call }) => call, { concurrency: "unbounded", discard: true }),
      due.length + (hasMore ? 1 : 0)
    )
  )

/** Makes everything due that waits for a time. */
const runLoop = Effect.fnUntraced(function* (loop: Loop) {
  const sql = yield* SqlClient
  const recovery = yield* ChargeRecovery
  const submission = yield* PayoutSubmission
  const releases = yield* Releases
  const simulator = yield* SimulatorNotifications
  switch (loop) {
    case "submit":
      // Twice: an unclear answer is queried again.
      for (let round = 0; round < 2; round++) {
        yield* ofAllRows(sql`UPDATE payouts SET due_at = now() WHERE status = 'processing'`)
        yield* untilNothingIsDue(runDue(submission.claimDue))
      }
      return
    case "release":
      yield* ofAllRows(sql`UPDATE releases SET due_at = now() WHERE released_at IS NULL`)
      yield* untilNothingIsDue(releases.releaseDue)
      return
    case "recover":
      yield* ofAllRows(sql`UPDATE charge_recoveries SET due_at = now()`)
      yield* untilNothingIsDue(recoverDue(recovery))
      return
    case "notify":
      yield* untilNothingIsDue(simulator.sendDue)
      return
  }
})

const assertBalances = Effect.fnUntraced(function* (all: ReadonlyArray<History>) {
  const sql = yield* SqlClient
  const rows = yield* ofAllRows(
    sql<{ owner_id: string; kind: string; balance: bigint }>`SELECT owner_id, kind, balance FROM ledger_accounts`
  )
  const kept = new Map(rows.map(({ balance, kind, owner_id }) => [`${owner_id} ${kind}`, Number(balance)]))
  for (const history of all) {
    for (const [index, account] of history.world.accounts.entries()) {
      const { id } = history.callers[index]!.account
      for (const [kind, expected] of [
        ["available", account.available],
        ["pending", account.pending],
        ["blocked", account.blocked],
        ["payouts_in_transit", account.inTransit],
        ["fees", account.fees]
      ] as const) {
        const found = kept.get(`${id} ${kind}`)
        if (found !== expected) fail(history, `account ${index} has ${found} ${kind}, the model ${expected}`)
      }
    }
  }
  return kept
})

const assertStates = Effect.fnUntraced(function* (all: ReadonlyArray<History>) {
  const sql = yield* SqlClient
  // Not those of an earlier attempt of the test.
  const accounts = all.flatMap(({ callers }) => callers.map(({ account }) => account.id))
  const charges = yield* sql<{ id: string; status: string }>`
    SELECT id, CASE WHEN status = 'pending' AND expires_at <= now() THEN 'expired' ELSE status END AS status
    FROM charges WHERE account_id = ANY (${accounts}::uuid[])`
  const payouts = yield* sql<{ id: string; status: string; duplicate_of: string | null; submitted: boolean }>`
    SELECT id, status, duplicate_of, processed_at IS NOT NULL AS submitted FROM payouts
    WHERE account_id = ANY (${accounts}::uuid[])`
  const disputes = yield* sql<{ id: string; status: string; arrived_resolved: boolean }>`
    SELECT id, status, arrived_resolved FROM disputes WHERE account_id = ANY (${accounts}::uuid[])`
  const changes = yield* sql<{ id: string; kind: string; actions: ReadonlyArray<string> }>`
    SELECT resource_id AS id, kind, actions FROM changes ORDER BY sequence, id`
  const named = new Map<string, Array<string>>()
  for (const { actions, id, kind } of changes) {
    named.set(id, [...(named.get(id) ?? []), ...actions.map((action) => `${kind}.${action}`)])
  }
  const byId = <A extends { readonly id: string }>(rows: ReadonlyArray<A>) => new Map(rows.map((row) => [row.id, row]))
  const [chargeOf, payoutOf, disputeOf] = [byId(charges), byId(payouts), byId(disputes)]
  let counted = 0
  for (const history of all) {
    const same = (what: string, found: unknown, expected: unknown) => {
      if (JSON.stringify(found) !== JSON.stringify(expected)) {
        fail(history, `${what} is ${JSON.stringify(found)}, in the model ${JSON.stringify(expected)}`)
      }
    }
    const { world } = history
    for (const [index, { events, status }] of world.charges.entries()) {
      const id = history.charges[index]!
      same(`charge ${index}`, chargeOf.get(id)?.status, status)
      same(`the events of charge ${index}`, named.get(id) ?? [], events)
    }
    for (const [index, { duplicateOf, events, status }] of world.payouts.entries()) {
      const { id } = history.payouts[index]!
      const row = payoutOf.get(id)
      same(`payout ${index}`, row?.status, status)
      same(
        `the duplicate of payout ${index}`,
        row?.duplicate_of,
        duplicateOf === undefined ? null : history.payouts[duplicateOf]!.id
      )
      same(`the events of payout ${index}`, named.get(id), events)
      if (status === "pending" || status === "canceled")
        same(`the submission of payout ${index}`, row?.submitted, false)
      if (status === "completed" || status === "failed") same(`the submission of payout ${index}`, row?.submitted, true)
    }
    for (const [index, { arrivedResolved, events, status }] of world.disputes.entries()) {
      const id = history.disputes[index]!
      const row = disputeOf.get(id)
      same(`dispute ${index}`, [row?.status, row?.arrived_resolved], [status, arrivedResolved])
      // A message carries the dispute's sequence, whatever the moment.
      same(`the events of dispute ${index}`, named.get(id)?.toSorted(), events.toSorted())
    }
    counted += world.charges.length + world.payouts.length + world.disputes.length
  }
  // There is nothing beyond the model.
  assert.strictEqual(charges.length + payouts.length + disputes.length, counted)
})

const assertLedger = Effect.fnUntraced(function* (all: ReadonlyArray<History>) {
  const verified = yield* LedgerVerification.use(({ verify }) => verify("full"))
  assert.deepStrictEqual(
    [...verified.accounts.filter(({ computed, kept }) => computed !== kept), ...verified.states],
    []
  )
  const kept = yield* assertBalances(all)
  let sum = 0
  for (const balance of kept.values()) sum += balance
  assert.strictEqual(sum, 0)
})
