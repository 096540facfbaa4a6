/**
 * What a request for approval is about, as a person decides it.
 *
 * Guarantees:
 * - Everything that is known by an id has its name. A recipient's name is apart from the destination: nobody verified it.
 * - No text contains a character that is invisible or that reorders other text.
 *
 * Rules: OPR-240, OPR-241.
 */
import type { ApprovalSummary } from "@pix-payments/api/operator/Approvals"
import { type ApprovalAction, approvalActions } from "@pix-payments/domain/Approval"
import type { Cents } from "@pix-payments/domain/Cents"
import { legible } from "@pix-payments/domain/Text"
import { isDeepStrictEqual } from "node:util"
import type { ApprovalRow, Fields } from "../../../operators/approvals/ApprovalRow.ts"
import { accountOf } from "./ApprovalFacts.ts"

export const summaryOf = (row: ApprovalRow): ApprovalSummary => {
  const { action, payout, resource_id: resourceId } = row
  const accountId = accountOf({ action, accountId: row.account_id, request: row.request })
  const name = (id: string) => (row.names[id] === undefined ? null : legible(row.names[id]))
  const { name: unverified = null, ...destination } = (payout?.recipient ?? {}) as Partial<Recipient>
  const amount = payout?.amount ?? amountOf(row)
  return {
    title: approvalActions[action].title,
    resource:
      resourceId === null
        ? null
        : {
            object: objectOf[action],
            id: resourceId,
            name: name(resourceId) ?? (payout?.reference ? legible(payout.reference) : null)
          },
    account: accountId === null ? null : { id: accountId, name: name(accountId) ?? "" },
    destination: payout === null ? null : (legibleIn(destination) as ApprovalSummary["destination"]),
    unverified_name: typeof unverified === "string" ? legible(unverified).trim() || null : null,
    amount,
    // A CHECK of its column enforces the brand.
    fee: (payout?.fee ?? null) as Cents | null,
    ...balances(row, amount),
    duplicates: [
      ...[...new Set([payout?.duplicate_of, row.equal_payout])].flatMap((id) =>
        id ? [{ object: "payout", id } as const] : []
      ),
      ...row.equal_requests.map((id) => ({ object: "approval", id }) as const)
    ],
    changes: changesOf(row)
  }
}

type Recipient = Fields & { readonly name: unknown }

/** The `object` of the resource that an action names. */
export const objectOf: Readonly<Record<ApprovalAction, string>> = {
  "payout.approve": "payout",
  "payout.create": "account",
  "key.create": "application",
  "key.update": "api_key",
  "connection.create": "connection",
  "connection.update": "connection",
  "connection.register_webhook": "connection",
  "account.update": "account",
  "account.move": "account",
  "operator.create": "operator",
  "operator.update": "operator",
  "operator_token.create": "operator",
  "installation.update": "installation",
  "installation.confirm_outward": "installation",
  "exception.accept": "exception",
  "payout.settle": "payout",
  "refund.settle": "refund",
  "exception.settle": "exception",
  "payer.anonymise": "payer",
  "adjustment.create": "account"
}

/** The amount of what is not a payout. */
const amountOf = ({ action, before, request }: ApprovalRow): number | null => {
  // An unreadable entry has no money before it is accepted.
  if (action === "exception.accept") return Number(request["amount"] ?? before?.["unallocated"])
  if (action === "adjustment.create") return Number(request["amount"])
  return action === "refund.settle" || action === "exception.settle" ? Number(before?.["amount"]) : null
}

const balances = (row: ApprovalRow, amount: number | null) => {
  const { available, status } = row
  if (status !== "pending" || available === null || amount === null)
    return { balance_before: null, balance_after: null }
  const before = Number(available)
  return { balance_before: before, balance_after: before + movedBy(row, amount) }
}

/** Cents of `available` that the approval moves. */
const movedBy = ({ action, before, payout, request }: ApprovalRow, amount: number): number => {
  if (action === "exception.accept" || action === "adjustment.create") return amount
  if (action.endsWith(".settle")) return request["outcome"] === "failed" ? Number(before?.["given_back"]) : 0
  // A payout that exists has left `available` already.
  return action === "payout.create" ? -amount - (payout?.fee ?? 0) : 0
}

/** Fields of a payout that the summary shows by themselves. */
const ofPayout: ReadonlySet<string> = new Set([
  "amount",
  "method",
  "idempotency_key",
  "pix_key",
  "pix_key_type",
  "recipient_name",
  "recipient_document",
  "bank",
  "branch",
  "account",
  "account_type"
])

/** Fields that mean the most where they are absent: a limit, or an end. */
const tellingWhenNull: ReadonlySet<string> = new Set(["account_ids", "expires_at"])

const changesOf = (row: ApprovalRow): ApprovalSummary["changes"] => {
  const { names, payout } = row
  // Each limit is a field of its own.
  const { limits, ...others } = askedIn(row)
  const previous = replacedBy(row)
  return Object.entries<unknown>({ ...others, ...Object(limits) }).flatMap(([field, value]) => {
    const after = { field: legible(field), after: named(legibleIn(value), names) }
    if (payout !== null && ofPayout.has(field)) return []
    if (!(field in previous)) return value === null && !tellingWhenNull.has(field) ? [] : [after]
    const was = previous[field]
    return isDeepStrictEqual(was, value) ? [] : [{ ...after, before: named(legibleIn(was), names) }]
  })
}

/** The values that a request replaces. */
const replacedBy = ({ action, before }: ApprovalRow): Fields => {
  if (action === "exception.accept") return { account_id: before?.["account_id"], charge_id: before?.["charge_id"] }
  const isNew = action === "operator_token.create" || action.endsWith(".settle")
  return isNew ? {} : { ...before, ...Object(before?.["limits"]) }
}

/** What is asked, with what only its effect or its context says. */
const askedIn = ({ action, before, payout, request }: ApprovalRow): Fields => {
  if (action === "adjustment.create") return { reason: request["reason"] }
  if (action === "payout.approve") return { description: payout?.description ?? null }
  const context = contexts[action]?.map((name) => [name, before?.[name] ?? null])
  if (context !== undefined) return { ...Object.fromEntries(context), ...request }
  if (action !== "operator_token.create") return request
  // What the token may do is what its owner may.
  const { account_ids, active, role } = before ?? {}
  return { ...request, role, account_ids, active }
}

/** What tells a refund or an exception from others. A return has its order's id at the provider. */
const contexts: { readonly [action in ApprovalAction]?: ReadonlyArray<string> } = {
  "refund.settle": ["charge_id"],
  "exception.accept": ["kind", "payer", "end_to_end_id"],
  "exception.settle": ["kind", "payer", "end_to_end_id", "order_id"]
}

/** Ids with their names. */
const named = (value: unknown, names: ApprovalRow["names"]): unknown => {
  if (Array.isArray(value)) return value.map((each) => named(each, names))
  const name = typeof value === "string" ? names[value.toLowerCase()] : undefined
  return name === undefined ? value : { id: value, name: legible(name) }
}

/** The value with every text in it legible. */
const legibleIn = (value: unknown): unknown => {
  if (typeof value === "string") return legible(value)
  if (Array.isArray(value)) return value.map(legibleIn)
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [legible(name), legibleIn(field)]))
}
