/**
 * Decides whether a webhook may go to a URL: the rules of `domain/PublicUrl`, with names resolved.
 *
 * Guarantees:
 * - A name is refused when any of its addresses is forbidden.
 * - A connection goes to an address that was checked (no DNS rebinding): an attempt pins the checked addresses, and
 *   `lookup`, which connections use, returns pinned addresses only.
 * - Lookups block no thread, are bounded in number and time, and are shared fairly between accounts (`NameLookups`).
 *
 * Rules: URL-1 to URL-6.
 */
import { judgeUrl, mayReach, type Network, type UrlHost } from "@pix-payments/domain/PublicUrl"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { LookupAddress } from "node:dns"
import type { LookupFunction } from "node:net"
import { closedReason, Outward } from "../Outward.ts"
import { Settings } from "../Settings.ts"
import { type Lookup, makeNameLookups } from "./NameLookups.ts"
import { makeNameQuery, type NameSources, systemSources } from "./NameQuery.ts"
import { lookupLimits } from "./LookupScheduler.ts"

/** The URL must not, or cannot, be connected to. */
export class NotReachable extends Data.TaggedError("NotReachable")<{
  readonly reason: "forbidden address" | "name does not resolve" | "too many name look-ups"
}> {}

/** Where names are resolved. Tests replace it. */
export const NameSourcesRef = Context.Reference<NameSources>("@pix-payments/server/NameSources", {
  defaultValue: () => systemSources
})

export class PublicAddress extends Context.Service<
  PublicAddress,
  {
    /**
     * For a URL that is registered: true where it may receive webhooks. A name that does not resolve within a second is
     * accepted, unless it is private by definition; every attempt checks it again.
     */
    readonly mayReceive: (url: string, accountId: string) => Effect.Effect<boolean>
    /** For an attempt: runs it while the checked addresses of the URL's host are pinned. */
    readonly withPinnedAddress: <A, E, R>(
      url: string,
      accountId: string,
      attempt: (url: URL) => Effect.Effect<A, E, R>
    ) => Effect.Effect<A, E | NotReachable, R>
    /** For connections: the pinned addresses of a name. */
    readonly lookup: LookupFunction
  }
>()("@pix-payments/server/PublicAddress") {
  static readonly layer = Layer.effect(
    PublicAddress,
    Effect.gen(function* () {
      const { webhookAllowedNetworks: allowed } = yield* Settings
      const clock = yield* Clock.Clock
      const monotonicMs = () => Number(clock.monotonicTimeNanosUnsafe() / 1_000_000n)
      const query = yield* makeNameQuery(yield* NameSourcesRef, monotonicMs)
      const outward = yield* Outward
      const names = makeNameLookups(query, lookupLimits, monotonicMs)
      const lookUp: typeof names.lookUp = (accountId, host) =>
        closedReason(outward) === undefined
          ? names.lookUp(accountId, host)
          : Effect.succeed({ _tag: "NotAnswered" } as const)
      const pinned = makePinnedAddresses()

      const checkedAddresses = Effect.fnUntraced(function* (
        accountId: string,
        host: Extract<UrlHost, { readonly _tag: "Name" }>
      ) {
        const lookup = yield* lookUp(accountId, host)
        if (lookup._tag !== "Resolved") return yield* new NotReachable({ reason: unresolved[lookup._tag] })
        if (!mayReachAll(host, lookup.addresses, allowed))
          return yield* new NotReachable({ reason: "forbidden address" })
        return lookup.addresses
      })

      return PublicAddress.of({
        mayReceive: (url, accountId) => {
          const verdict = judgeUrl(url, allowed)
          if (verdict._tag === "Refused") return Effect.succeed(false)
          const { host } = verdict
          if (host._tag === "Address") return Effect.succeed(true)
          return lookUp(accountId, host).pipe(
            Effect.timeoutOrElse({
              duration: "1 second",
              orElse: () => Effect.succeed({ _tag: "NotAnswered" } as const)
            }),
            Effect.map((lookup) => mayReachAll(host, addressesOf(lookup), allowed))
          )
        },
        withPinnedAddress: (url, accountId, attempt) => {
          const verdict = judgeUrl(url, allowed)
          if (verdict._tag === "Refused") return Effect.fail(new NotReachable({ reason: "forbidden address" }))
          const { host, url: parsed } = verdict
          if (host._tag === "Address") return attempt(parsed)
          return Effect.flatMap(checkedAddresses(accountId, host), (addresses) =>
            Effect.acquireUseRelease(
              Effect.sync(() => pinned.pin(parsed.hostname, addresses)),
              () => attempt(parsed),
              (unpin) => Effect.sync(unpin)
            )
          )
        },
        lookup: pinned.lookup
      })
    })
  )
}

const unresolved = {
  NoSuchName: "name does not resolve",
  NotAnswered: "name does not resolve",
  Busy: "too many name look-ups"
} as const

const addressesOf = (lookup: Lookup): ReadonlyArray<LookupAddress> =>
  lookup._tag === "Resolved" ? lookup.addresses : []

const mayReachAll = (
  host: UrlHost,
  addresses: ReadonlyArray<LookupAddress>,
  allowed: ReadonlyArray<Network>
): boolean =>
  mayReach(
    host,
    addresses.map(({ address }) => address),
    allowed
  )

/** The checked addresses of names with attempts in flight; the latest of each name. */
export const makePinnedAddresses = () => {
  const byName = new Map<string, { addresses: ReadonlyArray<LookupAddress>; attempts: number }>()

  const lookup: LookupFunction = (hostname, options, callback) => {
    const all = byName.get(hostname)?.addresses ?? []
    const family = options.family === "IPv4" ? 4 : options.family === "IPv6" ? 6 : (options.family ?? 0)
    const matching = all.filter((address) => family === 0 || address.family === family)
    const [first] = matching
    if (first === undefined) {
      return callback(Object.assign(new Error(`no pinned address of ${hostname}`), { code: "ENOTFOUND" }), "")
    }
    if (options.all === true) return callback(null, matching)
    callback(null, first.address, first.family)
  }

  return {
    lookup,
    /** Pins addresses until the returned function is called. */
    pin: (hostname: string, addresses: ReadonlyArray<LookupAddress>): (() => void) => {
      const entry = byName.get(hostname) ?? { addresses, attempts: 0 }
      byName.set(hostname, entry)
      entry.addresses = addresses
      entry.attempts++
      return () => {
        entry.attempts--
        if (entry.attempts === 0) byName.delete(hostname)
      }
    }
  }
}
