/**
 * What the database knows of the facts that a provider reports: one statement for a page of them.
 */
import type { ProviderOutcome } from "@pix-payments/domain/AcquirerException"
import type { DisputeStatus } from "@pix-payments/domain/Dispute"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import { type AcquirerNotification, keysOf } from "../providers/AcquirerNotification.ts"
import { type InputOf, instant, json, text, uuid } from "../database/statements/Column.ts"
import { runToCompletion } from "../database/RunToCompletion.ts"
import { rows, statement, uuids, value } from "../database/statements/Statement.ts"
import type { Payer, PayoutQuestion } from "../providers/Acquirer.ts"
import { orUnavailable, type Unavailable } from "../database/Unavailable.ts"
import { orderIdOf } from "../payments/payouts/PayoutTable.ts"
import { contradictionOf } from "../providers/LateOutcomes.ts"

/** Facts: notifications, and ids that may be of an order or payout. */
export interface Facts {
  readonly notifications: ReadonlyArray<AcquirerNotification>
  /** Keys of notifications that may have been recorded without an effect. */
  readonly recordKeys: ReadonlyArray<string>
  readonly orderIds: ReadonlyArray<string>
  readonly payoutIds: ReadonlyArray<string>
}

export interface Known {
  /** True of a notification that had an effect, and of an outcome that is known. */
  readonly isApplied: (notification: AcquirerNotification) => boolean
  /** Keys of notifications that were recorded without an effect. */
  readonly recordKeys: Pick<ReadonlySet<string>, "has">
  /** What a return that was requested under an id is to the order of this connection that has this id. */
  readonly orders: { readonly of: (id: string, reported: ReportedTerms) => OrderTerms }
  /** What a payout that was sent under an id is to the payout of this connection that has this id. */
  readonly payouts: { readonly of: (id: string, cents: number) => OrderTerms }
}

/** Of a return: its Pix, and its cents. */
export interface ReportedTerms {
  readonly endToEndId: string
  readonly amount: number
}

/** `other-amount`: the provider has it in other terms than it was ordered, which says nothing of its outcome. */
export type OrderTerms = "ours" | "other-amount" | "not-ours"

export interface KnownDispute {
  readonly id: string
  readonly status: DisputeStatus
  readonly defenseDeadlineAtMs: number | null
}

/** A deadline, with our id of its dispute. */
export type MovedDeadline = InputOf<typeof movedDeadline>

const movedDeadline = { id: uuid(), defenseDeadlineAtMs: instant("defense_deadline_at") }

/** The names of a payout in a webhook. */
export interface PayoutNames {
  readonly orderId: string | undefined
  readonly reference: string | undefined
}

export class ReportStore extends Context.Service<
  ReportStore,
  {
    readonly known: (connectionId: string, facts: Facts) => Effect.Effect<Known, Unavailable>
    /** Our disputes, by the provider's ids. */
    readonly disputes: (
      connectionId: string,
      externalIds: ReadonlyArray<string>
    ) => Effect.Effect<ReadonlyMap<string, KnownDispute>, Unavailable>
    /** Stores the deadlines of disputes that are not decided. One whose row is locked keeps its deadline until the next call. */
    readonly moveDeadlines: (deadlines: ReadonlyArray<MovedDeadline>) => Effect.Effect<void, Unavailable>
    /** When the oldest dispute was opened that has no outcome here; undefined where there is none. */
    readonly oldestOpenDispute: (connectionId: string) => Effect.Effect<number | undefined, Unavailable>
    /** Our payouts, by the ids of their orders. */
    readonly payoutsOf: (orderIds: ReadonlyArray<string>) => Effect.Effect<ReadonlyMap<string, string>, Unavailable>
    /** Keeps who paid, where the books have a payment and not its payer. */
    readonly namePayers: (
      connectionId: string,
      payers: ReadonlyArray<{ readonly endToEndId: string; readonly payer: Payer }>
    ) => Effect.Effect<void, Unavailable>
    /** Makes the inquiry of accepted payouts due now; how many. */
    readonly inquireNow: (
      connectionId: string,
      payouts: ReadonlyArray<PayoutNames>
    ) => Effect.Effect<number, Unavailable>
    /** Those of these payouts that have ended. */
    readonly ended: (
      connectionId: string,
      payouts: ReadonlyArray<PayoutNames>
    ) => Effect.Effect<ReadonlyArray<PayoutQuestion>, Unavailable>
  }
