/**
 * What a request for approval would do: in its row, in the question about it, and in that about several.
 *
 * Guarantee: a question has the destination, the account, each change, duplicates and the balance after it, on every screen; of
 * several requests also their sum, duplicates among them, and the balance after all of them.
 */
import type { Approval, ApprovalSummary } from "@pix-payments/api/operator/Approvals"
import { differenceOf } from "@pix-payments/api/operator/ApprovalChange"
import { selectionOf } from "@pix-payments/api/operator/ApprovalSelection"
import type { ExceptionKind } from "@pix-payments/domain/AcquirerException"
import { legible } from "@pix-payments/domain/Text"
import { shortIdOf } from "@pix-payments/domain/Uuid"
import { money } from "../format/Money.ts"
import { Destination } from "../parts/Destination.tsx"
import { Facts, ShortLink } from "../parts/Detail.tsx"
import { outcomeName } from "../parts/Settle.tsx"
import { words } from "../words/Words.ts"
import { approvalWords } from "./approvalWords.ts"
import { exceptionWords } from "./exceptionWords.ts"

export const actionName = ({ action, summary }: Approval): string =>
  (approvalWords().actionNames as Readonly<Record<string, string>>)[action] ?? summary.title

/** The amount, or what it does. */
export const headline = (approval: Approval): string =>
  approval.summary.amount === null ? actionName(approval) : money(approval.summary.amount)

/** Whose it is, in a row: the resource where it is not the account itself, then the account. */
export const SummaryLines = ({ of: approval }: { readonly of: Approval }) => {
  const { account, changes, destination, duplicates, resource, unverified_name: name } = approval.summary
  return (
    <>
      {destination !== null && (
        <div>
          <Destination of={destination} name={name} />
        </div>
      )}
      {resource !== null && resource.id !== account?.id && (
        <div>
          <Named of={resource} />
        </div>
      )}
      {account !== null && (
        <div class="quiet">
          {words().fields.account} <Named of={{ object: "account", ...account }} />
        </div>
      )}
      {changes.length > 0 && <ChangeList of={changes} />}
      <Duplicates of={duplicates} />
    </>
  )
}

/** All that one request would do. */
export const Sheet = ({ of: approval }: { readonly of: Approval }) => {
  const { fields } = words()
  const text = approvalWords()
  const { account, amount, balance_after, changes, destination, duplicates, fee, resource } = approval.summary
  return (
    <div class="sheet">
      <p>
        <b>{headline(approval)}</b>
        {amount !== null && <> · {actionName(approval)}</>}
      </p>
      <Facts
        of={[
          [text.destination, destination && <Destination of={destination} name={approval.summary.unverified_name} />],
          [text.resource, resource !== null && resource.id !== account?.id && <Named of={resource} />],
          [fields.account, account && <Named of={{ object: "account", ...account }} />],
          [fields.fee, fee !== null && fee > 0 && money(fee)],
          [text.changes, changes.length > 0 && <ChangeList of={changes} />],
          [text.duplicates, duplicates.length > 0 && <Duplicates of={duplicates} />],
          [text.balanceAfter, balance_after !== null && <Balance of={balance_after} />],
          [text.by, <Requester of={approval} key="by" />]
        ]}
      />
    </div>
  )
}

/** Who asked, and who made the token that it was asked with: the address stays, where a name may change. */
export const Requester = ({ of: { requested_by, token_made_by } }: { readonly of: Approval }) => (
  <>
    <Who of={requested_by} />
    {token_made_by !== null && (
      <>
        , {approvalWords().withTokenOf} <Who of={token_made_by} />
      </>
    )}
  </>
)

const Who = ({ of: { email, name } }: { readonly of: Approval["requested_by"] }) => (
  <>
    <bdi>{legible(name)}</bdi>
    {email !== null && <span class="quiet"> {email}</span>}
  </>
)

