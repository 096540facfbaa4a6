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
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { createHash } from "node:crypto"
import { isIPv6 } from "node:net"

export type SignIn<A> =
  | { readonly _tag: "Accepted"; readonly value: A }
  | { readonly _tag: "Refused"; readonly isLast: boolean }
  | { readonly _tag: "Limited"; readonly retryAfterSeconds: number }

interface Failures {
  /** Their times, oldest first. */
  at: Array<number>
  limitedUntil: number
}

export class SignIns extends Context.Service<
  SignIns,
  {
    /**
     * Judges a sign-in with a token or a session's secret, which is not empty. `authenticate` returns whose it is. While
     * sign-ins are limited, it runs for known credentials only.
     */
    readonly attempt: <A, E>(
      from: string,
      credential: string,
      authenticate: Effect.Effect<A | undefined, E>
    ) => Effect.Effect<SignIn<A>, E>
    /** The number of stored addresses. */
    readonly size: () => number
  }
>()("@pix-payments/server/SignIns") {
  static readonly layer = Layer.effect(
    SignIns,
    Effect.map(Clock.Clock, (clock) => SignIns.of(make(() => Number(clock.monotonicTimeNanosUnsafe() / 1_000_000n))))
  )
}

const make = (now: () => number): SignIns["Service"] => {
  const failuresByAddress = new Map<string, Failures>()
  const knownTokens = new Map<string, Map<string, number>>()

  const isKnown = (address: string, token: string): boolean => {
    const at = knownTokens.get(address)?.get(hashOf(token))
    return at !== undefined && now() - at < KNOWN_MS
  }

  const succeed = (address: string, token: string): void => {
    const tokens = knownTokens.get(address) ?? new Map<string, number>()
    renew(tokens, hashOf(token), now(), MAX_TOKENS)
    renew(knownTokens, address, tokens, MAX_ADDRESSES)
  }

  const fail = (address: string): SignIn<never> => {
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

  const limitOf = (address: string): SignIn<never> | undefined => {
    const left = (failuresByAddress.get(address)?.limitedUntil ?? 0) - now()
    return left > 0 ? { _tag: "Limited", retryAfterSeconds: Math.ceil(left / 1000) } : undefined
  }

  return {
    attempt: <A, E>(from: string, credential: string, authenticate: Effect.Effect<A | undefined, E>) => {
      const address = networkOf(from)
      const limit = limitOf(address)
      if (limit !== undefined && !isKnown(address, credential)) return Effect.succeed<SignIn<A>>(limit)
      return Effect.map(authenticate, (value): SignIn<A> => {
        if (value === undefined) return limitOf(address) ?? fail(address)
        succeed(address, credential)
        return { _tag: "Accepted", value }
      })
    },
    size: () => failuresByAddress.size + knownTokens.size
  }
}

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
