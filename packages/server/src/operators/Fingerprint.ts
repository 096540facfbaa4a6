/**
 * What tells two requests apart: equal for JSON values that differ only in the order of their fields.
 *
 * Guarantee: a body may be as deep as it is long. It is read before it is decoded.
 */
import { createHash } from "node:crypto"

/** The SHA-256 of a value, in hex. */
export const fingerprint = (value: unknown): string => createHash("sha256").update(textOf(value)).digest("hex")

/** With its fields in one order. What is still to write is a stack, the next one last. */
const textOf = (whole: unknown): string => {
  const text: Array<string> = []
  const left: Array<string | { readonly value: unknown }> = [{ value: whole }]
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    if (typeof next === "string") {
      text.push(next)
      continue
    }
    const { value } = next
    if (typeof value !== "object" || value === null) {
      text.push(JSON.stringify(value) ?? "null")
      continue
    }
    const isList = Array.isArray(value)
    const fields = isList
      ? [...value.entries()]
      : Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1))
    text.push(isList ? "[" : "{")
    left.push(isList ? "]" : "}")
    for (const [name, each] of fields.toReversed()) {
      left.push(",", { value: each })
      if (!isList) left.push(`${JSON.stringify(name)}:`)
    }
  }
  return text.join("")
}
