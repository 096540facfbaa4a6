/**
 * How an unexpected failure is logged: what failed and where, without what it was about.
 *
 * Guarantees: no parameter, row or detail of a statement gets into the log, for they hold secrets and personal data.
 */
import * as Cause from "effect/Cause"
import { hasProperty } from "effect/Predicate"

/** A cause as one text that is fit for a log. */
export const describeCause = (cause: Cause.Cause<unknown>): string => {
  const error = Cause.squash(cause)
  if (!hasProperty(error, "_tag") || error._tag !== "SqlError") return Cause.pretty(cause)
  const reason = hasProperty(error, "reason") ? error.reason : undefined
  const kind = hasProperty(reason, "_tag") ? String(reason._tag) : "unknown"
  const fault = hasProperty(reason, "cause") ? reason.cause : undefined
  const code = hasProperty(fault, "code") ? ` ${String(fault.code)}` : ""
  const constraint = hasProperty(reason, "constraint") ? ` ${String(reason.constraint)}` : ""
  const stack = hasProperty(error, "stack") ? String(error.stack).split("\n").slice(1).join("\n") : ""
  return `SqlError ${kind}${code}${constraint}\n${stack}`
}
