/** The frame of every page: navigation, and who is signed in. */
import type { ComponentChildren } from "preact"
import { setZone, zone } from "../format/Time.ts"
import { language, setLanguage, words } from "../words/Words.ts"
import { signal } from "@preact/signals"
import { path } from "./Router.ts"
import { session } from "./Session.ts"

/** Whether a narrow screen shows the navigation. */
const isMenuOpen = signal(false)

const Link = ({ label, to }: { readonly to: string; readonly label: string }) => {
  const isHere = to === "/" ? path.value === "/" : path.value.startsWith(to)
  return (
    <a
      href={to}
      aria-current={isHere ? "page" : undefined}
      onClick={() => {
        isMenuOpen.value = false
      }}
    >
      <span>{label}</span>
    </a>
  )
}

export const Shell = ({ children }: { readonly children: ComponentChildren }) => {
  const { nav, product, signOut } = words()
  const who = session.state.value
  return (
    <div class="app">
      <nav id="side" class={isMenuOpen.value ? "side open" : "side"} aria-label={product}>
        <div class="brand">
          <i />
          {product}
        </div>
        <Link to="/" label={nav.today} />
        <Link to="/disputes" label={nav.disputes} />
        <h2>{nav.money}</h2>
        <Link to="/charges" label={nav.charges} />
        <Link to="/payouts" label={nav.payouts} />
        <Link to="/ledger" label={nav.ledger} />
        <h2>{nav.developers}</h2>
        <Link to="/deliveries" label={nav.deliveries} />
        <Link to="/requests" label={nav.requests} />
        <h2>{nav.installation}</h2>
        <Link to="/accounts" label={nav.accounts} />
        <Link to="/operators" label={nav.operators} />
        <Link to="/sessions" label={nav.sessions} />
        <Link to="/audit" label={nav.audit} />
      </nav>
      <div>
        <header class="top">
          <button
            type="button"
            class="menu"
            aria-expanded={isMenuOpen.value}
            aria-controls="side"
            onClick={() => {
              isMenuOpen.value = !isMenuOpen.value
            }}
          >
            {nav.menu}
          </button>
          <span class="grow" />
          {who?.settings.acquirer === "simulator" && <span class="badge">{nav.simulator}</span>}
          <button type="button" onClick={() => setZone(zone.value === "BRT" ? "UTC" : "BRT")}>
            {zone.value}
          </button>
          <button
            type="button"
            lang={language.value === "en" ? "pt-BR" : "en"}
            onClick={() => setLanguage(language.value === "en" ? "pt" : "en")}
          >
            {language.value === "en" ? "Português" : "English"}
          </button>
          <button type="button" title={who?.operator.name} onClick={() => void session.signOut()}>
            {signOut}
          </button>
        </header>
        <main id="main">{children}</main>
      </div>
    </div>
  )
}
