/**
 * How an unexpected failure is told: what failed and where, without what it was about.
 *
 * Guarantees: no parameter, row or detail of a statement gets into a log or a trace, for they hold secrets and personal data.
 */
import * as Cause from "effect/Cause"
import { hasProperty } from "effect/Predicate"
import { isSqlError, type SqlError } from "effect/sql/SqlError"

/** A cause as one text that is fit for a log. */
export const describeCause = (cause: Cause.Cause<unknown>): string => {
  const error = Cause.squash(cause)
  return isSqlError(error) ? describeSqlError(error) : Cause.pretty(cause)
}

/** The same cause with every failure of a statement told as in the log. */
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
  const plain = new Error(message)
  plain.name = "SqlError"
  plain.stack = stack.join("\n")
  return plain
}

const describeSqlError = (error: SqlError): string => {
  const { reason } = error
  const fault = reason.cause
  const code = hasProperty(fault, "code") ? ` ${String(fault.code)}` : ""
  const constraint = hasProperty(reason, "constraint") ? ` ${String(reason.constraint)}` : ""
  const stack = String(error.stack).split("\n").slice(1).join("\n")
  return `SqlError ${reason._tag}${code}${constraint}\n${stack}`
}
