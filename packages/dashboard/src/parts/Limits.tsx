/** The limits of an account or an API key, and their change. */
import type { LimitChanges, Limits } from "@pix-payments/domain/Limits"
import type { Outcome } from "../app/Client.ts"
import { centsOf, money } from "../format/Money.ts"
import { inBoth } from "../words/Words.ts"
import { Action } from "./Action.tsx"
import { Facts } from "./Detail.tsx"
import { textIn, type Values } from "./Form.tsx"

/** The limits that are set. */
export const LimitFacts = ({ of: limits }: { readonly of: Limits }) => {
  const text = limitWords()
  const { payout_cents_per_day: cents, recipients } = limits
  if (Object.values(limits).every((limit) => limit === null)) return <p class="quiet pad">{text.none}</p>
  return (
    <Facts
      of={[
        ...counts.map((name) => [text[name], limits[name]?.toLocaleString("pt-BR")] as const),
        [text.payout_cents_per_day, cents !== null && money(cents)],
        [text.recipients, recipients !== null && recipients.map((key) => <div key={key}>{key}</div>)]
      ]}
    />
  )
}

/** Changes the limits that were written anew, so that it keeps others' changes. */
export const ChangeLimits = <A,>({
  change,
  of: limits,
  onDone,
  whose
}: {
  readonly of: Limits
  readonly whose: string
  readonly change: (changes: LimitChanges) => Promise<Outcome<A>>
  readonly onDone: () => void
}) => {
  const text = limitWords()
  const written = writtenOf(limits)
  return (
    <Action
      label={text.change}
      isSmall
      question={text.ask(whose)}
      fields={[
        ...counts.map((name) => ({ name, label: text[name], hint: text.countHint })),
        { name: "payout_cents_per_day" as const, label: text.payout_cents_per_day, hint: text.centsHint },
        { name: "recipients" as const, label: text.recipients, hint: text.recipientsHint, kind: "long" as const }
      ].map(({ name, ...field }) => ({ ...field, name: `limits.${name}`, initial: written[name], isOptional: true }))}
      run={(values) => change(changesIn(values, written))}
      onDone={onDone}
    />
  )
}

const counts = ["requests_per_minute", "payouts_per_hour", "payouts_per_day"] as const

/** As people write them; absent where there is none. */
const writtenOf = (limits: Limits): Readonly<Partial<Record<keyof Limits, string>>> => ({
  ...Object.fromEntries(counts.flatMap((name) => (limits[name] === null ? [] : [[name, String(limits[name])]]))),
  ...(limits.payout_cents_per_day !== null && { payout_cents_per_day: money(limits.payout_cents_per_day) }),
  ...(limits.recipients !== null && { recipients: limits.recipients.join("\n") })
})

const changesIn = (values: Values, before: ReturnType<typeof writtenOf>): LimitChanges => {
  const changed = (name: keyof Limits) => textIn(values, `limits.${name}`) !== before[name]
  const read = <A,>(name: keyof Limits, of: (text: string) => A) => {
    const text = textIn(values, `limits.${name}`)
    return changed(name) ? { [name]: text === undefined ? null : of(text) } : {}
  }
  return {
    ...Object.assign({}, ...counts.map((name) => read(name, Number))),
    ...read("payout_cents_per_day", centsOf),
    ...read("recipients", (text) => text.split(/[\s,;]+/).filter((key) => key !== ""))
  }
}

const limitWords = inBoth({
  en: {
    title: "Limits",
    none: "None.",
    change: "Limits",
    ask: (whose: string) =>
      `The limits of ${whose} hold from the next request on. With four eyes, a second operator approves a higher one.`,
    requests_per_minute: "Requests a minute",
    payouts_per_hour: "Payouts an hour",
    payouts_per_day: "Payouts a day",
    payout_cents_per_day: "Payouts a day, in reais",
    recipients: "Recipients",
    countHint: "A whole number. Empty: no limit.",
    centsHint: "In reais, as 1.000,00. Empty: no limit.",
    recipientsHint: "Pix keys, one a line. Payouts go to no other. Empty: to any."
  },
  pt: {
    title: "Limites",
    none: "Nenhum.",
    change: "Limites",
    ask: (whose) =>
      `Os limites de ${whose} valem a partir da próxima requisição. Com dupla aprovação, um segundo operador aprova um maior.`,
    requests_per_minute: "Requisições por minuto",
    payouts_per_hour: "Pagamentos por hora",
    payouts_per_day: "Pagamentos por dia",
    payout_cents_per_day: "Pagamentos por dia, em reais",
    recipients: "Destinatários",
    countHint: "Um número inteiro. Vazio: sem limite.",
    centsHint: "Em reais, como 1.000,00. Vazio: sem limite.",
    recipientsHint: "Chaves Pix, uma por linha. Pagamentos só vão para elas. Vazio: para qualquer uma."
  }
})

export const limitsTitle = (): string => limitWords().title
