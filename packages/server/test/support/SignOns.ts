/** Operators who sign in at an identity provider, and what they have then. */
import * as Effect from "effect/Effect"
import { makeOperator, sameOrigin } from "./Operators.ts"
import { type Call, TestService } from "./TestService.ts"

export const start = "/operator/v1/session/oidc"
export const anonymous = { "x-operator-token": undefined }

/** An operator with its e-mail address. */
export const named = Effect.fn("named")(function* (role: Parameters<typeof makeOperator>[0]) {
  const { operate } = yield* TestService
  const { id } = yield* makeOperator(role)
  const { body } = yield* operate<{ email: string }>("GET", `/operator/v1/operators/${id}`)
  return { id, email: body.email }
})

/** Where a sign-in ended, from the answer's location and cookies, and a call with what it has. */
export const endOf = (operate: Call, location: string, lines: ReadonlyArray<string>) => {
  const cookies: Readonly<Record<string, string>> = Object.fromEntries(
    lines.map((line) => [line.slice(0, line.indexOf("=")), line.slice(line.indexOf("=") + 1)])
  )
  const cookie = `pix_operator=${cookies["pix_operator"]?.split(";")[0]}`
  const call: Call = (method, path, options = {}) =>
    operate(method, path, { ...options, headers: { ...anonymous, cookie, ...sameOrigin, ...options.headers } })
  return { location, cookies, isSignedIn: cookies["pix_operator"] !== undefined, call }
}