>()("@pix-payments/server/ReportStore") {
  static readonly layer = Layer.effect(
    ReportStore,
    Effect.gen(function* () {
      const sql = yield* SqlClient
      return ReportStore.of({
        known: Effect.fnUntraced(function* (connectionId, { notifications, recordKeys, ...ids }) {
          const keys = new Set([...notifications.flatMap(keysOf), ...recordKeys])
          const settlements = new Set(
            notifications.flatMap((each) => (each._tag === "charge.paid" ? (each.endToEndId ?? []) : []))
          )
          const found = yield* orUnavailable(
            sql.unsafe<FoundRow>(
              ...findKnown({ ...ids, keys: named([...keys]), endToEndIds: named([...settlements]), connectionId })
            )
          )
          const of = (kind: string) => new Set(found.filter((row) => row.kind === kind).map(({ name }) => name))
          const claimed: ReadonlySet<string | undefined> = of("key")
          const amounts: ReadonlyMap<string | undefined, number> = new Map(
            found.flatMap(({ amount, kind, name }) => (kind === "settlement" ? [[name, Number(amount)]] : []))
          )
          const payouts = new Map(
            found.flatMap(({ amount, kind, name }) => (kind === "payout" ? [[name, Number(amount)] as const] : []))
          )
          const orders = new Map(found.flatMap((row) => (row.kind === "order" ? [[row.name, row] as const] : [])))
          const isSettled = (each: AcquirerNotification) => {
            if (each._tag !== "charge.paid") return false
            const amount = amounts.get(each.endToEndId)
            return amount !== undefined && amount === (each.amount ?? amount)
          }
          const outcomes = new Map(found.flatMap(({ name, outcome }) => (outcome === null ? [] : [[name, outcome]])))
          const isKnownOutcome = (each: AcquirerNotification) =>
            ("orderId" in each && each._tag === `return.${outcomes.get(each.orderId)}`) ||
            ("payoutId" in each && each._tag === `payout.${outcomes.get(each.payoutId)}`)
          return {
            isApplied: (each) =>
              keysOf(each).some((key) => claimed.has(key)) || isSettled(each) || isKnownOutcome(each),
            recordKeys: claimed,
            orders: {
              of: (id, { amount, endToEndId }) => {
                const order = orders.get(id)
                return termsOf(order?.end_to_end_id === endToEndId ? Number(order.amount) : undefined, amount)
              }
            },
            payouts: { of: (id, cents) => termsOf(payouts.get(id), cents) }
          }
        }),

        disputes: Effect.fnUntraced(function* (connectionId, externalIds) {
          if (externalIds.length === 0) return new Map()
          const found = yield* orUnavailable(
            sql.unsafe<DisputeRow>(...findDisputes({ connectionId, externalIds: named(externalIds) }))
          )
          return new Map(
            found.map(({ defense_deadline_at, external_id, id, status }) => [
              external_id,
              { id, status, defenseDeadlineAtMs: defense_deadline_at?.getTime() ?? null }
            ])
          )
        }),

        moveDeadlines: (deadlines) =>
          deadlines.length === 0
            ? Effect.void
            : Effect.asVoid(runToCompletion(sql)(sql.unsafe(...setDeadlines({ deadlines })))),

        oldestOpenDispute: Effect.fnUntraced(function* (connectionId) {
          const [found] = yield* orUnavailable(sql<{ readonly opened_at: Date | null }>`
            SELECT min(opened_at) AS opened_at FROM disputes
            WHERE connection_id = ${connectionId}::uuid AND external_id IS NOT NULL AND status IN ('open', 'under_review')`)
          return found?.opened_at?.getTime()
        }),

        payoutsOf: Effect.fnUntraced(function* (orderIds) {
          if (orderIds.length === 0) return new Map()
          const found = yield* orUnavailable(
            sql.unsafe<{ readonly digest: string; readonly resource_id: string }>(...findPayoutsOfOrders({ orderIds }))
          )
          return new Map(found.map(({ digest, resource_id }) => [digest, resource_id]))
        }),

        namePayers: (connectionId, payers) =>
          payers.length === 0
            ? Effect.void
            : Effect.asVoid(runToCompletion(sql)(sql.unsafe(...setPayers({ connectionId, payers })))),

        inquireNow: Effect.fnUntraced(function* (connectionId, payouts) {
          const made = yield* runToCompletion(sql)(
            sql.unsafe(...makeInquiriesDue({ connectionId, ...namesOf(payouts) }))
          )
          return made.length
        }),

        ended: (connectionId, payouts) =>
          sql
            .unsafe<{ readonly id: string; readonly amount: bigint; readonly reference: string | null }>(
              ...findEnded({ connectionId, ...namesOf(payouts) })
            )
            .pipe(
              Effect.map((found) => found.map((row) => ({ ...row, amount: Number(row.amount) }))),
              orUnavailable
            )
      })
    })
  )
}

const setPayers = statement(
  { connectionId: value("uuid"), payers: rows({ endToEndId: text(), payer: json<Payer>() }) },
  ({ connectionId, payers }) => `
  WITH settled AS (
    SELECT s.charge_id AS id, p.payer FROM ${payers} AS p
    JOIN charge_settlements s ON s.end_to_end_id = p.end_to_end_id AND s.connection_id = ${connectionId}
    WHERE s.charge_id IS NOT NULL
  ), exceptions AS (
    UPDATE acquirer_exceptions e SET payer = s.payer FROM settled s WHERE e.id = s.id AND e.payer IS NULL
  ), locked AS (
    SELECT c.id, s.payer FROM settled s JOIN charges c ON c.id = s.id WHERE c.payer IS NULL
    ORDER BY c.id FOR NO KEY UPDATE OF c
  )
  UPDATE charges c SET payer = l.payer FROM locked l WHERE c.id = l.id`
)

