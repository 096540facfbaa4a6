/**
 * What a provider reports, as notifications.
 *
 * Guarantees:
 * - The same fact gives the same notification whether a webhook or the sweep led to it, so that both have one key.
 * - A Pix gives its payment first and its returns after it, oldest first.
 * - Only a final state gives a notification of a return or payout; of one that we ordered, only with its amount. Money that moved
 *   under the id of an order, with another amount, is for a person to see (OPR-232). So is a booked return of somebody else that the
 *   provider calls failed (BAL-16).
 */
import { idFromTxid } from "@pix-payments/domain/Txid"
import type { ReceivedPix, ReportedDispute, ReportedReturn, SentPayout } from "../providers/Acquirer.ts"
import type { AcquirerNotification } from "../providers/AcquirerNotification.ts"
import type { SetAside } from "../payments/exceptions/UnreadableEntries.ts"
import type { Known, OrderTerms } from "./ReportStore.ts"

/** What the provider did otherwise than ordered, or than it had reported. `of`: our order. */
export type Otherwise = Required<Pick<SetAside, "name" | "reason">> & Pick<SetAside, "of">

/** The order that a return may be of, by the id that its requester chose. `Known.orders` says whether it is. */
export const orderIdOf = ({ id }: ReportedReturn): string | undefined => idFromTxid(id)

/** A received Pix and its returns. `orders` has those of this connection. */
export const notificationsOfPix = (
  connectionId: string,
  pix: ReceivedPix,
  orders: Known["orders"]
): ReadonlyArray<AcquirerNotification> => [
  {
    _tag: "charge.paid",
    connectionId,
    txid: pix.txid ?? "",
    endToEndId: pix.endToEndId,
    amount: pix.amount,
    atMs: pix.atMs,
    ...(pix.payer !== null && { payer: pix.payer }),
    ...(pix.key !== null && { key: pix.key })
  },
  ...pix.returns
    .toSorted((a, b) => (a.atMs ?? Infinity) - (b.atMs ?? Infinity))
    .flatMap((of) => notificationOfReturn(connectionId, pix, of, orders) ?? [])
]

/**
 * Completed returns of a Pix under ids of our orders with other amounts than were ordered, and failed ones of somebody else that are
 * booked as completed.
 */
export const otherReturns = (
  connectionId: string,
  pix: ReceivedPix,
  { isApplied, orders }: Pick<Known, "isApplied" | "orders">
): ReadonlyArray<Otherwise> =>
  pix.returns.flatMap((of): ReadonlyArray<Otherwise> => {
    const id = orderIdOf(of)
    const terms = termsOfReturn(pix, of, orders)
    if (id !== undefined && terms === "other-amount" && of.status === "completed") {
      const reason = `return ${id} has another amount than was ordered`
      return [{ of: { refundId: id }, name: `${id}/other amount`, reason }]
    }
    return terms === "not-ours" && of.status === "failed" && isApplied(returnOfOthers(connectionId, pix, of))
      ? [{ name: `${pix.endToEndId}/${of.id}/failed`, reason: failedAfterAll(of.id) }]
      : []
  })

const failedAfterAll = (id: string) =>
  `return ${id} is booked as carried out, and the provider now says that it failed. ` +
  "If the bank confirms it, correct the account by an adjustment; then dismiss this"

/** The failed returns of a Pix as they are booked if the provider reported them as completed before. */
export const failedReturns = (connectionId: string, pix: ReceivedPix): ReadonlyArray<AcquirerNotification> =>
  pix.returns.flatMap((of) => (of.status === "failed" ? [returnOfOthers(connectionId, pix, of)] : []))

/** The same of a payout, whose id is ours. */
export const otherPayout = (
  { amount, id, progress }: SentPayout,
  payouts: Known["payouts"]
): ReadonlyArray<Otherwise> =>
  id !== null && progress._tag === "Completed" && payouts.of(id, amount) === "other-amount"
    ? [{ of: { payoutId: id }, name: `${id}/other amount`, reason: `payout ${id} has another amount than was ordered` }]
    : []

