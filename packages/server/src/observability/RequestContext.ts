/**
 * The id, route and caller of a request, for the request log, the audit log and error logs.
 */
import * as Context from "effect/Context"
import { randomUUID } from "node:crypto"

export interface RequestInfo {
  readonly requestId: string
  /** The route's template, without ids. */
  route: string
  keyId: string | null
  accountId: string | null
  /** The resource that the answer is about. */
  resourceId: string | null
  /** The IP address of an operator's request. */
  address: string | null
}

/** The request of the current fiber. */
export const CurrentRequest = Context.Reference<RequestInfo>("@pix-payments/server/CurrentRequest", {
  defaultValue: () => ({
    requestId: "",
    route: "unknown",
    keyId: null,
    accountId: null,
    resourceId: null,
    address: null
  })
})

/** The request id that the caller sent, where it is well-formed; otherwise a new one. */
export const requestIdOf = (sent: string | ReadonlyArray<string> | undefined): string =>
  typeof sent === "string" && wellFormed.test(sent) ? sent : randomUUID()

const wellFormed = /^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$/
