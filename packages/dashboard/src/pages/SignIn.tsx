/**
 * The sign-in: with a token, or at the identity provider. It says why a link or the provider did not sign in, and asks before a
 * link replaces a session.
 */
import { legible } from "@pix-payments/domain/Text"
import { useSignal } from "@preact/signals"
import { hasSingleSignOn, session } from "../app/Session.ts"
import { inBoth, words } from "../words/Words.ts"

const textOf = ({ by, code }: { readonly by: "link" | "provider"; readonly code: string }): string => {
  const { limited, linkRefused, providerRefused, providerUnavailable } = words().signIn
  if (code === "RATE_LIMITED") return limited
  if (code === "NETWORK") return words().problem.network
  if (by === "link") return linkRefused
  return code === "SERVICE_UNAVAILABLE" ? providerUnavailable : providerRefused
}

export const SignIn = () => {
  const problem = useSignal<string | undefined>(undefined)
  const isBusy = useSignal(false)

  const submit = async (event: SubmitEvent) => {
    event.preventDefault()
    const form = event.currentTarget as HTMLFormElement
    const token = String(new FormData(form).get("token") ?? "").trim()
    isBusy.value = true
    const failed = await session.signIn(token)
    isBusy.value = false
    if (failed === undefined) return
    const { limited, refused } = words().signIn
    problem.value =
      failed.code === "RATE_LIMITED" ? limited : failed.code === "NETWORK" ? words().problem.network : refused
  }

  return (
    <main class="sign-in">
      <form class="card" onSubmit={submit}>
        <h1>{words().signIn.title}</h1>
        {session.refusal.value !== undefined && (
          <p class="wrong" role="alert">
            {textOf(session.refusal.value)}
          </p>
        )}
        {hasSingleSignOn && (
          // With a target, the page does not follow it itself.
          <a class="button first" href="/operator/v1/session/oidc" target="_self" onClick={session.keepPage}>
            {words().signIn.provider}
          </a>
        )}
        <label>
          {words().signIn.token}
          <input
            name="token"
            type="password"
            autocomplete="current-password"
            required
            autofocus
            aria-invalid={problem.value !== undefined}
            aria-describedby="token-hint"
          />
        </label>
        <p id="token-hint" class={problem.value === undefined ? "quiet" : "wrong"} role="status">
          {problem.value ?? words().signIn.hint}
        </p>
        <button type="submit" class="first" disabled={isBusy.value}>
          {words().signIn.submit}
        </button>
      </form>
    </main>
  )
}

/** A link came while somebody is signed in: as whom the page goes on is their choice, not that of who sent the link. */
export const LinkQuestion = () => {
  const name = session.state.value?.operator.name
  const { ask, keep, stay, title, unsure, use } = linkWords()
  return (
    <main class="sign-in">
      <section class="card" role="alertdialog" aria-labelledby="link-title" aria-describedby="link-question">
        <h1 id="link-title">{title}</h1>
        <p id="link-question">{name === undefined ? unsure : ask(legible(name))}</p>
        <button type="button" class="first" autofocus onClick={() => void session.answerLink(false)}>
          {name === undefined ? stay : keep(legible(name))}
        </button>
        <button type="button" onClick={() => void session.answerLink(true)}>
          {use}
        </button>
      </section>
    </main>
  )
}

const linkWords = inBoth({
  en: {
    title: "Sign in by the link?",
    ask: (name: string) =>
      `You are signed in as ${name}. The link that you opened signs in as whoever made it, and ends this session.`,
    keep: (name: string) => `Stay ${name}`,
    unsure:
      "You may be signed in already: the service does not answer. The link that you opened signs in as its maker, and ends a session.",
    stay: "Do not use the link",
    use: "Sign in by the link"
  },
  pt: {
    title: "Entrar pelo link?",
    ask: (name: string) =>
      `Você entrou como ${name}. O link que você abriu entra como quem o criou e encerra esta sessão.`,
    keep: (name: string) => `Continuar como ${name}`,
    unsure:
      "Talvez você já tenha entrado: o serviço não responde. O link que você abriu entra como quem o criou e encerra uma sessão.",
    stay: "Não usar o link",
    use: "Entrar pelo link"
  }
})
