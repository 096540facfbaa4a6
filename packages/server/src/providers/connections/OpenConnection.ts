/** An open connection to a provider, from its row and its credentials. */
import { type ApiPixClient, makeApiPixClient } from "@pix-payments/api-pix/ApiPixClient"
import { makeBalance } from "@pix-payments/api-pix/Balance"
import { makeConnection } from "@pix-payments/api-pix/Connection"
import { type Disputes, makeDisputes } from "@pix-payments/api-pix/Disputes"
import type { Profile } from "@pix-payments/api-pix/Profile"
import { makePayouts } from "@pix-payments/api-pix/PayoutRails"
import { profiles } from "@pix-payments/api-pix/Profiles"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { Provider } from "../Acquirer.ts"
import { makeApiPixProvider } from "../api-pix/ApiPixProvider.ts"
import { type CredentialsInput, InvalidConnection, PARAMETERS, parametersOf, usable } from "./ConnectionCredentials.ts"
import type { ConnectionRow } from "./ConnectionStore.ts"

export interface OpenConnection {
  readonly client: ApiPixClient
  /** Undefined where the provider's API has no disputes. */
  readonly disputes: Disputes | undefined
  readonly provider: Provider
  readonly certificateExpiresAtMs: number
  readonly paysOut: boolean
}

/** What opens a connection, of a row or of a request. */
export interface ConnectionTerms extends Pick<ConnectionRow, "settings"> {
  readonly profile: string | null
  readonly pix_key: string
  readonly credentials: CredentialsInput
}

export const profileOf = (name: string | null): Profile | undefined => profiles.find((profile) => profile.name === name)

/** Opens a connection. It sends nothing. */
export const openConnection = (
  terms: ConnectionTerms,
  timeoutMs: number
): Effect.Effect<OpenConnection, InvalidConnection, Scope.Scope> =>
  Effect.gen(function* () {
    const profile = profileOf(terms.profile)
    if (profile === undefined) return yield* new InvalidConnection({ part: "profile", reason: "is unknown" })
    const credentials = yield* usable(terms.credentials)
    const { base_url: baseUrl, token_url: tokenUrl } = terms.settings
    const options = {
      profile,
      credentials,
      ...(baseUrl !== undefined && { baseUrl }),
      ...(tokenUrl !== undefined && { tokenUrl }),
      settings: parametersOf(terms.credentials),
      limits: { timeoutMs, tokenTimeoutMs: timeoutMs }
    }
    const [connection, balance] = yield* Effect.mapError(
      Effect.all([makeConnection(options), makeBalance(options)]),
      ({ setting }) => new InvalidConnection({ part: FIELDS[setting] ?? setting, reason: "is missing" })
    )
    const client = makeApiPixClient(connection)
    const disputes = makeDisputes(connection)
    return {
      client,
      disputes,
      provider: makeApiPixProvider({
        client,
        payouts: makePayouts(connection),
        disputes,
        balance,
        pixKey: terms.pix_key,
        timeoutMs
      }),
      certificateExpiresAtMs: credentials.validToMs,
      paysOut: profile.payouts !== null
    }
  })

/** The fields of what `makeConnection` names. */
const FIELDS: Readonly<Record<string, string>> = {
  "base URL": "settings.base_url",
  "token URL": "settings.token_url",
  "client secret": "credentials.client_secret",
  ...Object.fromEntries(Object.entries(PARAMETERS).map(([setting, field]) => [setting, `credentials.${field}`]))
}
