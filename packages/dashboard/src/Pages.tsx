/** Which page an address shows. The server knows the same paths: `Dashboard.ts` of the operator listener. */
import type { FunctionComponent } from "preact"
import { path } from "./app/Router.ts"
import { AccountPage } from "./pages/AccountPage.tsx"
import { Accounts } from "./pages/Accounts.tsx"
import { ApplicationPage } from "./pages/ApplicationPage.tsx"
import { ChargePage } from "./pages/ChargePage.tsx"
import { Charges } from "./pages/Charges.tsx"
import { Deliveries } from "./pages/Deliveries.tsx"
import { DeliveryPage } from "./pages/DeliveryPage.tsx"
import { DisputePage } from "./pages/DisputePage.tsx"
import { Disputes } from "./pages/Disputes.tsx"
import { Ledger } from "./pages/Ledger.tsx"
import { Audit, Requests } from "./pages/Logs.tsx"
import { OperatorPage } from "./pages/OperatorPage.tsx"
import { Operators } from "./pages/Operators.tsx"
import { PayoutPage } from "./pages/PayoutPage.tsx"
import { Payouts } from "./pages/Payouts.tsx"
import { Sessions } from "./pages/Sessions.tsx"
import { Today } from "./pages/Today.tsx"
import { Problem } from "./parts/Problem.tsx"

const lists: Readonly<Record<string, FunctionComponent>> = {
  "": Today,
  accounts: Accounts,
  audit: Audit,
  charges: Charges,
  deliveries: Deliveries,
  disputes: Disputes,
  ledger: Ledger,
  operators: Operators,
  payouts: Payouts,
  requests: Requests,
  sessions: Sessions
}

const resources: Readonly<Record<string, FunctionComponent<{ readonly id: string }>>> = {
  accounts: AccountPage,
  applications: ApplicationPage,
  charges: ChargePage,
  deliveries: DeliveryPage,
  disputes: DisputePage,
  operators: OperatorPage,
  payouts: PayoutPage
}

export const CurrentPage = () => {
  const [name = "", id] = path.value.split("/").slice(1)
  if (id === undefined || id === "") {
    const Found = lists[name]
    if (Found !== undefined) return <Found key={name} />
  } else {
    const Found = resources[name]
    if (Found !== undefined) return <Found id={id} key={id} />
  }
  return <Problem problem={{ code: "NOT_FOUND", message: "", details: [] }} />
}
