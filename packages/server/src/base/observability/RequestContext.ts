/**
 * The id, route and caller of a request, for the request log, the audit log and error logs.
 */
import type { Generated } from "@pix-payments/domain/Uuid"
import * as Context from "effect/Context"
import { randomUUID } from "node:crypto"

export interface RequestInfo {
  /** A new id, with the time of the request's arrival. */
  readonly arrival: Generated
  /** The id that the caller sent, where it is well-formed; otherwise that of `arrival`. */
  readonly requestId: string
  /** The route's template, without ids. */
  route: string
  keyId: string | null
  accountId: string | null
  /** The resource that the answer is about. */
  resourceId: string | null
  /** The IP address of an operator's request. */
  address: string | null
  /** Of its trace; null where it is not sampled. */
  traceId: string | null
}

/** The request of the current fiber. */
export const CurrentRequest = Context.Reference<RequestInfo>("@pix-payments/server/CurrentRequest", {
  defaultValue: () => ({
    arrival: { id: "", epochMs: 0 },
    requestId: "",
    route: "unknown",
    keyId: null,
    accountId: null,
    resourceId: null,
    address: null,
    traceId: null
  })
})

/** The request id that the caller sent, where it is well-formed; otherwise a new one. */
export const requestIdOf = (sent: SentId, generate: () => string = randomUUID): string =>
  typeof sent === "string" && wellFormed.test(sent) ? sent : generate()

type SentId = string | ReadonlyArray<string> | undefined

const wellFormed = /^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$/
