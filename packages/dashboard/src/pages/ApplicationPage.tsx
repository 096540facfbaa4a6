/** An application: its API keys, and its webhook endpoints with their health. */
import type { ApiKey } from "@pix-payments/api/operator/Keys"
import type { Application } from "@pix-payments/api/operator/Applications"
import { allScopes } from "@pix-payments/domain/Scope"
import { useSignal } from "@preact/signals"
import { call, type Outcome } from "../app/Client.ts"
import { useLoaded } from "../app/Loaded.ts"
import { query } from "../app/Router.ts"
import { may } from "../app/Session.ts"
import { Action } from "../parts/Action.tsx"
import { ApprovedSecrets } from "../parts/ApprovedSecret.tsx"
import { Card, Head } from "../parts/Detail.tsx"
import { textIn } from "../parts/Form.tsx"
import { ChangeLimits, LimitFacts, limitsTitle } from "../parts/Limits.tsx"
import { type ListOf, Table } from "../parts/List.tsx"
import { PageProblem } from "../parts/Problem.tsx"
import { Secret } from "../parts/Secret.tsx"
import { State } from "../parts/State.tsx"
import { now, Time } from "../parts/Time.tsx"
import { inBoth, words } from "../words/Words.ts"

const text = inBoth({
  en: {
    rotate: "Rotate",
    ask: (name: string) =>
      `Creates a second key ${name} with the same scopes. The old one works until it ends or you revoke it, which the page offers next.`,
    end: "Ends",
    endHint: "For example 2027-01-31T12:00:00Z. Empty: the new key has no end.",
    replaced: (name: string, prefix: string) =>
      `The old key ${name} (${prefix}…) still works. Revoke it once the new one is in use.`
  },
  pt: {
    rotate: "Trocar",
    ask: (name: string) =>
      `Cria uma segunda chave ${name} com os mesmos escopos. A antiga vale até o seu fim ou até ser revogada, o que a página oferece depois.`,
    end: "Fim",
    endHint: "Por exemplo 2027-01-31T12:00:00Z. Vazio: a chave nova não tem fim.",
    replaced: (name: string, prefix: string) =>
      `A chave antiga ${name} (${prefix}…) ainda vale. Revogue quando a nova estiver em uso.`
  }
})

const WEEK_MS = 7 * 24 * 60 * 60 * 1000

/** The end that a new key is offered: that of the old one, unless it ends soon. */
const endOf = ({ expires_at }: ApiKey): string | undefined =>
  expires_at !== null && Date.parse(expires_at) - now.value > WEEK_MS ? expires_at : undefined

/** A key that may replace another one: with its name and scopes. */
const likeOf = ({ name, scopes }: ApiKey, expiresAt: string | undefined) => ({
  name,
  scopes: allScopes.filter((scope) => scopes.includes(scope)),
  ...(expiresAt !== undefined && { expires_at: expiresAt })
})

/** Scope `payout:write` is for admins. */
const mayCreate = ({ scopes }: ApiKey): boolean =>
  may("developer") && (may("admin") || !scopes.includes("payout:write"))

export const ApplicationPage = ({ id }: { readonly id: string }) => {
  const account = query.value.get("account")
  const { cards } = words()
  // The interface has no operation for one application: its name is in the list of its account.
  const { value: siblings } = useLoaded(
    account ?? "",
    async (signal): Promise<Outcome<ListOf<Application> | undefined>> =>
      account === null
        ? { _tag: "Done", value: undefined }
        : call((api) => api.applications.list({ params: { id: account }, query: { limit: 100 } }), signal)
  )
  const application = siblings?.data.find((each) => each.id === id)
  return (
    <>
      <Head
        title={application?.name ?? cards.application}
        id={id}
        {...(application !== undefined && { state: application.active ? "active" : "inactive" })}
        operation={`/applications/${id}/keys`}
      />
      <Keys applicationId={id} />
      <Endpoints applicationId={id} />
    </>
  )
}

