/**
 * Limits failed sign-ins of the operator listener by address.
 *
 * Guarantees:
 * - After 40 failed sign-ins within a minute from one address, its sign-ins are refused for 30 seconds. Tries meanwhile do
 *   not prolong it.
 * - A token that succeeded from that address within 12 hours is still accepted, so that nobody locks out an operator who
 *   works at the same address.
 * - Memory is bounded: addresses that fail are dropped oldest first; only a right token makes an entry in the other table.
 * - Counted in each process, and on the monotonic clock.
 *
 * Source: operator-api.md "Second release".
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
  /** When they were, oldest first. */
  at: Array<number>
  limitedUntil: number
}

/** Judges each sign-in; `accepts` says whether a token is right. */
export const make = (accepts: (token: string) => boolean) =>
  Effect.map(Clock.Clock, (clock) => {
    const failing = new Map<string, Failures>()
    const succeeded = new Map<string, Map<string, number>>()
    const now = () => Number(clock.monotonicTimeNanosUnsafe() / 1_000_000n)

    const isKnown = (address: string, token: string): boolean => {
      const at = succeeded.get(address)?.get(hashOf(token))
      return at !== undefined && now() - at < KNOWN_MS
    }

    const succeed = (address: string, token: string): SignIn => {
      const tokens = succeeded.get(address) ?? new Map<string, number>()
      renew(tokens, hashOf(token), now(), MOST_TOKENS)
      renew(succeeded, address, tokens, MOST_ADDRESSES)
      return { _tag: "Accepted" }
    }

    const fail = (address: string): SignIn => {
      const at = now()
      const failures = failing.get(address) ?? { at: [], limitedUntil: 0 }
      failures.at = [...failures.at.filter((each) => at - each < WINDOW_MS), at]
      const isLast = failures.at.length >= MOST_FAILURES
      if (isLast) {
        failures.at = []
        failures.limitedUntil = at + LIMITED_MS
      }
      renew(failing, address, failures, MOST_ADDRESSES)
      return { _tag: "Refused", isLast }
    }

    return {
      /** A try with a token that is not empty. */
      attempt: (from: string, token: string): SignIn => {
        const address = networkOf(from)
        const left = (failing.get(address)?.limitedUntil ?? 0) - now()
        if (left > 0 && !(isKnown(address, token) && accepts(token))) {
          return { _tag: "Limited", retryAfterSeconds: Math.ceil(left / 1000) }
        }
        return left > 0 || accepts(token) ? succeed(address, token) : fail(address)
      },
      /** How many addresses are kept. */
      size: () => failing.size + succeeded.size
    }
  })

const MOST_FAILURES = 40
const WINDOW_MS = 60_000
const LIMITED_MS = 30_000
const KNOWN_MS = 12 * 60 * 60 * 1000

/** Of each table. */
export const MOST_ADDRESSES = 10_000
const MOST_TOKENS = 16

/** Puts an entry at the end, and drops the oldest where there are too many. */
const renew = <A>(map: Map<string, A>, key: string, value: A, most: number): void => {
  map.delete(key)
  map.set(key, value)
  if (map.size > most) for (const oldest of map.keys()) return void map.delete(oldest)
}

const hashOf = (token: string): string => createHash("sha256").update(token).digest("base64")

/** The address; of IPv6 the /64, which is what one customer has. An IPv4 address is the same in either form. */
const networkOf = (address: string): string => {
  const plain = address.replace(/^::ffff:(?=\d+\.)/i, "").replace(/%.*$/, "")
  if (!isIPv6(plain)) return plain
  const [head = "", tail] = plain.toLowerCase().split("::")
  const groups = head === "" ? [] : head.split(":")
  const missing = tail === undefined ? 0 : 8 - groups.length - (tail === "" ? 0 : tail.split(":").length)
  return [...groups, ...Array.from({ length: missing }, () => "0"), ...(tail ?? "").split(":")].slice(0, 4).join(":")
}
