/**
 * Classifies a failed connection: whether the request may have reached the service, and the transport's error code.
 *
 * Guarantees:
 * - `not-sent` means that no attempt can have reached the service. In doubt, the reason is `lost`.
 * - Messages contain none of the transport's text, which may include a header.
 */
import type { ConnectionErrorReason } from "./Errors.ts"

/** The fields of a connection error. */
export interface ConnectionFailure {
  readonly message: string
  readonly reason: ConnectionErrorReason
  readonly causeCode?: string
}

/** The call that failed. */
export interface FailedCall {
  readonly operation: string
  readonly method: string
  /** Where it was sent. */
  readonly url: string
  readonly idempotencyKey?: string | undefined
}

/** Classifies the cause of an attempt without a response. `mayBeDone`: an earlier attempt may have been processed. */
export const connectionFailure = (call: FailedCall, cause: unknown, mayBeDone: boolean): ConnectionFailure => {
  let causeCode: string | undefined
  let proxyStatus: string | undefined
  let isConnecting = false
  for (let error = Object(cause), depth = 0; depth < 8; error = Object(error.cause), depth++) {
    if (typeof error.code === "string") causeCode ??= error.code
    // undici has no error code for a proxy that rejects CONNECT.
    proxyStatus ??= /^Proxy response \((\d+)\)/.exec(`${error.message}`)?.[1]
    isConnecting ||= error.syscall === "connect" || BEFORE_SENDING.test(error.code) || UNCODED.test(error.message)
  }
  const isSent = mayBeDone || !(isConnecting || proxyStatus)
  const host = hostOf(call)
  const problem = isSent
    ? `connection to ${host} lost${causeCode ? ` (${causeCode})` : ""}`
    : `${causeCode ?? "no connection to"} ${host}`
  return {
    message:
      `${call.operation}: ${proxyStatus ? `the proxy answered ${proxyStatus}` : problem}` +
      (isSent ? nextStep(call) : "; nothing was sent: check baseUrl, proxy and certificates"),
    reason: isSent ? "lost" : "not-sent",
    ...(causeCode && { causeCode })
  }
}

/** Host and port of a call. */
export const hostOf = ({ url }: Pick<FailedCall, "url">): string => new URL(url).host

/** The end of a message about a call that may have been processed: what to do next. */
export const nextStep = ({ idempotencyKey, method }: Omit<FailedCall, "url" | "operation">): string => {
  if (method === "GET") return "; repeat the call"
  const advice =
    method !== "POST"
      ? "repeat it"
      : idempotencyKey
        ? "repeat it with the same idempotencyKey"
        : "check before you repeat it"
  return `; it may have been processed: ${advice}`
}

/** Error codes of failures before the request is sent: DNS, connect (Node, Bun), a server without TLS, and certificates. */
const BEFORE_SENDING =
  /^(ECONNREFUSED|ENOTFOUND|EAI_|UND_ERR_CONNECT_TIMEOUT|ConnectionRefused|FailedToOpenSocket)|CERT|_LEAF_|WRONG_VERSION/

/** Messages of the same failures where they have no code of their own: Deno, Bun, and ports that `fetch` blocks. */
const UNCODED = /\(Connect\)|TLS handshake|bad port|are blocked/
