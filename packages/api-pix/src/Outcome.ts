/**
 * The outcome of a request: done, or one of these errors.
 *
 * Guarantees
 * - `Refused`, `Duplicate` and `NotFound` come from a documented code in an answer that was read to its end, and of a charge, by
 *   which no money moves, from any. Anything else that could have been executed is `Unclear`.
 * - `NotSent`, `RateLimited` and the errors of access mean: not executed. None of them is a refusal of the order.
 * - A success has an empty body or JSON: the page of a proxy is `Unclear`.
 * - 401 is `CredentialsRejected`, whatever its body, and so is 403 with `invalid_token`.
 * - No error carries a request, a header or a cause. What a provider wrote in it is bounded and has no control character.
 */
import * as Data from "effect/Data"
import { type Problem, problemOf } from "./Problem.ts"
import type { Profile } from "./Profile.ts"

/** The provider refused, and would refuse again. */
export class Refused extends Data.TaggedError("Refused")<{
  readonly operation: string
  readonly status: number
  readonly code: string
  readonly detail: string | undefined
}> {}

/** The id is in use. Look it up: the order may be ours. */
export class Duplicate extends Data.TaggedError("Duplicate")<{ readonly operation: string; readonly code: string }> {}

export class NotFound extends Data.TaggedError("NotFound")<{ readonly operation: string; readonly code: string }> {}

/** It may have been executed. Look it up, or repeat it under the same id. */
export class Unclear extends Data.TaggedError("Unclear")<{
  readonly operation: string
  readonly kind: "timeout" | "connection-cut" | "server-error" | "unknown-answer" | "not-found-yet"
  /** Where an answer was not of its question or could not be read, it names the field. */
  readonly reason: string
}> {
  override get message() {
    return this.reason
  }
}

export class RateLimited extends Data.TaggedError("RateLimited")<{
  readonly operation: string
  /** From now. */
  readonly retryAfterMs: number
}> {}

/** The request did not leave this process, or reached no connection. */
export class NotSent extends Data.TaggedError("NotSent")<{
  readonly operation: string
  readonly reason: "circuit-open" | "saturated" | "no-connection" | "no-access-token" | "invalid-request"
  readonly detail: string | undefined
}> {}

/** One side does not accept the other's certificate. */
export class CertificateRejected extends Data.TaggedError("CertificateRejected")<{
  readonly operation: string
  readonly whose: "ours" | "theirs"
  /** `closed-twice`: after the handshake, without a byte. It may also be an outage. */
  readonly evidence: "alert" | "closed-twice" | "verification"
  readonly code: string
}> {}

/** The provider does not accept client id, secret or access token. */
export class CredentialsRejected extends Data.TaggedError("CredentialsRejected")<{
  readonly operation: string
  readonly code: string
}> {}

export class ScopeMissing extends Data.TaggedError("ScopeMissing")<{
  readonly operation: string
  /** Empty if the provider does not say. */
  readonly missing: ReadonlyArray<string>
}> {}

export type AccessFailure = CertificateRejected | CredentialsRejected | ScopeMissing
/** Not executed. */
export type NotExecuted = NotSent | RateLimited | AccessFailure

const NOT_EXECUTED: ReadonlySet<Failure["_tag"]> = new Set([
  "NotSent",
  "RateLimited",
  "CertificateRejected",
  "CredentialsRejected",
  "ScopeMissing"
] satisfies ReadonlyArray<NotExecuted["_tag"]>)

export const isNotExecuted = ({ _tag }: Failure): boolean => NOT_EXECUTED.has(_tag)

export type Failure = Refused | Duplicate | NotFound | Unclear | NotExecuted

/** An answer that was read to its end. */
export interface Answer {
  readonly status: number
  readonly retryAfter: string | undefined
  /** The provider's clock, if it names it. */
  readonly dateMs: number | undefined
  /** Undefined if the text is not JSON, or empty. */
  readonly body: unknown
  readonly isEmpty: boolean
}

