/** The list of operators. */
import { OperatorRole } from "@pix-payments/domain/Operator"
import { call } from "../app/Client.ts"
import { go } from "../app/Router.ts"
import { may } from "../app/Session.ts"
import { Action } from "../parts/Action.tsx"
import { List } from "../parts/List.tsx"
import { inWords } from "../parts/reasons.ts"
import { State } from "../parts/State.tsx"
import { Time } from "../parts/Time.tsx"
import { words } from "../words/Words.ts"

export const Operators = () => {
  const { actions, ask, empty, fields, form, nav } = words()
  return (
    <List
      title={nav.operators}
      empty={empty.operators}
      actions={
        may("admin") && (
          <Action
            label={actions.createOperator}
            tone="first"
            question={ask.operator}
            fields={[
              { name: "name", label: fields.name, hint: form.name },
              { name: "email", label: fields.email, hint: form.email },
              {
                name: "role",
                label: fields.role,
                hint: form.role,
                kind: "choice",
                options: OperatorRole.literals,
                nameOf: inWords
              }
            ]}
            run={({ email, name, role }) =>
              call((api) =>
                api.operators.create({
                  payload: {
                    name: String(name),
                    email: String(email),
                    role: OperatorRole.literals.find((each) => each === role) ?? "viewer"
                  }
                })
              )
            }
            onDone={({ id }) => go(`/operators/${id}`)}
          />
        )
      }
      load={(api, query) => api.operators.list({ query })}
      linkOf={({ id }) => `/operators/${id}`}
      columns={[
        {
          name: fields.name,
          cell: ({ email, name, role }) => (
            <>
              {name}
              <div class="narrow quiet under">
                {inWords(role)} · {email}
              </div>
            </>
          )
        },
        { name: fields.email, cell: ({ email }) => email, wide: true },
        { name: fields.role, cell: ({ role }) => inWords(role), wide: true },
        { name: fields.status, cell: ({ active }) => <State of={active ? "active" : "inactive"} /> },
        { name: fields.created, cell: (operator) => <Time of={operator.created_at} />, right: true }
      ]}
    />
  )
}