const Keys = ({ applicationId }: { readonly applicationId: string }) => {
  const params = { id: applicationId }
  const { problem, reload, value } = useLoaded(applicationId, (signal) =>
    call((api) => api.keys.list({ params, query: { limit: 100 } }), signal)
  )
  const secret = useSignal<string | undefined>(undefined)
  /** The key that the shown one replaces. */
  const replaced = useSignal<ApiKey | undefined>(undefined)
  const { actions, ask, cards, empty, fields, form } = words()
  const own = text()
  const revocation = (key: ApiKey) => (
    <Action
      label={actions.revoke}
      tone="bad"
      isSmall
      question={ask.revokeKey(key.name)}
      run={() => call((api) => api.keys.revoke({ params: { id: key.id } }))}
      onDone={() => {
        replaced.value = undefined
        reload()
      }}
    />
  )
  if (problem !== undefined) return <PageProblem problem={problem} retry={reload} />
  return (
    <>
      {secret.value !== undefined && <Secret text={secret.value} />}
      <ApprovedSecrets
        resourceId={applicationId}
        onDone={(key) => {
          secret.value = key
          replaced.value = undefined
          reload()
        }}
      />
      {replaced.value !== undefined && (
        <section class="card pad head" role="status">
          <span>{own.replaced(replaced.value.name, replaced.value.prefix)}</span>
          <span class="grow" />
          {revocation(replaced.value)}
        </section>
      )}
      <Card
        title={cards.keys}
        note={
          may("developer") && (
            <Action
              label={actions.createKey}
              isSmall
              question={ask.key}
              fields={[
                { name: "name", label: fields.name, hint: form.name },
                { name: "scopes", label: fields.scopes, hint: form.scopes, kind: "choices", options: allScopes }
              ]}
              run={({ name, scopes = [] }) =>
                call((api) =>
                  api.keys.create({
                    params,
                    payload: { name: String(name), scopes: allScopes.filter((scope) => scopes.includes(scope)) }
                  })
                )
              }
              onDone={({ key }) => {
                secret.value = key
                replaced.value = undefined
                reload()
              }}
            />
          )
        }
      >
        {value?.data.length === 0 && <p class="quiet pad">{empty.keys}</p>}
        {value !== undefined && value.data.length > 0 && (
          <Table
            rows={value.data}
            columns={[
              { name: fields.name, cell: ({ name }) => <b>{name}</b> },
              { name: fields.prefix, cell: ({ prefix }) => <code>{prefix}…</code>, wide: true },
              { name: fields.scopes, cell: ({ scopes }) => scopes.join(", "), wide: true },
              {
                name: limitsTitle(),
                cell: ({ limits }) =>
                  Object.values(limits).some((limit) => limit !== null) && <LimitFacts of={limits} />,
                wide: true
              },
              { name: fields.last_used, cell: (key) => key.last_used_at && <Time of={key.last_used_at} />, wide: true },
              {
                name: fields.status,
                right: true,
                cell: (key) =>
                  key.revoked_at !== null ? (
                    <State of="revoked" />
                  ) : may("developer") ? (
                    <span class="actions">
                      {mayCreate(key) && (
                        <Action
                          label={own.rotate}
                          isSmall
                          question={own.ask(key.name)}
                          fields={[
                            {
                              name: "expires_at",
                              label: own.end,
                              hint: own.endHint,
                              initial: endOf(key),
                              isOptional: true
                            }
                          ]}
                          run={(values) =>
                            call((api) =>
                              api.keys.create({ params, payload: likeOf(key, textIn(values, "expires_at")) })
                            )
                          }
                          onDone={(created) => {
                            secret.value = created.key
                            replaced.value = key
                            reload()
                          }}
                        />
                      )}{" "}
                      {may("admin") && (
                        <ChangeLimits
                          of={key.limits}
                          whose={key.name}
                          change={(limits) =>
                            call((api) => api.keys.update({ params: { id: key.id }, payload: { limits } }))
                          }
                          onDone={reload}
                        />
                      )}{" "}
                      {revocation(key)}
                    </span>
                  ) : (
                    <State of="active" />
                  )
              }
            ]}
          />
        )}
      </Card>
    </>
  )
}

const Endpoints = ({ applicationId }: { readonly applicationId: string }) => {
  const { reload, value } = useLoaded(applicationId, (signal) =>
    call((api) => api.webhookEndpoints.list({ params: { id: applicationId } }), signal)
  )
  const { actions, ask, cards, empty, fields } = words()
  const change = (id: string, active: boolean) =>
    call((api) => api.webhookEndpointActions.update({ params: { id }, payload: { active } }))
  return (
    <Card title={cards.endpoints}>
      {value?.data.length === 0 && <p class="quiet pad">{empty.endpoints}</p>}
      {value !== undefined && value.data.length > 0 && (
        <Table
          rows={value.data}
          linkOf={({ id }) => `/endpoints/${id}`}
          columns={[
            { name: fields.url, cell: ({ url }) => url },
            {
              name: fields.success_rate,
              cell: (endpoint) => endpoint.success_rate !== null && `${Math.round(endpoint.success_rate * 100)} %`,
              right: true,
              wide: true
            },
            { name: fields.failures, cell: (endpoint) => endpoint.consecutive_failures, right: true, wide: true },
            { name: fields.status, cell: ({ active }) => <State of={active ? "active" : "inactive"} /> },
            {
              name: fields.action,
              right: true,
              cell: ({ active, id }) =>
                may("developer", "operator") && (
                  <Action
                    label={active ? actions.disable : actions.enable}
                    tone={active ? "bad" : "first"}
                    isSmall
                    question={active ? ask.disable : ask.enable}
                    run={() => change(id, !active)}
                    onDone={reload}
                  />
                )
            }
          ]}
        />
      )}
    </Card>
  )
}
