/** The bank account that the statements of an account or a connection are of: how a page shows it, and its fields in a form. */
import type { StatementAccount } from "@pix-payments/api/operator/Fields"
import { inBoth } from "../words/Words.ts"
import { type Field, textIn, type Values } from "./Form.tsx"

/** The name and the value of the fact. */
export const statementAccountFact = (of: StatementAccount | null): readonly [string, string | null] => [
  accountWords().ofx,
  of && [of.bank, of.branch, of.number].filter(Boolean).join(" / ")
]

export const statementAccountFields = (of: StatementAccount | null): ReadonlyArray<Field> => {
  const text = accountWords()
  return [
    { name: "statement_account.bank", label: text.bank, hint: text.bankHint, initial: of?.bank, isOptional: true },
    { name: "statement_account.branch", label: text.branch, hint: text.digits, initial: of?.branch, isOptional: true },
    { name: "statement_account.number", label: text.number, hint: text.digits, initial: of?.number, isOptional: true }
  ]
}

/** The field of a request, where the form changed it. Without a number there is none. */
export const statementAccountIn = (
  values: Values,
  of: StatementAccount | null
): { readonly statement_account?: StatementAccount | null } => {
  const number = textIn(values, "statement_account.number")
  const account =
    number === undefined
      ? null
      : {
          bank: textIn(values, "statement_account.bank") ?? "",
          branch: textIn(values, "statement_account.branch") ?? "",
          number
        }
  return isSame(account, of) ? {} : { statement_account: account }
}

const isSame = (one: StatementAccount | null, other: StatementAccount | null): boolean =>
  one?.bank === other?.bank && one?.branch === other?.branch && one?.number === other?.number

const accountWords = inBoth({
  en: {
    ofx: "In OFX",
    bank: "Bank in OFX",
    bankHint: "The three digits of its code. A program finds the account by bank, branch and number.",
    branch: "Branch in OFX",
    number: "Number in OFX",
    digits: "Up to 22 digits, X and hyphens."
  },
  pt: {
    ofx: "No OFX",
    bank: "Banco no OFX",
    bankHint: "Os três dígitos do código. Um programa acha a conta por banco, agência e número.",
    branch: "Agência no OFX",
    number: "Número no OFX",
    digits: "Até 22 dígitos, X e hífens."
  }
})
