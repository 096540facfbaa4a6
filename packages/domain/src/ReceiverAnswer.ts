/**
 * What a receiver's answer says of a delivery: DLV-2. The service and `pix listen` decide by it.
 *
 * Guarantees
 * - The status line decides, whatever becomes of the rest. Informational answers before it are skipped.
 * - Reading is bounded: `READ_BYTES` in all, where each read counts as at least `MIN_READ_BYTES`.
 */

/** Bytes of an answer that are read. */
export const READ_BYTES = 32_768
export const MIN_READ_BYTES = 64

/** Any 2xx is a success. */
export const isSuccess = (status: number | null | undefined): boolean =>
  typeof status === "number" && status >= 200 && status < 300

export interface AnswerReader {
  /** Takes what was read from the connection. Returns the part of it that begins with the final status line, within the bound. */
  readonly push: (bytes: Uint8Array) => Uint8Array
  /** Of the final status line, once it is complete. */
  readonly status: () => number | undefined
  /** Why nothing more is read. */
  readonly end: () => "answer too large" | "not HTTP" | undefined
}

/** Reads one answer. */
export const answerReader = (): AnswerReader => {
  let left = READ_BYTES
  let status: number | undefined
  let end: ReturnType<AnswerReader["end"]>
  /** The incomplete line before the bytes that come next. */
  let partial: Uint8Array = NONE
  let isInformational = false

  const findStatus = (bytes: Uint8Array): Uint8Array => {
    const all = partial.length === 0 ? bytes : joined(partial, bytes)
    for (let from = 0; ;) {
      const lineEnd = all.indexOf(LINE_FEED, from)
      if (lineEnd < 0) {
        partial = all.subarray(from)
        return NONE
      }
      const line = latin1.decode(all.subarray(from, lineEnd)).replace(/\r$/, "")
      if (isInformational) isInformational = line !== ""
      else if (line !== "") {
        const [, code] = statusLine.exec(line) ?? []
        if (code === undefined) {
          end = "not HTTP"
          return all.subarray(from)
        }
        isInformational = code.startsWith("1") && code !== SWITCHING_PROTOCOLS
        if (!isInformational) {
          status = Number(code)
          return all.subarray(from)
        }
      }
      from = lineEnd + 1
    }
  }

  return {
    push: (bytes) => {
      const allowed = bytes.subarray(0, left)
      left -= Math.max(MIN_READ_BYTES, bytes.length)
      const passed = status === undefined && end === undefined ? findStatus(allowed) : allowed
      if (left <= 0) end ??= "answer too large"
      return passed
    },
    status: () => status,
    end: () => end
  }
}

/** Why a delivery did not reach its receiver, in plain words, by the code of the error. */
export const connectionProblem = (code: string): string => connectionProblems[code] ?? `connection error (${code})`

const connectionProblems: Readonly<Record<string, string>> = {
  ENOTFOUND: "name does not resolve",
  EAI_AGAIN: "name does not resolve",
  ECONNREFUSED: "connection refused",
  ECONNRESET: "connection reset",
  ECONNABORTED: "connection closed",
  EPIPE: "connection closed",
  EHOSTUNREACH: "address not reachable",
  ENETUNREACH: "address not reachable",
  EADDRNOTAVAIL: "address not reachable",
  ETIMEDOUT: "timeout",
  CERT_HAS_EXPIRED: "certificate has expired",
  CERT_NOT_YET_VALID: "certificate is not valid yet",
  ERR_TLS_CERT_ALTNAME_INVALID: "certificate is of another name",
  DEPTH_ZERO_SELF_SIGNED_CERT: "certificate is not trusted",
  SELF_SIGNED_CERT_IN_CHAIN: "certificate is not trusted",
  UNABLE_TO_GET_ISSUER_CERT: "certificate is not trusted",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: "certificate is not trusted",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "certificate is not trusted",
  EPROTO: "not TLS",
  ERR_SSL_WRONG_VERSION_NUMBER: "not TLS",
  ERR_SSL_PACKET_LENGTH_TOO_LONG: "not TLS"
}

const statusLine = /^HTTP\/1\.[01] ([1-9]\d\d)(?: .*)?$/

/** The answer after it is no HTTP: it is final, and no success. */
const SWITCHING_PROTOCOLS = "101"

const LINE_FEED = 10
const NONE = new Uint8Array(0)
const latin1 = new TextDecoder("latin1")

const joined = (first: Uint8Array, second: Uint8Array): Uint8Array => {
  const all = new Uint8Array(first.length + second.length)
  all.set(first)
  all.set(second, first.length)
  return all
}
