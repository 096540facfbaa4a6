/** The frame of every page: navigation, and who is signed in. */
import type { ComponentChildren } from "preact"
import { isUtc, setUtc, zoneLabel } from "../format/Time.ts"
import { language, setLanguage, words } from "../words/Words.ts"
import { signal } from "@preact/signals"
import { BrakeBanner } from "./Installation.tsx"
import { Jumps } from "./Jumps.tsx"
import { LiveChip } from "./LiveChip.tsx"
import { isPageLoading } from "./Loaded.ts"
import { path } from "./Router.ts"
import { SearchBox } from "./SearchBox.tsx"
import { session } from "./Session.ts"
import { useWaiting, WaitingCount } from "./Waiting.tsx"

/** Whether a narrow screen shows the navigation. */
const isMenuOpen = signal(false)

const Link = ({
  counts,
  label,
  to
}: {
  readonly to: string
  readonly label: string
  readonly counts?: Parameters<typeof WaitingCount>[0]["of"]
}) => {
  const [page = to] = to.split("?")
  const isHere = to === "/" ? path.value === "/" : path.value.startsWith(page)
  return (
    <a
      href={to}
      aria-current={isHere ? "page" : undefined}
      onClick={() => {
        isMenuOpen.value = false
      }}
    >
      <span>{label}</span>
      {counts !== undefined && <WaitingCount of={counts} />}
    </a>
  )
}

/** Which cell this is, and the way to the others. */
const Cells = () => {
  const { cell, cells } = session.state.value?.settings ?? { cell: null, cells: [] }
  if (cell === null) return null
  if (cells.length === 0) return <span class="badge">{cell}</span>
  return (
    <select
      class="badge"
      aria-label={words().nav.cell}
      value={cell}
      onChange={({ currentTarget: { value } }) => {
        const other = cells.find(({ name }) => name === value)
        if (other !== undefined) location.assign(other.url)
      }}
    >
      {cells.map(({ name }) => (
        <option key={name}>{name}</option>
      ))}
    </select>
  )
}

/** What is this person's: zone, language, the end of the session. In the header; on a phone in the menu. */
const Own = () => {
  const { nav, signOut } = words()
  const who = session.state.value
  return (
    <>
      {who?.settings.acquirer === "simulator" && <span class="badge">{nav.simulator}</span>}
      <Cells />
      <button type="button" onClick={() => setUtc(!isUtc.value)}>
        {zoneLabel()}
      </button>
      <button
        type="button"
        lang={language.value === "en" ? "pt-BR" : "en"}
        onClick={() => setLanguage(language.value === "en" ? "pt" : "en")}
      >
        {language.value === "en" ? "Português" : "English"}
      </button>
      <button type="button" title={who?.operator.name} onClick={session.signOut}>
        {signOut}
      </button>
    </>
  )
}

export const Shell = ({ children }: { readonly children: ComponentChildren }) => {
  const { nav, product, skip } = words()
  const who = session.state.value
  useWaiting()
  return (
    <div class="app">
      <a
        class="skip"
        href="#main"
        target="_self"
        onClick={(event) => {
          event.preventDefault()
          globalThis.document.getElementById("main")?.focus()
        }}
      >
        {skip}
      </a>
      <nav id="side" class={isMenuOpen.value ? "side open" : "side"} aria-label={product}>
        <div class="brand">
          <i />
          {product}
        </div>
        <Link to="/" label={nav.today} />
        <Link to="/approvals" label={nav.approvals} counts="approvals" />
        <Link to="/disputes?status=open" label={nav.disputes} counts="disputes" />
        <Link to="/exceptions" label={nav.exceptions} counts="exceptions" />
        <h2>{nav.money}</h2>
        <Link to="/charges" label={nav.charges} />
        <Link to="/payouts" label={nav.payouts} />
        <Link to="/refunds" label={nav.refunds} />
        <Link to="/ledger" label={nav.ledger} />
        <Link to="/statements" label={nav.statements} />
        <Link to="/closes" label={nav.closes} />
        <Link to="/reconciliations" label={nav.reconciliations} />
        <h2>{nav.developers}</h2>
        <Link to="/developers" label={nav.applications} />
        <Link to="/endpoints" label={nav.endpoints} counts="failing_endpoints" />
        <Link to="/deliveries" label={nav.deliveries} />
        <Link to="/outbox-failures" label={nav.outboxFailures} counts="outbox_failures" />
        <Link to="/requests" label={nav.requests} />
        {who?.settings.acquirer === "simulator" && <Link to="/simulator" label={nav.simulator} />}
        <h2>{nav.installation}</h2>
        <Link to="/accounts" label={nav.accounts} />
        <Link to="/connections" label={nav.connections} />
        <Link to="/operators" label={nav.operators} />
        <Link to="/sessions" label={nav.sessions} />
        <Link to="/audit" label={nav.audit} />
        <Link to="/settings" label={nav.settings} />
        <div class="own narrow">
          <Own />
        </div>
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
          <SearchBox />
          <span class="grow" />
          <LiveChip />
          <div class="own wide-only">
            <Own />
          </div>
        </header>
        <BrakeBanner />
        <main id="main" tabIndex={-1} data-loading={isPageLoading.value ? "" : undefined}>
          {children}
        </main>
      </div>
      <Jumps />
    </div>
  )
}
