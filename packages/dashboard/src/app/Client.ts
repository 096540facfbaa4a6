/**
 * The client of the operator interface, derived from its declaration. The session cookie signs the requests.
 *
 * Guarantees:
 * - A call ends in its answer or in a `Problem` that a person can read, with the request's id where there is one.
 * - An answer of 401 ends the session of the page.
 */
import { OperatorApi } from "@pix-payments/api/OperatorApi"
import { OperatorAuthentication } from "@pix-payments/api/Security"
import * as Effect from "effect/Effect"
import * as HttpApiClient from "effect/http-api/HttpApiClient"
import * as HttpApiMiddleware from "effect/http-api/HttpApiMiddleware"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import * as Layer from "effect/Layer"
import * as ManagedRuntime from "effect/ManagedRuntime"
import * as Schema from "effect/Schema"
import type * as SchemaIssue from "effect/SchemaIssue"
import { signal } from "@preact/signals"

/** A failed call. `code` is the contract's, or `NETWORK` where no answer came. */
export interface Problem {
  readonly code: string
  readonly message: string
  /** The fields that are wrong. */
  readonly details: ReadonlyArray<string>
}

export type Outcome<A> =
  | { readonly _tag: "Done"; readonly value: A }
  | { readonly _tag: "Failed"; readonly problem: Problem }

/** False after a 401. */
export const hasSession = signal(true)

const runtime = ManagedRuntime.make(
  Layer.merge(
    FetchHttpClient.layer,
    HttpApiMiddleware.layerClient(OperatorAuthentication, ({ next, request }) => next(request))
  )
)

const client = runtime.runPromise(HttpApiClient.make(OperatorApi, { baseUrl: globalThis.location.origin }))

export type OperatorClient = Awaited<typeof client>

/** Calls an operation: `call((api) => api.charges.list({ query: {} }))`. */
export const call = async <A, E>(
  operation: (api: OperatorClient) => Effect.Effect<A, E>,
  signal?: AbortSignal
): Promise<Outcome<A>> => {
  const outcome = await runtime.runPromise(
    Effect.match(operation(await client), {
      onSuccess: (value): Outcome<A> => ({ _tag: "Done", value }),
      onFailure: (error): Outcome<A> => ({ _tag: "Failed", problem: problemOf(error) })
    }),
    signal === undefined ? {} : { signal }
  )
  if (outcome._tag === "Failed" && outcome.problem.code === "UNAUTHORIZED") hasSession.value = false
  return outcome
}

const problemOf = (error: unknown): Problem => {
  const { code, details, message } = error as { code?: unknown; message?: unknown; details?: unknown }
  // The declaration refuses it here already.
  if (Schema.isSchemaError(error)) return { code: "VALIDATION_ERROR", message: "", details: pathsOf(error.issue) }
  if (typeof code === "string" && typeof message === "string") {
    return { code, message, details: Array.isArray(details) ? details.map(String) : [] }
  }
  return { code: "NETWORK", message: "", details: [] }
}

/** The fields that an issue concerns. */
const pathsOf = (issue: SchemaIssue.Issue): ReadonlyArray<string> => {
  switch (issue._tag) {
    case "Pointer":
      return [issue.path.map(String).join(".")]
    case "Composite":
    case "AnyOf":
      return issue.issues.flatMap(pathsOf)
    case "Encoding":
    case "Filter":
      return pathsOf(issue.issue)
    default:
      return []
  }
}
