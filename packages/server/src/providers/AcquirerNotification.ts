/**
 * The notifications of an acquirer, and the keys that deduplicate them.
 *
 * Guarantees:
 * - a return and a MED name their Pix;
 * - two notifications of one fact have the same key, whichever way and however often they arrive. A payment with an end-to-end
 *   id has none unless the acquirer gives it an id: its settlement is unique (`payments/charges/Settlements.ts`);
 * - the key is the acquirer's id of the fact, or the id of the resource where that can happen only once. It is unique within a
 *   connection;
 * - outcomes of payouts and of returns that the service ordered have none: a provider may change what it says, and the state of
 *   what they are of knows a copy.
 */
import { SIMULATOR_CONNECTION } from "@pix-payments/domain/AcquirerConnection"
import * as Schema from "effect/Schema"

const Fact = {
  /** The acquirer's id of the payment, the return, the MED or the message. */
  externalId: Schema.optionalKey(Schema.String),
  /** The connection that reports it; absent: the simulator's. */
  connectionId: Schema.optionalKey(Schema.String),
  /** When it happened. */
  atMs: Schema.optionalKey(Schema.Finite)
}
const Amount = { amount: Schema.optionalKey(Schema.Int) }
const Txid = { txid: Schema.String, ...Fact }
/** Of a Pix. An empty `txid` names no charge. */
const OfPix = { ...Txid, endToEndId: Schema.String, ...Amount }
/** Of a return. `requestId`: what its requester chose, within its Pix. A provider may leave its own id out. */
const Return = { ...OfPix, requestId: Schema.optionalKey(Schema.String) }
/** Of a dispute, by our id or, where that is empty, by the provider's, which is then `externalId`. */
const Dispute = { disputeId: Schema.String, ...Fact }
const Payout = { payoutId: Schema.String, ...Fact }

export const AcquirerNotification = Schema.Union([
  /**
   * Money arrived. A provider reports all of it: an empty `txid` is a payment straight to the key. Without `amount` it is
   * the charge's.
   */
  Schema.TaggedStruct("charge.paid", {
    ...Txid,
    ...Amount,
    /** Absent: what somebody sent back of a payout that is not ours. */
    endToEndId: Schema.optionalKey(Schema.String),
    payer: Schema.optionalKey(
      Schema.Struct({ name: Schema.NullOr(Schema.String), document: Schema.NullOr(Schema.String) })
    ),
    /** The Pix key that received it. */
    key: Schema.optionalKey(Schema.String)
  }),
  Schema.TaggedStruct("charge.failed", { ...Txid, reason: Schema.optionalKey(Schema.String) }),
  Schema.TaggedStruct("charge.refunded", Return),
  Schema.TaggedStruct("med.opened", {
    ...OfPix,
    reason: Schema.String,
    defenseDeadlineAtMs: Schema.optionalKey(Schema.Finite),
    /** By the time it was read, it was lost: a return that came before may be of it. */
    isLost: Schema.optionalKey(Schema.Boolean)
  }),
  // The institution returned the Pix, and no MED had been opened.
  Schema.TaggedStruct("charge.returned", { ...Return, as: Schema.Literals(["refunded", "charged_back"]) }),
  // The outcome of a return that the service ordered.
  Schema.TaggedStruct("return.completed", { orderId: Schema.String, ...Fact }),
  Schema.TaggedStruct("return.failed", { orderId: Schema.String, reason: Schema.String, ...Fact }),
  Schema.TaggedStruct("med.message", { ...Dispute, text: Schema.String }),
  Schema.TaggedStruct("med.won", Dispute),
  Schema.TaggedStruct("med.lost", Dispute),
  Schema.TaggedStruct("payout.completed", { ...Payout, endToEndId: Schema.optionalKey(Schema.String) }),
  Schema.TaggedStruct("payout.failed", { ...Payout, reason: Schema.String }),
  // The payee's bank sent a part or all of it back.
  Schema.TaggedStruct("payout.returned", {
    ...Payout,
    amount: Schema.Int,
    /** The line of the bank's statement. Its external id is the payout's, which several returns may have. */
    lineId: Schema.optionalKey(Schema.String),
    /** Nothing but its amount says that it is this payout's: a person decides. */
    isByAmount: Schema.optionalKey(Schema.Boolean)
  })
])
export type AcquirerNotification = typeof AcquirerNotification.Type

/** Returns and MEDs. They may arrive before the payment that they are of (DSP-10). */
export type Reversal = Extract<
  AcquirerNotification,
  { readonly _tag: "charge.refunded" | "charge.returned" | "med.opened" }
