/** Identity providers on loopback: a real one, and one that lies. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import { generateKeyPairSync, type KeyObject, sign } from "node:crypto"
import { once } from "node:events"
import * as Http from "node:http"
import type { AddressInfo } from "node:net"
import { Provider } from "oidc-provider"
import type { OidcSettings } from "../../src/base/Settings.ts"
import { newKey, TestService } from "./TestService.ts"

type Claims = Readonly<Record<string, unknown>>

const client = { id: "pix-payments", secret: "the secret of a client in tests" }

export const callbackPath = "/operator/v1/session/oidc/callback"

/** The settings of a service that signs in at this issuer. */
const settingsFor = (issuer: string): { readonly oidc: Option.Option<OidcSettings> } => ({
  oidc: Option.some({
    issuer,
    clientId: client.id,
    clientSecret: Redacted.make(client.secret),
    roleClaim: Option.some("role")
  })
})

/** A server on a free port of loopback, whose handler may be set after its address is known. */
const listening = Effect.acquireRelease(
  Effect.promise(async () => {
    let handle: Http.RequestListener = (_, response) => void response.writeHead(503).end()
    const server = Http.createServer((request, response) => handle(request, response)).listen(0, "127.0.0.1")
    await once(server, "listening")
    const { port } = server.address() as AddressInfo
    return {
      server,
      url: `http://127.0.0.1:${port}`,
      use: (listener: Http.RequestListener) => {
        handle = listener
      }
    }
  }),
  ({ server }) =>
    Effect.promise(async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    })
)

/** `oidc-provider` with people who sign in without being asked. */
export class RealProvider extends Context.Service<
  RealProvider,
  {
    /** The next sign-in in a new browser is that of this person. */
    readonly signsIn: (subject: string, claims: Claims) => void
  }
>()("@pix-payments/server/test/RealProvider") {
  /** With a service that signs in there. */
  static readonly withService = Layer.unwrap(
    Effect.map(listening, ({ url, use }) => {
      const people = new Map<string, Claims>()
      let next = ""
      const provider = Layer.effect(
        RealProvider,
        Effect.map(TestService, ({ operatorUrl }) => {
          const issuer = makeProvider(url, `${operatorUrl}${callbackPath}`, (subject) => people.get(subject))
          const callback = issuer.callback()
          use((request, response) => {
            if (request.url?.startsWith("/interaction/") !== true) return void callback(request, response)
            void issuer.interactionFinished(request, response, { login: { accountId: next } })
          })
          return RealProvider.of({
            signsIn: (subject, claims) => {
              people.set(subject, claims)
              next = subject
            }
          })
        })
      )
      return Layer.provideMerge(provider, TestService.layer({ settings: { logLevel: "none", ...settingsFor(url) } }))
    })
  )
}

const makeProvider = (issuer: string, redirectUri: string, claimsOf: (subject: string) => Claims | undefined) =>
  new Provider(issuer, {
    clients: [
      {
        client_id: client.id,
        client_secret: client.secret,
        redirect_uris: [redirectUri],
        token_endpoint_auth_method: "client_secret_post"
      }
    ],
    claims: { openid: ["sub"], email: ["email", "email_verified"], profile: ["name", "role"] },
    cookies: { keys: [newKey()] },
    ttl: { AccessToken: 600, Grant: 600, IdToken: 600, Interaction: 600, Session: 600 },
    features: { devInteractions: { enabled: false } },
    jwks: { keys: [{ ...keys().privateKey.export({ format: "jwk" }), use: "sig", alg: "RS256", kid: "1" } as never] },
    interactions: { url: (_, { uid }) => `/interaction/${uid}` },
    findAccount: (_, subject) => ({
      accountId: subject,
      claims: () => ({ sub: subject, ...claimsOf(subject) })
    }),
    loadExistingGrant: async (ctx) => {
      const { client: found, provider, session } = ctx.oidc
      const grant = new provider.Grant({ clientId: found!.clientId, accountId: session!.accountId! })
      grant.addOIDCScope("openid email profile")
      await grant.save()
      return grant
    }
  })

const keys = () => generateKeyPairSync("rsa", { modulusLength: 2048 })

/** What a lying provider does at its token endpoint. */
export interface Lie {
  /** Claims of its id token, over the true ones. */
  readonly claims?: Claims
  readonly header?: Claims
  readonly key?: KeyObject
  /** Answers instead. */
  readonly respond?: Http.RequestListener
}

/** A provider whose answers a test chooses. It has no page: the test itself comes back from it. */
export class LyingProvider extends Context.Service<
  LyingProvider,
  {
    readonly issuer: string
    readonly strangersKey: KeyObject
    /** The true claims of the next token, and how it lies. */
    readonly answers: (nonce: string, claims: Claims, lie?: Lie) => void
    readonly tokenRequests: () => number
  }
>()("@pix-payments/server/test/LyingProvider") {
  /** With a service that signs in there. */
  static readonly withService = Layer.unwrap(
    Effect.map(listening, ({ url, use }) => {
      const { privateKey, publicKey } = keys()
      let answer: { readonly nonce: string; readonly claims: Claims; readonly lie: Lie }
      let count = 0
      const json = (response: Http.ServerResponse, body: unknown) =>
        void response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(body))
      use((request, response) => {
        switch (request.url) {
          case "/.well-known/openid-configuration":
            return json(response, {
              issuer: url,
              authorization_endpoint: `${url}/authorize`,
              token_endpoint: `${url}/token`,
              jwks_uri: `${url}/jwks`,
              response_types_supported: ["code"],
              id_token_signing_alg_values_supported: ["RS256"]
            })
          case "/jwks":
            return json(response, { keys: [{ ...publicKey.export({ format: "jwk" }), alg: "RS256", kid: "1" }] })
          default: {
            count += 1
            const { claims, lie, nonce } = answer
            if (lie.respond !== undefined) return lie.respond(request, response)
            const now = Math.floor(performance.timeOrigin / 1000 + performance.now() / 1000)
            const truth = { iss: url, aud: client.id, sub: "s", iat: now, exp: now + 60, nonce, ...claims }
            const token = jwt(
              { alg: "RS256", kid: "1", ...lie.header },
              { ...truth, ...lie.claims },
              lie.key ?? privateKey
            )
            return json(response, { access_token: "a", token_type: "Bearer", id_token: token })
          }
        }
      })
      const provider = Layer.succeed(
        LyingProvider,
        LyingProvider.of({
          issuer: url,
          strangersKey: keys().privateKey,
          tokenRequests: () => count,
          answers: (nonce, claims, lie = {}) => {
            answer = { nonce, claims, lie }
          }
        })
      )
      return Layer.merge(provider, TestService.layer({ settings: { logLevel: "none", ...settingsFor(url) } }))
    })
  )
}

const jwt = (header: Claims, payload: Claims, key: KeyObject): string => {
  const parts = [header, payload].map((part) => Buffer.from(JSON.stringify(part)).toString("base64url"))
  const signature =
    header["alg"] === "none" ? "" : sign("sha256", Buffer.from(parts.join(".")), key).toString("base64url")
  return [...parts, signature].join(".")
}
