/**
 * What a failed connection says: whether the request was sent at all, and the code of the transport's error.
 *
 * Guarantees: `not-sent` is said only where no attempt can have reached the service; when in doubt, it may have been
 * carried out. No text of the transport is shown: it may hold a header.
 */
import type { ConnectionFailure } from "./Errors.ts"

/** A failure, as both clients report it. */
export interface Failure {
  readonly message: string
  readonly reason: ConnectionFailure
  readonly causeCode?: string
}

/** Why an attempt has no answer; `mayBeDone` where an earlier one may have been carried out. */
export const failureOf = (operation: string, method: string, cause: unknown, mayBeDone: boolean): Failure => {
  let causeCode: string | undefined
  let proxyStatus: string | undefined
  let isConnecting = false
  for (let one = Object(cause), depth = 0; depth < 8; one = Object(one.cause), depth++) {
    if (typeof one.code === "string") causeCode ??= one.code
    // undici has no code of its own for a proxy that refuses a tunnel.
    proxyStatus ??= /^Proxy response \((\d+)\)/.exec(`${one.message}`)?.[1]
    isConnecting ||= one.syscall === "connect"
  }
  isConnecting ||= proxyStatus !== undefined || BEFORE_SENDING.test(`${causeCode}`)
  const isSent = mayBeDone || !isConnecting
  const what = isSent ? `connection lost${causeCode ? ` (${causeCode})` : ""}` : causeCode
  return {
    message: `${operation}: ${proxyStatus ? `the proxy answered ${proxyStatus}` : what}${doubt(method, isSent)}`,
    reason: isSent ? "lost" : "not-sent",
    ...(causeCode && { causeCode })
  }
}

/** What may have come of a request that was sent; nothing of one that only reads. */
export const doubt = (method: string, isSent = true): string =>
  isSent ? (method === "GET" ? "" : ", it may have been carried out") : ", nothing was sent"

/** Codes of failures before the request: names, connections (Node, Bun) and certificates. */
const BEFORE_SENDING =
  /^(ECONNREFUSED|ENOTFOUND|EAI_|UND_ERR_CONNECT_TIMEOUT|ConnectionRefused|FailedToOpenSocket)|CERT|_LEAF_/
