/** The dashboard: starts the page. */
import { effect } from "@preact/signals"
import { render } from "preact"
import { useEffect } from "preact/hooks"
import { follow, go, matched, path } from "./app/Router.ts"
import { session } from "./app/Session.ts"
import { Shell } from "./app/Shell.tsx"
import { ChargePage } from "./pages/ChargePage.tsx"
import { Charges } from "./pages/Charges.tsx"
import { SignIn } from "./pages/SignIn.tsx"
import { language } from "./words/Words.ts"

const Page = () => {
  const chargeId = matched("/charges/:id", path.value)
  if (chargeId !== undefined) return <ChargePage id={chargeId} key={chargeId} />
  if (path.value === "/charges") return <Charges />
  return <Redirect to="/charges" />
}

const Redirect = ({ to }: { readonly to: string }) => {
  useEffect(() => go(to, "replace"), [to])
  return null
}

const App = () => {
  switch (session.state.value) {
    case undefined:
      return null
    case null:
      return <SignIn />
    default:
      return (
        <Shell>
          <Page />
        </Shell>
      )
  }
}

effect(() => {
  globalThis.document.documentElement.lang = language.value === "pt" ? "pt-BR" : "en"
})
follow()
void session.start()
render(<App />, globalThis.document.getElementById("app")!)
