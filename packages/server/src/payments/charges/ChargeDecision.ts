/**
 * Decisions about a charge: the charge that a request creates, and the change of a charge by a report.
 *
 * Guarantees:
 * - pure: the time, the account's release delay and the locked rows are arguments;
 * - a report that the transition table does not allow in the present state decides nothing (CHG-7, CHG-8);
 * - the money that moves with a change is decided with it (BAL-2, BAL-4, BAL-6), from where the ledger has it.
 */
import type { CreateCheckoutCharge } from "@pix-payments/api/operator/Charges"
import {
  type ChargeReport,
  chargeStatusAt,
  type ChargeTransition,
  chargeTransition,
  type CreateCharge
} from "@pix-payments/domain/Charge"
import { SIMULATOR_CONNECTION } from "@pix-payments/domain/AcquirerConnection"
import type { TransferReason } from "@pix-payments/domain/BalanceTransaction"
import type { ChargeFunds } from "@pix-payments/domain/ChargeMoney"
import type { Emitted, Payer } from "../../providers/Acquirer.ts"
import type { ReceivedNotification } from "../../providers/NotificationStore.ts"
import type { ChargeOrder } from "../../providers/OrderStore.ts"
import { type OutboxEntry, outboxEntry } from "../../events/Outbox.ts"
import type { Ids } from "../../base/Ids.ts"
import { type Transfer, transfer } from "../../ledger/Ledger.ts"
import { changedCharge } from "./ChargeResource.ts"
import type { StoredCharge } from "./ChargeTable.ts"

/** The account for which a charge is created. */
export interface Merchant {
  readonly name: string
  readonly document: string
  readonly status: string
  readonly defaultExpiresInSeconds: number
  readonly chargesPaused: boolean
  /** Null is the simulator's, undefined that it has none. */
  readonly connectionId: string | null | undefined
}

export type ChargeRequest = CreateCharge | CreateCheckoutCharge

/** The facts of a report, which the changed charge keeps. */
export interface ReportFacts {
  readonly emitted?: Emitted | undefined
  readonly endToEndId?: string | undefined
  readonly reason?: string | undefined
  /** When the provider says that it was paid. */
  readonly paidAtMs?: number | undefined
  readonly payer?: Payer | undefined
}

/** A change decided on a charge as it was at `sequence - 1`. */
export interface ChargeChange {
  readonly charge: StoredCharge
  readonly outbox: OutboxEntry
  readonly transfers: ReadonlyArray<Transfer>
  /** Who paid it, as the acquirer says. Stored with a payment. */
  readonly payer?: Payer | undefined
  /** After how long the money of a payment that went to `pending` is released. */
  readonly releaseInMs?: number | undefined
  /** The acquirer's notification of the change, recorded with it. */
  readonly received?: ReceivedNotification | undefined
}

/** A charge with its money, locked for a transaction. */
export interface LockedCharge {
  readonly charge: StoredCharge
  readonly funds: ChargeFunds
  /** Its open order: what the acquirer is asked to do with it. */
  readonly order: ChargeOrder | undefined
}

/** The ledger accounts between which the money of a paid charge moves. */
export type ChargePlace = "pending" | "available" | "blocked" | "returns_in_transit" | "acquirer"

/** A step of a charge: its money, if any, and the change of its state, if any. */
export type ChargeStep = {
  readonly report?: ChargeReport | undefined
  /** The refund or dispute that its transfers are of. */
  readonly sourceId?: string | undefined
} & (
  | { readonly reason: TransferReason; readonly movements: ReadonlyArray<ChargeMovement> }
  | { readonly reason?: undefined; readonly movements: readonly [] }
)

interface ChargeMovement {
  readonly debit: ChargePlace
  readonly credit: ChargePlace
  readonly amount: number
}

/** A decided step. */
export interface ChargeMove {
  readonly after: LockedCharge
  /** With its transfers; `undefined` where the state stays. */
  readonly change: ChargeChange | undefined
  readonly transfers: ReadonlyArray<Transfer>
}

/** A charge that waits for the acquirer's answer (CHG-1). */
export const newCharge = (
  id: string,
  createdAtMs: number,
  owner: Pick<StoredCharge, "accountId" | "applicationId" | "origin" | "idempotencyKey">,
  merchant: Merchant,
  request: ChargeRequest,
  sealedWebhookSecret: string | null,
  trace: string | null
): StoredCharge => ({
  id,
  accountId: owner.accountId,
  applicationId: owner.applicationId,
  origin: owner.origin,
  idempotencyKey: owner.idempotencyKey,
  status: "processing",
  method: request.method === "boleto" || request.method === "card" ? request.method : "pix",
  amount: request.amount,
  description: request.description ?? null,
  reference: request.reference ?? null,
  customerName: request.customer.name,
  customerEmail: request.customer.email,
  customerDocument: request.customer.document,
  customerPhone: request.customer.phone ?? null,
  webhookUrl: request.webhook_url ?? null,
  sealedWebhookSecret,
  brCode: null,
  endToEndId: null,
  receiver: null,
  expiresAtMs: createdAtMs + (request.expires_in ?? merchant.defaultExpiresInSeconds) * 1000,
  paidAtMs: null,
  refundedAmount: 0,
  failureReason: null,
  createdAtMs,
  sequence: 1,
  connectionId: merchant.connectionId ?? null,
  trace
})

