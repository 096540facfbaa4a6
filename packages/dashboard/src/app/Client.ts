/**
 * The client of the operator interface, derived from its declaration. The session cookie signs the requests.
 *
 * Guarantees:
 * - A call ends in its answer or in a `Problem` that a person can read, also where no answer comes for two minutes. It rejects
 *   only where the caller's signal aborts it.
 * - An answer of 401 ends the session of the page.
 */
import { OperatorApi } from "@pix-payments/api/OperatorApi"
import { OperatorAuthentication } from "@pix-payments/api/Security"
import * as Effect from "effect/Effect"
import * as HttpApi from "effect/http-api/HttpApi"
import * as HttpApiClient from "effect/http-api/HttpApiClient"
import * as HttpApiMiddleware from "effect/http-api/HttpApiMiddleware"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import * as HttpClient from "effect/http/HttpClient"
import * as Layer from "effect/Layer"
import * as ManagedRuntime from "effect/ManagedRuntime"
import * as Schema from "effect/Schema"
import type * as SchemaIssue from "effect/SchemaIssue"
import { signal } from "@preact/signals"

/**
 * A failed call. `code` is the contract's, `NETWORK` where no answer came, `PAGE` where the page itself failed, or `INCOMPLETE`
 * where a part was done: the message says which.
 */
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

/** A form shows all of its bad fields at once. */
const api = OperatorApi.annotate(HttpApi.PayloadParseOptions, { errors: "all" })

const client = runtime.runPromise(HttpApiClient.make(api, { baseUrl: globalThis.location.origin }))

export type OperatorClient = Awaited<typeof client>

/** The URL that an operation would ask, which is not sent; `undefined` if the declaration refuses it. */
export const requestOf = (operation: (api: OperatorClient) => Effect.Effect<unknown, unknown>): string | undefined => {
  let asked: string | undefined
  const recording = HttpClient.make((_, url) => {
    asked = url.href
    return Effect.interrupt
  })
  runtime.runSyncExit(
    Effect.flatMap(
      HttpApiClient.makeWith(api, { httpClient: recording, baseUrl: globalThis.location.origin }),
      (recorder) => operation(recorder as unknown as OperatorClient)
    )
  )
  return asked
}

/** An action that calls a provider several times takes up to a minute. */
const LONGEST_CALL_MS = 120_000

/** Calls an operation: `call((api) => api.charges.list({ query: {} }))`. Rejects only where the signal aborts it. */
export const call = async <A, E>(
  operation: (api: OperatorClient) => Effect.Effect<A, E>,
  signal?: AbortSignal
): Promise<Outcome<A>> => {
  const limit = signal ?? AbortSignal.timeout(LONGEST_CALL_MS)
  const answered = Effect.match(operation(await client), {
    onSuccess: (value): Outcome<A> => ({ _tag: "Done", value }),
    onFailure: (error): Outcome<A> => ({ _tag: "Failed", problem: problemOf(error) })
  })
  const outcome = await runtime.runPromise(answered, { signal: limit }).catch((error: unknown): Outcome<A> => {
    if (signal?.aborted === true) throw error
    return { _tag: "Failed", problem: limit.aborted ? NO_ANSWER : FAILED_PAGE }
  })
  if (outcome._tag === "Failed" && outcome.problem.code === "UNAUTHORIZED") hasSession.value = false
  return outcome
}

/** No answer came. */
export const NO_ANSWER: Problem = { code: "NETWORK", message: "", details: [] }

/** The page itself failed. */
export const FAILED_PAGE: Problem = { code: "PAGE", message: "", details: [] }

const problemOf = (error: unknown): Problem => {
  const { code, details, message } = error as { code?: unknown; message?: unknown; details?: unknown }
  // The declaration refuses it here already.
  if (Schema.isSchemaError(error)) return { code: "VALIDATION_ERROR", message: "", details: pathsOf(error.issue) }
  if (typeof code === "string" && typeof message === "string") {
    return { code, message, details: Array.isArray(details) ? details.map(String) : [] }
  }
  return NO_ANSWER
}

/** The fields that an issue concerns. */
const pathsOf = (issue: SchemaIssue.Issue): ReadonlyArray<string> => {
  switch (issue._tag) {
    case "Pointer": {
      const path = issue.path.map(String).join(".")
      const parts = pathsOf(issue.issue)
      return parts.length === 0 ? [path] : parts.map((part) => `${path}.${part}`)
    }
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
