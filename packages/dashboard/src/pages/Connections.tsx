/** The list of connections to providers. */
import { call } from "../app/Client.ts"
import { go } from "../app/Router.ts"
import { may } from "../app/Session.ts"
import { Action } from "../parts/Action.tsx"
import { textIn } from "../parts/Form.tsx"
import { List } from "../parts/List.tsx"
import { connectionName } from "../parts/Named.tsx"
import { inWords } from "../parts/reasons.ts"
import { State } from "../parts/State.tsx"
import { Deadline } from "../parts/Time.tsx"
import { words } from "../words/Words.ts"
import { creationFields, credentialsIn, profileIn, ruleIn } from "./connectionForm.ts"
import { CERTIFICATE_WARNING_MS } from "./certificates.ts"
import { connectionWords } from "./connectionWords.ts"

export const Connections = () => {
  const { fields, nav } = words()
  const text = connectionWords()
  return (
    <List
      title={nav.connections}
      empty={text.empty}
      actions={
        may("admin") && (
          <Action
            label={text.create}
            tone="first"
            question={text.askCreate}
            fields={creationFields()}
            run={(values) => {
              const baseUrl = textIn(values, "settings.base_url")
              const tokenUrl = textIn(values, "settings.token_url")
              return call((api) =>
                api.connectionActions.create({
                  payload: {
                    name: textIn(values, "name") ?? "",
                    kind: "api-pix",
                    profile: profileIn(values),
                    pix_key: textIn(values, "pix_key") ?? "",
                    credentials: credentialsIn(values),
                    exception_rule: ruleIn(values),
                    ...((baseUrl ?? tokenUrl) !== undefined && {
                      settings: { base_url: baseUrl ?? null, token_url: tokenUrl ?? null }
                    })
                  }
                })
              )
            }}
            onDone={({ id }) => go(`/connections/${id}`)}
          />
        )
      }
      load={(api, query) => api.connections.list({ query })}
      linkOf={({ id }) => `/connections/${id}`}
      columns={[
        { name: fields.name, cell: connectionName },
        { name: text.profile, cell: ({ kind, profile }) => inWords(profile ?? kind), wide: true },
        { name: fields.status, cell: ({ state }) => <State of={state} /> },
        {
          name: text.webhook,
          cell: (connection) => (connection.webhook_registered ? text.registered : text.notRegistered),
          wide: true
        },
        {
          name: text.certificate,
          cell: (connection) =>
            connection.certificate_expires_at && (
              <Deadline of={connection.certificate_expires_at} warnMs={CERTIFICATE_WARNING_MS} />
            ),
          right: true
        }
      ]}
    />
  )
}
