/**
 * Refuses operator tokens that are easy to guess.
 *
 * Guarantees:
 * - A token from a random generator passes (`openssl rand -base64 24`, `openssl rand -hex 16`, a UUID).
 * - A short token, a repeated word, a run of characters (`abcd…`, `1234…`) and a placeholder are refused.
 *
 * The estimate finds tokens that are certainly weak, not all weak ones.
 *
 * Rules: OPR-4.
 */

/** The minimum length in characters. */
const MIN_LENGTH = 20

/** The minimum of the estimate. */
const MIN_BITS = 70

/** Why a token is refused, without the token itself; `undefined` where it is strong enough. */
export const weaknessOf = (token: string): string | undefined => {
  if (!/^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(token)) {
    return `must be printable ASCII without a space at either end, as an HTTP header carries it. ${ADVICE}`
  }
  if (token.length < MIN_LENGTH) return `must have at least ${MIN_LENGTH} characters. ${ADVICE}`
  if (placeholder.test(token)) return `is a placeholder. ${ADVICE}`
  if (estimatedBits(token) < MIN_BITS) {
    return `is too easy to guess: about ${Math.floor(estimatedBits(token))} bits, at least ${MIN_BITS} are needed. ${ADVICE}`
  }
  return undefined
}

const ADVICE = "Make one with: openssl rand -base64 32"

/**
 * Estimates the entropy of a token in bits. Each character counts log2 of the number of different characters, unless it
 * continues a run of three (`aaa`, `abc`, `321`) or completes three characters that occur before.
 */
export const estimatedBits = (token: string): number => {
  const text = token.toLowerCase()
  let counted = 0
  for (let i = 0; i < text.length; i++) {
    const step = text.charCodeAt(i) - text.charCodeAt(i - 1)
    const isRun = i >= 2 && Math.abs(step) <= 1 && text.charCodeAt(i - 1) - text.charCodeAt(i - 2) === step
    const isRepeated = i >= 3 && text.slice(0, i).includes(text.slice(i - 2, i + 1))
    if (!isRun && !isRepeated) counted++
  }
  return counted * Math.log2(new Set(token).size)
}

const placeholder = /change.?me|changeit|your.?(operator.?)?token|replace.?(me|this)|example|placeholder/i
