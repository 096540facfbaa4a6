/** The list of webhook deliveries, and resending those of it that failed. */
import { DeliveryStatus } from "@pix-payments/api/operator/Deliveries"
import { eventNames } from "@pix-payments/domain/EventCatalog"
import { shortIdOf } from "@pix-payments/domain/Uuid"
import { useSignal } from "@preact/signals"
import { query } from "../app/Router.ts"
import { may } from "../app/Session.ts"
import { List } from "../parts/List.tsx"
import { ResourceLink } from "../parts/ResourceLink.tsx"
import { ResendFailed } from "../parts/ResendFailed.tsx"
import { State } from "../parts/State.tsx"
import { Moment } from "../parts/Time.tsx"
import { words } from "../words/Words.ts"

export const Deliveries = () => {
  const version = useSignal(0)
  const { empty, fields, nav } = words()
  const filterOf = (name: string) => query.value.get(name) || null
  return (
    <List
      title={nav.deliveries}
      version={version.value}
      actions={
        may("operator") && (
          <ResendFailed
            filters={{
              account_id: filterOf("account_id"),
              created_after: filterOf("created_after"),
              created_before: filterOf("created_before"),
              endpoint_id: filterOf("endpoint_id"),
              resource_id: filterOf("resource_id")
            }}
            event={filterOf("event") ?? undefined}
            onDone={() => {
              version.value += 1
            }}
          />
        )
      }
      empty={empty.deliveries}
      filters={[
        { name: "status", label: fields.status, kind: "tabs", options: DeliveryStatus.literals },
        { name: "created", label: fields.created, kind: "period" },
        { name: "account_id", label: fields.account, kind: "account" },
        { name: "event", label: fields.event, options: eventNames, nameOf: (event) => event },
        { name: "endpoint_id", label: fields.endpoint, kind: "quiet", nameOf: shortIdOf },
        { name: "resource_id", label: fields.resource, isMore: true }
      ]}
      load={(api, query) => api.deliveries.list({ query })}
      sum={(api, query) => api.deliveries.summary({ query })}
      file="/deliveries/export"
      linkOf={({ id }) => `/deliveries/${id}`}
      columns={[
        {
          name: fields.event,
          cell: ({ event, resource_id: id, url }) => (
            <>
              {event}
              <div class="narrow quiet under">
                <span class="id">{shortIdOf(id)}</span> · {url}
              </div>
            </>
          )
        },
        { name: fields.status, cell: ({ status }) => <State of={status} /> },
        {
          name: fields.resource,
          cell: ({ event, resource_id: id }) => <ResourceLink name={event} id={id} />,
          wide: true
        },
        { name: fields.url, cell: ({ url }) => url, wide: true },
        { name: fields.attempts, cell: (delivery) => delivery.attempts_made, wide: true, right: true },
        { name: fields.created, cell: (delivery) => <Moment of={delivery.created_at} />, right: true, isTime: true }
      ]}
    />
  )
}
