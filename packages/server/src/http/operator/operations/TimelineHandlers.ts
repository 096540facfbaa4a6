/**
 * The operator routes of timelines.
 */
import {
  type AcquirerNotification,
  type AcquirerOrder,
  type Timeline,
  timelineLimits,
  type TimelineState
} from "@pix-payments/api/operator/Timelines"
import type { Cents } from "@pix-payments/domain/Cents"
import { formatInstant } from "@pix-payments/domain/Instant"
import { pageOf } from "@pix-payments/domain/List"
import { txidFromId } from "@pix-payments/domain/Txid"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { Charges } from "../../../payments/charges/Charges.ts"
import { toDispute } from "../../../payments/disputes/DisputeResource.ts"
import { DisputeStore } from "../../../payments/disputes/DisputeStore.ts"
import type { StoredDispute } from "../../../payments/disputes/DisputeTable.ts"
import { LedgerReports } from "../../../ledger/LedgerReports.ts"
import { listRequests } from "../../../operations/RequestLogList.ts"
import {
  type ChangeRow,
  type NotificationRow,
  type OrderRow,
  TimelineStore
} from "../../../operations/TimelineStore.ts"
import { Payouts } from "../../../payments/payouts/Payouts.ts"
import { RefundStore, toRefund } from "../../../payments/refunds/RefundStore.ts"
import { orUnavailable } from "../../../database/Unavailable.ts"
import { DeliveryStore } from "../../../webhooks/deliveries/DeliveryStore.ts"
import { answer } from "../../pipeline/Answer.ts"
import { notFound } from "../../pipeline/WireTranslation.ts"
import { toAttempt, toDelivery } from "./DeliveryHandlers.ts"
import { toLedgerEntry } from "./LedgerHandlers.ts"
import { toRequest } from "./LogHandlers.ts"
import type { OperatorHandlers } from "../OperatorHandlers.ts"

export const timelineHandlers = Effect.gen(function* () {
  const sql = yield* SqlClient
  const charges = yield* Charges
  const payouts = yield* Payouts
  const store = yield* TimelineStore
  const refunds = yield* RefundStore
  const disputes = yield* DisputeStore
  const ledger = yield* LedgerReports
  const deliveries = yield* DeliveryStore

  const page = { limit: timelineLimits.rows, startingAfter: undefined }
  const list = <Row, Item>(rows: ReadonlyArray<Row>, toItem: (row: Row) => Item, limit: number = timelineLimits.rows) =>
    pageOf(rows.map(toItem), limit)

  /** The rows of a resource of either kind, but for the acquirer's. */
  const sharedOf = Effect.fnUntraced(function* (id: string) {
    const requests = yield* listRequests({ resource_id: id }, page).pipe(
      Effect.provideService(SqlClient, sql),
      orUnavailable
    )
    const entries = yield* ledger.entries({ resourceId: id }, page)
    const sent = yield* deliveries.list({ resourceId: id }, { ...page, limit: timelineLimits.deliveries })
    const attempts = yield* store.attemptsOf(
      sent.map((row) => row.id),
      timelineLimits.attempts
    )
    return {
      requests: list(requests, toRequest),
      ledger_entries: list(entries, toLedgerEntry),
      deliveries: list(
        sent,
        (row) => ({ ...toDelivery(row), attempts: (attempts.get(row.id) ?? []).map(toAttempt) }),
        timelineLimits.deliveries
      )
    }
  })

  const handlers: OperatorHandlers<"timelines"> = {
    charge: ({ params }) =>
      Effect.gen(function* () {
        const { createdAtMs, endToEndId, id } = yield* charges.find(params.id)
        const changes = yield* store.changesOf(id, page.limit)
        const orders = yield* store.ordersOfCharge(id, page.limit)
        const { rows: returned } = yield* refunds.list({ chargeId: id }, { ...page, limit: page.limit + 1 })
        const { rows: contested } = yield* disputes.list({ chargeId: id }, { ...page, limit: page.limit + 1 })
        const subjects = [
          txidFromId(id),
          ...(endToEndId === null ? [] : [endToEndId]),
          ...[...returned, ...contested].map((row) => row.id)
        ]
        const timeline: Timeline = {
          object: "timeline",
          resource_id: id,
          states: statesOf(changes, { status: "processing", event: null, created_at: formatInstant(createdAtMs) }),
          orders: list(orders, toOrder),
          notifications: list(yield* store.notificationsOf(subjects, page.limit), toNotification),
          refunds: list(returned, toRefund),
          disputes: list(contested, toChargeDispute),
          ...(yield* sharedOf(id))
        }
        return answer(200, timeline)
      }).pipe(Effect.catchTags({ NotFoundError: notFound, UnknownCursor: Effect.die })),
    payout: ({ params }) =>
      Effect.gen(function* () {
        const { id } = yield* payouts.find(params.id)
        const timeline: Timeline = {
          object: "timeline",
          resource_id: id,
          states: statesOf(yield* store.changesOf(id, page.limit)),
          orders: list(yield* store.submissionOf(id), toOrder),
          notifications: list(yield* store.notificationsOf([id], page.limit), toNotification),
          refunds: list([], toRefund),
          disputes: list([], toChargeDispute),
          ...(yield* sharedOf(id))
        }
        return answer(200, timeline)
      }).pipe(Effect.catchTags({ NotFoundError: notFound, UnknownCursor: Effect.die }))
  }
  return handlers
})

/** Timelines have disputes of a charge only. */
const toChargeDispute = (dispute: StoredDispute) => ({ ...toDispute(dispute), charge_id: dispute.chargeId ?? "" })

/** A change with several events is a state with each. `first` is the state before the first change. */
const statesOf = (changes: ReadonlyArray<ChangeRow>, first?: TimelineState): Timeline["states"] => {
  const { data, has_more, object } = pageOf(changes, timelineLimits.rows)
  const states = data.flatMap(({ actions, created_at, kind, status }): ReadonlyArray<TimelineState> => {
    const events = actions.length === 0 ? [null] : actions.toReversed().map((action) => `${kind}.${action}`)
    return events.map((event) => ({ status, event, created_at: created_at.toISOString() }))
  })
  return { object, data: first === undefined || has_more ? states : [...states, first], has_more }
}

const toOrder = ({ amount, connection_id, created_at, id, kind, state, ...row }: OrderRow): AcquirerOrder => ({
  id,
  object: "acquirer_order",
  kind,
  status: state === "ordered" ? "in_progress" : state,
  // A CHECK of the column enforces the brand.
  amount: amount === 0n ? null : (Number(amount) as Cents),
  attempts: row.attempts,
  connection_id,
  created_at: created_at.toISOString()
})

const toNotification = ({
  connection_id,
  id,
  outcome,
  received_at,
  report
}: NotificationRow): AcquirerNotification => ({
  id,
  object: "acquirer_notification",
  name: report._tag,
  outcome: outcome as AcquirerNotification["outcome"],
  external_id: report.externalId ?? null,
  end_to_end_id: ("endToEndId" in report ? report.endToEndId : undefined) ?? null,
  // Reports with other amounts are refused where they arrive.
  amount: (("amount" in report ? report.amount : undefined) ?? null) as Cents | null,
  connection_id,
  created_at: received_at.toISOString()
})