interface FoundRow {
  readonly kind: "key" | "settlement" | "order" | "payout"
  readonly name: string
  /** Cents: of an order or payout, and of a settlement as it was reported first. */
  readonly amount: bigint | null
  /** Of an order: the Pix that it returns. */
  readonly end_to_end_id: string | null
  /** Of an order or payout that has one: what the provider said of it. */
  readonly outcome: ProviderOutcome | null
}

const termsOf = (orderedCents: number | undefined, reportedCents: number): OrderTerms => {
  if (orderedCents === undefined) return "not-ours"
  return orderedCents === reportedCents ? "ours" : "other-amount"
}

const names = rows({ name: text() })
const named = (list: ReadonlyArray<string>) => list.map((name) => ({ name }))

const namesOf = (payouts: ReadonlyArray<PayoutNames>) => ({
  orderIds: payouts.flatMap(({ orderId }) => orderId ?? []),
  references: named(payouts.flatMap(({ reference }) => reference ?? []))
})

/** A smaller one is of what came back of a payout that failed after all. */
const OF_ALL = "(provider_outcome = 'failed' OR acquirer_exceptions.amount = o.amount)"

const findKnown = statement(
  { connectionId: value("uuid"), keys: names, endToEndIds: names, orderIds: uuids, payoutIds: uuids },
  (p) => `
  SELECT 'key' AS kind, key AS name, NULL::bigint AS amount, NULL AS outcome, NULL AS end_to_end_id FROM notification_keys
  WHERE key = ANY (ARRAY(SELECT k.name FROM ${p.keys} AS k))
  UNION ALL
  SELECT 'settlement', end_to_end_id, amount, NULL, NULL FROM charge_settlements
  WHERE end_to_end_id = ANY (ARRAY(SELECT e.name FROM ${p.endToEndIds} AS e)) AND connection_id = ${p.connectionId}
    AND charge_id IS NOT NULL
  UNION ALL
  SELECT 'order', o.id::text, amount, coalesce(${contradictionOf("o.id")},
    CASE WHEN state = 'ordered' THEN NULL WHEN returned = amount THEN 'completed' ELSE 'failed' END),
    end_to_end_id
  FROM acquirer_orders o WHERE id = ANY (${p.orderIds}) AND connection_id = ${p.connectionId}
  UNION ALL
  SELECT 'payout', o.id::text, amount, coalesce(${contradictionOf("o.id", OF_ALL)},
    CASE WHEN status IN ('completed', 'failed') THEN status END), NULL
  FROM payouts o WHERE id = ANY (${p.payoutIds}) AND connection_id = ${p.connectionId}`
)

interface DisputeRow {
  readonly id: string
  readonly external_id: string
  readonly status: DisputeStatus
  readonly defense_deadline_at: Date | null
}

const findDisputes = statement(
  { connectionId: value("uuid"), externalIds: names },
  (p) => `
  SELECT id, external_id, status, defense_deadline_at FROM disputes
  WHERE connection_id = ${p.connectionId} AND external_id IS NOT NULL
    AND external_id = ANY (ARRAY(SELECT e.name FROM ${p.externalIds} AS e))`
)

// It waits for no lock: the deadlines of a page are in no order that other transactions have.
const setDeadlines = statement(
  { deadlines: rows(movedDeadline) },
  ({ deadlines }) => `
  WITH locked AS (
    SELECT d.id, m.defense_deadline_at FROM ${deadlines} AS m JOIN disputes d ON d.id = m.id
    WHERE d.status IN ('open', 'under_review') FOR NO KEY UPDATE OF d SKIP LOCKED
  )
  UPDATE disputes d SET defense_deadline_at = l.defense_deadline_at FROM locked l WHERE d.id = l.id`
)

const findPayoutsOfOrders = statement(
  { orderIds: uuids },
  ({ orderIds }) => `SELECT digest, resource_id FROM idempotency_keys WHERE digest = ANY (${orderIds})`
)

const payoutNames = { connectionId: value("uuid"), orderIds: uuids, references: names }

/** The payouts `p` that a provider names. */
const isNamed = (p: {
  readonly connectionId: string
  readonly orderIds: string
  readonly references: string
}) => `p.id IN (
    SELECT resource_id FROM idempotency_keys WHERE digest = ANY (${p.orderIds})
    UNION ALL
    SELECT id FROM payouts WHERE provider_reference IS NOT NULL
      AND provider_reference = ANY (ARRAY(SELECT r.name FROM ${p.references} AS r))
  ) AND p.connection_id = ${p.connectionId}`

const findEnded = statement(
  payoutNames,
  (p) => `
  SELECT ${orderIdOf("p")} AS id, p.amount, p.provider_reference AS reference FROM payouts p
  WHERE ${isNamed(p)} AND p.status IN ('completed', 'failed')`
)

// A payout whose submission is in flight has no answer yet: its inquiry follows.
const makeInquiriesDue = statement(
  payoutNames,
  (p) => `
  UPDATE payouts p SET due_at = now()
  WHERE ${isNamed(p)} AND p.status || '' = 'processing' AND p.processed_at IS NOT NULL
    AND p.due_at > now()
  RETURNING p.id`
)
