/**
 * Which page an address shows. The server knows the same paths: `Dashboard.ts` of the operator listener.
 *
 * Guarantee: a page is a file that the browser gets when somebody opens it, so that the first one stays small.
 */
import { signal } from "@preact/signals"
import type { FunctionComponent } from "preact"
import { path } from "./app/Router.ts"
import { Problem } from "./parts/Problem.tsx"
import { words } from "./words/Words.ts"
import { Today } from "./pages/Today.tsx"

/** Without an id: `/charges`. */
const lists: Readonly<Record<string, () => Promise<FunctionComponent>>> = {
  accounts: () => import("./pages/Accounts.tsx").then((page) => page.Accounts),
  approvals: () => import("./pages/Approvals.tsx").then((page) => page.Approvals),
  audit: () => import("./pages/Logs.tsx").then((page) => page.Audit),
  charges: () => import("./pages/Charges.tsx").then((page) => page.Charges),
  closes: () => import("./pages/Closes.tsx").then((page) => page.Closes),
  connections: () => import("./pages/Connections.tsx").then((page) => page.Connections),
  deliveries: () => import("./pages/Deliveries.tsx").then((page) => page.Deliveries),
  developers: () => import("./pages/Developers.tsx").then((page) => page.Developers),
  disputes: () => import("./pages/Disputes.tsx").then((page) => page.Disputes),
  endpoints: () => import("./pages/Endpoints.tsx").then((page) => page.Endpoints),
  exceptions: () => import("./pages/Exceptions.tsx").then((page) => page.Exceptions),
  ledger: () => import("./pages/Ledger.tsx").then((page) => page.Ledger),
  operators: () => import("./pages/Operators.tsx").then((page) => page.Operators),
  "outbox-failures": () => import("./pages/OutboxFailures.tsx").then((page) => page.OutboxFailures),
  payouts: () => import("./pages/Payouts.tsx").then((page) => page.Payouts),
  reconciliations: () => import("./pages/Reconciliations.tsx").then((page) => page.Reconciliations),
  refunds: () => import("./pages/Refunds.tsx").then((page) => page.Refunds),
  requests: () => import("./pages/Logs.tsx").then((page) => page.Requests),
  sessions: () => import("./pages/Sessions.tsx").then((page) => page.Sessions),
  settings: () => import("./pages/Settings.tsx").then((page) => page.Settings),
  simulator: () => import("./pages/Simulator.tsx").then((page) => page.Simulator),
  statements: () => import("./pages/Statements.tsx").then((page) => page.Statements),
  terminal: () => import("./pages/TerminalSignIn.tsx").then((page) => page.TerminalSignIn)
}

type ResourcePage = FunctionComponent<{ readonly id: string }>

/** With an id: `/charges/{id}`. */
const resources: Readonly<Record<string, () => Promise<ResourcePage>>> = {
  accounts: () => import("./pages/AccountPage.tsx").then((page) => page.AccountPage),
  applications: () => import("./pages/ApplicationPage.tsx").then((page) => page.ApplicationPage),
  charges: () => import("./pages/ChargePage.tsx").then((page) => page.ChargePage),
  connections: () => import("./pages/ConnectionPage.tsx").then((page) => page.ConnectionPage),
  deliveries: () => import("./pages/DeliveryPage.tsx").then((page) => page.DeliveryPage),
  disputes: () => import("./pages/dispute/DisputePage.tsx").then((page) => page.DisputePage),
  endpoints: () => import("./pages/EndpointPage.tsx").then((page) => page.EndpointPage),
  exceptions: () => import("./pages/ExceptionPage.tsx").then((page) => page.ExceptionPage),
  operators: () => import("./pages/OperatorPage.tsx").then((page) => page.OperatorPage),
  payouts: () => import("./pages/PayoutPage.tsx").then((page) => page.PayoutPage),
  reconciliations: () => import("./pages/ReconciliationPage.tsx").then((page) => page.ReconciliationPage),
  refunds: () => import("./pages/RefundPage.tsx").then((page) => page.RefundPage)
}

/** Pages that were opened before, and `null` for a file that could not be loaded. */
const loaded = signal<ReadonlyMap<string, ResourcePage | null>>(new Map([["/", Today]]))
const loading = new Set<string>()

const load = (key: string, file: () => Promise<ResourcePage>): void => {
  if (loading.has(key)) return
  loading.add(key)
  const end = (page: ResourcePage | null) => {
    loading.delete(key)
    loaded.value = new Map(loaded.value).set(key, page)
  }
  file().then(end, () => end(null))
}

const retry = (key: string): void => {
  const without = new Map(loaded.value)
  without.delete(key)
  loaded.value = without
}

/** Nothing is at this address. */
const NoPage = () => {
  const { noPage, noPageHint, toToday } = words().problem
  return (
    <>
      <h1>{noPage}</h1>
      <p class="quiet">{noPageHint}</p>
      <p>
        <a class="button" href="/">
          {toToday}
        </a>
      </p>
    </>
  )
}

export const CurrentPage = () => {
  const [name = "", id = "", ...rest] = path.value.split("/").slice(1)
  const key = id === "" ? `/${name}` : `/${name}/:id`
  const file = rest.length > 0 ? undefined : (id === "" ? lists : resources)[name]
  const Page = rest.length > 0 ? undefined : loaded.value.get(key)
  if (Page === undefined && file === undefined) {
    return <NoPage />
  }
  if (Page === undefined) {
    load(key, file as () => Promise<ResourcePage>)
    return null
  }
  if (Page === null) {
    return <Problem problem={{ code: "NETWORK", message: "", details: [] }} retry={() => retry(key)} />
  }
  return <Page id={id} key={path.value} />
}
