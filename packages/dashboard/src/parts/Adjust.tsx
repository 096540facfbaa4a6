/** The correction of an account's balance, which another operator approves where four eyes is on. */
import { call } from "../app/Client.ts"
import { centsOf } from "../format/Money.ts"
import { inBoth, words } from "../words/Words.ts"
import { Action } from "./Action.tsx"
import { refusal, textIn } from "./Form.tsx"

interface Props {
  readonly of: { readonly id: string; readonly name: string }
  readonly onDone: () => void
}

export const Adjust = ({ of: { id, name }, onDone }: Props) => {
  const text = adjustWords()
  const { fields } = words()
  return (
    <Action
      label={text.adjust}
      question={text.question(name)}
      fields={[
        {
          name: "direction",
          label: text.direction,
          kind: "choice",
          options: ["give", "take"],
          nameOf: (option) => (option === "give" ? text.give : text.take)
        },
        { name: "amount", label: fields.amount, hint: text.amountHint },
        { name: "reason", label: fields.reason, hint: words().form.reason }
      ]}
      run={async (values, _, key) => {
        const cents = centsOf(textIn(values, "amount") ?? "")
        if (!(cents > 0)) return refusal("amount")
        const amount = values["direction"] === "take" ? -cents : cents
        const payload = { account_id: id, amount, reason: textIn(values, "reason") ?? "" }
        return call((api) => api.adjustments.create({ headers: { "idempotency-key": key }, payload }))
      }}
      onDone={onDone}
    />
  )
}

const adjustWords = inBoth({
  en: {
    adjust: "Adjust",
    question: (name: string) =>
      `Money moves between the balance of ${name} and what the installation has earned in fees. It stays in the statement, with the reason.`,
    direction: "Direction",
    give: "to the account",
    take: "from the account",
    amountHint: "In reais, as 12,34."
  },
  pt: {
    adjust: "Ajustar",
    question: (name) =>
      `O dinheiro passa entre o saldo de ${name} e as tarifas que a instalação ganhou. Fica no extrato, com o motivo.`,
    direction: "Sentido",
    give: "para a conta",
    take: "da conta",
    amountHint: "Em reais, como 12,34."
  }
})
