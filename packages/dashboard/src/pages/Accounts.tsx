/** The list of accounts with their balances. */
import { call } from "../app/Client.ts"
import { go } from "../app/Router.ts"
import { may } from "../app/Session.ts"
import { money } from "../format/Money.ts"
import { Action } from "../parts/Action.tsx"
import { List } from "../parts/List.tsx"
import { State } from "../parts/State.tsx"
import { documentOf } from "../parts/reasons.ts"
import { words } from "../words/Words.ts"

export const Accounts = () => {
  const { actions, ask, empty, fields, form, nav } = words()
  return (
    <List
      title={nav.accounts}
      empty={empty.accounts}
      actions={
        may("admin") && (
          <Action
            label={actions.createAccount}
            tone="first"
            question={ask.account}
            fields={[
              { name: "name", label: fields.name, hint: form.name },
              { name: "legal_name", label: fields.legal_name, hint: form.name },
              { name: "document", label: fields.document, hint: form.document },
              { name: "phone", label: fields.phone, hint: form.phone }
            ]}
            run={(values) =>
              call((api) =>
                api.accounts.create({
                  payload: {
                    name: String(values["name"]),
                    legal_name: String(values["legal_name"]),
                    document: String(values["document"]),
                    phone: String(values["phone"])
                  }
                })
              )
            }
            onDone={({ id }) => go(`/accounts/${id}`)}
          />
        )
      }
      load={(api, query) => api.accounts.list({ query })}
      linkOf={({ id }) => `/accounts/${id}`}
      columns={[
        { name: fields.name, cell: ({ name }) => name },
        { name: fields.status, cell: ({ status }) => <State of={status} /> },
        { name: fields.document, cell: (account) => documentOf(account.document), wide: true },
        {
          name: fields.available,
          cell: ({ balance, id }) => (
            <a href={`/statements?account_id=${id}`} title={nav.statements}>
              {money(balance.available)}
            </a>
          ),
          right: true
        },
        { name: fields.pending, cell: ({ balance }) => money(balance.pending), right: true, wide: true }
      ]}
    />
  )
}