/** An operation, and the codes that its documentation names beside the general ones. */
export interface Operation {
  readonly name: string
  readonly scope: string
  readonly refusals: ReadonlyArray<string>
  readonly notFound: ReadonlyArray<string>
  /**
   * Where no money moves by it, what any code of a 400 or 422, or of a 404, says: Banco do Brasil's are numbers that its
   * documentation does not list.
   */
  readonly anyCode?: "refusal" | "not-found"
}

const GENERAL_REFUSALS = ["RequisicaoInvalida", "PermanentementeRemovido"]
const UNTYPED_REFUSALS = new Set(["untyped 400", "untyped 422"])
/** In the `notFound` of look-ups. */
const UNTYPED_NOT_FOUND = "untyped 404"
const NOT_FOUND = "NaoEncontrado"
/** RFC 6750 says it with 401. */
const INVALID_TOKEN = "invalid_token"
const ACCESS_DENIED = new Set(["AcessoNegado", "insufficient_scope", "untyped 403"])

/** The failure that an answer means, or undefined for a success. */
export const failureOf = (
  profile: Profile,
  { name: operation, ...of }: Operation,
  answer: Answer
): Failure | undefined => {
  const { status } = answer
  const isSuccess = status >= 200 && status < 300
  if (isSuccess && (answer.isEmpty || answer.body !== undefined)) return undefined
  if (status === 429) return new RateLimited({ operation, retryAfterMs: retryAfterMs(answer) })
  const problem = status >= 400 && status < 500 ? problemOf(answer.body, status) : undefined
  if (status === 401 || (status === 403 && problem?.code === INVALID_TOKEN)) {
    return new CredentialsRejected({ operation, code: problem?.code ?? "status 401" })
  }
  if (problem === undefined) {
    const kind = status >= 500 ? "server-error" : "unknown-answer"
    return new Unclear({ operation, kind, reason: `status ${status}${shapeOf(answer)}` })
  }
  const { code, detail } = problem
  if (status === 403 && ACCESS_DENIED.has(code)) return new ScopeMissing({ operation, missing: [of.scope] })
  if (isNotFound(profile, of, status, problem)) return new NotFound({ operation, code })
  if (status === 409 && profile.duplicates.includes(code)) return new Duplicate({ operation, code })
  const isRefusal =
    (of.anyCode === "refusal" && (status === 400 || status === 422)) ||
    (profile.isUntyped && UNTYPED_REFUSALS.has(code))
  if (isRefusal || [...GENERAL_REFUSALS, ...of.refusals, ...profile.refusals].includes(code)) {
    return new Refused({ operation, status, code, detail })
  }
  return new Unclear({ operation, kind: "unknown-answer", reason: `status ${status} with the unknown code ${code}` })
}

const isNotFound = (
  profile: Profile,
  { anyCode, notFound }: Omit<Operation, "name">,
  status: number,
  { code }: Problem
): boolean =>
  (status === 404 &&
    (anyCode === "not-found" || [NOT_FOUND, ...notFound].includes(code)) &&
    (code !== UNTYPED_NOT_FOUND || profile.isUntyped || anyCode === "not-found")) ||
  (status === profile.notFound?.status && profile.notFound.codes.includes(code))

const shapeOf = ({ isEmpty, body }: Answer) => (isEmpty ? " without a body" : body === undefined ? " without JSON" : "")

/** Where the provider names no time, or a date: Inter's SDK waits as long. */
const DEFAULT_RETRY_AFTER_MS = 60_000
const LONGEST_RETRY_AFTER_MS = 3_600_000

export const retryAfterMs = ({ retryAfter }: Pick<Answer, "retryAfter">): number => {
  const seconds = retryAfter === undefined || retryAfter.trim() === "" ? Number.NaN : Number(retryAfter)
  return Number.isFinite(seconds) && seconds >= 0
    ? Math.min(seconds * 1000, LONGEST_RETRY_AFTER_MS)
    : DEFAULT_RETRY_AFTER_MS
}
