/**
 * Whether a webhook may go to an address: the rule of `domain/PublicUrl`, with names resolved.
 *
 * Guarantees:
 * - a name is refused when any address it has is forbidden;
 * - the address that was judged is the address that is connected to: an attempt holds a judged answer, and `lookup`,
 *   which connections use to find their address, gives nothing but what is held;
 * - look-ups take no thread, are bounded in number and time, and are shared between accounts (`NameLookups`).
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
import { Settings } from "../Settings.ts"
import { type Lookup, makeNameLookups } from "./NameLookups.ts"
import { makeNameQuery, type NameSources, systemSources } from "./NameQuery.ts"
import { lookupLimits } from "./LookupScheduler.ts"

/** Why no connection is made. */
export class NotReachable extends Data.TaggedError("NotReachable")<{
  readonly reason: "forbidden address" | "name does not resolve" | "too many name look-ups"
}> {}

/** Where names are looked up. Tests set a server of their own. */
export const NameSourcesRef = Context.Reference<NameSources>("@pix-payments/server/NameSources", {
  defaultValue: () => systemSources
})

export class PublicAddress extends Context.Service<
  PublicAddress,
  {
    /**
     * At creation, in the share of an account. A name that does not resolve in time is accepted, unless it is private by
     * definition, and judged again at every attempt.
     */
    readonly mayReceive: (url: string, accountId: string) => Effect.Effect<boolean>
    /** At an attempt: makes it with a URL that may be called, while the addresses of its host are held. */
    readonly withPinnedAddress: <A, E, R>(
      url: string,
      accountId: string,
      attempt: (url: URL) => Effect.Effect<A, E, R>
    ) => Effect.Effect<A, E | NotReachable, R>
    /** For connections: the addresses that are held for a name. */
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
      const { lookUp } = makeNameLookups(query, lookupLimits, monotonicMs)
      const held = makePinnedAddresses()

      const judged = Effect.fnUntraced(function* (
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
          return Effect.flatMap(judged(accountId, host), (addresses) =>
            Effect.acquireUseRelease(
              Effect.sync(() => held.hold(parsed.hostname, addresses)),
              () => attempt(parsed),
              (release) => Effect.sync(release)
            )
          )
        },
        lookup: held.lookup
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

/** The judged addresses of the names that attempts are being made to, the latest of each. */
export const makePinnedAddresses = () => {
  const byName = new Map<string, { addresses: ReadonlyArray<LookupAddress>; holders: number }>()

  const lookup: LookupFunction = (hostname, options, callback) => {
    const all = byName.get(hostname)?.addresses ?? []
    const family = options.family === "IPv4" ? 4 : options.family === "IPv6" ? 6 : (options.family ?? 0)
    const fitting = all.filter((address) => family === 0 || address.family === family)
    const [first] = fitting
    if (first === undefined) {
      return callback(Object.assign(new Error(`no address of ${hostname} is held`), { code: "ENOTFOUND" }), "")
    }
    if (options.all === true) return callback(null, fitting)
    callback(null, first.address, first.family)
  }

  return {
    lookup,
    /** Returns what ends it. */
    hold: (hostname: string, addresses: ReadonlyArray<LookupAddress>): (() => void) => {
      const held = byName.get(hostname) ?? { addresses, holders: 0 }
      byName.set(hostname, held)
      held.addresses = addresses
      held.holders++
      return () => {
        held.holders--
        if (held.holders === 0) byName.delete(hostname)
      }
    }
  }
}
