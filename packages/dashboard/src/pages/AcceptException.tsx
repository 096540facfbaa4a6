/**
 * Accepts an exception: its money goes to a charge, or to an account alone (OPR-82).
 *
 * Guarantees:
 * - The question names the charge, the account, and its balance after it. The form can be sent only while it does, and sends the
 *   charge or the account that is shown.
 * - An id decides by itself. Of the charges with a whole reference, or else those that the search finds, and the accounts that it
 *   finds, a person chooses one where they are several.
 */
import type { OperatorAccount } from "@pix-payments/api/operator/Accounts"
import type { Approval } from "@pix-payments/api/operator/Approvals"
import type { OperatorCharge } from "@pix-payments/api/operator/Charges"
import type { AcquirerException } from "@pix-payments/api/operator/Exceptions"
import { legible } from "@pix-payments/domain/Text"
import { isUuid, shortIdOf } from "@pix-payments/domain/Uuid"
import { useSignal } from "@preact/signals"
import { useRef } from "preact/hooks"
import { call, type Outcome } from "../app/Client.ts"
import { useLoaded } from "../app/Loaded.ts"
import { WAIT_MS } from "../app/SearchBox.tsx"
import { centsOf, money } from "../format/Money.ts"
import { Action } from "../parts/Action.tsx"
import { Facts } from "../parts/Detail.tsx"
import { type Field, type Files, textIn, type Values } from "../parts/Form.tsx"
import { textOf } from "../parts/Problem.tsx"
import { words } from "../words/Words.ts"
import { approvalWords } from "./approvalWords.ts"
import { exceptionWords } from "./exceptionWords.ts"

interface Props {
  readonly exception: AcquirerException
  /** A person says the amount. */
  readonly isUnreadable: boolean
  readonly reason: Field
  readonly accept: (values: Values, files: Files, key: string) => Promise<Outcome<AcquirerException | Approval>>
  readonly onDone: () => void
}

/** A charge or an account that gets the money. */
interface Receiver {
  readonly kind: "charge" | "account"
  readonly id: string
}

interface Found extends Receiver {
  readonly title: string
}

const RECEIVER = "receiver"

export const AcceptException = ({ accept, exception, isUnreadable, onDone, reason }: Props) => {
  /** Undefined while the dialog is closed. */
  const values = useSignal<Values | undefined>(undefined)
  const chosen = useSignal<{ readonly of: string; readonly id: string } | undefined>(undefined)
  const { fields } = words()
  const text = exceptionWords()
  const isContradiction = exception.kind === "contradictory_outcome"
  const named = namedBy(exception)
  const isNamedAlone = isContradiction && named !== undefined

  const sought = (values.value && textIn(values.value, RECEIVER)) ?? ""
  const { found, problem: unfound } = useFound(sought, isContradiction)
  const one =
    found?.length === 1 ? found[0] : found?.find(({ id }) => chosen.value?.of === sought && chosen.value.id === id)
  const receiver = values.value === undefined ? undefined : sought === "" ? named : one
  const { problem, shown } = useShown(receiver)
  const cents = isUnreadable ? centsOf((values.value && textIn(values.value, "amount")) ?? "") : exception.unallocated
  const isComplete = shown !== undefined && !Number.isNaN(cents)
  // The dialog keeps the action that it opened with.
  const sent = useRef<Receiver | undefined>(undefined)
  sent.current = isComplete ? receiver : undefined

  const wrong = unfound ?? problem
  return (
    <Action
      label={text.accept}
      tone="first"
      question={
        <div class="sheet">
          <p>{isUnreadable ? text.askAcceptUnreadable : text.askAccept(money(cents))}</p>
          {wrong !== undefined && (
            <p>
              <span class="chip warn">{wrong}</span>
            </p>
          )}
          {sought !== "" && found !== undefined && found.length > 1 && (
            <fieldset>
              <legend>{found.length < SHOWN ? text.several(found.length) : text.first}</legend>
              {found.map(({ id, kind, title }) => (
                <label class="inline" key={id}>
                  <input
                    type="radio"
                    name="found"
                    checked={one?.id === id}
                    onChange={() => {
                      chosen.value = { of: sought, id }
                    }}
                  />
                  <span>
                    {text.kindOf[kind]} <bdi>{legible(title)}</bdi> <span class="id quiet">{shortIdOf(id)}</span>
                  </span>
                </label>
              ))}
            </fieldset>
          )}
          {shown !== undefined && (
            <Facts
              of={[
                [
                  fields.charge,
                  shown.charge && (
                    <>
                      <bdi>
                        {legible([money(shown.charge.amount), shown.charge.reference].filter(Boolean).join(" · "))}
                      </bdi>{" "}
                      <span class="id quiet">{shortIdOf(shown.charge.id)}</span>
                    </>
                  )
                ],
                [
                  fields.account,
                  <>
                    <bdi>{legible(shown.account.name)}</bdi> <span class="id quiet">{shortIdOf(shown.account.id)}</span>
                  </>
                ],
                [approvalWords().balanceAfter, isComplete && <b>{money(shown.account.balance.available + cents)}</b>]
              ]}
            />
          )}
        </div>
      }
      fields={[
        ...(isUnreadable ? [{ name: "amount", label: fields.amount, hint: text.amountHint }] : []),
        ...(isNamedAlone
          ? []
          : [
              {
                name: RECEIVER,
                label: isContradiction ? text.kindOf.account : text.receiver,
                hint: isContradiction
                  ? text.contradictedHint
                  : named === undefined
                    ? text.receiverHint
                    : `${text.receiverHint} ${text.receiverNamed}`,
                isOptional: named !== undefined
              }
            ]),
        reason
      ]}
      onValues={(written) => {
        values.value = written
      }}
      canSubmit={isComplete}
      run={async (written, files, key) => {
        const to = sent.current
        return ofField(await accept({ ...written, ...(to && { [`${to.kind}_id`]: to.id }) }, files, key))
      }}
      onDone={onDone}
    />
  )
}

