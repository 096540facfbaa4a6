/** The sign-in: a token becomes a session. */
import { useSignal } from "@preact/signals"
import { session } from "../app/Session.ts"
import { words } from "../words/Words.ts"

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
