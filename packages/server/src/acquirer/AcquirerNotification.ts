/**
 * What an acquirer reports, and the key by which a copy of a report is known.
 *
 * Guarantees:
 * - two reports of one fact have one key, whichever way and however often they come;
 * - the key comes from the acquirer's own id of the fact, or from the settlement or the resource where that can happen
 *   once only.
 */
import * as Schema from "effect/Schema"

/** The acquirer's id of the fact: of the return, of the MED, of the message. */
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

/** Reports that may overtake the payment of their charge. */
export type Reversal = Extract<
  AcquirerNotification,
  { readonly _tag: "charge.refunded" | "charge.returned" | "med.opened" }
>

/**
 * `applied`; `deferred` until the payment of its charge arrives; or why it changed nothing: the state did not allow it or
 * it is a copy (`ignored`), or it names nothing that we know (`unknown`).
 */
export type Outcome = "applied" | "deferred" | "ignored" | "unknown"

/** What a report is about, as the acquirer names it. */
export const subjectOf = (report: AcquirerNotification): string =>
  "txid" in report ? report.txid : "disputeId" in report ? report.disputeId : report.payoutId

/** The key of the fact that a report is of; `undefined` where the acquirer gave no id to know a copy by. */
export const keyOf = (report: AcquirerNotification): string | undefined => {
  const { externalId } = report
  switch (report._tag) {
    case "charge.paid":
      return `paid:${externalId ?? report.endToEndId ?? report.txid}`
    case "charge.failed":
      return `failed:${externalId ?? report.txid}`
    case "charge.refunded":
    case "charge.returned":
      return externalId === undefined ? undefined : returnKey(externalId)
    case "med.opened":
      return externalId === undefined ? undefined : `med:${externalId}:opened`
    case "med.won":
      return `med:${externalId ?? report.disputeId}:won`
    case "med.lost":
      return `med:${externalId ?? report.disputeId}:lost`
    case "med.message":
      return externalId === undefined ? undefined : `message:${externalId}`
    case "payout.completed":
      return `payout:${externalId ?? report.payoutId}:completed`
    case "payout.failed":
      return `payout:${externalId ?? report.payoutId}:failed`
  }
}

/** The key of a return that was made, by its id: the acquirer's, or that of our order. */
export const returnKey = (id: string): string => `return:${id}:returned`
