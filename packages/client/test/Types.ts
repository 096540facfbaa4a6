/**
 * What the compiler has to say of the public types; this module is compiled and never run.
 *
 * Guarantees: what a caller reads is open, so that a `switch` without a `default` does not compile; known names and codes
 * narrow; the generated types are those that the declaration decodes to.
 */
import type { PaymentsApi } from "@pix-payments/api/PaymentsApi"
import type { WebhookEvent as DeclaredEvent } from "@pix-payments/domain/Event"
import type * as Effect from "effect/Effect"
import type * as HttpApiClient from "effect/http-api/HttpApiClient"
import type { PaymentsService } from "../src/generated/EffectOperations.ts"
import { type ApiError, type Charge, isCode, type Page } from "../src/index.ts"
import type { ChargeEvent, DisputeEvent, PaymentEvent, UnknownEvent, WebhookEvent } from "../src/webhooks.ts"

// @ts-expect-error -- an unknown status has no answer here
export const withoutDefault = (charge: Charge): string => {
  switch (charge.status) {
    case "processing":
    case "pending":
      return "wait"
    case "paid":
      return "ship"
    case "expired":
    case "canceled":
    case "failed":
    case "refunded":
    case "charged_back":
    case "infraction":
      return "do not ship"
  }
}

// @ts-expect-error -- an unknown code has no answer here
export const codeWithoutDefault = (error: ApiError): string => {
  switch (error.code) {
    case "INSUFFICIENT_BALANCE":
      return "later"
  }
}

// @ts-expect-error -- an unknown event has no answer here
export const eventWithoutDefault = (event: WebhookEvent): string => {
  switch (event.resource) {
    case "charge":
    case "payment":
    case "dispute":
      return "known"
  }
}

export const withDefault = (charge: Charge): string => {
  switch (charge.status) {
    case "paid":
      return "ship"
    default:
      return charge.status
  }
}

// A status that a later release brings can be compared with today.
export const fromTheFuture = (charge: Charge): boolean => charge.status === "partially_paid"

export const narrowed = (event: WebhookEvent): ChargeEvent | PaymentEvent | DisputeEvent | UnknownEvent => {
  const name: string = event.event
  if (event.event === "charge.pix.paid") return event satisfies ChargeEvent
  switch (event.resource) {
    case "charge":
      return event satisfies ChargeEvent
    case "payment":
      return event satisfies PaymentEvent
    case "dispute":
      return event satisfies DisputeEvent
    default:
      return event satisfies UnknownEvent & (typeof name extends string ? unknown : never)
  }
}

export const refused = (error: unknown): string => {
  if (isCode(error, "ACQUIRER_REJECTED")) return error.charge_id
  // @ts-expect-error -- this code brings no charge
  if (isCode(error, "INSUFFICIENT_BALANCE")) return error.charge_id satisfies string
  if (isCode(error, "A_CODE_TO_COME")) return error.message
  return ""
}

// The generated types are those of the declaration.

type Decoded = HttpApiClient.ForApi<typeof PaymentsApi>

/** What the derived client gives for an operation, and what the generated signature says. */
type Same<Group extends keyof PaymentsService & keyof Decoded, Name extends keyof PaymentsService[Group]> = [
  Name extends keyof Decoded[Group] ? Succeeds<Decoded[Group][Name]> : never,
  Succeeds<PaymentsService[Group][Name]>
]

type Succeeds<Method> = Method extends (...parameters: infer _) => Effect.Effect<infer A, infer _, infer _> ? A : never

type Fits<Pair extends readonly [unknown, unknown]> = [Pair[0]] extends [never]
  ? never
  : Pair[0] extends Pair[1]
    ? true
    : never

export const fits: readonly [
  Fits<Same<"charges", "retrieve">>,
  Fits<Same<"payouts", "retrieve">>,
  Fits<Same<"balance", "retrieve">>,
  Fits<Same<"account", "retrieve">>,
  DeclaredEvent["data"] extends WebhookEvent["data"] ? true : never
] = [true, true, true, true, true]

export const page: Page<Charge> = { object: "list", data: [], has_more: false }
