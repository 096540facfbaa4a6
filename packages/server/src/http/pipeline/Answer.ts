/**
 * HTTP answers before they are serialised, and the contract's error body.
 */
import { type ErrorCode, errorCodes } from "@pix-payments/domain/ErrorCode"
import { MAX_DETAILS } from "@pix-payments/domain/Request"
import type * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"

export interface Answer<Body = unknown> {
  readonly status: number
  /** Sent as JSON; `undefined` for no body. */
  readonly body?: Body
  /** A list is sent as a header for each of its values. */
  readonly headers?: Readonly<Record<string, string | ReadonlyArray<string>>>
  /** Sent instead of `body`. */
  readonly stream?: StreamedBody
  /** Sent instead of `body`. */
  readonly file?: { readonly contentType: string; readonly bytes: Buffer }
}

/** A body that is sent in pieces while the caller reads (`Streams`). */
export interface StreamedBody {
  readonly contentType: string
  /** The name under which a browser stores it. */
  readonly fileName?: string
  /** Whose share of the listener's streams it takes. */
  readonly owner: string
  /** What the caller may see. A stream ends when the same request would be answered with another scope. */
  readonly scope: string
  /** The next piece, in the scope of the stream; undefined after the last one. Not run before the one before it has left. */
  readonly next: Effect.Effect<string | Uint8Array | undefined, unknown, Scope.Scope>
}

export const answer = <Body>(status: number, body: Body): Answer<Body> => ({ status, body })

/** 201 with the resource, marked where an idempotency key found it (IDEM-4). */
export const created = <Body>(body: Body, isReplayed: boolean): Answer<Body> => ({
  status: 201,
  body,
  ...(isReplayed ? { headers: { "idempotent-replayed": "true" } } : undefined)
})

/** An error of the contract. */
export interface WireError {
  readonly code: ErrorCode
  readonly message: string
  readonly details?: ReadonlyArray<string>
  readonly charge_id?: string
}

/** The answer to a request that failed with `error`. */
export const errorAnswer = (error: WireError, headers?: Readonly<Record<string, string>>): Answer => ({
  status: errorCodes[error.code].status,
  body: {
    code: error.code,
    message: error.message,
    // Bounded, because a hostile body could have any number of violations.
    details: error.details === undefined ? undefined : error.details.slice(0, MAX_DETAILS),
    charge_id: error.charge_id
  },
  ...(headers === undefined ? undefined : { headers })
})

/** The error answer with the default message of a code. */
export const codeAnswer = (
  code: ErrorCode,
  options: { readonly details?: ReadonlyArray<string>; readonly headers?: Readonly<Record<string, string>> } = {}
): Answer =>
  errorAnswer(
    {
      code,
      message: errorCodes[code].message,
      ...(options.details === undefined ? undefined : { details: options.details })
    },
    options.headers
  )
