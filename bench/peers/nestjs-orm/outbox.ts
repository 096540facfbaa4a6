/**
 * What a change tells: its row, and deliveries to the subscribed endpoints and to the resource's own address.
 */
import { Injectable } from "@nestjs/common"
import { type EntityManager, IsNull } from "typeorm"
import { nextId } from "../fastify/guards.ts"
import { Change, Delivery, WebhookEndpoint } from "./entities.ts"

interface Changed {
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
  /** Writes a change within the caller's transaction; of its `actions` those `dispatched` are delivered. */
  async tell(
    manager: EntityManager,
    kind: string,
    resource: Changed,
    data: object,
    actions: Array<string>,
    dispatched: ReadonlyArray<string> = actions
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
    if (dispatched.length === 0 || resource.application_id === null) return
    const endpoints = await manager.find(WebhookEndpoint, {
      where: { application_id: resource.application_id, deleted_at: IsNull() }
    })
    const own = resource.webhook_url === null ? undefined : new URL(resource.webhook_url)
    const deliveries = dispatched.flatMap((action) => {
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
