/**
 * Settles by hand an order whose outcome the bank does not say: a payout, a refund, or the return of an exception (OPR-215).
 *
 * It is offered a day after the order. The server decides by the first request, and asks another operator.
 */
import type { Approval } from "@pix-payments/api/operator/Approvals"
import type { ProviderOutcome } from "@pix-payments/domain/AcquirerException"
import type { Outcome } from "../app/Client.ts"
import { may } from "../app/Session.ts"
import { money } from "../format/Money.ts"
import { inBoth } from "../words/Words.ts"
import { Action } from "./Action.tsx"
import { textIn } from "./Form.tsx"
import { now } from "./Time.tsx"

interface Settled {
  readonly outcome: ProviderOutcome
  /** The end-to-end id of a payout, or the id of a return. */
  readonly id: string | null
  readonly reason: string
}

interface Props<A> {
  readonly amount: number
  /** When it was ordered, as far as the page knows. */
  readonly since: string | null
  readonly of: "payout" | "return"
  readonly isSmall?: boolean
  readonly settle: (settled: Settled, key: string) => Promise<Outcome<A | Approval>>
  readonly onDone: () => void
}

export const Settle = <A,>({ amount, isSmall = false, of, onDone, settle, since }: Props<A>) => {
  if (!may("operator") || since === null || now.value < Date.parse(since) + DAY_MS) return null
  const text = settleWords()
  return (
    <Action
      label={text.settle}
      tone="bad"
      isSmall={isSmall}
      question={text.ask(money(amount))}
      fields={[
        {
          name: "outcome",
          label: text.outcome,
          kind: "choice",
          options: ["failed", "completed"] satisfies ReadonlyArray<ProviderOutcome>,
          nameOf: outcomeName
        },
        of === "payout"
          ? { name: "end_to_end_id", label: text.endToEndId, hint: text.idHint, isOptional: true }
          : { name: "return_id", label: text.returnId, hint: text.idHint, isOptional: true },
        { name: "reason", label: text.reason, hint: text.reasonHint, kind: "long" }
      ]}
      run={(values, _files, key) =>
        settle(
          {
            outcome: textIn(values, "outcome") === "completed" ? "completed" : "failed",
            id: textIn(values, of === "payout" ? "end_to_end_id" : "return_id") ?? null,
            reason: textIn(values, "reason") ?? ""
          },
          key
        )
      }
      onDone={onDone}
    />
  )
}

/** The word of an outcome that the bank, or an operator, says. */
export const outcomeName = (outcome: string): string =>
  (settleWords().outcomes as Readonly<Record<string, string>>)[outcome] ?? outcome

const DAY_MS = 24 * 3_600_000

export const settleWords = inBoth({
  en: {
    settle: "Settle by hand",
    ask: (amount: string) =>
      `The bank has said nothing definite of ${amount} for a day. Settle it as the bank did it: look at its statement first. With four eyes, another operator decides.`,
    outcome: "What the bank did",
    outcomes: { completed: "it was sent", failed: "it was not sent" },
    endToEndId: "End-to-end id",
    returnId: "Id of the return",
    idHint: "As the bank shows it. Needed where it was sent.",
    reason: "Reason",
    reasonHint: "Up to 300 characters. It is kept in the audit log.",
    says: "The bank says"
  },
  pt: {
    settle: "Encerrar manualmente",
    ask: (amount) =>
      `Há um dia o banco não diz nada definitivo sobre ${amount}. Encerre como o banco fez: confira o extrato antes. Com quatro olhos, outro operador decide.`,
    outcome: "O que o banco fez",
    outcomes: { completed: "foi enviado", failed: "não foi enviado" },
    endToEndId: "Id fim a fim",
    returnId: "Id da devolução",
    idHint: "Como o banco mostra. Necessário se foi enviado.",
    reason: "Motivo",
    reasonHint: "Até 300 caracteres. Fica registrado na auditoria.",
    says: "O banco diz"
  }
})
