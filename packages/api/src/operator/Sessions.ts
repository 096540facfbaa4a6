/** Signing in, and the sessions of browsers: OPR-44 to OPR-47, OPR-130 to OPR-137, OPR-150 to OPR-152. */
import { Instant } from "@pix-payments/domain/Instant"
import { listOf, listQuery } from "@pix-payments/domain/List"
import { open } from "@pix-payments/domain/OpenEnum"
import { OperatorRole } from "@pix-payments/domain/Operator"
import { decoder } from "@pix-payments/domain/Request"
import { text } from "@pix-payments/domain/Text"
import * as Schema from "effect/Schema"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as HttpApiSchema from "effect/http-api/HttpApiSchema"
import * as OpenApi from "effect/http-api/OpenApi"
import { BodyLimit } from "../BodyLimit.ts"
import { OperatorAuthentication, RequestErrors } from "../Security.ts"
import {
  Forbidden,
  InternalError,
  MisdirectedRequest,
  NotFound,
  PayloadTooLarge,
  RateLimited,
  ServiceUnavailable,
  Unauthorized,
  ValidationError
} from "../WireErrors.ts"
import { Access } from "./Access.ts"
import { byId, Id } from "./Fields.ts"
import { CreatedOperatorToken } from "./Operators.ts"

/** Who is signed in, and what a page needs to know of the installation. */
export const Session = Schema.Struct({
  object: Schema.Literal("session"),
  id: Schema.NullOr(Id).annotateKey({ description: "Null for a request with a token." }),
  via: open(Schema.Literals(["installation", "token", "session"])),
  operator: Schema.Struct({
    id: Schema.NullOr(Id).annotateKey({ description: "Null for the installation's token." }),
    name: Schema.String,
    email: Schema.NullOr(Schema.String),
    role: open(OperatorRole),
    account_ids: Schema.NullOr(Schema.Array(Id))
  }),
  expires_at: Schema.NullOr(Instant).annotateKey({
    description: "Null for a request with a token. A session also ends after 30 minutes without a request."
  }),
  settings: Schema.Struct({
    acquirer: Schema.String,
    cell: Schema.NullOr(Schema.String),
    cells: Schema.Array(Schema.Struct({ name: Schema.String, url: Schema.String })).annotateKey({
      description: "All cells, with the addresses of their dashboards, as `CELLS` says."
    })
  })
}).annotate({ identifier: "Session" })
export type Session = typeof Session.Type

/** A session of a browser. */
export const OperatorSession = Schema.Struct({
  id: Id,
  object: Schema.Literal("operator_session"),
  operator_id: Schema.NullOr(Id).annotateKey({ description: "Null for the installation's token." }),
  address: Schema.String.annotate({ description: "Where it was started from." }),
  user_agent: Schema.NullOr(Schema.String),
  created_at: Instant,
  last_seen_at: Instant,
  expires_at: Instant,
  ended_at: Schema.NullOr(Instant),
  current: Schema.Boolean.annotate({ description: "True for the session of this request." })
}).annotate({ identifier: "OperatorSession" })
export type OperatorSession = typeof OperatorSession.Type

/** A link that signs in once. */
export const SignInLink = Schema.Struct({
  object: Schema.Literal("sign_in_link"),
  url: Schema.String.annotate({ description: "Its fragment has the token: `#link=…`." }),
  expires_at: Instant
}).annotate({ identifier: "SignInLink" })
export type SignInLink = typeof SignInLink.Type

/** A code of `pix login --browser`, which its command exchanges for a personal token. */
export const SignInCode = Schema.Struct({
  object: Schema.Literal("sign_in_code"),
  code: Schema.String,
  expires_at: Instant
}).annotate({ identifier: "SignInCode" })
export type SignInCode = typeof SignInCode.Type

/** 32 bytes in base64url. */
const base64url256 = Schema.String.check(Schema.isPattern(/^[A-Za-z0-9_-]{43}$/))

/** What a person compares before a sign-in of the command line: the command and the page show the same for a challenge. */
export const shortCodeOf = (challenge: string): string => {
  const code = challenge.replace(/[-_]/g, "0").toUpperCase()
  return `${code.slice(0, 4)}-${code.slice(4, 8)}`
}

/** The body of `POST /session/code`. */
export const CreateSignInCode = Schema.Struct({
  challenge: base64url256.annotateKey({ description: "The SHA-256 of the verifier, in base64url without padding." }),
  name: text(1, 200).annotateKey({ description: "The name of the token: what it is for, and on which machine." })
}).annotate({ identifier: "CreateSignInCode" })
export type CreateSignInCode = typeof CreateSignInCode.Type

/** The body of `POST /session/token`. */
export const ExchangeSignInCode = Schema.Struct({
  code: text(1, 128),
  verifier: base64url256.annotateKey({ description: "The text that the challenge was made of." })
}).annotate({ identifier: "ExchangeSignInCode" })
export type ExchangeSignInCode = typeof ExchangeSignInCode.Type

export const decodeCreateSignInCode = decoder(CreateSignInCode)

export const decodeExchangeSignInCode = decoder(ExchangeSignInCode)

/** The body of `POST /session`: the installation's token, a personal token or that of a link. */
export const SignIn = Schema.Struct({ token: text(1, 512) }).annotate({ identifier: "SignIn" })
export type SignIn = typeof SignIn.Type

export const decodeSignIn = decoder(SignIn)

