/**
 * Approvals: actions that a second operator has to approve. OPR-110 to OPR-119.
 *
 * Guarantees
 * - `approvalActions` is the only list of the actions and of who may request them. `approvalTransition` is the only
 *   declaration of the states. The SQL guards, the interface and the tests read them.
 */
import * as Schema from "effect/Schema"
import type { OperatorRole } from "./Operator.ts"

/** `expired`: no one decided in time, or what was requested is out of date. */
export const ApprovalStatus = Schema.Literals(["pending", "approved", "rejected", "expired"])
export type ApprovalStatus = typeof ApprovalStatus.Type

/** What a request may do, as `<resource>.<verb>`. */
export const ApprovalAction = Schema.Literals([
  "payout.approve",
  "payout.create",
  "key.create",
  "key.update",
  "connection.create",
  "connection.update",
  "connection.register_webhook",
  "account.update",
  "account.move",
  "operator.create",
  "operator.update",
  "operator_token.create",
  "installation.update",
  "installation.confirm_outward",
  "exception.accept",
  "payout.settle",
  "refund.settle",
  "exception.settle",
  "payer.anonymise",
  "adjustment.create"
])
export type ApprovalAction = typeof ApprovalAction.Type

export interface ActionRules {
  /** What it does, in a few words. */
  readonly title: string
  /** The roles that may request it. */
  readonly requestedBy: ReadonlyArray<OperatorRole>
  /**
   * `approval`: the action is done in the commit that approves it. `repeat`: it shows a secret, so the requester repeats
   * the call after the approval, and alone gets the answer (OPR-115); or it calls a provider, and no transaction is open meanwhile.
   */
  readonly doneWith: "approval" | "repeat"
}

const admins = ["admin"] as const

export const approvalActions: Readonly<Record<ApprovalAction, ActionRules>> = {
  "payout.approve": { title: "Approve a payout", requestedBy: ["operator", "admin"], doneWith: "approval" },
  "payout.create": { title: "Create a payout", requestedBy: ["operator", "admin"], doneWith: "approval" },
  "key.create": { title: "Create an API key", requestedBy: admins, doneWith: "repeat" },
  "key.update": { title: "Change the limits of an API key", requestedBy: admins, doneWith: "approval" },
  "connection.create": { title: "Connect a provider", requestedBy: admins, doneWith: "approval" },
  "connection.update": { title: "Change a connection", requestedBy: admins, doneWith: "approval" },
  "connection.register_webhook": { title: "Register a connection's webhook", requestedBy: admins, doneWith: "repeat" },
  "account.update": { title: "Change an account", requestedBy: admins, doneWith: "approval" },
  "account.move": { title: "Move an account to another cell", requestedBy: admins, doneWith: "approval" },
  "operator.create": { title: "Add an operator", requestedBy: admins, doneWith: "approval" },
  "operator.update": { title: "Change an operator", requestedBy: admins, doneWith: "approval" },
  "operator_token.create": { title: "Create a token for an operator", requestedBy: admins, doneWith: "repeat" },
  "installation.update": { title: "Change four eyes", requestedBy: admins, doneWith: "approval" },
  "installation.confirm_outward": {
    title: "Let a copied database call banks and receivers",
    requestedBy: admins,
    doneWith: "approval"
  },
  "exception.accept": {
    title: "Accept an exception for another charge or account",
    requestedBy: ["operator", "admin"],
    doneWith: "approval"
  },
  "payout.settle": { title: "Settle a payout by hand", requestedBy: ["operator", "admin"], doneWith: "approval" },
  "refund.settle": { title: "Settle a refund by hand", requestedBy: ["operator", "admin"], doneWith: "approval" },
  "exception.settle": { title: "Settle a return by hand", requestedBy: ["operator", "admin"], doneWith: "approval" },
  "payer.anonymise": { title: "Erase the data of a payer", requestedBy: admins, doneWith: "approval" },
  "adjustment.create": {
    title: "Correct the balance of an account",
    requestedBy: ["operator", "admin"],
    doneWith: "approval"
  }
}

/** Whether the requester of an action repeats it once it is approved. */
export const isRepeated = (action: string): boolean =>
  Object.entries(approvalActions).some(([name, { doneWith }]) => name === action && doneWith !== "approval")

/** The roles that approve and reject. */
export const approverRoles: ReadonlyArray<OperatorRole> = ["operator", "admin"]

/** How many active operators who could approve switch four eyes on (OPR-110). */
export const APPROVERS_FOR_FOUR_EYES = 2

/** How long a request waits. An approved one of `repeat` has as long, from its request on. */
export const APPROVAL_HOURS = 72

export type ApprovalDecision = "approve" | "reject"

export interface ApprovalTransition {
  readonly decision: ApprovalDecision
  readonly from: ApprovalStatus
  readonly to: ApprovalStatus
}

export const approvalTransitions: ReadonlyArray<ApprovalTransition> = [
  { decision: "approve", from: "pending", to: "approved" },
  { decision: "reject", from: "pending", to: "rejected" }
]

/** The state after a decision, or `undefined` if it is not possible. */
export const approvalTransition = (decision: ApprovalDecision, from: ApprovalStatus): ApprovalStatus | undefined =>
  approvalTransitions.find((transition) => transition.decision === decision && transition.from === from)?.to

/** The state as it is shown: a request that was neither decided nor used in time is `expired`. */
export const approvalStatusAt = (
  approval: { readonly status: ApprovalStatus; readonly isUsed: boolean; readonly expiresAtMs: number },
  nowMs: number
): ApprovalStatus =>
  !approval.isUsed && approval.status !== "rejected" && approval.expiresAtMs <= nowMs ? "expired" : approval.status
