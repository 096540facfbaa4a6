/** The list of sessions in browsers. */
import { useSignal } from "@preact/signals"
import { call } from "../app/Client.ts"
import { Action } from "../parts/Action.tsx"
import { viaName } from "../parts/auditWords.ts"
import { browserName } from "../parts/browserName.ts"
import { IdLink } from "../parts/Detail.tsx"
import { List } from "../parts/List.tsx"
import { State } from "../parts/State.tsx"
import { Time } from "../parts/Time.tsx"
import { words } from "../words/Words.ts"

export const Sessions = () => {
  const version = useSignal(0)
  const { actions, ask, cards, empty, fields, nav } = words()
  return (
    <List
      title={nav.sessions}
      empty={empty.sessions}
      version={version.value}
      load={(api, query) => api.sessions.list({ query })}
      columns={[
        {
          name: fields.operator,
          cell: ({ address, current, operator_id: id }) => (
            <>
              {id === null ? <b>{viaName("installation")}</b> : <IdLink id={id} to="operators" />}{" "}
              <span class="quiet">
                {address}
                {current && ` · ${cards.current}`}
              </span>
            </>
          )
        },
        {
          name: fields.user_agent,
          cell: ({ user_agent: userAgent }) =>
            userAgent !== null && <span title={userAgent}>{browserName(userAgent)}</span>,
          wide: true
        },
        { name: fields.last_seen, cell: (session) => <Time of={session.last_seen_at} /> },
        {
          name: fields.status,
          right: true,
          cell: (session) =>
            session.ended_at === null && !session.current ? (
              <Action
                label={actions.endSession}
                tone="bad"
                isSmall
                question={ask.endSession}
                run={() => call((api) => api.sessions.end({ params: { id: session.id } }))}
                onDone={() => {
                  version.value += 1
                }}
              />
            ) : (
              <State of={session.ended_at === null ? "active" : "ended"} />
            )
        }
      ]}
    />
  )
}
