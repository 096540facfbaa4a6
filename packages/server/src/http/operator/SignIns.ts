/**
 * Limits failed sign-ins of operators by address.
 *
 * Guarantees:
 * - After 40 failed sign-ins within a minute from one address, its sign-ins are refused for 30 seconds. Attempts
 *   meanwhile do not prolong it.
 * - A token that succeeded from that address within 12 hours is still accepted, so that an attacker at the same
 *   address cannot lock out an operator.
 * - Memory is bounded: the oldest addresses are dropped.
 * - Each process counts separately, by the monotonic clock.
 *
 * Rules: OPR-5, OPR-6.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { createHash } from "node:crypto"
import { isIPv6 } from "node:net"

export type SignIn =
  | { readonly _tag: "Accepted" }
  | { readonly _tag: "Refused"; readonly isLast: boolean }
  | { readonly _tag: "Limited"; readonly retryAfterSeconds: number }

interface Failures {
  /** Their times, oldest first. */
  at: Array<number>
  limitedUntil: number
}

/** `accepts` is true for a valid token. */
export const make = (accepts: (token: string) => boolean) =>
  Effect.map(Clock.Clock, (clock) => {
    const failuresByAddress = new Map<string, Failures>()
    const knownTokens = new Map<string, Map<string, number>>()
    const now = () => Number(clock.monotonicTimeNanosUnsafe() / 1_000_000n)

    const isKnown = (address: string, token: string): boolean => {
      const at = knownTokens.get(address)?.get(hashOf(token))
      return at !== undefined && now() - at < KNOWN_MS
    }

    const succeed = (address: string, token: string): SignIn => {
      const tokens = knownTokens.get(address) ?? new Map<string, number>()
      renew(tokens, hashOf(token), now(), MAX_TOKENS)
      renew(knownTokens, address, tokens, MAX_ADDRESSES)
      return { _tag: "Accepted" }
    }

    const fail = (address: string): SignIn => {
      const at = now()
      const failures = failuresByAddress.get(address) ?? { at: [], limitedUntil: 0 }
      failures.at = [...failures.at.filter((each) => at - each < WINDOW_MS), at]
      const isLast = failures.at.length >= MAX_FAILURES
      if (isLast) {
        failures.at = []
        failures.limitedUntil = at + LIMITED_MS
      }
      renew(failuresByAddress, address, failures, MAX_ADDRESSES)
      return { _tag: "Refused", isLast }
    }

    return {
      /** Judges a sign-in with a token that is not empty. */
      attempt: (from: string, token: string): SignIn => {
        const address = networkOf(from)
        const left = (failuresByAddress.get(address)?.limitedUntil ?? 0) - now()
        if (left > 0 && !(isKnown(address, token) && accepts(token))) {
          return { _tag: "Limited", retryAfterSeconds: Math.ceil(left / 1000) }
        }
        return left > 0 || accepts(token) ? succeed(address, token) : fail(address)
      },
      /** The number of stored addresses. */
      size: () => failuresByAddress.size + knownTokens.size
    }
  })

const MAX_FAILURES = 40
const WINDOW_MS = 60_000
const LIMITED_MS = 30_000
const KNOWN_MS = 12 * 60 * 60 * 1000

/** Maximum addresses of each kind: with failures, and with known tokens. */
export const MAX_ADDRESSES = 10_000
const MAX_TOKENS = 16

/** Moves an entry to the end, and drops the oldest beyond the limit. */
const renew = <A>(map: Map<string, A>, key: string, value: A, limit: number): void => {
  map.delete(key)
  map.set(key, value)
  if (map.size > limit) for (const oldest of map.keys()) return void map.delete(oldest)
}

const hashOf = (token: string): string => createHash("sha256").update(token).digest("base64")

/** The IPv4 address, also of an IPv4-mapped one; of IPv6 the /64, which one customer has. */
const networkOf = (address: string): string => {
  const plain = address.replace(/^::ffff:(?=\d+\.)/i, "").replace(/%.*$/, "")
  if (!isIPv6(plain)) return plain
  const [head = "", tail] = plain.toLowerCase().split("::")
  const groups = head === "" ? [] : head.split(":")
  const missing = tail === undefined ? 0 : 8 - groups.length - (tail === "" ? 0 : tail.split(":").length)
  return [...groups, ...Array.from({ length: missing }, () => "0"), ...(tail ?? "").split(":")].slice(0, 4).join(":")
}
