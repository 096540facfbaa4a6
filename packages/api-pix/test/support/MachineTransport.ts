/** A transport into the double without I/O, for tests that a socket would make slow or unrepeatable. */
import type { PspMachine } from "@pix-payments/psp-double/http/PspMachine"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import type { Credentials } from "../../src/Credentials.ts"
import { answerOf, type Transport, TransportFailure } from "../../src/Transport.ts"

export const machineTransport =
  (machine: PspMachine): Transport =>
  ({ method, url, query, headers, body }) =>
    Effect.suspend(() => {
      const { fault, answer, reply } = machine.exchange({
        method,
        path: new URL(url).pathname,
        query,
        headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value])),
        body: body?.text ?? ""
      })
      if (fault === "hang") return Effect.never
      const received = reply(answer)
      return received === undefined
        ? Effect.fail(new TransportFailure({ kind: "connection-cut", code: "CUT" }))
        : Effect.succeed(answerOf(received.status, received.headers["retry-after"], received.body ?? ""))
    })

/** The certificate is unused: the transport is given. */
export const uncheckedCredentials = (clientId: string, clientSecret: string): Credentials => ({
  clientId,
  clientSecret: Redacted.make(clientSecret),
  certificate: { _tag: "Pem", cert: "", key: Redacted.make("") },
  subject: "",
  validFromMs: 0,
  validToMs: Number.MAX_SAFE_INTEGER
})
