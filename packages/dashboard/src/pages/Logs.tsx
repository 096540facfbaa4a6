/** The lists of what was done: requests to `/v1`, and changes by operators. */
import type { RequestLogEntry } from "@pix-payments/api/operator/Logs"
import { shortIdOf } from "@pix-payments/domain/Uuid"
import { withQuery } from "../app/Router.ts"
import { auditFieldName, operationName, viaName } from "../parts/auditWords.ts"
import { Changes } from "../parts/Changes.tsx"
import { List } from "../parts/List.tsx"
import { Named } from "../parts/Named.tsx"
import { RequestLink } from "../parts/RequestLink.tsx"
import { ResourceLink } from "../parts/ResourceLink.tsx"
import { Time } from "../parts/Time.tsx"
import { inBoth, words } from "../words/Words.ts"
import { approvalWords } from "./approvalWords.ts"

/** Of HTTP statuses. */
const CLASSES = ["2xx", "4xx", "5xx"]

const className = (status: string): string => requestWords().classes[status] ?? status

const requestWords = inBoth({
  en: { classes: { "2xx": "done", "4xx": "refused", "5xx": "failed" } as Readonly<Record<string, string>> },
  pt: { classes: { "2xx": "atendidas", "4xx": "recusadas", "5xx": "com falha" } }
})

export const Requests = () => {
  const { empty, fields, nav } = words()
  return (
    <List
      title={nav.requests}
      empty={empty.requests}
      filters={[
        { name: "status", label: fields.status, kind: "tabs", options: CLASSES, nameOf: className },
        { name: "created", label: fields.created, kind: "period" },
        { name: "account_id", label: fields.account, kind: "account" },
        { name: "status", label: fields.status, nameOf: className },
        { name: "route", label: fields.route, isMore: true },
        { name: "resource_id", label: fields.resource, isMore: true },
        { name: "request_id", label: fields.request, isMore: true },
        { name: "key_id", label: fields.key, kind: "quiet", nameOf: shortIdOf }
      ]}
      load={(api, query) => api.requests.list({ query })}
      sum={(api, query) => api.requests.summary({ query })}
      file="/requests/export"
      columns={[
        {
          name: fields.route,
          cell: (request) => (
            <>
              <b>{request.route}</b>
              <div class="narrow quiet under">
                <KeyOf of={request} /> <ResourceOf of={request} />
              </div>
            </>
          )
        },
        { name: fields.key, cell: (request) => <KeyOf of={request} />, wide: true },
        {
          name: fields.status,
          cell: ({ status }) => (
            <span class={status >= 500 ? "chip bad" : status >= 400 ? "chip warn" : "chip good"}>{status}</span>
          )
        },
        { name: fields.duration, cell: (request) => `${request.duration_ms} ms`, right: true, wide: true },
        { name: fields.resource, cell: (request) => <ResourceOf of={request} />, wide: true },
        { name: fields.request, cell: (request) => <RequestLink id={request.request_id} />, wide: true },
        { name: fields.created, cell: (request) => <Time of={request.created_at} />, right: true, isTime: true }
      ]}
    />
  )
}

/** The API key of a request, which leads to all of its requests. */
const KeyOf = ({ of: { key_id: id } }: { readonly of: RequestLogEntry }) =>
  id === null ? null : (
    <a href={withQuery({ key_id: id })}>
      <Named kind="keys" id={id} />
    </a>
  )

const ResourceOf = ({ of: { resource_id: id, route } }: { readonly of: RequestLogEntry }) => (
  <ResourceLink name={route.split("/v1/")[1] ?? ""} id={id} />
)

const fieldName = (field: string): string =>
  (approvalWords().fieldNames as Readonly<Record<string, string>>)[field] ?? auditFieldName(field) ?? field

export const Audit = () => {
  const { empty, fields, nav } = words()
  return (
    <List
      title={nav.audit}
      empty={empty.audit}
      filters={[
        { name: "action", label: fields.action, kind: "quiet", nameOf: operationName },
        { name: "operator_id", label: fields.operator, kind: "quiet", nameOf: shortIdOf },
        { name: "created", label: fields.created, kind: "period" }
      ]}
      load={(api, query) => api.audit.list({ query })}
      columns={[
        {
          name: fields.action,
          cell: ({ action, operator, operator_id: operatorId, resource_id: id }) => (
            <>
              <a href={withQuery({ action })} title={action}>
                <b>{operationName(action)}</b>
              </a>
              <div class="narrow quiet under">
                {operatorId === null ? viaName("installation") : operator} <ResourceLink name={action} id={id} />
              </div>
            </>
          )
        },
        {
          name: fields.operator,
          cell: ({ operator, operator_id: id }) =>
            id === null ? viaName("installation") : <a href={withQuery({ operator_id: id })}>{operator}</a>,
          wide: true
        },
        { name: fields.via, cell: ({ via }) => viaName(via), wide: true },
        { name: fields.address, cell: ({ address }) => address, wide: true },
        {
          name: fields.resource,
          cell: ({ action, resource_id: id }) => <ResourceLink name={action} id={id} />,
          wide: true
        },
        {
          name: fields.changes,
          cell: ({ after, before }) => <Changes before={before} after={after} nameOf={fieldName} />
        },
        { name: fields.created, cell: (entry) => <Time of={entry.created_at} />, right: true, isTime: true }
      ]}
    />
  )
}
