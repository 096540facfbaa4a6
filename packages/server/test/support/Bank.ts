/** A double of a provider over mTLS, and the port to it. */
import { makeApiPixClient } from "@pix-payments/api-pix/ApiPixClient"
import { type Limits, makeConnection } from "@pix-payments/api-pix/Connection"
import { makeCredentials } from "@pix-payments/api-pix/Credentials"
import { makeDisputes } from "@pix-payments/api-pix/Disputes"
import { makePayouts } from "@pix-payments/api-pix/PayoutRails"
import * as profiles from "@pix-payments/api-pix/Profiles"
import { type PspDouble, type PspDoubleOptions, startPspDouble } from "@pix-payments/psp-double/PspDouble"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { makeApiPixProvider } from "../../src/providers/api-pix/ApiPixProvider.ts"

export const startDouble = (options: PspDoubleOptions = {}) =>
  Effect.acquireRelease(
    Effect.promise(() => startPspDouble(options)),
    (double) => Effect.promise(() => double.close())
  )

/** The credentials of a connection to the double. */
export const credentialsOf = (double: PspDouble) => ({
  clientId: double.clientId,
  clientSecret: Redacted.make(double.clientSecret),
  certificate: { _tag: "Pem", cert: double.client.cert, key: Redacted.make(double.client.key) } as const,
  ca: double.client.ca
})

export const connect = Effect.fnUntraced(function* (
  double: PspDouble,
  { limits, timeoutMs = 60_000 }: { readonly limits?: Partial<Limits>; readonly timeoutMs?: number } = {}
) {
  const connection = yield* makeConnection({
    profile: profiles[double.profile.name],
    credentials: yield* makeCredentials(credentialsOf(double)),
    baseUrl: double.baseUrl,
    tokenUrl: double.tokenUrl,
    limits: { timeoutMs, tokenTimeoutMs: timeoutMs, retryDelayMs: 1, ...limits }
  })
  return makeApiPixProvider({
    client: makeApiPixClient(connection),
    payouts: makePayouts(connection),
    disputes: makeDisputes(connection),
    pixKey: double.key,
    timeoutMs
  })
})
