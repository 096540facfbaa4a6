/**
 * Requests of the operator interface as `curl`.
 *
 * Guarantee: no credential is in them. The shell reads the token from `PIX_TOKEN`, as `pix` does.
 */
import type * as Effect from "effect/Effect"
import { type OperatorClient, requestOf } from "./Client.ts"

/** The command for a path under `/operator/v1`, or for a URL. Quotes keep the shell from reading the URL. */
export const curl = (url: string): string =>
  `curl '${new URL(url, globalThis.location.origin).href.replaceAll("'", "%27")}' -H "x-operator-token: $PIX_TOKEN"`

/** The command for what an operation would send; `undefined` for a request that the declaration refuses. */
export const curlOf = (operation: (api: OperatorClient) => Effect.Effect<unknown, unknown>): string | undefined => {
  const url = requestOf(operation)
  return url === undefined ? undefined : curl(url)
}
