/**
 * What the simulated institution says and when: rows with a due time, so that no notification is lost at a restart.
 */
import { makeEndToEndId, SUFFIX_BYTES, suffixFromBytes } from "@pix-payments/domain/EndToEndId"
import { formatInstant } from "@pix-payments/domain/Instant"
import type { Generated } from "@pix-payments/domain/Uuid"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { createHash, randomBytes } from "node:crypto"
import type { Ids } from "../../base/Ids.ts"
import type { AcquirerNotification } from "../AcquirerNotification.ts"

/** Makes the outcome of an order of a payout that of its notification. */
export const settlePayout = Effect.fnUntraced(function* (
  orderId: string,
  notification: Extract<AcquirerNotification, { readonly payoutId: string }>
) {
  const sql = yield* SqlClient
  const fails = notification._tag === "payout.failed"
  yield* sql`
    UPDATE simulator_payouts SET fails = ${fails}::boolean, reason = ${fails ? notification.reason : null}, due_at = now()
    WHERE order_id = ${orderId}::uuid AND (due_at IS NULL OR due_at > now())`
})

/**
 * Stores a notification that is due at an instant, with the end-to-end id or the external id that a real institution would
 * give it.
 */
export const dueNotification = Effect.fnUntraced(function* (
  ids: Ids["Service"],
  notification: AcquirerNotification,
  dueAtMs: number
) {
  const sql = yield* SqlClient
  const made = ids.next()
  const row: DueRow = { id: made.id, report: identified(notification, made) }
  yield* sql`INSERT INTO simulator_notifications (id, report, due_at)
    VALUES (${row.id}::uuid, ${JSON.stringify(row.report)}::json, ${formatInstant(dueAtMs)}::timestamptz)`
  return row
})

const identified = (notification: AcquirerNotification, { epochMs, id }: Generated): AcquirerNotification => {
  switch (notification._tag) {
    case "payout.completed":
      return { endToEndId: newEndToEndId(epochMs), ...notification }
    case "charge.refunded":
    case "charge.returned":
    case "med.opened":
    case "med.message":
      return { externalId: id, ...notification }
    default:
      return notification
  }
}

/** The first payment of a charge, by its txid: whatever names it before it arrives names the same one. */
export const firstPixOf = (txid: string): string =>
  makeEndToEndId({
    ispb: SIMULATOR_ISPB,
    atMs: Number.parseInt(txid.slice(0, 12), 16),
    suffix: suffixFromBytes(createHash("sha256").update(txid).digest())
  })

/** An end-to-end id of the simulated institution. */
export const newEndToEndId = (atMs: number): string =>
  makeEndToEndId({ ispb: SIMULATOR_ISPB, atMs, suffix: suffixFromBytes(randomBytes(SUFFIX_BYTES)) })

export const SIMULATOR_ISPB = "00000000"

export interface DueRow {
  readonly id: string
  readonly report: unknown
}
