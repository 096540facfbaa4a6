/** The lists of what was done: requests to `/v1`, and changes by operators. */
import { Changes } from "../parts/Changes.tsx"
import { List } from "../parts/List.tsx"
import { RequestLink } from "../parts/RequestLink.tsx"
import { ResourceLink } from "../parts/ResourceLink.tsx"
import { Time } from "../parts/Time.tsx"
import { words } from "../words/Words.ts"

export const Requests = () => {
  const { empty, fields, nav } = words()
  return (
    <List
      title={nav.requests}
      empty={empty.requests}
      filters={[
        { name: "created", label: fields.created, kind: "period" },
        { name: "account_id", label: fields.account, kind: "account" },
        { name: "status", label: fields.status },
        { name: "route", label: fields.route, isMore: true },
        { name: "resource_id", label: fields.resource, isMore: true },
        { name: "request_id", label: fields.request, isMore: true }
      ]}
      load={(api, query) => api.requests.list({ query })}
      sum={(api, query) => api.requests.summary({ query })}
      file="/requests/export"
      columns={[
        { name: fields.route, cell: ({ route }) => <b>{route}</b> },
        {
          name: fields.status,
          cell: ({ status }) => (
            <span class={status >= 500 ? "chip bad" : status >= 400 ? "chip warn" : "chip good"}>{status}</span>
          )
        },
        { name: fields.duration, cell: (request) => `${request.duration_ms} ms`, right: true, wide: true },
        {
          name: fields.resource,
          cell: ({ resource_id: id, route }) => <ResourceLink name={route.split("/v1/")[1] ?? ""} id={id} />,
          wide: true
        },
        { name: fields.request, cell: (request) => <RequestLink id={request.request_id} />, wide: true },
        { name: fields.created, cell: (request) => <Time of={request.created_at} />, right: true }
      ]}
    />
  )
}

export const Audit = () => {
  const { empty, fields, nav } = words()
  return (
    <List
      title={nav.audit}
      empty={empty.audit}
      filters={[{ name: "action", label: fields.action }]}
      load={(api, query) => api.audit.list({ query })}
      columns={[
        { name: fields.action, cell: ({ action }) => <b>{action}</b> },
        { name: fields.operator, cell: ({ operator }) => operator },
        { name: fields.via, cell: ({ via }) => via, wide: true },
        { name: fields.address, cell: ({ address }) => address, wide: true },
        {
          name: fields.resource,
          cell: ({ action, resource_id: id }) => <ResourceLink name={action} id={id} />,
          wide: true
        },
        { name: fields.changes, cell: ({ after, before }) => <Changes before={before} after={after} /> },
        { name: fields.created, cell: (entry) => <Time of={entry.created_at} />, right: true }
      ]}
    />
  )
}