/** The transition of a charge by a report at an instant; `undefined` where its state does not allow it. */
export const transitionOf = (charge: StoredCharge, report: ChargeReport, nowMs: number): ChargeTransition | undefined =>
  chargeTransition(report, chargeStatusAt(charge.status, charge.expiresAtMs, nowMs))

/** The change of a charge by the acquirer's answer or by the outcome of its payment. */
export const decideChange = (
  charge: StoredCharge,
  report: ChargeReport,
  facts: ReportFacts,
  {
    ids,
    nowMs,
    releaseDelayMs
  }: { readonly ids: Ids["Service"]; readonly nowMs: number; readonly releaseDelayMs: number }
): ChargeChange | undefined => {
  const transition = transitionOf(charge, report, nowMs)
  if (transition === undefined) return undefined
  const changed = changedBy({ ...charge, ...columnsOf(report, facts, nowMs) }, transition)
  const isPayment = report === "paid"
  return {
    charge: changed,
    outbox: entryOf(changed, transition, nowMs, ids),
    transfers: isPayment
      ? transfer(ids, {
          accountId: charge.accountId,
          debit: "acquirer",
          credit: releaseDelayMs > 0 ? "pending" : "available",
          amount: charge.amount,
          resourceId: charge.id,
          connectionId: charge.connectionId ?? SIMULATOR_CONNECTION,
          reason: "charge.paid"
        })
      : [],
    payer: isPayment ? facts.payer : undefined,
    releaseInMs: isPayment && releaseDelayMs > 0 ? releaseDelayMs : undefined
  }
}

/** A step of a paid charge; `undefined` where the state does not allow its report. */
export const decideMove = (
  locked: LockedCharge,
  step: ChargeStep,
  { ids, nowMs }: { readonly ids: Ids["Service"]; readonly nowMs: number }
): ChargeMove | undefined => {
  const { charge } = locked
  const { report, sourceId } = step
  const transition = report === undefined ? undefined : transitionOf(charge, report, nowMs)
  if (report !== undefined && transition === undefined) return undefined
  const { reason } = step
  const transfers =
    reason === undefined
      ? []
      : step.movements.flatMap((ends) =>
          transfer(ids, {
            ...ends,
            accountId: charge.accountId,
            resourceId: charge.id,
            sourceId,
            connectionId: charge.connectionId ?? SIMULATOR_CONNECTION,
            reason
          })
        )
  const after = afterStep(locked, step)
  return {
    after,
    change:
      transition === undefined
        ? undefined
        : { charge: after.charge, outbox: entryOf(after.charge, transition, nowMs, ids), transfers },
    transfers
  }
}

/** The report, where the state of the charge allows it. */
export const allowedReport = (charge: StoredCharge, report: ChargeReport): ChargeReport | undefined =>
  chargeTransition(report, charge.status) === undefined ? undefined : report

/** A charge after a step that its state allows. */
export const afterStep = (locked: LockedCharge, { movements, report }: ChargeStep): LockedCharge => {
  const transition = report === undefined ? undefined : chargeTransition(report, locked.charge.status)
  const sent = (place: ChargePlace) =>
    movements.reduce(
      (sum, { amount, credit, debit }) => sum + (credit === place ? amount : 0) - (debit === place ? amount : 0),
      0
    )
  const charge = { ...locked.charge, refundedAmount: locked.charge.refundedAmount + sent("acquirer") }
  return {
    charge: transition === undefined ? charge : changedBy(charge, transition),
    funds: {
      pending: locked.funds.pending + sent("pending"),
      available: locked.funds.available + sent("available"),
      blocked: locked.funds.blocked + sent("blocked"),
      inTransit: locked.funds.inTransit + sent("returns_in_transit")
    },
    order: locked.order
  }
}

const changedBy = (charge: StoredCharge, { to }: ChargeTransition): StoredCharge => ({
  ...charge,
  status: to,
  sequence: charge.sequence + 1
})

const entryOf = (charge: StoredCharge, { events }: ChargeTransition, nowMs: number, ids: Ids["Service"]): OutboxEntry =>
  outboxEntry(`charge.${charge.method}`, events, changedCharge(charge, nowMs), ids.next)

const columnsOf = (report: ChargeReport, facts: ReportFacts, nowMs: number): Partial<StoredCharge> => {
  switch (report) {
    case "emitted":
      return facts.emitted ?? {}
    case "paid":
      return { paidAtMs: facts.paidAtMs ?? nowMs, endToEndId: facts.endToEndId ?? null }
    case "failed":
    case "refused":
      return { failureReason: facts.reason ?? "refused by the provider" }
    default:
      return {}
  }
}
