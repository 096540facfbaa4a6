/** The dashboard: starts the page. */
import { effect } from "@preact/signals"
import { render } from "preact"
import { startLive } from "./app/Live.ts"
import { follow } from "./app/Router.ts"
import { followRowKeys } from "./app/RowKeys.ts"
import { may, session } from "./app/Session.ts"
import { Shell } from "./app/Shell.tsx"
import { startWayfinding } from "./app/Wayfinding.ts"
import { CurrentPage } from "./Pages.tsx"
import { LinkQuestion, SignIn } from "./pages/SignIn.tsx"
import { language } from "./words/Words.ts"

const App = () => {
  switch (session.state.value) {
    case undefined:
      return null
    case null:
      return session.hasLink.value ? <LinkQuestion /> : <SignIn />
    default:
      if (session.hasLink.value) return <LinkQuestion />
      return (
        <Shell>
          <CurrentPage />
        </Shell>
      )
  }
}

effect(() => {
  globalThis.document.documentElement.lang = language.value === "pt" ? "pt-BR" : "en"
})
follow()
followRowKeys()
startWayfinding()
startLive(
  () => (session.state.peek() ?? null) !== null,
  () => may("developer", "operator")
)
// A link that is opened in a tab of the page changes the fragment only.
globalThis.addEventListener("hashchange", () => void session.start())
void session.start()
render(<App />, globalThis.document.getElementById("app")!)
