/** The list of webhook deliveries. */
import { DeliveryStatus } from "@pix-payments/api/operator/Deliveries"
import { List } from "../parts/List.tsx"
import { State } from "../parts/State.tsx"
import { Time } from "../parts/Time.tsx"
import { words } from "../words/Words.ts"

export const Deliveries = () => {
  const { empty, fields, nav } = words()
  return (
    <List
      title={nav.deliveries}
      empty={empty.deliveries}
      filters={[
        { name: "status", label: fields.status, options: DeliveryStatus.literals },
        { name: "resource_id", label: fields.resource }
      ]}
      load={(api, query) => api.deliveries.list({ query })}
      linkOf={({ id }) => `/deliveries/${id}`}
      columns={[
        { name: fields.event, cell: ({ event }) => event },
        { name: fields.status, cell: ({ status }) => <State of={status} /> },
        { name: fields.url, cell: ({ url }) => url, wide: true },
        { name: fields.attempts, cell: (delivery) => delivery.attempts_made, wide: true, right: true },
        { name: fields.created, cell: (delivery) => <Time of={delivery.created_at} />, right: true }
      ]}
    />
  )
}