/** What an identity provider sends back. Other parameters are ignored. */
export const oidcCallbackQuery = {
  code: Schema.optionalKey(text(1, 4096)),
  state: Schema.optionalKey(text(1, 512)),
  iss: Schema.optionalKey(text(1, 1024)),
  error: Schema.optionalKey(text(1, 512))
}

/** A redirect of the browser. */
const Redirect = HttpApiSchema.Empty(303)

const signInErrors = [
  ValidationError,
  Unauthorized,
  PayloadTooLarge,
  Forbidden,
  MisdirectedRequest,
  RateLimited,
  ServiceUnavailable,
  InternalError
] as const

/** Several times what a sign-in has: nobody is known yet who sends one. */
const MAX_SIGN_IN_BYTES = 4096

const redirectErrors = [NotFound, Forbidden, MisdirectedRequest, ServiceUnavailable, InternalError] as const

/** The operations without a token or session. */
export class SignInGroup extends HttpApiGroup.make("signIn")
  .add(
    HttpApiEndpoint.post("create", "/", {
      payload: SignIn,
      success: Session,
      error: signInErrors
    })
      .annotate(BodyLimit, MAX_SIGN_IN_BYTES)
      .annotate(OpenApi.Summary, "Sign in")
      .annotate(
        OpenApi.Description,
        "Starts a session and sets its cookie: `HttpOnly`, `SameSite=Strict`, and over TLS `Secure` with the prefix `__Host-`. The body must be JSON; a browser must send it from the same origin."
      ),
    HttpApiEndpoint.post("exchange", "/token", {
      payload: ExchangeSignInCode,
      success: CreatedOperatorToken.pipe(HttpApiSchema.status(201)),
      error: signInErrors
    })
      .annotate(BodyLimit, MAX_SIGN_IN_BYTES)
      .annotate(OpenApi.Summary, "Exchange a code and its verifier for a personal token")
      .annotate(
        OpenApi.Description,
        "For `pix login --browser`. It works once, within two minutes. The token belongs to the operator who confirmed, and ends after 90 days."
      ),
    HttpApiEndpoint.get("startOidc", "/oidc", { success: Redirect, error: redirectErrors })
      .annotate(OpenApi.Summary, "Go to the identity provider to sign in")
      .annotate(OpenApi.Description, "For browsers. 404 where `OIDC_ISSUER` is not set."),
    HttpApiEndpoint.get("finishOidc", "/oidc/callback", {
      query: oidcCallbackQuery,
      success: Redirect,
      error: [ValidationError, ...redirectErrors]
    })
      .annotate(OpenApi.Summary, "Come back from the identity provider")
      .annotate(
        OpenApi.Description,
        "Starts a session and redirects to `/#sign-in=done`; without a session, to `/#sign-in=` and an error code."
      )
  )
  .prefix("/operator/v1/session")
  .middleware(RequestErrors) {}

export class SessionGroup extends HttpApiGroup.make("session")
  .add(
    HttpApiEndpoint.get("retrieve", "/", { success: Session })
      .annotate(Access, { roles: ["viewer"], accounts: "own" })
      .annotate(OpenApi.Summary, "Get who is signed in"),
    HttpApiEndpoint.delete("end", "/", { success: HttpApiSchema.NoContent })
      .annotate(Access, { roles: ["viewer"], accounts: "own" })
      .annotate(OpenApi.Summary, "Sign out")
      .annotate(OpenApi.Description, "Ends the session of this request and removes its cookie."),
    HttpApiEndpoint.post("link", "/link", { success: SignInLink.pipe(HttpApiSchema.status(201)), error: Forbidden })
      .annotate(Access, { roles: ["viewer"], accounts: "own" })
      .annotate(OpenApi.Summary, "Create a link that signs in once within five minutes")
      .annotate(
        OpenApi.Description,
        "It signs in as the operator of this request. 403 in a session whose role an identity provider limits."
      ),
    HttpApiEndpoint.post("code", "/code", {
      payload: CreateSignInCode,
      success: SignInCode.pipe(HttpApiSchema.status(201)),
      error: [Forbidden, ValidationError]
    })
      .annotate(Access, { roles: ["viewer"], accounts: "own" })
      .annotate(OpenApi.Summary, "Create a code that signs in the command line")
      .annotate(
        OpenApi.Description,
        "`pix login --browser` exchanges it, with the verifier, for a personal token of this operator. 403 for the installation's token, and in a session whose role an identity provider limits."
      )
  )
  .prefix("/operator/v1/session")
  .middleware(OperatorAuthentication)
  .middleware(RequestErrors)
  .annotate(OpenApi.Description, "The session of this request.") {}

export class SessionsGroup extends HttpApiGroup.make("sessions")
  .add(
    HttpApiEndpoint.get("list", "/", { query: listQuery, success: listOf(OperatorSession), error: ValidationError })
      .annotate(Access, { roles: ["viewer"], accounts: "own" })
      .annotate(OpenApi.Summary, "List one's sessions, newest first; as an admin everybody's"),
    HttpApiEndpoint.post("end", "/:id/end", { params: byId, success: OperatorSession, error: NotFound })
      .annotate(Access, { roles: ["viewer"], accounts: "own" })
      .annotate(OpenApi.Summary, "End one of one's sessions; as an admin anybody's")
  )
  .prefix("/operator/v1/sessions")
  .middleware(OperatorAuthentication)
  .middleware(RequestErrors)
  .annotate(OpenApi.Description, "Sessions of operators in browsers.") {}
