/** The account whose applications a page shows: chosen in the address, by default the newest one. */
import type { OperatorAccount } from "@pix-payments/api/operator/Accounts"
import { call } from "../app/Client.ts"
import { type Loaded, useLoaded } from "../app/Loaded.ts"
import { go, query, withQuery } from "../app/Router.ts"
import { words } from "../words/Words.ts"
import type { ListOf } from "./List.tsx"

/** A search or an account's page leads to accounts beyond these. */
const MAX_ACCOUNTS = 100

interface Choice {
  readonly accounts: Loaded<ListOf<OperatorAccount>>
  readonly accountId: string | undefined
}

export const useAccountChoice = (): Choice => {
  const accounts = useLoaded("accounts", (signal) =>
    call((api) => api.accounts.list({ query: { limit: MAX_ACCOUNTS } }), signal)
  )
  return { accounts, accountId: query.value.get("account_id") ?? accounts.value?.data[0]?.id }
}

export const AccountChoice = ({ of: { accountId, accounts } }: { readonly of: Choice }) => {
  const listed = accounts.value?.data ?? []
  const isListed = listed.some(({ id }) => id === accountId)
  return (
    <label class="inline">
      {words().fields.account}
      <select onChange={(event) => go(withQuery({ account_id: event.currentTarget.value }))}>
        {accountId !== undefined && !isListed && <option value={accountId}>{accountId}</option>}
        {listed.map(({ id, name }) => (
          <option value={id} selected={id === accountId} key={id}>
            {name}
          </option>
        ))}
      </select>
    </label>
  )
}
