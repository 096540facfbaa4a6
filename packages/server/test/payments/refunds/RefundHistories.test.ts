/**
 * Random histories of one charge: refunds of parts and their outcomes, returns by the provider, MEDs, releases, and a copy of
 * every notification. After each step the money is where a model has it. The clocks of the steps differ, as those of servers do.
 * Its seeds are those of `REFUND` (`support/Seeds.ts`).
 */
import { assert, layer } from "@effect/vitest"
import { txidFromId } from "@pix-payments/domain/Txid"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import { LedgerVerification } from "../../../src/ledger/LedgerVerification.ts"
import { RefundOrders } from "../../../src/payments/refunds/RefundOrders.ts"
import { domainServicesLayer } from "../../support/DomainServices.ts"
import { assertRefundedAmounts, ledgerBalancesOf } from "../../support/Money.ts"
import { seedsOf } from "../../support/Seeds.ts"
import {
  answering,
  answers,
  begin,
  clockLayer,
  commands,
  type History,
  HOUR_MS,
  notify,
  openOrder,
  outcomes,
  pixOf,
  server,
  START_MS
} from "../../support/RefundHistory.ts"
import { leftOf } from "../../support/RefundModel.ts"

const STEPS = 25
const seeds = seedsOf("REFUND", 100)

const assertMoney = Effect.fnUntraced(function* ({ accountId, amount, id, model }: History) {
  const sql = yield* SqlClient
  const { available, blocked, pending, returns_in_transit } = yield* ledgerBalancesOf(accountId)
  assert.deepStrictEqual(
    { available, blocked, pending, inTransit: returns_in_transit },
    {
      available: model.available - model.spent,
      blocked: model.blocked,
      pending: model.pending,
      inTransit: model.inTransit
    }
  )
  assert.strictEqual(leftOf(model), amount - model.returned)
  const [row] = yield* sql<{
    status: string
    due: bigint
    returned: bigint
    processing: bigint
    meds: string
    sum: bigint
  }>`
    SELECT c.status,
      (SELECT coalesce(sum(amount), 0)::bigint FROM releases WHERE charge_id = c.id AND released_at IS NULL) AS due,
      (SELECT coalesce(sum(amount), 0)::bigint FROM refunds WHERE charge_id = c.id AND status = 'completed') AS returned,
      (SELECT coalesce(sum(amount), 0)::bigint FROM refunds WHERE charge_id = c.id AND status = 'processing') AS processing,
      (SELECT coalesce(string_agg(status, ' ' ORDER BY length(external_id), external_id), '') FROM disputes
        WHERE charge_id = c.id AND NOT arrived_resolved) AS meds,
      (SELECT sum(balance)::bigint FROM ledger_accounts WHERE owner_id = c.account_id) AS sum
    FROM charges c WHERE c.id = ${id}::uuid`
  assert.deepStrictEqual(row, {
    status: model.status,
    due: BigInt(model.pending),
    returned: BigInt(model.returned),
    processing: BigInt(model.inTransit),
    meds: model.meds.map(({ status }) => status).join(" "),
    sum: 0n
  })
  if (model.status === "refunded") assert.strictEqual(leftOf(model), 0, "refunded, and something is left")
  if (leftOf(model) === 0) assert.include(["refunded", "charged_back"], model.status)
})

layer(
  domainServicesLayer({ acquirerTimeoutMs: 500, simulatorSettleMs: 0, databaseConnections: 4 }, answering).pipe(
    Layer.provideMerge(clockLayer)
  ),
  {
    excludeTestServices: true
  }
)("Histories of refunds", (it) => {
  it.effect.each([{ orderedAheadMs: -HOUR_MS }, { orderedAheadMs: 0 }, { orderedAheadMs: HOUR_MS }])(
    "OPR-73: a lost MED takes what a failed refund gives back, whatever the clock of the server that ordered it ($orderedAheadMs ms)",
    ({ orderedAheadMs }) =>
      Effect.gen(function* () {
        server.aheadMs = 0
        const history = yield* begin(1)
        const { accountId, id } = history
        const txid = txidFromId(id)
        const returned = { as: "refunded", externalId: `earlier-${id}`, amount: 100, atMs: START_MS } as const
        yield* notify(history, { _tag: "charge.returned", ...pixOf(history), ...returned }, true)
        server.aheadMs = orderedAheadMs
        answers.set(txid, outcomes.accepted)
        yield* RefundOrders.use((orders) => orders.refund(id, {}))
        server.aheadMs = 0
        const externalId = `med-${id}`
        yield* notify(history, { _tag: "med.opened", ...pixOf(history), externalId, reason: "x" }, true)
        yield* notify(history, { _tag: "med.lost", disputeId: "", externalId }, true)
        const order = yield* openOrder(history)
        yield* notify(history, { _tag: "return.failed", orderId: order.id, reason: "closed" }, true)
        const balances = yield* ledgerBalancesOf(accountId)
        assert.deepInclude(balances, { available: 0, pending: 0, blocked: 0, returns_in_transit: 0 })
      })
  )

  it.effect(
    "BAL-3, BAL-5, BAL-6, BAL-9, BAL-10, DSP-4, DSP-7, DSP-10, OPR-73: each cent of a charge is in one place",
    () =>
      Effect.gen(function* () {
        for (const seed of seeds) {
          const history = yield* begin(seed)
          const run = Effect.gen(function* () {
            for (let step = 0; step < STEPS; step += 1) {
              server.aheadMs = history.random.pick([-HOUR_MS, 0, HOUR_MS])
              yield* history.random.pick(commands)(history)
              yield* assertMoney(history)
            }
          })
          yield* Effect.catchDefect(run, (defect) => {
            const message = `REFUND_SEED=${seed}: ${String(defect)}\n${history.steps.join("\n")}`
            return Effect.die(new Error(message, { cause: defect }))
          })
        }
        yield* assertRefundedAmounts
        const verified = yield* LedgerVerification.use(({ verify }) => verify("full"))
        assert.deepStrictEqual(
          [...verified.accounts.filter(({ computed, kept }) => computed !== kept), ...verified.states],
          []
        )
      })
  )
})
