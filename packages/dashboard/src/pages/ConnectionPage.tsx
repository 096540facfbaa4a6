/** A connection: its state, and what keeps it working. */
import type { Connection, ConnectionCheck } from "@pix-payments/api/operator/Connections"
import { useSignal } from "@preact/signals"
import { legible } from "@pix-payments/domain/Text"
import { call } from "../app/Client.ts"
import { may } from "../app/Session.ts"
import { Action } from "../parts/Action.tsx"
import { useApproved } from "../parts/ApprovedSecret.tsx"
import { Brakes } from "../parts/Brakes.tsx"
import { Card, Facts, Head, Resource, useResource } from "../parts/Detail.tsx"
import { textIn } from "../parts/Form.tsx"
import { Table } from "../parts/List.tsx"
import { connectionName } from "../parts/Named.tsx"
import { inWords, pixKeyOf } from "../parts/reasons.ts"
import { statementAccountFact, statementAccountFields, statementAccountIn } from "../parts/statementAccount.ts"
import { Deadline, Time } from "../parts/Time.tsx"
import { words } from "../words/Words.ts"
import { changeFields, credentialFields, credentialsIn, ruleIn } from "./connectionForm.ts"
import { CERTIFICATE_WARNING_MS } from "./certificates.ts"
import { LastCloses } from "./Closes.tsx"
import { connectionSentence } from "./connectionSentences.ts"
import { connectionWords } from "./connectionWords.ts"

export const ConnectionPage = ({ id }: { readonly id: string }) => {
  const loaded = useResource(id, (api) => api.connections.retrieve({ params: { id } }))
  const check = useSignal<ConnectionCheck | undefined>(undefined)
  const { cards, fields, nav } = words()
  const text = connectionWords()
  return (
    <Resource loaded={loaded}>
      {(connection) => (
        <>
          <Head
            title={connectionName(connection)}
            state={connection.state}
            id={connection.id}
            operation={`/connections/${id}`}
          >
            <a href={`/statements?connection_id=${id}`}>{nav.statements}</a>
            <a href={`/closes?connection_id=${id}`}>{nav.closes}</a>
            {may("admin") && connection.kind !== "simulator" && (
              <Actions
                connection={connection}
                reload={loaded.reload}
                onCheck={(found) => {
                  check.value = found
                  loaded.reload()
                }}
              />
            )}
          </Head>
          {connection.problem !== null && (
            <p class="card problem" role="alert">
              {connectionSentence(connection.problem)}
            </p>
          )}
          {check.value !== undefined && <Found check={check.value} />}
          <section class="cols">
            <Card
              title={text.card}
              note={
                may("admin") &&
                connection.kind !== "simulator" && <Changes connection={connection} reload={loaded.reload} />
              }
            >
              <Facts
                of={[
                  [text.profile, inWords(connection.profile ?? connection.kind)],
                  [text.key, pixKeyOf(connection.pix_key)],
                  [text.rule, (text.rules as Readonly<Record<string, string>>)[connection.exception_rule]],
                  statementAccountFact(connection.statement_account),
                  [text.isDefault, connection.is_default ? cards.yes : cards.no],
                  [text.paysOut, connection.pays_out ? cards.yes : cards.no],
                  [
                    text.certificate,
                    connection.certificate_expires_at && (
                      <Deadline of={connection.certificate_expires_at} warnMs={CERTIFICATE_WARNING_MS} />
                    )
                  ],
                  [text.webhook, connection.webhook_registered ? text.registered : text.notRegistered],
                  [text.checked, connection.checked_at && <Time of={connection.checked_at} />],
                  [
                    text.foreign,
                    connection.foreign_at && (
                      <>
                        {connection.foreign_entries}, <Time of={connection.foreign_at} />
                      </>
                    )
                  ],
                  [
                    text.unreadable,
                    connection.unreadable_since && (
                      <>
                        {connection.unreadable_entries}, <Time of={connection.unreadable_since} />
                      </>
                    )
                  ],
                  [text.baseUrl, connection.settings.base_url],
                  [text.tokenUrl, connection.settings.token_url],
                  [fields.created, <Time of={connection.created_at} key="created" />]
                ]}
              />
            </Card>
            <Brakes
              of={connection}
              whose={text.accountsOf(connection.name)}
              change={(payload) => call((api) => api.connectionActions.update({ params: { id }, payload }))}
              onDone={loaded.reload}
            />
          </section>
          <LastCloses connectionId={id} />
        </>
      )}
    </Resource>
  )
}

