/**
 * Domain errors of several services. `http/pipeline/WireTranslation.ts` translates them.
 */
import type { Refusal } from "@pix-payments/domain/Request"
import * as Data from "effect/Data"

/** The resource does not exist. */
export class NotFoundError extends Data.TaggedError("NotFoundError")<{}> {}

/** The state of the resource does not allow the action. */
export class InvalidStateError extends Data.TaggedError("InvalidStateError")<{ readonly status: string }> {}

/** The account is inactive. */
export class AccountInactiveError extends Data.TaggedError("AccountInactiveError")<{}> {}

/** The account's `available` does not cover what is needed, in cents. */
export class InsufficientBalanceError extends Data.TaggedError("InsufficientBalanceError")<{
  readonly needed: number
  readonly available: number
}> {}

/** `starting_after` is not the id of an item of the list. */
export class UnknownCursor extends Data.TaggedError("UnknownCursor")<{}> {}

/** The request does not match its schema. */
export class RequestRefused extends Data.TaggedError("RequestRefused")<Refusal> {}
