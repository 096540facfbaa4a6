/**
 * Translates domain errors to the contract's errors, for all groups.
 */
import {
  AccountInactive,
  AccountRestricted,
  AcquirerRejected,
  AmountBelowMinimum,
  ChargeNotFound,
  CursorExpired,
  IdempotencyKeyReused,
  InsufficientBalance,
  InvalidDocument,
  InvalidState,
  InvalidWebhookEvent,
  InvalidWebhookUrl,
  MethodNotSupported,
  NotFound,
  PayoutNotFound,
  RateLimited,
  ServiceUnavailable,
  ValidationError,
  WebhookNotFound
} from "@pix-payments/api/WireErrors"
import { errorCodes } from "@pix-payments/domain/ErrorCode"
import type { Refusal } from "@pix-payments/domain/Request"
import * as Effect from "effect/Effect"
import type { AccountRestrictedError, LimitExceededError } from "../../base/Errors.ts"
import { type Answer, errorAnswer } from "./Answer.ts"

/** Translates a request that its schema refuses. `codes` are the codes that the schema can raise. */
export const refusedAs =
  <C extends keyof typeof requestErrors>(...codes: ReadonlyArray<C>) =>
  ({ code, details, message }: Refusal): Effect.Effect<never, InstanceType<(typeof requestErrors)[C]>> => {
    const known = codes.find((candidate) => candidate === code)
    if (known === undefined) return Effect.die(new Error(`a request was refused with the unexpected code ${code}`))
    const error = new requestErrors[known]({
      ...(details !== undefined && { details }),
      ...(message !== undefined && message !== "" && { message })
    })
    return Effect.fail(error as InstanceType<(typeof requestErrors)[C]>)
  }

const requestErrors = {
  VALIDATION_ERROR: ValidationError,
  METHOD_NOT_SUPPORTED: MethodNotSupported,
  AMOUNT_BELOW_MINIMUM: AmountBelowMinimum,
  INVALID_DOCUMENT: InvalidDocument,
  INVALID_WEBHOOK_EVENT: InvalidWebhookEvent,
  INVALID_WEBHOOK_URL: InvalidWebhookUrl
} as const

/** The provider refused a charge, its refund or the defense of its dispute. */
export const rejected = ({ chargeId, reason }: { readonly chargeId: string; readonly reason: string }) =>
  new AcquirerRejected(reason === "" ? { charge_id: chargeId } : { charge_id: chargeId, message: reason })

export const accountInactive = () => new AccountInactive({})
export const accountRestricted = ({ reason }: AccountRestrictedError) =>
  new AccountRestricted(
    reason === "recipient" ? { message: "The recipient is not one of those that the limits allow." } : {}
  )

/** 429 with the seconds after which the request may be repeated. */
export const rateLimited = (retryAfterSeconds: number): Effect.Effect<Answer<never>> =>
  Effect.succeed(errorAnswer(new RateLimited({}), { "retry-after": String(retryAfterSeconds) }) as Answer<never>)

export const limitExceeded = ({ retryAfterSeconds }: LimitExceededError) => rateLimited(retryAfterSeconds)
/** `available` is for those who may read the balance. */
export const insufficientBalance = ({
  available,
  needed
}: {
  readonly needed: number
  readonly available?: number
}) => {
  const has = available === undefined ? "" : `, ${available} are available`
  return new InsufficientBalance({
    message: `${errorCodes.INSUFFICIENT_BALANCE.message} ${needed} cents are needed${has}.`
  })
}
export const payoutNotFound = () => new PayoutNotFound({})
export const webhookNotFound = () => new WebhookNotFound({})
export const chargeNotFound = () => new ChargeNotFound({})
export const notFound = () => new NotFound({})

/** The account is in that cell, or on its way there. */
export const movedTo = (cell: string) =>
  new ServiceUnavailable({
    message: "The account moves to another cell, or has: repeat this there.",
    details: [cell]
  })
export const invalidState = () => new InvalidState({})
export const unknownCursor = () => new ValidationError({ details: ["starting_after"] })
export const keyReused = () => new IdempotencyKeyReused({})
export const cursorExpired = () => new CursorExpired({})