const Found = ({ check }: { readonly check: ConnectionCheck }) => {
  const { fields } = words()
  const text = connectionWords()
  return (
    <div role="status">
      <Card title={text.check}>
        <Table
          rows={check.steps.map((step) => ({ ...step, id: step.step }))}
          columns={[
            { name: fields.action, cell: ({ step }) => <b>{text.steps[step]}</b> },
            {
              name: fields.status,
              cell: ({ ok }) => <span class={ok ? "chip good" : "chip bad"}>{ok ? text.works : text.fails}</span>
            },
            { name: fields.response, cell: ({ detail }) => connectionSentence(detail) }
          ]}
        />
      </Card>
    </div>
  )
}

const Actions = ({
  connection,
  onCheck,
  reload
}: {
  readonly connection: Connection
  readonly onCheck: (found: ConnectionCheck) => void
  readonly reload: () => void
}) => {
  const text = connectionWords()
  const params = { id: connection.id }
  const { paused } = connection
  const { approved, reload: reloadApproved } = useApproved(connection.id)
  return (
    <>
      <Action
        label={text.run}
        tone="first"
        question={text.askRun}
        run={() => call((api) => api.connectionActions.check({ params }))}
        onDone={onCheck}
      />
      <Action
        label={text.register}
        question={text.askRegister}
        fields={[{ name: "url", label: text.url, hint: text.urlHint }]}
        run={(values) =>
          call((api) =>
            api.connectionActions.registerWebhook({ params, payload: { url: textIn(values, "url") ?? "" } })
          )
        }
        onDone={onCheck}
      />
      {approved.map(({ id, request }) => (
        <Action
          key={id}
          label={text.registerApproved}
          tone="first"
          question={<bdi>{legible(String(request["url"]))}</bdi>}
          run={() => call((api) => api.connectionActions.registerWebhook({ params, payload: request as never }))}
          onDone={(found) => {
            reloadApproved()
            onCheck(found)
          }}
        />
      ))}
      <Action
        label={paused ? text.resume : text.pause}
        tone={paused ? undefined : "bad"}
        question={paused ? text.askResume : text.askPause}
        run={() => call((api) => api.connectionActions.update({ params, payload: { paused: !paused } }))}
        onDone={reload}
      />
    </>
  )
}

const Changes = ({ connection, reload }: { readonly connection: Connection; readonly reload: () => void }) => {
  const text = connectionWords()
  const params = { id: connection.id }
  return (
    <span class="head">
      <Action
        isSmall
        label={text.rotate}
        question={text.askRotate}
        fields={credentialFields(true)}
        run={(values) =>
          call((api) => api.connectionActions.update({ params, payload: { credentials: credentialsIn(values) } }))
        }
        onDone={reload}
      />
      <Action
        isSmall
        label={text.change}
        question={text.askChange}
        fields={[...changeFields(connection.exception_rule), ...statementAccountFields(connection.statement_account)]}
        run={(values) => {
          const name = textIn(values, "name")
          const key = textIn(values, "pix_key")
          const rule = ruleIn(values)
          const payload = {
            ...(rule !== connection.exception_rule && { exception_rule: rule }),
            ...(name !== undefined && { name }),
            ...(key !== undefined && { pix_key: key }),
            ...statementAccountIn(values, connection.statement_account)
          }
          return call((api) => api.connectionActions.update({ params, payload }))
        }}
        onDone={reload}
      />
      {!connection.is_default && (
        <Action
          isSmall
          label={text.makeDefault}
          question={text.askDefault}
          run={() => call((api) => api.connectionActions.update({ params, payload: { is_default: true } }))}
          onDone={reload}
        />
      )}
    </span>
  )
}
