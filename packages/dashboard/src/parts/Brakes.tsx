/** The brakes of the installation, of a connection or of an account: their state, and the buttons that stop and release. */
import type { Outcome } from "../app/Client.ts"
import { may } from "../app/Session.ts"
import { inBoth } from "../words/Words.ts"
import { Action } from "./Action.tsx"
import { Card } from "./Detail.tsx"
import { State } from "./State.tsx"

interface Stopped {
  readonly payouts_paused: boolean
  readonly charges_paused: boolean
}

export const Brakes = <A,>({
  change,
  of,
  onDone,
  whose
}: {
  readonly of: Stopped
  /** Whose money stops, in the question. */
  readonly whose: string
  readonly change: (brakes: Partial<Stopped>) => Promise<Outcome<A>>
  readonly onDone: () => void
}) => {
  const text = brakeWords()
  const brakes = [
    ["payouts_paused", text.payouts, of.payouts_paused],
    ["charges_paused", text.charges, of.charges_paused]
  ] as const
  return (
    <Card title={text.title}>
      <dl>
        {brakes.map(([name, { ask, askRelease, label, release, stop }, isOn]) => (
          <div class="brake" key={name}>
            <dt>{label}</dt>
            <dd>
              <State of={isOn ? "paused" : "active"} />
              {may("admin") && (
                <Action
                  label={isOn ? release : stop}
                  isSmall
                  tone={isOn ? undefined : "bad"}
                  question={isOn ? askRelease : ask(whose)}
                  run={() => change({ [name]: !isOn })}
                  onDone={onDone}
                />
              )}
            </dd>
          </div>
        ))}
      </dl>
    </Card>
  )
}

const brakeWords = inBoth({
  en: {
    title: "Brakes",
    payouts: {
      label: "Payouts",
      stop: "Stop payouts",
      release: "Release payouts",
      ask: (whose: string) =>
        `From now on no payout of ${whose} is sent. Payouts are still accepted and approved, and wait. Those that the acquirer has are followed to their end.`,
      askRelease: "Every payout that waits is sent."
    },
    charges: {
      label: "Charges",
      stop: "Stop charges",
      release: "Release charges",
      ask: (whose: string) =>
        `From now on no charge of ${whose} can be created: requests are refused. Charges that exist can still be paid.`,
      askRelease: "Charges can be created again."
    }
  },
  pt: {
    title: "Freios",
    payouts: {
      label: "Pagamentos",
      stop: "Parar pagamentos",
      release: "Liberar pagamentos",
      ask: (whose: string) =>
        `A partir de agora nenhum pagamento de ${whose} é enviado. Pagamentos continuam aceitos e aprovados, e esperam. Os que já estão no banco são acompanhados até o fim.`,
      askRelease: "Todos os pagamentos que esperam são enviados."
    },
    charges: {
      label: "Cobranças",
      stop: "Parar cobranças",
      release: "Liberar cobranças",
      ask: (whose: string) =>
        `A partir de agora nenhuma cobrança de ${whose} pode ser criada: as requisições são recusadas. Cobranças existentes ainda podem ser pagas.`,
      askRelease: "Cobranças podem ser criadas de novo."
    }
  }
})
