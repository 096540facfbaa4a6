/**
 * The outbox: a change, and its deliveries to subscribed endpoints and to the resource's `webhook_url`.
 */
import { Injectable } from "@nestjs/common"
import { type EntityManager, IsNull } from "typeorm"
import { nextId } from "../fastify/ids.ts"
import { Change, Delivery, WebhookEndpoint } from "./entities.ts"

interface ChangedResource {
  readonly id: string
  readonly account_id: string
  readonly application_id: string | null
  readonly status: string
  readonly sequence: number
  readonly webhook_url: string | null
  readonly webhook_secret: string | null
}

@Injectable()
export class Outbox {
  /** Inserts a change with `actions`, and deliveries for `delivered`, in the transaction of `manager`. */
  async insert(
    manager: EntityManager,
    kind: string,
    resource: ChangedResource,
    data: object,
    actions: Array<string>,
    delivered: ReadonlyArray<string> = actions
  ) {
    const { epochMs, id } = nextId()
    const created_at = new Date(epochMs)
    await manager.insert(Change, {
      id,
      resource_id: resource.id,
      account_id: resource.account_id,
      application_id: resource.application_id,
      kind,
      actions,
      status: resource.status,
      sequence: resource.sequence,
      data: JSON.stringify(data),
      created_at
    })
    if (delivered.length === 0 || resource.application_id === null) return
    const endpoints = await manager.find(WebhookEndpoint, {
      where: { application_id: resource.application_id, deleted_at: IsNull() }
    })
    const own = resource.webhook_url === null ? undefined : new URL(resource.webhook_url)
    const deliveries = delivered.flatMap((action) => {
      const event = `${kind}.${action}`
      const subscribed = endpoints.filter(({ events }) => events.includes(event))
      const delivery = {
        change_id: id,
        event,
        resource_id: resource.id,
        account_id: resource.account_id,
        status: "scheduled",
        due_at: new Date(),
        created_at
      }
      const ownUrl =
        own === undefined || subscribed.some(({ normalized_url }) => normalized_url === own.href) ? undefined : own
      return [
        ...subscribed.map(({ destination, id: endpoint_id, url }) => ({
          ...delivery,
          id: nextId().id,
          endpoint_id,
          url,
          destination,
          secret: null
        })),
        ...(ownUrl === undefined
          ? []
          : [
              {
                ...delivery,
                id: nextId().id,
                endpoint_id: null,
                url: resource.webhook_url ?? "",
                destination: ownUrl.origin,
                secret: resource.webhook_secret
              }
            ])
      ]
    })
    if (deliveries.length > 0) await manager.insert(Delivery, deliveries)
  }
}
