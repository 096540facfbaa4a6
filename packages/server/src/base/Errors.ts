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

/** The account may not pay out: its onboarding is not completed, or the recipient is not one of its limits' list. */
export class AccountRestrictedError extends Data.TaggedError("AccountRestrictedError")<{
  readonly reason: "onboarding" | "recipient"
}> {}

/** The payout is beyond a limit of its account or key. */
export class LimitExceededError extends Data.TaggedError("LimitExceededError")<{
  readonly retryAfterSeconds: number
}> {}

/** The account's `available` does not cover what is needed, in cents. */
export class InsufficientBalanceError extends Data.TaggedError("InsufficientBalanceError")<{
  readonly needed: number
  readonly available: number
}> {}

/** `starting_after` is not the id of an item of the list. */
export class UnknownCursor extends Data.TaggedError("UnknownCursor")<{}> {}

/** The request does not match its schema. */
export class RequestRefused extends Data.TaggedError("RequestRefused")<Refusal> {}
