/**
 * The token endpoint: OAuth 2 client credentials.
 *
 * Guarantees
 * - Credentials are read from the place that the profile names, and from no other.
 * - A token has those of the requested scopes that the client has when it is issued.
 */
import { alphanumeric, type Random } from "../Random.ts"
import { type Answer, json, oauthError } from "./Answer.ts"

/** Where a provider looks for the grant and the credentials. */
export type TokenAuth = "basic-json" | "basic-form" | "form" | "form-no-secret" | "grant-in-query"

export interface Client {
  readonly id: string
  readonly secret: string
  readonly scopes: ReadonlyArray<string>
}

export interface TokenRequest {
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly query: Readonly<Record<string, string>>
  readonly body: string
}

export interface Tokens {
  readonly issue: (request: TokenRequest) => Answer
  /** The scopes of a bearer token; undefined if it is unknown or has expired. */
  readonly scopesOf: (authorization: string | undefined) => ReadonlyArray<string> | undefined
  /** Ends every token. */
  readonly revokeAll: () => void
  /** Replaces the client's secret and scopes. Its tokens stay valid. */
  readonly setClient: (client: Client) => void
}

export const makeTokens = (options: {
  readonly now: () => number
  readonly random: Random
  readonly auth: TokenAuth
  readonly lifetimeSeconds: number
  readonly client: Client
}): Tokens => {
  let client = options.client
  const tokens = new Map<string, { readonly endsAtMs: number; readonly scopes: ReadonlyArray<string> }>()

  return {
    issue: (request) => {
      const { grant, id, secret, scope } = readRequest(options.auth, request)
      if (grant !== "client_credentials") {
        return oauthError(400, "unsupported_grant_type", "grant_type must be client_credentials")
      }
      if (id !== client.id || (options.auth !== "form-no-secret" && secret !== client.secret)) {
        return oauthError(401, "invalid_client", "Invalid or inactive credentials")
      }
      const asked = scope === undefined || scope === "" ? client.scopes : scope.split(" ")
      const scopes = asked.filter((each) => client.scopes.includes(each))
      if (scopes.length === 0) return oauthError(400, "invalid_scope", "None of the scopes is granted to this client")
      const token = alphanumeric(options.random, 48)
      tokens.set(token, { endsAtMs: options.now() + options.lifetimeSeconds * 1000, scopes })
      return json(200, {
        access_token: token,
        token_type: "Bearer",
        expires_in: options.lifetimeSeconds,
        scope: scopes.join(" ")
      })
    },
    scopesOf: (authorization) => {
      const token = tokens.get(/^Bearer (.+)$/i.exec(authorization ?? "")?.[1] ?? "")
      return token !== undefined && options.now() < token.endsAtMs ? token.scopes : undefined
    },
    revokeAll: () => tokens.clear(),
    setClient: (next) => {
      client = next
    }
  }
}

interface Credentials {
  readonly grant: string | undefined
  readonly id: string | undefined
  readonly secret: string | undefined
  readonly scope: string | undefined
}

const readRequest = (auth: TokenAuth, { headers, query, body }: TokenRequest): Credentials => {
  const fields = auth === "basic-json" ? jsonFields(body) : Object.fromEntries(new URLSearchParams(body))
  const { grant_type: grant, client_id: id, client_secret: secret, scope } = fields
  if (auth === "basic-json" || auth === "basic-form") {
    const basic = /^Basic (.+)$/i.exec(headers["authorization"] ?? "")?.[1] ?? ""
    const [user, ...password] = Buffer.from(basic, "base64").toString("utf8").split(":")
    return { grant, id: user, secret: password.join(":"), scope }
  }
  return { grant: auth === "grant-in-query" ? query["grant_type"] : grant, id, secret, scope }
}

const jsonFields = (body: string): Record<string, string | undefined> => {
  try {
    const parsed: unknown = JSON.parse(body)
    return typeof parsed === "object" && parsed !== null ? (parsed as Record<string, string>) : {}
  } catch {
    return {}
  }
}
