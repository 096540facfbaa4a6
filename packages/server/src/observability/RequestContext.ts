/**
 * The id, route and caller of a request, for the request log, the audit and error logs.
 */
import * as Context from "effect/Context"
import { randomUUID } from "node:crypto"

export interface RequestInfo {
  readonly requestId: string
  /** The route's template, so that ids do not part what belongs together. */
  route: string
  keyId: string | null
  accountId: string | null
}

/** The request of the current fiber. */
export const CurrentRequest = Context.Reference<RequestInfo>("@pix-payments/server/CurrentRequest", {
  defaultValue: () => ({ requestId: "", route: "unknown", keyId: null, accountId: null })
})

/** The id that the caller sent, when it is a sane one, or a new one. */
export const requestIdOf = (sent: string | ReadonlyArray<string> | undefined): string =>
  typeof sent === "string" && sane.test(sent) ? sent : randomUUID()

const sane = /^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$/
