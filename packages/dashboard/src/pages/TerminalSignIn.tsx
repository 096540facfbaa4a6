/**
 * Signs in the command line: `pix login --browser` opens this page, and its operator confirms.
 *
 * Guarantees: nothing is created before the confirmation. The browser takes a code to a port of this machine only, and no
 * token. The code is of use to the command that has its verifier, once.
 */
import { shortCodeOf } from "@pix-payments/api/operator/Sessions"
import { legible } from "@pix-payments/domain/Text"
import { useSignal } from "@preact/signals"
import { call, type Problem as Failed } from "../app/Client.ts"
import { query } from "../app/Router.ts"
import { session } from "../app/Session.ts"
import { Problem } from "../parts/Problem.tsx"
import { inBoth } from "../words/Words.ts"

const text = inBoth({
  en: {
    title: "Sign in pix",
    ask: (machine: string, operator: string) =>
      `The command line on ${machine} gets a personal token of ${operator}. It ends after 90 days, and can be revoked before.`,
    careful: (code: string) => `Confirm only if the terminal shows this code: ${code}`,
    confirm: "Sign in",
    refuse: "Refuse",
    done: "The command line is signed in. You can close this page.",
    refused: "The command line was not signed in. You can close this page.",
    failed: "The command line could not sign in. It says why.",
    unknown: "Run pix login --browser: it opens this page with what it needs.",
    installation: "The installation's token has no personal tokens. Sign in here as an operator first."
  },
  pt: {
    title: "Entrar no pix",
    ask: (machine: string, operator: string) =>
      `A linha de comando em ${machine} recebe um token pessoal de ${operator}. Ele vale 90 dias e pode ser revogado antes.`,
    careful: (code: string) => `Confirme só se o terminal mostra este código: ${code}`,
    confirm: "Entrar",
    refuse: "Recusar",
    done: "A linha de comando entrou. Você pode fechar esta página.",
    refused: "A linha de comando não entrou. Você pode fechar esta página.",
    failed: "A linha de comando não conseguiu entrar. Ela diz por quê.",
    unknown: "Execute pix login --browser: o comando abre esta página com o que ela precisa.",
    installation: "O token da instalação não tem tokens pessoais. Entre aqui primeiro como operador."
  }
})

interface Asked {
  readonly port: number
  readonly challenge: string
  readonly state: string
  readonly machine: string
}

/** What the command asks for; `undefined` for another address. */
const askedBy = (parameters: URLSearchParams): Asked | undefined => {
  const port = Number(parameters.get("port"))
  const [challenge = "", state = ""] = [parameters.get("challenge") ?? "", parameters.get("state") ?? ""]
  const isWhole = [challenge, state].every((each) => /^[\w-]{43}$/.test(each))
  if (!isWhole || !Number.isInteger(port) || port < 1 || port > 65_535) return undefined
  return { port, challenge, state, machine: (parameters.get("name") ?? "").slice(0, 100) || "127.0.0.1" }
}

/** Takes the browser to the command, without an entry in the history. */
const takeTo = ({ port, state }: Asked, result: Readonly<Record<string, string>>): void => {
  const parameters = new URLSearchParams({ ...result, state })
  globalThis.location.replace(`http://127.0.0.1:${port}/?${parameters.toString()}`)
}

export const TerminalSignIn = () => {
  const { ask, careful, confirm, done, failed, installation, refuse, refused, title, unknown } = text()
  const outcomes: Readonly<Record<string, string>> = { done, refused, failed }
  const operator = session.state.value?.operator
  const outcome = outcomes[query.value.get("outcome") ?? ""]
  const asked = askedBy(query.value)
  return (
    <>
      <div class="head">
        <h1>{title}</h1>
      </div>
      <section class="card pad stack">
        {outcome !== undefined ? (
          <p role="status">{outcome}</p>
        ) : asked === undefined || operator === undefined ? (
          <p>{unknown}</p>
        ) : operator.id === null ? (
          <p>{installation}</p>
        ) : (
          <Confirmation
            asked={asked}
            question={ask(legible(asked.machine), legible(operator.name))}
            careful={careful(shortCodeOf(asked.challenge))}
            labels={{ confirm, refuse }}
          />
        )}
      </section>
    </>
  )
}

const Confirmation = ({
  asked,
  careful,
  labels,
  question
}: {
  readonly asked: Asked
  readonly question: string
  readonly careful: string
  readonly labels: { readonly confirm: string; readonly refuse: string }
}) => {
  const problem = useSignal<Failed | undefined>(undefined)
  const isBusy = useSignal(false)
  const onConfirm = async () => {
    isBusy.value = true
    const outcome = await call((api) =>
      api.session.code({ payload: { challenge: asked.challenge, name: `pix on ${asked.machine}` } })
    )
    if (outcome._tag === "Done") return takeTo(asked, { code: outcome.value.code })
    isBusy.value = false
    problem.value = outcome.problem
  }
  return (
    <>
      {problem.value !== undefined && <Problem problem={problem.value} />}
      <p>{question}</p>
      <p>
        <b>{careful}</b>
      </p>
      <div class="head">
        <button type="button" class="first" disabled={isBusy.value} onClick={() => void onConfirm()}>
          {labels.confirm}
        </button>
        <button type="button" onClick={() => takeTo(asked, { error: "access_denied" })}>
          {labels.refuse}
        </button>
      </div>
    </>
  )
}
