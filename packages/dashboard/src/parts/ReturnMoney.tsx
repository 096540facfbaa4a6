/**
 * Returns money to its payer: of a charge, or what an account accepted (OPR-71, OPR-231).
 *
 * Guarantee: the question and its button have the amount that is typed; without one, the question has all that is left.
 */
import { useSignal } from "@preact/signals"
import type { Outcome } from "../app/Client.ts"
import { may } from "../app/Session.ts"
import { centsOf, money } from "../format/Money.ts"
import { inBoth, words } from "../words/Words.ts"
import { Action } from "./Action.tsx"
import { type Field, textIn } from "./Form.tsx"

interface Refunded {
  /** Cents; absent: all that is left. */
  readonly amount?: number
  readonly description?: string
}

interface Props<A> {
  /** All that is left, in words or figures. */
  readonly left: string
  readonly payer: string | null | undefined
  /** Whether the payer gets a description. */
  readonly isDescribed?: boolean
  readonly refund: (refunded: Refunded, key: string) => Promise<Outcome<A>>
  readonly onDone: () => void
}

export const ReturnMoney = <A,>({ isDescribed = false, left, onDone, payer, refund }: Props<A>) => {
  const typed = useSignal<number | undefined>(undefined)
  if (!may("operator")) return null
  const { actions, fields, form } = words()
  const text = returnWords()
  const amountField: Field = { name: "amount", label: fields.amount, hint: form.refund, isOptional: true }
  const descriptionField: Field = {
    name: "description",
    label: fields.description,
    hint: form.refundDescription,
    isOptional: true
  }
  return (
    <Action
      label={actions.refund}
      tone="bad"
      confirm={typed.value === undefined ? actions.refund : `${actions.refund} ${money(typed.value)}`}
      question={text.ask(typed.value === undefined ? left : money(typed.value), payer ?? text.payer)}
      fields={[amountField, ...(isDescribed ? [descriptionField] : [])]}
      onValues={(values) => {
        const cents = centsOf(textIn(values ?? {}, "amount") ?? "")
        typed.value = Number.isNaN(cents) ? undefined : cents
      }}
      run={(values, _files, key) => {
        const amount = textIn(values, "amount")
        const description = textIn(values, "description")
        return refund(
          {
            ...(amount !== undefined && { amount: centsOf(amount) }),
            ...(description !== undefined && { description })
          },
          key
        )
      }}
      onDone={onDone}
    />
  )
}

export const returnWords = inBoth({
  en: {
    ask: (amount: string, payer: string) => `Leaves the balance and returns to ${payer}: ${amount}.`,
    left: (amount: string) => `what the account has of ${amount}`,
    payer: "the payer"
  },
  pt: {
    ask: (amount, payer) => `Sai do saldo e volta para ${payer}: ${amount}.`,
    left: (amount) => `o que a conta tem de ${amount}`,
    payer: "quem pagou"
  }
})
