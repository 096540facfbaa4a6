/** Deliveries as a receiver gets them and as operators see them. */
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { createHmac } from "node:crypto"
import type { ServerResponse } from "node:http"
import { eventually, type Received, type Receiver } from "./Receiver.ts"
import { type Fields, TestService } from "./TestService.ts"
import { deliveriesOf, deliveryOf, type DeliveryRow } from "./Webhooks.ts"

export const longAgo = "2020-01-01T00:00:00Z"

export const answer = (response: ServerResponse, status: number) => {
  response.statusCode = status
  response.end()
}

/** Instructs the simulated acquirer, and expects that the call succeeds. */
export const simulate = <A = Fields>(path: string, body?: Fields, status = 200) =>
  Effect.flatMap(TestService, ({ operate }) =>
    Effect.map(operate<A>("POST", `/operator/v1/simulator${path}`, { body }), (answered) => {
      assert.strictEqual(answered.status, status, answered.text)
      return answered.body
    })
  )

export const data = ({ body }: Received) => body.data as unknown as Fields

export const receivedOf = ({ received }: Receiver, resourceId: string) =>
  received.filter(({ body }) => body.data.id === resourceId)

/**
 * `path event` of the deliveries of a resource that a receiver got, sorted, once there are `count`;
 * fails on more.
 */
export const receivedEventsOf = (hooks: Receiver, resourceId: string, count: number) =>
  Effect.map(
    eventually(
      Effect.sync(() => receivedOf(hooks, resourceId)),
      ({ length }) => length >= count
    ),
    (received) => {
      assert.lengthOf(received, count)
      return received.map(({ body, path }) => `${path} ${body.event}`).toSorted()
    }
  )

/** The deliveries of a resource, once each has had this many attempts. */
export const attempted = (resourceId: string, attempts: number, count?: number) =>
  Effect.flatMap(
    eventually(
      deliveriesOf(`resource_id=${resourceId}`),
      (rows) =>
        rows.length > 0 &&
        rows.length === (count ?? rows.length) &&
        rows.every(({ attempts_made, status }) => attempts_made === attempts && status !== "delivering")
    ),
    (rows) => Effect.forEach(rows, ({ id }) => deliveryOf(id))
  )

export const statusOf = (endpointId: string, status: string, count: number) =>
  eventually(deliveriesOf(`endpoint_id=${endpointId}&status=${status}`), ({ length }) => length === count)

/** Waits until this many deliveries of an endpoint are paused. */
export const pausedOf = (endpointId: string, count: number) =>
  eventually(
    Effect.flatMap(
      SqlClient,
      (sql) => sql`SELECT id FROM deliveries WHERE endpoint_id = ${endpointId}::uuid AND paused_due_at IS NOT NULL`
    ),
    ({ length }) => length === count
  )

/** Makes a delivery due. */
export const makeDue = (id: string) =>
  Effect.flatMap(
    SqlClient,
    (sql) => sql`UPDATE deliveries SET due_at = now() WHERE id = ${id}::uuid AND status = 'scheduled'`
  )

export const assertDueAfter = (
  { next_attempt_at }: DeliveryRow,
  { at, duration_ms }: { readonly at: string; readonly duration_ms: number },
  delayMs: number
) => {
  const delay = Date.parse(next_attempt_at ?? "") - Date.parse(at) - duration_ms
  assert.isAtLeast(delay, delayMs)
  assert.isBelow(delay, delayMs * 1.1 + 10_000)
}

/** Checks the contract's signature over the raw body; without a secret there is none. */
export const assertSigned = ({ bytes, headers, path }: Received, secret: unknown) => {
  const expected =
    typeof secret === "string" ? `sha256=${createHmac("sha256", secret).update(bytes).digest("hex")}` : undefined
  assert.strictEqual(headers["x-webhook-signature"], expected, path)
}

/** Verification as the specification of Standard Webhooks describes it. */
export const isStandard = ({ bytes, headers }: Received, key: Buffer): boolean => {
  const signed = Buffer.concat([Buffer.from(`${headers["webhook-id"]}.${headers["webhook-timestamp"]}.`), bytes])
  const expected = createHmac("sha256", key).update(signed).digest("base64")
  return String(headers["webhook-signature"])
    .split(" ")
    .some((candidate) => {
      const [version, signature] = candidate.split(",")
      return version === "v1" && signature === expected
    })
}
