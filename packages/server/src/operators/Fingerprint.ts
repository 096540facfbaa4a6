/** What tells two requests apart: equal for JSON values that differ only in the order of their fields. */
import { createHash } from "node:crypto"

/** The SHA-256 of a value, in hex. */
export const fingerprint = (value: unknown): string =>
  createHash("sha256")
    .update(JSON.stringify(sorted(value) ?? null))
    .digest("hex")

/** With its fields in one order. */
const sorted = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== "object" || value === null) return value
  return Object.entries(value)
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, each]) => [name, sorted(each)])
}
