/**
 * Enumerations that may grow inside v1: closed in requests, open in responses (API-8, API-12).
 *
 * `Charge.status` is `open(ChargeStatus)`: editors and OpenAPI show the known values, and a value of a later release
 * decodes as itself.
 */
import * as Schema from "effect/Schema"

/** Accepts the literals of `closed`, and any other string as a generic case. */
export const open = <const L extends ReadonlyArray<string>>(closed: Schema.Literals<L>) =>
  Schema.Union([Schema.Literals(closed.literals), Schema.StringForLiteralAutocomplete]).annotate({
    description: `One of ${closed.literals.map((value) => `\`${value}\``).join(", ")}. New values may be added: treat an unknown one as a generic case.`
  })