/** All that several requests would do together. */
export const SelectionSheet = ({ of: approvals }: { readonly of: ReadonlyArray<Approval> }) => {
  const text = approvalWords()
  const [first] = approvals
  if (approvals.length === 1 && first !== undefined) return <Sheet of={first} />
  const { balances, repeated, sent } = selectionOf(approvals)
  return (
    <div class="sheet">
      <p>
        <b>{text.requests(approvals.length)}</b>
        {sent !== null && (
          <>
            {" "}
            · {text.sum} <b>{money(sent)}</b>
          </>
        )}
      </p>
      {balances.length > 0 && (
        <Facts
          of={balances.map(({ after, id, name }) => [
            `${text.balanceAfter}: ${legible(name)} ${shortIdOf(id)}`,
            <Balance of={after} key={id} />
          ])}
        />
      )}
      <ul class="selection">
        {approvals.map((approval) => (
          <li key={approval.id}>
            <b>{headline(approval)}</b>
            {approval.summary.amount !== null && <span class="quiet"> · {actionName(approval)}</span>}
            <SummaryLines of={approval} />
            {repeated.has(approval.id) && <span class="chip warn">{text.twice}</span>}
            <div class="quiet">
              {text.by} <Requester of={approval} />
            </div>
          </li>
        ))}
      </ul>
    </div>
  )
}

/** The pages of resources. */
const pages: Readonly<Record<string, string>> = {
  account: "accounts",
  application: "applications",
  connection: "connections",
  exception: "exceptions",
  operator: "operators",
  payout: "payouts"
}

/** A resource by its name and its short id, because another one may have the same name. */
const Named = ({ of: { id, name, object } }: { readonly of: NonNullable<ApprovalSummary["resource"]> }) => {
  const to = pages[object]
  return (
    <>
      {name !== null && <bdi>{name}</bdi>}{" "}
      {to === undefined ? <span class="id">{shortIdOf(id)}</span> : <ShortLink id={id} to={to} />}
    </>
  )
}

const Balance = ({ of: cents }: { readonly of: number }) => <b class={cents < 0 ? "down" : undefined}>{money(cents)}</b>

const Duplicates = ({ of: duplicates }: { readonly of: ApprovalSummary["duplicates"] }) => {
  const text = approvalWords()
  return (
    <>
      {duplicates.map(({ id, object }) =>
        object === "payout" ? (
          <a class="chip warn" href={`/payouts/${id}`} key={id}>
            {text.duplicate}
          </a>
        ) : (
          <span class="chip warn" key={id}>
            {text.requestedTwice}
          </span>
        )
      )}
    </>
  )
}

/** Each field that is set; of one that is replaced also the value before it. */
const ChangeList = ({ of: changes }: { readonly of: ApprovalSummary["changes"] }) => (
  <ul class="changed">
    {changes.map((change) => (
      <Change of={change} key={change.field} />
    ))}
  </ul>
)

const Change = ({ of: { after, before, field } }: { readonly of: ApprovalSummary["changes"][number] }) => {
  const text = approvalWords()
  const part = differenceOf(before, after)
  return (
    <li>
      <span class="quiet">
        {fieldName(field)}
        {part !== undefined && ` (${text.inAll(part.count)})`}:
      </span>{" "}
      {before !== undefined && (
        <>
          {part !== undefined && <span class="quiet">{text.removed}</span>}{" "}
          <del>
            <bdi>{shown(field, part?.removed ?? before)}</bdi>
          </del>{" "}
          › {part !== undefined && <span class="quiet">{text.added}</span>}{" "}
        </>
      )}
      <b>
        <bdi>{shown(field, part?.added ?? after)}</bdi>
      </b>
    </li>
  )
}

const fieldName = (field: string): string =>
  (approvalWords().fieldNames as Readonly<Record<string, string>>)[field] ?? field.replaceAll("_", " ")

const cents: ReadonlySet<string> = new Set(["amount", "approval_limit", "payout_cents_per_day"])

const shown = (field: string, value: unknown): string => {
  const { cards } = words()
  const text = approvalWords()
  if (value === null || value === undefined) {
    return (text.absent as Readonly<Record<string, string>>)[field] ?? text.none
  }
  if (typeof value === "boolean") return value ? cards.yes : cards.no
  if (typeof value === "number" && cents.has(field)) return money(value)
  if (Array.isArray(value)) return value.length === 0 ? text.none : value.map((each) => shown(field, each)).join(", ")
  if (field === "outcome") return outcomeName(String(value))
  if (field === "kind") return exceptionWords().kinds[value as ExceptionKind] ?? String(value)
  if (typeof value !== "object") return String(value)
  if ("name" in value && "id" in value) return `${String(value.name)} (${shortIdOf(String(value.id))})`
  const parts = Object.entries(value).map(([name, part]) => `${fieldName(name)} ${shown(name, part)}`)
  return parts.length === 0 ? text.none : parts.join(", ")
}
