/**
 * Whether a webhook may go to an address: the rule of `domain/PublicUrl`, with names resolved.
 *
 * Guarantees: a name is refused when any address it has is forbidden. `lookup` is what a connection uses to
 * find its address, so that the address that was judged is the address that is connected to.
 *
 * Source: decisions.md "Webhooks" (public URL).
 */
import { isPublicAddress, judgeUrl } from "@pix-payments/domain/PublicUrl"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { lookup as resolve, type LookupAddress } from "node:dns"
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
    Effect.map(Settings, ({ webhookAllowedNetworks: allowed }) =>
      PublicAddress.of({
        mayReceive: (url) => {
          const verdict = judgeUrl(url, allowed)
          if (verdict._tag === "Refused") return Effect.succeed(false)
          if (verdict.host._tag === "Address") return Effect.succeed(true)
          return resolveAll(verdict.host.name).pipe(
            Effect.timeoutOrElse({ duration: "1 second", orElse: () => Effect.succeed([]) }),
            Effect.map((addresses) => addresses.every(({ address }) => isPublicAddress(address, allowed)))
          )
        },
        isForbiddenLiteral: (url) => judgeUrl(url, allowed)._tag === "Refused",
        lookup: (hostname, options, callback) => {
          resolve(hostname, { ...options, all: true }, (error, addresses) => {
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
    )
  )
}

const resolveAll = (name: string): Effect.Effect<ReadonlyArray<LookupAddress>> =>
  Effect.callback((resume) => {
    resolve(name, { all: true }, (error, addresses) => resume(Effect.succeed(error === null ? addresses : [])))
  })
