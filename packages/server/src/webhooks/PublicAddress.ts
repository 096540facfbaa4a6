/**
 * Whether a webhook may go to an address: the rule of `domain/PublicUrl`, with names resolved.
 *
 * Guarantees: a name is refused when any address it has is forbidden. `lookup` is what a connection uses to
 * find its address, so that the address that was judged is the address that is connected to. A name is looked up once
 * at a time, whoever waits for it: the system's few places for look-ups are not all taken by one that never answers.
 *
 * Source: decisions.md "Webhooks" (public URL).
 */
import { isPublicAddress, judgeUrl, mayReach } from "@pix-payments/domain/PublicUrl"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { lookup, type LookupAddress, type LookupOptions } from "node:dns"
import type { LookupFunction } from "node:net"
import { Settings } from "../Settings.ts"

export class ForbiddenAddress extends Error {
  override readonly name = "ForbiddenAddress"
  constructor(host: string) {
    super(`${host} is not a public address`)
  }
}

export class PublicAddress extends Context.Service<
  PublicAddress,
  {
    /** At creation: a name that does not resolve in time is accepted, and judged again at every attempt. */
    readonly mayReceive: (url: string) => Effect.Effect<boolean>
    /** At an attempt, for hosts that need no resolving. */
    readonly isForbiddenLiteral: (url: string) => boolean
    /** At an attempt, for names. */
    readonly lookup: LookupFunction
  }
>()("@pix-payments/server/PublicAddress") {
  static readonly layer = Layer.effect(
    PublicAddress,
    Effect.map(Settings, ({ webhookAllowedNetworks: allowed }) => {
      const resolve = oneAtATime((name, family, done) => lookup(name, { family, all: true }, done))
      return PublicAddress.of({
        mayReceive: (url) => {
          const verdict = judgeUrl(url, allowed)
          if (verdict._tag === "Refused") return Effect.succeed(false)
          if (verdict.host._tag === "Address") return Effect.succeed(true)
          const { name } = verdict.host
          return Effect.callback<ReadonlyArray<LookupAddress>>((resume) =>
            resolve(name, 0, (error, addresses) => resume(Effect.succeed(error === null ? addresses : [])))
          ).pipe(
            Effect.timeoutOrElse({ duration: "1 second", orElse: () => Effect.succeed([]) }),
            Effect.map((addresses) =>
              mayReach(
                verdict.host,
                addresses.map(({ address }) => address),
                allowed
              )
            )
          )
        },
        isForbiddenLiteral: (url) => judgeUrl(url, allowed)._tag === "Refused",
        lookup: (hostname, options, callback) => {
          resolve(hostname, options.family, (error, addresses) => {
            if (error !== null) return callback(error, [])
            if (!addresses.every(({ address }) => isPublicAddress(address, allowed))) {
              return callback(new ForbiddenAddress(hostname), [])
            }
            if (options.all === true) return callback(null, addresses)
            const [first] = addresses
            callback(null, first?.address ?? "", first?.family ?? 4)
          })
        }
      })
    })
  )
}

type Family = LookupOptions["family"]
type Done = (error: NodeJS.ErrnoException | null, addresses: Array<LookupAddress>) => void
type Resolve = (name: string, family: Family, done: Done) => void

/** The same, where whoever asks for a name that is being looked up gets that answer. */
export const oneAtATime = (resolve: Resolve): Resolve => {
  const waiting = new Map<string, Array<Done>>()
  return (name, family, done) => {
    const asked = `${family ?? 0} ${name}`
    const others = waiting.get(asked)
    if (others !== undefined) {
      others.push(done)
      return
    }
    const all = [done]
    waiting.set(asked, all)
    resolve(name, family, (error, addresses) => {
      waiting.delete(asked)
      for (const each of all) each(error, addresses)
    })
  }
}
