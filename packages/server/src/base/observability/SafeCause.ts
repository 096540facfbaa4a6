/**
 * Describes failures for logs and traces.
 *
 * Guarantees: parameters, rows and details of statements never appear, because they contain secrets and personal data.
 */
import * as Cause from "effect/Cause"
import { hasProperty } from "effect/Predicate"
import { isSqlError, type SqlError } from "effect/sql/SqlError"

/** A cause as text for a log. */
export const describeCause = (cause: Cause.Cause<unknown>): string => {
  const error = Cause.squash(cause)
  return isSqlError(error) ? describeSqlError(error) : Cause.pretty(cause)
}

/** The cause with its SQL errors described as in the log. */
export const withoutRows = (cause: Cause.Cause<unknown>): Cause.Cause<unknown> =>
  Cause.fromReasons(
    cause.reasons.map((reason) => {
      if (Cause.isFailReason(reason) && isSqlError(reason.error)) return Cause.makeFailReason(withoutRow(reason.error))
      if (Cause.isDieReason(reason) && isSqlError(reason.defect)) return Cause.makeDieReason(withoutRow(reason.defect))
      return reason
    })
  )

const withoutRow = (error: SqlError): Error => {
  const [message = "", ...stack] = describeSqlError(error).split("\n")
  const described = new Error(message)
  described.name = "SqlError"
  described.stack = stack.join("\n")
  return described
}

const describeSqlError = (error: SqlError): string => {
  const { reason } = error
  const fault = reason.cause
  const code = hasProperty(fault, "code") ? ` ${String(fault.code)}` : ""
  const constraint = hasProperty(reason, "constraint") ? ` ${String(reason.constraint)}` : ""
  const stack = String(error.stack).split("\n").slice(1).join("\n")
  return `SqlError ${reason._tag}${code}${constraint}\n${stack}`
}
