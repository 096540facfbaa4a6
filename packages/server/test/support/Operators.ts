/** Operators with tokens and sessions, for tests of the operator interface. */
import type { AuditEntry } from "@pix-payments/api/operator/Logs"
import type { OperatorRole } from "@pix-payments/domain/Operator"
import * as Effect from "effect/Effect"
import { type Call, newKey, TestService } from "./TestService.ts"

export interface TestOperator {
  readonly id: string
  readonly tokenId: string
  readonly token: string
  /** A request to the operator listener with the operator's token. */
  readonly call: Call
}

/** An operator of this role, limited to these accounts, with a personal token. */
export const makeOperator = Effect.fn("makeOperator")(function* (
  role: OperatorRole,
  accountIds?: ReadonlyArray<string>
) {
  const { operate } = yield* TestService
  const operator = yield* operate<{ id: string }>("POST", "/operator/v1/operators", {
    body: { name: role, email: `${newKey()}@example.com`, role, account_ids: accountIds ?? null }
  })
  if (operator.status !== 201) throw new Error(operator.text)
  const { id } = operator.body
  const created = yield* operate<{ id: string; token: string }>("POST", `/operator/v1/operators/${id}/tokens`, {
    body: { name: "test" }
  })
  if (created.status !== 201) throw new Error(created.text)
  const { id: tokenId, token } = created.body
  return { id, tokenId, token, call: withToken(operate, token) } satisfies TestOperator
})

/** The newest entries of the audit log, uses of the installation's token aside: tests use it throughout. */
export const newestEntries = (limit: number) =>
  Effect.gen(function* () {
    const { operate } = yield* TestService
    const { body, text } = yield* operate<{ data: ReadonlyArray<AuditEntry> }>("GET", "/operator/v1/audit?limit=100")
    const entries = body.data.filter(({ action }) => action !== "installation.use").slice(0, limit)
    if (entries.length < limit) throw new Error(`fewer than ${limit} entries: ${text}`)
    return entries
  })

/** Several admins switch four eyes on by themselves (OPR-110). */
export const withoutFourEyes = Effect.flatMap(TestService, ({ operate }) =>
  Effect.map(operate("PATCH", "/operator/v1/installation", { body: { four_eyes: "off" } }), ({ status, text }) => {
    if (status !== 200) throw new Error(text)
  })
)

/** Calls with another token than the installation's. */
export const withToken =
  (operate: Call, token: string | undefined): Call =>
  (method, path, options = {}) =>
    operate(method, path, { ...options, headers: { "x-operator-token": token, ...options.headers } })

/** What a browser sends with a request of a page of the same origin. */
export const sameOrigin = { "sec-fetch-site": "same-origin" }

/** Signs in with a token, and returns calls with the session's cookie, as a browser's page makes them. */
export const signIn = Effect.fn("signIn")(function* (token: string, from?: string) {
  const { operate } = yield* TestService
  const answer = yield* operate<{ id: string }>("POST", "/operator/v1/session", {
    body: { token },
    from,
    headers: { "x-operator-token": undefined, ...sameOrigin }
  })
  if (answer.status !== 200) throw new Error(answer.text)
  const setCookie = String(answer.headers["set-cookie"]?.[0])
  const [cookie = ""] = setCookie.split(";")
  const call: Call = (method, path, options = {}) =>
    operate(method, path, {
      ...options,
      headers: { "x-operator-token": undefined, cookie, ...sameOrigin, ...options.headers }
    })
  return { id: answer.body.id, answer, setCookie, cookie, call }
})
