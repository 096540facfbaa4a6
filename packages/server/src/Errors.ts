/**
 * The domain errors that several services share. The handlers of a group translate them to the wire.
 */
import type { Refusal } from "@pix-payments/domain/Request"
import * as Data from "effect/Data"

/** What is asked for does not exist here. */
export class NotFoundError extends Data.TaggedError("NotFoundError")<{}> {}

/** The present state does not allow this. */
export class InvalidStateError extends Data.TaggedError("InvalidStateError")<{ readonly status: string }> {}

/** The account is inactive. */
export class AccountInactiveError extends Data.TaggedError("AccountInactiveError")<{}> {}

/** The account's `available` does not cover it. */
export class InsufficientBalanceError extends Data.TaggedError("InsufficientBalanceError")<{}> {}

/** `starting_after` names nothing in this list's scope. */
export class UnknownCursor extends Data.TaggedError("UnknownCursor")<{}> {}

/** The request breaks a rule of its own schema. */
export class RequestRefused extends Data.TaggedError("RequestRefused")<Refusal> {}
