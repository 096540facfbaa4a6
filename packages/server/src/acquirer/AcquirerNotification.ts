/**
 * The notifications of an acquirer, and the keys that deduplicate them.
 *
 * Guarantees:
 * - two notifications of one fact have one key, whichever way and however often they arrive;
 * - the key is the acquirer's id of the fact, or the id of the settlement or resource where that can happen only once.
 */
import * as Schema from "effect/Schema"

/** The acquirer's id of the return, the MED or the message. */
const Fact = { externalId: Schema.optionalKey(Schema.String) }
const Txid = { txid: Schema.String, ...Fact }
const Dispute = { disputeId: Schema.String, ...Fact }
const Payout = { payoutId: Schema.String, ...Fact }

export const AcquirerNotification = Schema.Union([
  Schema.TaggedStruct("charge.paid", { ...Txid, endToEndId: Schema.optionalKey(Schema.String) }),
  Schema.TaggedStruct("charge.failed", { ...Txid, reason: Schema.optionalKey(Schema.String) }),
  Schema.TaggedStruct("charge.refunded", Txid),
  Schema.TaggedStruct("med.opened", {
    ...Txid,
    reason: Schema.String,
    defenseDeadlineAtMs: Schema.optionalKey(Schema.Finite)
  }),
  // The institution returned the Pix, and no MED had been opened.
  Schema.TaggedStruct("charge.returned", { ...Txid, as: Schema.Literals(["refunded", "charged_back"]) }),
  Schema.TaggedStruct("med.message", { ...Dispute, text: Schema.String }),
  Schema.TaggedStruct("med.won", Dispute),
  Schema.TaggedStruct("med.lost", Dispute),
  Schema.TaggedStruct("payout.completed", { ...Payout, endToEndId: Schema.optionalKey(Schema.String) }),
  Schema.TaggedStruct("payout.failed", { ...Payout, reason: Schema.String })
])
export type AcquirerNotification = typeof AcquirerNotification.Type

/** Notifications that may arrive before the payment of their charge (DSP-10). */
export type Reversal = Extract<
  AcquirerNotification,
  { readonly _tag: "charge.refunded" | "charge.returned" | "med.opened" }
>

/**
 * The outcome of a notification: `applied`; `deferred` until the payment of its charge arrives; `ignored`, because the
 * state does not allow it or it is a duplicate; `unknown`, because it names no resource of ours.
 */
export type Outcome = "applied" | "deferred" | "ignored" | "unknown"

/** The resource that a notification names. */
export const subjectOf = (notification: AcquirerNotification): string =>
  "txid" in notification
    ? notification.txid
    : "disputeId" in notification
      ? notification.disputeId
      : notification.payoutId

/** The key of a notification; `undefined` where nothing in it can identify a duplicate. */
export const keyOf = (notification: AcquirerNotification): string | undefined => {
  const { externalId } = notification
  switch (notification._tag) {
    case "charge.paid":
      return `paid:${externalId ?? notification.endToEndId ?? notification.txid}`
    case "charge.failed":
      return `failed:${externalId ?? notification.txid}`
    case "charge.refunded":
    case "charge.returned":
      return externalId === undefined ? undefined : returnKey(externalId)
    case "med.opened":
      return externalId === undefined ? undefined : `med:${externalId}:opened`
    case "med.won":
      return `med:${externalId ?? notification.disputeId}:won`
    case "med.lost":
      return `med:${externalId ?? notification.disputeId}:lost`
    case "med.message":
      return externalId === undefined ? undefined : `message:${externalId}`
    case "payout.completed":
      return `payout:${externalId ?? notification.payoutId}:completed`
    case "payout.failed":
      return `payout:${externalId ?? notification.payoutId}:failed`
  }
}

/** The key of a return, by the acquirer's id or by that of our order. */
export const returnKey = (id: string): string => `return:${id}:returned`
