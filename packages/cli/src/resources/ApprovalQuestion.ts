/** The question before requests are approved: what each of them would do, and all together. OPR-240. */
import type { Approval } from "@pix-payments/api/operator/Approvals"
import { differenceOf } from "@pix-payments/api/operator/ApprovalChange"
import { selectionOf } from "@pix-payments/api/operator/ApprovalSelection"
import type { OperatorRecipient } from "@pix-payments/api/operator/Recipient"
import { amountOf, reais } from "../Money.ts"
import { printable } from "../Terminal.ts"

export const approvalQuestion = (approvals: ReadonlyArray<Approval>): string => {
  const [first] = approvals
  if (first !== undefined && approvals.length === 1) {
    return [`Approve: ${printable(first.summary.title)}`, ...linesOf(first).map(indented), "Approve it?"].join("\n")
  }
  const { balances, repeated, sent } = selectionOf(approvals)
  return [
    `Approve ${approvals.length} requests${sent === null ? "" : `, which send ${amountOf(sent)} in all`}`,
    ...approvals.flatMap((approval, index) => [
      `${index + 1}. ${printable(approval.summary.title)}`,
      ...linesOf(approval, balances.length > 0).map(indented),
      ...(repeated.has(approval.id) ? ["  repeats: another one of these"] : [])
    ]),
    ...balances.map((account) => `balance after all, ${named(account)}: ${reais(account.after)}`),
    `Approve all ${approvals.length}?`
  ].join("\n")
}

const indented = (line: string): string => `  ${line}`

/** What a request would do, a line for each part. The balance after several is that after all. */
const linesOf = ({ requested_by, summary, token_made_by }: Approval, isOneOfSeveral = false): ReadonlyArray<string> => {
  const { account, amount, balance_after, changes, destination, duplicates, fee, resource } = summary
  const isOther = resource !== null && resource.id !== account?.id
  return [
    ...(amount === null ? [] : [`amount: ${amountOf(amount)}`]),
    ...(fee === null || fee === 0 ? [] : [`fee: ${reais(fee)}`]),
    ...(destination === null ? [] : [`to: ${destinationOf(destination, summary.unverified_name)}`]),
    ...(isOther ? [`${resource.object}: ${named(resource)}`] : []),
    ...(account === null ? [] : [`account: ${named(account)}`]),
    ...changes.map(({ after, before, field }) => {
      const part = differenceOf(before, after)
      if (part !== undefined) {
        const [less, more] = [part.removed, part.added].map((values) => shownValue(field, values))
        return `${printable(field)}, ${part.count} in all: removed ${less}; added ${more}`
      }
      const from = before === undefined ? "" : `${shownValue(field, before)} → `
      return `${printable(field)}: ${from}${shownValue(field, after)}`
    }),
    ...duplicates.map(({ id, object }) => `repeats: ${object} ${id}`),
    ...(balance_after === null || isOneOfSeveral ? [] : [`balance after: ${reais(balance_after)}`]),
    `requested by: ${who(requested_by)}${token_made_by === null ? "" : `, with a token of ${who(token_made_by)}`}`
  ]
}

/** The Pix key or bank account, and beside it the name that the caller wrote. */
export const destinationOf = (
  { account, account_type: type, bank, branch, document, pix_key: key }: Omit<OperatorRecipient, "name">,
  name: string | null
): string => {
  const to = [
    key ?? `bank ${bank}, branch ${branch}, ${type === null ? "" : `${type} `}account ${account}`,
    document ?? []
  ]
    .flat()
    .join(", ")
  // Within quotation marks, a name ends where it seems to.
  return `${printable(to)}${name === null ? "" : ` (name not verified: "${printable(name.replaceAll('"', "'"))}")`}`
}

/** The address stays, where a name may change. */
const who = ({ email, name }: Approval["requested_by"]): string =>
  `${printable(name)}${email === null ? "" : ` <${printable(email)}>`}`

const named = ({ id, name }: { readonly id: string; readonly name: string | null }): string =>
  name === null ? id : `${printable(name)} (${id})`

/** The word for null, where it says more than that there is none. */
const absent: Readonly<Record<string, string>> = {
  account_ids: "all accounts",
  approval_limit: "no limit",
  connection_id: "the default one",
  expires_at: "never",
  recipients: "any"
}

const centFields: ReadonlySet<string> = new Set(["amount", "approval_limit", "payout_cents_per_day"])

const shownValue = (field: string, value: unknown): string => {
  if (value === null || value === undefined) return absent[field] ?? "none"
  if (typeof value === "number" && centFields.has(field)) return reais(value)
  if (Array.isArray(value)) return value.length === 0 ? "none" : value.map((each) => shownValue(field, each)).join(", ")
  if (typeof value === "object" && "name" in value && "id" in value)
    return `${printable(String(value.name))} (${value.id})`
  return printable(typeof value === "string" ? value : JSON.stringify(value))
}
