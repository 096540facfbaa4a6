/**
 * SQLSTATE codes, and which errors of PostgreSQL are transient.
 */
import * as Cause from "effect/Cause"
import { hasProperty } from "effect/Predicate"
import { isSqlError, type SqlError } from "effect/sql/SqlError"

/** A statement exceeded `statement_timeout`. */
export const QUERY_CANCELED = "57014"

/** A statement exceeded `lock_timeout`. */
export const LOCK_NOT_AVAILABLE = "55P03"

export const DEADLOCK_DETECTED = "40P01"
export const SERIALIZATION_FAILURE = "40001"

/** The SQLSTATE of an error, or the operating system's code; `undefined` where the error has neither. */
export const sqlStateOf = (error: SqlError): string | undefined => {
  const code = hasProperty(error.reason.cause, "code") ? error.reason.cause.code : undefined
  return typeof code === "string" ? code : undefined
}

/** True where the same statement may succeed later: a connection, lock, timeout or shutdown failed, not the statement. */
export const isTransient = (error: SqlError): boolean => {
  if (error.reason.isRetryable) return true
  const code = sqlStateOf(error)
  return code !== undefined && (transientCodes.has(code) || code.startsWith("57P") || code.startsWith("53"))
}

/**
 * Besides class 57P (shutting down or starting) and 53 (out of connections, memory or disk): a read-only primary, an idle
 * transaction timeout, and a password that is being changed.
 */
const transientCodes = new Set(["25006", "25P03", "28P01"])

/** The first SQL error among the failures and defects of a cause. */
export const sqlErrorIn = (
  cause: Cause.Cause<unknown>,
  acceptsDefect: (error: SqlError) => boolean = () => true
): SqlError | undefined => {
  for (const reason of cause.reasons) {
    const failure = Cause.isFailReason(reason) ? reason.error : Cause.isDieReason(reason) ? reason.defect : undefined
    if (isSqlError(failure) && (Cause.isFailReason(reason) || acceptsDefect(failure))) return failure
  }
  return undefined
}

/**
 * The first SQL error among the failures and the transient defects of a cause. When a connection breaks within a
 * transaction, the rollback fails too, and the driver reports that as a defect.
 */
export const sqlFailureIn = (cause: Cause.Cause<unknown>): SqlError | undefined => sqlErrorIn(cause, isTransient)
