/**
 * Limits failed sign-ins of operators by address.
 *
 * Guarantees:
 * - After 40 failed sign-ins within a minute from one address, its failed sign-ins are `Limited` for 30 seconds. Attempts
 *   meanwhile do not prolong it.
 * - A credential that is accepted is never limited: an attacker at the same address locks out nobody. Credentials have at
 *   least 70 bits, so that the limit is for people and logs, not against guessing.
 * - Memory is bounded: the oldest addresses are dropped.
 * - Each process counts separately, by the monotonic clock.
 *
 * Rules: OPR-5, OPR-6.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
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
    /** Judges a sign-in with a token or a session's secret, which is not empty. `authenticate` returns whose it is. */
    readonly attempt: <A, E>(from: string, authenticate: Effect.Effect<A | undefined, E>) => Effect.Effect<SignIn<A>, E>
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
    attempt: <A, E>(from: string, authenticate: Effect.Effect<A | undefined, E>) => {
      const address = networkOf(from)
      return Effect.map(authenticate, (value): SignIn<A> =>
        value === undefined ? (limitOf(address) ?? fail(address)) : { _tag: "Accepted", value }
      )
    },
    size: () => failuresByAddress.size
  }
}

const MAX_FAILURES = 40
const WINDOW_MS = 60_000
const LIMITED_MS = 30_000

/** Maximum addresses with failures. */
export const MAX_ADDRESSES = 10_000

/** Moves an entry to the end, and drops the oldest beyond the limit. */
const renew = <A>(map: Map<string, A>, key: string, value: A, limit: number): void => {
  map.delete(key)
  map.set(key, value)
  if (map.size > limit) for (const oldest of map.keys()) return void map.delete(oldest)
}

/** The IPv4 address, also of an IPv4-mapped one; of IPv6 the /64, which one customer has. */
const networkOf = (address: string): string => {
  const plain = address.replace(/^::ffff:(?=\d+\.)/i, "").replace(/%.*$/, "")
  if (!isIPv6(plain)) return plain
  const [head = "", tail] = plain.toLowerCase().split("::")
  const groups = head === "" ? [] : head.split(":")
  const missing = tail === undefined ? 0 : 8 - groups.length - (tail === "" ? 0 : tail.split(":").length)
  return [...groups, ...Array.from({ length: missing }, () => "0"), ...(tail ?? "").split(":")].slice(0, 4).join(":")
}
