/** Accounts of a service in another process, whose money goes through a double of a provider. */
import type { Connection } from "@pix-payments/api/operator/Connections"
import type { PspDouble } from "@pix-payments/psp-double/PspDouble"
import * as Effect from "effect/Effect"
import { connectionTo } from "./Connections.ts"
import type { ServiceProcess } from "./Process.ts"
import { type Answer, clientOf, type Fields } from "./TestService.ts"

/** The body of an answer with this status. */
export const bodyOf = <A>({ body, status, text }: Answer<A>, expected: number): A => {
  if (status !== expected) throw new Error(`${status}: ${text}`)
  return body
}

/** Connects a service to a double, and makes an account on that connection with its own HTTP client. */
export const connectedAccount = Effect.fnUntraced(function* (
  service: ServiceProcess,
  operatorToken: string,
  double: PspDouble,
  fields: Fields = {}
) {
  const client = yield* clientOf(service, operatorToken)
  const body = connectionTo(double, fields)
  const { id } = bodyOf(yield* client.operate<Connection>("POST", "/operator/v1/connections", { body }), 201)
  const caller = yield* client.makeCaller()
  const ofAccount = `/operator/v1/accounts/${caller.accountId}`
  bodyOf(yield* client.operate("PATCH", ofAccount, { body: { connection_id: id } }), 200)
  return { ...client, ...caller, connectionId: id }
})