>
export type Med = Extract<Reversal, { readonly _tag: "med.opened" }>
export type Returned = Exclude<Reversal, Med>

/**
 * The outcome of a notification: `applied`; `exception`, because its money fits nothing yet; `ignored`, because the state does
 * not allow it or it is a duplicate; `unknown`, because it names no resource of ours.
 */
export type Outcome = "applied" | "exception" | "ignored" | "unknown"

/** True of an outcome that changed something. */
export const isEffect = (outcome: Outcome): boolean => outcome !== "ignored" && outcome !== "unknown"

/** The resource that a notification names; a charge by its txid, or by its Pix. */
export const subjectOf = (notification: AcquirerNotification): string => {
  if ("txid" in notification)
    return notification.txid || ("endToEndId" in notification ? (notification.endToEndId ?? "") : "")
  if ("disputeId" in notification) return notification.disputeId || (notification.externalId ?? "")
  return "orderId" in notification ? notification.orderId : notification.payoutId
}

/**
 * The keys of a notification: one with any of them is a copy. None where nothing in it can identify a duplicate, or what it is
 * of does.
 */
export const keysOf = (notification: AcquirerNotification): ReadonlyArray<string> => {
  if (isOutcome(notification)) return []
  const { connectionId } = notification
  const requestId = "requestId" in notification ? notification.requestId : undefined
  const byRequest = requestId === undefined ? undefined : within(connectionId, returnKey(requestId))
  return [...new Set([factOf(notification), byRequest])].filter((key) => key !== undefined)
}

/** An acquirer that names the fact reports it once under this name. */
const isOutcome = (notification: AcquirerNotification): boolean =>
  "orderId" in notification || ("payoutId" in notification && notification.externalId === undefined)

/** The fact of a notification, within all connections. */
const factOf = (notification: AcquirerNotification): string | undefined => {
  const key = keyWithinConnection(notification)
  return key === undefined ? undefined : within(notification.connectionId, key)
}

const within = (connectionId: string | undefined, key: string): string =>
  connectionId === undefined ? key : `${connectionId}/${key}`

/**
 * The key under which a notification without an effect is recorded once; none where nothing in it can identify a duplicate.
 * It claims nothing: such a notification may have an effect later. A payment with another amount is another notification.
 */
export const recordKeyOf = (notification: AcquirerNotification): string | undefined => {
  const key =
    notification._tag === "charge.paid" && notification.endToEndId !== undefined
      ? `paid:${notification.endToEndId}:${notification.amount ?? ""}`
      : factOf(notification)
  return key === undefined ? undefined : `seen:${notification.connectionId ?? "simulator"}/${key}`
}

/** True where a notification that had no effect never has one: what it reports is known, and was final. */
export const isFinal = ({ _tag }: AcquirerNotification): boolean =>
  _tag === "charge.paid" || _tag === "charge.refunded" || _tag === "charge.returned" || _tag === "med.won"

const keyWithinConnection = (notification: AcquirerNotification): string | undefined => {
  const { externalId } = notification
  switch (notification._tag) {
    case "charge.paid":
      if (externalId !== undefined) return `paid:${externalId}`
      return notification.endToEndId === undefined ? `paid:${notification.txid}` : undefined
    case "charge.failed":
      return `failed:${externalId ?? notification.txid}`
    case "charge.refunded":
    case "charge.returned":
      return returnKey(externalId ?? notification.endToEndId)
    case "return.completed":
      return returnKey(notification.orderId)
    case "return.failed":
      return `return:${notification.orderId}:failed`
    case "med.opened":
      return `med:${externalId ?? notification.endToEndId}:opened`
    case "med.won":
      return `med:${externalId ?? notification.disputeId}:won`
    case "med.lost":
      return `med:${externalId ?? notification.disputeId}:lost`
    case "med.message":
      return externalId === undefined ? undefined : `message:${externalId}`
    case "payout.completed":
      return `payout:${externalId ?? notification.payoutId}:completed`
    case "payout.returned":
      return `payout:${notification.payoutId}:returned:${notification.lineId ?? externalId ?? ""}`
    case "payout.failed":
      return `payout:${externalId ?? notification.payoutId}:failed`
  }
}

/** The key of a completed return, by the acquirer's id or by that of our order. */
export const returnKey = (id: string): string => `return:${id}:returned`

/** The same of an order, within all connections: once it is completed, a return that the acquirer reports under it is a copy. */
export const keyOfReturn = (orderId: string, connectionId: string | null): string =>
  connectionId === null || connectionId === SIMULATOR_CONNECTION
    ? returnKey(orderId)
    : `${connectionId}/${returnKey(orderId)}`
