/** Registered endpoints and their deliveries. */
import { assert } from "@effect/vitest"
import type { WebhookEndpoint } from "@pix-payments/domain/WebhookEndpoint"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import type { DeliveryDetail } from "./ChargeDeliveries.ts"
import { eventually } from "./Receiver.ts"
import { type Fields, TestService } from "./TestService.ts"

/** A public address without a name to resolve. */
export const somewhere = "https://1.1.1.1/hooks"

export interface EndpointList {
  readonly object: "list"
  readonly data: ReadonlyArray<WebhookEndpoint>
  readonly has_more: boolean
}

/** An endpoint as operators see it. */
export interface EndpointHealth extends WebhookEndpoint {
  readonly account_id: string
  readonly application_id: string
  readonly consecutive_failures: number
  readonly success_rate: number | null
  readonly paused: number
  readonly last_success_at: string | null
  readonly last_failure_at: string | null
}

export interface DeliveryRow extends Omit<DeliveryDetail, "attempts"> {
  readonly resource_id: string
  readonly endpoint_id: string | null
  readonly url: string
  readonly created_at: string
}

/** Requests an endpoint of `charge.pix.paid`, with these fields. */
export const register = (key: string, fields: Fields = {}) =>
  Effect.flatMap(TestService, ({ call }) =>
    call<WebhookEndpoint>("POST", "/v1/webhooks", {
      key,
      body: { url: somewhere, events: ["charge.pix.paid"], ...fields }
    })
  )

/** Creates an endpoint. */
export const registered = (key: string, fields?: Fields) =>
  Effect.map(register(key, fields), (answer) => {
    assert.strictEqual(answer.status, 201, answer.text)
    return answer.body
  })

export const change = (key: string, id: string, body: unknown) =>
  Effect.flatMap(TestService, ({ call }) => call<WebhookEndpoint>("PATCH", `/v1/webhooks/${id}`, { key, body }))

/** Changes an endpoint that is there. */
export const changed = (key: string, id: string, body: Fields) =>
  Effect.map(change(key, id, body), (answer) => {
    assert.strictEqual(answer.status, 200, answer.text)
    return answer.body
  })

export const remove = (key: string, id: string) =>
  Effect.flatMap(TestService, ({ call }) => call("DELETE", `/v1/webhooks/${id}`, { key }))

export const endpointsOf = (key: string) =>
  Effect.flatMap(TestService, ({ call }) =>
    Effect.map(call<EndpointList>("GET", "/v1/webhooks", { key }), (answer) => {
      assert.strictEqual(answer.status, 200, answer.text)
      return answer.body
    })
  )

export const healthOf = (applicationId: string) =>
  Effect.flatMap(TestService, ({ operate }) =>
    Effect.map(
      operate<{ data: ReadonlyArray<EndpointHealth> }>("GET", `/operator/v1/applications/${applicationId}/webhooks`),
      ({ body }) => body.data
    )
  )

/** Waits until the deliveries of all committed changes are inserted. */
export const fannedOut = Effect.flatMap(SqlClient, (sql) =>
  eventually(sql`SELECT change_id FROM outbox LIMIT 1`, ({ length }) => length === 0)
)

/** Deliveries by what an operator asks for, newest first. */
export const deliveriesOf = (query: string) =>
  Effect.flatMap(Effect.andThen(fannedOut, TestService), ({ operate }) =>
    Effect.map(
      operate<{ data: ReadonlyArray<DeliveryRow> }>("GET", `/operator/v1/deliveries?limit=100&${query}`),
      (answer) => {
        assert.strictEqual(answer.status, 200, answer.text)
        return answer.body.data
      }
    )
  )

export const deliveryOf = (id: string) =>
  Effect.flatMap(TestService, ({ operate }) =>
    Effect.map(operate<DeliveryDetail & DeliveryRow>("GET", `/operator/v1/deliveries/${id}`), ({ body }) => body)
  )

export const resend = (id: string) =>
  Effect.flatMap(TestService, ({ operate }) => operate<DeliveryRow>("POST", `/operator/v1/deliveries/${id}/resend`))

export const resendFailed = (body: Fields) =>
  Effect.flatMap(TestService, ({ operate }) =>
    operate<{ readonly object: string; readonly count: number; readonly has_more: boolean; readonly dry_run: boolean }>(
      "POST",
      "/operator/v1/deliveries/resend",
      {
        body
      }
    )
  )
