/**
 * The operator routes of signing in at the identity provider. A browser follows them; each answer is a redirect.
 *
 * Guarantees:
 * - The cookie of a sign-in is `SameSite=Lax`, because the browser comes back from another site. It authorises nothing, and
 *   the callback removes it. The session's cookie stays `SameSite=Strict`.
 * - A callback without the cookie of the browser that began is refused, so nobody can sign in somebody else.
 * - Failed callbacks are limited by address, as other failed sign-ins are.
 *
 * Rules: OPR-133 to OPR-137.
 */
import { CurrentOperator, type Operator } from "@pix-payments/api/Security"
import { Forbidden } from "@pix-payments/api/WireErrors"
import { lesserRole, OperatorRole } from "@pix-payments/domain/Operator"
import * as Effect from "effect/Effect"
import { Metrics } from "../../../base/observability/Metrics.ts"
import { CurrentRequest } from "../../../base/observability/RequestContext.ts"
import { AuditLog } from "../../../operations/AuditLog.ts"
import {
  type CallbackParameters,
  IdentityProvider,
  type Person,
  SignInFailed
} from "../../../operators/IdentityProvider.ts"
import { OperatorIdentities } from "../../../operators/OperatorIdentities.ts"
import { OperatorSessions } from "../../../operators/OperatorSessions.ts"
import { SignIns } from "../../../operators/SignIns.ts"
import type { Answer } from "../../pipeline/Answer.ts"
import { notFound } from "../../pipeline/WireTranslation.ts"
import type { OperatorHandlers } from "../OperatorHandlers.ts"
import { type Connection, CurrentConnection, setCookie, setSignInCookie } from "./SessionCookie.ts"

export const oidcHandlers = Effect.gen(function* () {
  const provider = yield* IdentityProvider
  const identities = yield* OperatorIdentities
  const sessions = yield* OperatorSessions
  const signIns = yield* SignIns
  const metrics = yield* Metrics
  const audit = yield* AuditLog

  /** The operator of a person, who is linked at the first sign-in. */
  const operatorOf = Effect.fnUntraced(function* ({ email, issuer, subject }: Person) {
    const found = yield* identities.find({ issuer, subject })
    if (found.operator !== undefined) return found.operator
    if (found.isKnown) return yield* refused("the operator is not active")
    if (email === undefined) return yield* refused("the e-mail address is not verified")
    return yield* identities.link({ issuer, subject }, email).pipe(
      Effect.filterOrFail(isDefined, () => refused("no operator without another subject has the e-mail address")),
      audit.recordWith("operators.link", { after: { issuer, subject } }),
      Effect.provideService(CurrentOperator, unknownPerson)
    )
  })

  const started = Effect.fnUntraced(function* (connection: Connection, parameters: CallbackParameters) {
    const person = yield* provider.finish(redirectUriOf(connection), connection.signInCookie ?? "", parameters)
    if (person.roles?.length === 0) return yield* refused("the claim has no role")
    const operator = yield* operatorOf(person)
    const role = roleOf(operator, person.roles)
    const session = yield* sessions
      .startWith({
        operatorId: operator.id!,
        address: connection.address,
        userAgent: connection.userAgent,
        role: person.roles === undefined ? undefined : role,
        state: person.state
      })
      .pipe(
        Effect.filterOrFail(isDefined, () => refused("the sign-in was used before")),
        audit.recordWith("session.start", { after: { role } }),
        Effect.provideService(CurrentOperator, { ...operator, role })
      )
    return session.secret
  })

  const handlers: Pick<OperatorHandlers<"signIn">, "startOidc" | "finishOidc"> = {
    startOidc: () =>
      Effect.gen(function* () {
        if (!provider.isConfigured) return yield* notFound()
        const connection = yield* CurrentConnection
        const { fetchSite } = connection
        // No page of another site begins a sign-in.
        if (fetchSite !== undefined && fetchSite !== "same-origin" && fetchSite !== "none") {
          return yield* new Forbidden({})
        }
        const { sealed, url } = yield* provider.begin(redirectUriOf(connection))
        return redirect(url, [setSignInCookie(connection, sealed)])
      }).pipe(
        Effect.catchTag("SignInFailed", (failed) => Effect.andThen(logged(failed), ended("SERVICE_UNAVAILABLE")))
      ),

    finishOidc: ({ query }) =>
      Effect.gen(function* () {
        if (!provider.isConfigured) return yield* notFound()
        const connection = yield* CurrentConnection
        // Not from the browser that began, as an image of another site's page is not: it is no attempt to sign in.
        if (connection.signInCookie === undefined) return yield* ended("UNAUTHORIZED")
        const removed = setSignInCookie(connection, undefined)
        const signIn = yield* signIns.attempt(
          connection.address,
          started(connection, query).pipe(
            Effect.catchTag("SignInFailed", (failed) =>
              Effect.as(logged(failed), failed.isUnavailable ? ("unavailable" as const) : undefined)
            )
          )
        )
        if (signIn._tag !== "Accepted") {
          const isLimited = signIn._tag === "Limited"
          metrics.signInRefused(isLimited ? "limit" : "token")
          return yield* ended(isLimited ? "RATE_LIMITED" : "UNAUTHORIZED", removed)
        }
        if (signIn.value === "unavailable") return yield* ended("SERVICE_UNAVAILABLE", removed)
        return redirect("/#sign-in=done", [removed, setCookie(connection, signIn.value)])
      })
  }
  return handlers
})

const logged = ({ isUnavailable, reason }: SignInFailed) =>
  Effect.gen(function* () {
    const { requestId } = yield* CurrentRequest
    const { address } = yield* CurrentConnection
    yield* Effect.annotateLogs(
      Effect.logWarning(
        isUnavailable ? "the identity provider did not answer" : "a sign-in at the identity provider failed"
      ),
      { reason, address, request_id: requestId }
    )
  })

/** The page says what happened: a browser would show the JSON of an error. */
const ended = (code: string, ...cookies: ReadonlyArray<string>) =>
  Effect.succeed(redirect(`/#sign-in=${code}`, cookies))

const redirect = (location: string, cookies: ReadonlyArray<string>): Answer<void> => ({
  status: 303,
  headers: { location, ...(cookies.length > 0 && { "set-cookie": cookies }) }
})

const redirectUriOf = ({ origin }: Connection): string => `${origin}/operator/v1/session/oidc/callback`

/** The most of the operator's role that the claim allows. */
const roleOf = ({ role }: Operator, allowed: ReadonlyArray<OperatorRole> | undefined): OperatorRole =>
  allowed === undefined
    ? role
    : (OperatorRole.literals.findLast((each) => allowed.some((one) => lesserRole(role, one) === each)) ?? "viewer")

const refused = (reason: string) => new SignInFailed({ isUnavailable: false, reason })

const isDefined = <A>(value: A | undefined): value is A => value !== undefined

/** Acts in the entry of the first sign-in, before it is known who signs in. */
const unknownPerson: Operator = {
  id: null,
  name: "identity provider",
  email: null,
  role: "viewer",
  accountIds: [],
  via: "oidc",
  sessionId: null
}
