/**
 * Accepts an exception: its money goes to a charge, or to an account alone (OPR-82).
 *
 * Guarantees:
 * - A charge is found by what the search understands. Text that leads to none or to several is refused.
 * - The question names the charge, the account, and its balance after it.
 */
import type { OperatorAccount } from "@pix-payments/api/operator/Accounts"
import type { Approval } from "@pix-payments/api/operator/Approvals"
import type { AcquirerException } from "@pix-payments/api/operator/Exceptions"
import { legible } from "@pix-payments/domain/Text"
import { shortIdOf } from "@pix-payments/domain/Uuid"
import { useSignal } from "@preact/signals"
import type { ComponentChildren } from "preact"
import { useRef } from "preact/hooks"
import { call, type Outcome } from "../app/Client.ts"
import { useLoaded } from "../app/Loaded.ts"
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

export const AcceptException = ({ accept, exception, isUnreadable, onDone, reason }: Props) => {
  const values = useSignal<Values>({})
  const sought = textIn(values.value, "charge_id") ?? ""
  const { charges, problem } = useCharges(sought)
  const [charge] = charges?.length === 1 ? charges : []
  // The dialog keeps the action that it opened with.
  const chargeId = useRef<string | undefined>(undefined)
  chargeId.current = charge?.id
  const { fields } = words()
  const text = exceptionWords()
  const cents = isUnreadable ? centsOf(textIn(values.value, "amount") ?? "") : exception.unallocated
  return (
    <Action
      label={text.accept}
      tone="first"
      question={
        <div class="sheet">
          <p>{isUnreadable ? text.askAcceptUnreadable : text.askAccept(money(cents))}</p>
          <Receiver
            charge={charge === undefined ? problem && <span class="chip warn">{problem}</span> : legible(charge.title)}
            accountId={
              textIn(values.value, "account_id") ?? charge?.account_id ?? (sought === "" ? ofItself(exception) : null)
            }
            cents={cents}
          />
        </div>
      }
      fields={[
        ...(isUnreadable ? [{ name: "amount", label: fields.amount, hint: text.amountHint }] : []),
        {
          name: "charge_id",
          label: text.charge,
          hint: text.chargeHint,
          initial: exception.charge_id ?? undefined,
          isOptional: true
        },
        { name: "account_id", label: text.account, hint: text.accountHint, kind: "account", isOptional: true },
        reason
      ]}
      onValues={(written) => {
        values.value = written ?? {}
      }}
      canSubmit={charges !== undefined}
      run={(written, files, key) =>
        accept(chargeId.current === undefined ? written : { ...written, charge_id: chargeId.current }, files, key)
      }
      onDone={onDone}
    />
  )
}

/** The charges that a text leads to, undefined while they are looked for, and why it is not one. */
const useCharges = (sought: string) => {
  const { value } = useLoaded(sought, async (signal) => {
    const outcome = sought === "" ? undefined : await call((api) => api.search.find({ query: { q: sought } }), signal)
    const found = outcome?._tag === "Done" ? outcome.value.data : []
    const problem = outcome?._tag === "Failed" ? textOf(outcome.problem) : undefined
    return { _tag: "Done", value: { sought, charges: found.filter(({ kind }) => kind === "charge"), problem } } as const
  })
  if (value?.sought !== sought) return { charges: undefined, problem: undefined }
  const { charges, problem = exceptionWords().notOne(charges.length) } = value
  return { charges, problem: sought === "" ? undefined : problem }
}

/** What came back of a payout, and what contradicts an order, is of its account. */
const ofItself = ({ account_id, kind, payout_id }: AcquirerException): string | null =>
  payout_id !== null || kind === "contradictory_outcome" ? account_id : null

const Receiver = ({
  accountId,
  cents,
  charge
}: {
  readonly charge: ComponentChildren
  readonly accountId: string | null
  readonly cents: number
}) => {
  const { fields } = words()
  const { value } = useLoaded(accountId ?? "", async (signal): Promise<Outcome<OperatorAccount | undefined>> =>
    accountId === null
      ? { _tag: "Done", value: undefined }
      : call((api) => api.accounts.retrieve({ params: { id: accountId } }), signal)
  )
  const account = value?.id === accountId ? value : undefined
  return (
    <Facts
      of={[
        [fields.charge, charge && <bdi>{charge}</bdi>],
        [
          fields.account,
          account && (
            <>
              <bdi>{legible(account.name)}</bdi> <span class="id quiet">{shortIdOf(account.id)}</span>
            </>
          )
        ],
        [
          approvalWords().balanceAfter,
          account && !Number.isNaN(cents) && <b>{money(account.balance.available + cents)}</b>
        ]
      ]}
    />
  )
}
