/** Charges and their deliveries as operators see them. */
import type { Charge } from "@pix-payments/domain/Charge"
import * as Effect from "effect/Effect"
import * as Charges from "./ChargeRequests.ts"
import { eventually } from "./Receiver.ts"
import { type Fields, TestService } from "./TestService.ts"

/** A delivery with its attempts, as operators see it. */
export interface DeliveryDetail {
  readonly id: string
  readonly event: string
  readonly status: string
  readonly attempts_made: number
  readonly reason: string | null
  readonly next_attempt_at: string | null
  readonly attempts: ReadonlyArray<{
    readonly at: string
    readonly duration_ms: number
    readonly address: string | null
    readonly status_code: number | null
    readonly error: string | null
    readonly response_body: string | null
  }>
}

interface CreateOptions extends Fields {
  readonly key: string
  readonly customer?: Fields
}

/** Requests a charge; `customer` overrides fields of a valid customer. */
export const create = ({ customer, key, ...fields }: CreateOptions) =>
  Charges.create(key, { amount: 1990, customer: { ...Charges.someCustomer, ...customer }, ...fields })

/** The deliveries of a charge, once all are final. */
export const settled = (chargeId: string, count: number) =>
  Effect.gen(function* () {
    const { operate } = yield* TestService
    const { body } = yield* eventually(
      operate<{ data: ReadonlyArray<{ id: string; status: string }> }>(
        "GET",
        `/operator/v1/deliveries?resource_id=${chargeId}`
      ),
      (answer) =>
        answer.body.data.length === count &&
        answer.body.data.every(({ status }) => status === "delivered" || status === "failed")
    )
    return yield* Effect.forEach(body.data, ({ id }) =>
      Effect.map(operate<DeliveryDetail>("GET", `/operator/v1/deliveries/${id}`), (answer) => answer.body)
    )
  })

/** A charge once it has this status. */
export const reaching = (key: string, id: string, status: string) =>
  Effect.flatMap(TestService, ({ call }) =>
    Effect.map(
      eventually(call<Charge>("GET", `/v1/charges/${id}`, { key }), ({ body }) => body.status === status),
      ({ body }) => body
    )
  )
