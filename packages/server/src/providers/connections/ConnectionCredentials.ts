/**
 * The credentials of a connection: as they are sealed, and as `api-pix` takes them.
 *
 * Guarantees:
 * - Credentials that cannot be used are `InvalidConnection` with the part and a reason, which repeat nothing of them.
 * - Secrets leave this module as `Redacted`, or sealed.
 */
import { type ClientCertificate, type Credentials, makeCredentials } from "@pix-payments/api-pix/Credentials"
import { profiles } from "@pix-payments/api-pix/Profiles"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { createHash } from "node:crypto"
import type { Secrets } from "../../base/Secrets.ts"

/** Credentials as an operator gives them, or those that are changed. */
export interface CredentialsInput {
  readonly client_id?: string | undefined
  readonly client_secret?: string | undefined
  /** PEM. */
  readonly certificate?: string | undefined
  readonly private_key?: string | undefined
  /** Base64, instead of certificate and key. */
  readonly pkcs12?: string | undefined
  readonly passphrase?: string | undefined
  /** PEM of the authorities to trust instead of the system's. */
  readonly ca?: string | undefined
  /** Banco do Brasil's `gw-dev-app-key`. */
  readonly developer_key?: string | undefined
  /** Inter's `x-conta-corrente`. */
  readonly current_account?: string | undefined
}

/** The connection cannot be opened as it is. `part` is a field of the request. */
export class InvalidConnection extends Data.TaggedError("InvalidConnection")<{
  readonly part: string
  readonly reason: string
}> {}

/** Changed credentials over the ones before. A new certificate replaces the old one in whichever form it is. */
export const mergeCredentials = (before: CredentialsInput, changes: CredentialsInput): CredentialsInput => {
  const kept = { ...before }
  if (changes.pkcs12 !== undefined || changes.certificate !== undefined || changes.private_key !== undefined) {
    for (const part of ["certificate", "private_key", "pkcs12", "passphrase"] as const) delete kept[part]
  }
  return { ...kept, ...changes }
}

/** Checks that certificate and key can be used together. */
export const usable = (input: CredentialsInput): Effect.Effect<Credentials, InvalidConnection> =>
  Effect.gen(function* () {
    const certificate = yield* certificateOf(input)
    const { ca, client_id: clientId = "", client_secret: clientSecret } = input
    return yield* Effect.mapError(
      makeCredentials({
        clientId,
        ...(clientSecret !== undefined && { clientSecret: Redacted.make(clientSecret) }),
        certificate,
        ...(ca !== undefined && { ca })
      }),
      ({ part, reason }) => new InvalidConnection({ part: `credentials.${FIELDS[part] ?? part}`, reason })
    )
  })

/** The settings of profiles that are credentials, and their fields. */
export const PARAMETERS = { "gw-dev-app-key": "developer_key", "x-conta-corrente": "current_account" } as const

/** What the profile's headers and query parameters name. */
export const parametersOf = (input: CredentialsInput): Readonly<Record<string, Redacted.Redacted<string>>> =>
  Object.fromEntries(
    Object.entries(PARAMETERS).flatMap(([setting, field]) => {
      const value = input[field]
      return value === undefined ? [] : [[setting, Redacted.make(value)] as const]
    })
  )

/**
 * The client of a provider that a connection is of, with the bank account where it names one: connections of one client see each other's
 * payments.
 */
export const clientOf = (
  profile: string | null,
  settings: { readonly base_url?: string },
  { client_id, current_account }: CredentialsInput
): string => {
  const account = profile === "inter" ? current_account?.replace(/\W/g, "") : undefined
  return createHash("sha256")
    .update(JSON.stringify([profile, addressOf(profile, settings), client_id ?? null, account ?? null]))
    .digest("hex")
}

/** Where a provider is called, however its address is written. */
export const addressOf = (profile: string | null, { base_url }: { readonly base_url?: string }): string | null => {
  const baseUrl = base_url ?? profiles.find(({ name }) => name === profile)?.baseUrl ?? null
  const url = baseUrl === null ? null : new URL(baseUrl)
  return url === null ? null : `${url.host}${url.pathname.replace(/\/+$/, "")}`
}

export const sealCredentials = (secrets: Secrets["Service"], id: string, input: CredentialsInput): string =>
  secrets.seal(JSON.stringify(input), { kind: "connection", id })

/** Fails where no key of this process opens them. */
export const openCredentials = (
  secrets: Secrets["Service"],
  id: string,
  sealed: string
): Effect.Effect<CredentialsInput, InvalidConnection> =>
  Effect.try({
    try: () => JSON.parse(Redacted.value(secrets.open(sealed, { kind: "connection", id }))) as CredentialsInput,
    catch: () =>
      new InvalidConnection({ part: "credentials", reason: "cannot be decrypted with a key of SECRETS_KEYS" })
  })

const FIELDS: Readonly<Record<string, string>> = {
  "client-id": "client_id",
  "client-secret": "client_secret",
  key: "private_key"
}

const missing = (part: string) => new InvalidConnection({ part: `credentials.${part}`, reason: "is missing" })

const certificateOf = (input: CredentialsInput): Effect.Effect<ClientCertificate, InvalidConnection> => {
  const { certificate, passphrase = "", pkcs12, private_key: key } = input
  if (pkcs12 !== undefined) {
    if (certificate !== undefined || key !== undefined) {
      return Effect.fail(
        new InvalidConnection({ part: "credentials.pkcs12", reason: "is given beside a certificate or key in PEM" })
      )
    }
    const bytes = Buffer.from(pkcs12, "base64")
    return Effect.succeed({
      _tag: "Pkcs12",
      bytes: Redacted.make(new Uint8Array(bytes)),
      passphrase: Redacted.make(passphrase)
    })
  }
  if (certificate === undefined) return Effect.fail(missing("certificate"))
  if (key === undefined) return Effect.fail(missing("private_key"))
  return Effect.succeed({ _tag: "Pem", cert: certificate, key: Redacted.make(key) })
}