/** What the server takes where nothing is chosen: the account of a payout or of what is contradicted, else the payment's charge. */
const namedBy = ({ account_id, charge_id, kind, payout_id }: AcquirerException): Receiver | undefined => {
  if (account_id !== null && (payout_id !== null || kind === "contradictory_outcome")) {
    return { kind: "account", id: account_id }
  }
  return charge_id === null || kind === "contradictory_outcome" ? undefined : { kind: "charge", id: charge_id }
}

/** A refused charge or account is what the one field says. */
const ofField = <A,>(outcome: Outcome<A>): Outcome<A> => {
  if (outcome._tag === "Done") return outcome
  const isReceiver = (each: string) => each === "charge_id" || each === "account_id"
  const details = outcome.problem.details.map((each) => (isReceiver(each) ? RECEIVER : each))
  return { _tag: "Failed", problem: { ...outcome.problem, details } }
}

/** What a text leads to; undefined while it is looked for, or where nothing is written. */
const useFound = (sought: string, isAccountsOnly: boolean) => {
  const { isLoading, problem, value } = useLoaded(sought, async (signal) => {
    if (sought !== "") await new Promise((resolve) => setTimeout(resolve, WAIT_MS))
    signal.throwIfAborted()
    const outcome = sought === "" ? NOTHING : await find(sought, signal)
    if (outcome._tag === "Failed") return outcome
    const found = isAccountsOnly ? outcome.value.filter(({ kind }) => kind === "account") : outcome.value
    return { _tag: "Done", value: { sought, found } } as const
  })
  if (sought === "") return {}
  if (value?.sought !== sought) return isLoading || problem === undefined ? {} : { problem: textOf(problem) }
  return { found: value.found, problem: value.found.length === 0 ? exceptionWords().noReceiver : undefined }
}

const NOTHING = { _tag: "Done", value: [] } as const

const find = async (sought: string, signal: AbortSignal): Promise<Outcome<ReadonlyArray<Found>>> => {
  if (isUuid(sought)) {
    const id = sought.toLowerCase()
    const charge = await call((api) => api.charges.retrieve({ params: { id }, query: {} }), signal)
    if (charge._tag === "Done") return { _tag: "Done", value: [{ kind: "charge", id, title: "" }] }
    if (charge.problem.code !== "NOT_FOUND") return charge
    const account = await call((api) => api.accounts.retrieve({ params: { id } }), signal)
    if (account._tag === "Done") return { _tag: "Done", value: [{ kind: "account", id, title: "" }] }
    if (account.problem.code !== "NOT_FOUND") return account
  }
  const named = await call((api) => api.charges.list({ query: { reference: sought, limit: SHOWN } }), signal)
  if (named._tag === "Failed" && named.problem.code !== "VALIDATION_ERROR") return named
  const results = await call((api) => api.search.find({ query: { q: sought } }), signal)
  if (results._tag === "Failed") return results
  const found = (of: Receiver["kind"]): ReadonlyArray<Found> =>
    results.value.data.flatMap(({ id, kind, title }) => (kind === of ? [{ kind: of, id, title }] : []))
  const charges = (named._tag === "Done" ? named.value.data : []).map(({ amount, customer, id }): Found => ({
    kind: "charge",
    id,
    title: [money(amount), customer?.name].filter(Boolean).join(" · ")
  }))
  return { _tag: "Done", value: [...(charges.length > 0 ? charges : found("charge")), ...found("account")] }
}

/** Of each kind, as the search finds. */
const SHOWN = 10

interface Shown {
  readonly id: string
  readonly charge: OperatorCharge | undefined
  readonly account: OperatorAccount
}

/** The charge and the account that get the money; undefined while they are read, and where they cannot be. */
const useShown = (
  receiver: Receiver | undefined
): { readonly shown?: Shown | undefined; readonly problem?: string | undefined } => {
  const { isLoading, problem, value } = useLoaded(receiver?.id ?? "", (signal) => read(receiver, signal))
  if (receiver === undefined) return {}
  if (value?.id === receiver.id) return { shown: value }
  return isLoading || problem === undefined ? {} : { problem: textOf(problem) }
}

const read = async (receiver: Receiver | undefined, signal: AbortSignal): Promise<Outcome<Shown | undefined>> => {
  if (receiver === undefined) return { _tag: "Done", value: undefined }
  const { id, kind } = receiver
  const charge =
    kind === "charge" ? await call((api) => api.charges.retrieve({ params: { id }, query: {} }), signal) : undefined
  if (charge?._tag === "Failed") return charge
  const accountId = charge?.value.account_id ?? id
  const account = await call((api) => api.accounts.retrieve({ params: { id: accountId } }), signal)
  return account._tag === "Failed"
    ? account
    : { _tag: "Done", value: { id, charge: charge?.value, account: account.value } }
}