const notificationOfReturn = (
  connectionId: string,
  pix: ReceivedPix,
  of: ReportedReturn,
  orders: Known["orders"]
): AcquirerNotification | undefined => {
  if (of.status === "processing") return undefined
  const orderId = orderIdOf(of)
  const terms = termsOfReturn(pix, of, orders)
  // The order stays open, or as it ended: this is no answer to it.
  if (terms === "other-amount") return undefined
  if (orderId !== undefined && terms === "ours") {
    const fact = { connectionId, orderId, ...(of.providerId !== null && { externalId: of.providerId }), ...whenOf(of) }
    return of.status === "completed"
      ? { _tag: "return.completed", ...fact }
      : { _tag: "return.failed", ...fact, reason: of.reason ?? "not carried out by the provider" }
  }
  // One that somebody else ordered and that failed moved no money. Of one that is booked, a person decides (`otherReturns`).
  return of.status === "failed" ? undefined : returnOfOthers(connectionId, pix, of)
}

const termsOfReturn = (pix: ReceivedPix, of: ReportedReturn, orders: Known["orders"]): OrderTerms => {
  const orderId = orderIdOf(of)
  return orderId === undefined ? "not-ours" : orders.of(orderId, { ...of, endToEndId: pix.endToEndId })
}

const whenOf = ({ atMs }: ReportedReturn) => (atMs === null ? {} : { atMs })

/** A completed return that somebody else ordered. */
const returnOfOthers = (connectionId: string, pix: ReceivedPix, of: ReportedReturn): AcquirerNotification => {
  const requestId = `${pix.endToEndId}/${of.id}`
  const fact = {
    connectionId,
    txid: pix.txid ?? "",
    endToEndId: pix.endToEndId,
    amount: of.amount,
    externalId: of.providerId ?? requestId,
    requestId,
    ...whenOf(of)
  }
  return of.nature === "dispute"
    ? { _tag: "charge.returned", ...fact, as: "charged_back" }
    : { _tag: "charge.refunded", ...fact }
}

/**
 * A payout that was sent, and what the payee's bank sent back of it; of a payout that is not ours, that is money that arrived.
 * `isOurs`: whether this id is that of a payout of this connection with this amount.
 */
export const notificationsOfPayout = (
  connectionId: string,
  { endToEndId, id, progress, returns }: SentPayout,
  isOurs: (id: string) => boolean
): ReadonlyArray<AcquirerNotification> => [
  ...(id === null || !isOurs(id) ? [] : outcomeOf({ connectionId, payoutId: id }, endToEndId, progress)),
  ...returns.map(({ amount, atMs, providerId }): AcquirerNotification => {
    const fact = { connectionId, externalId: providerId, amount, atMs }
    return id === null || !isOurs(id)
      ? { _tag: "charge.paid", txid: "", ...fact }
      : { _tag: "payout.returned", payoutId: id, ...fact }
  })
]

const outcomeOf = (
  fact: { readonly connectionId: string; readonly payoutId: string },
  endToEndId: string | null,
  progress: SentPayout["progress"]
): ReadonlyArray<AcquirerNotification> => {
  switch (progress._tag) {
    case "Accepted":
      return []
    case "Completed":
      return [{ _tag: "payout.completed", ...fact, ...(endToEndId !== null && { endToEndId }) }]
    case "Failed":
      return [{ _tag: "payout.failed", ...fact, reason: progress.reason }]
  }
}

export const disputeOpened = (connectionId: string, of: ReportedDispute): AcquirerNotification => ({
  _tag: "med.opened",
  connectionId,
  txid: "",
  endToEndId: of.endToEndId,
  externalId: of.externalId,
  amount: of.amount,
  reason: of.reason,
  atMs: of.openedAtMs,
  ...(of.status === "lost" && { isLost: true }),
  ...(of.defenseDeadlineAtMs !== null && { defenseDeadlineAtMs: of.defenseDeadlineAtMs })
})

/** The outcome of a dispute that has one. `disputeId` is ours. */
export const disputeDecided = (
  connectionId: string,
  disputeId: string,
  { externalId, status }: Pick<ReportedDispute, "externalId" | "status">
): AcquirerNotification | undefined => {
  if (status !== "won" && status !== "lost") return undefined
  return { _tag: status === "won" ? "med.won" : "med.lost", connectionId, disputeId, externalId }
}
