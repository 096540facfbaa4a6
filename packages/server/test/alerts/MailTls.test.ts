/** Mails beyond loopback are sent over TLS only. */
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import { once } from "node:events"
import type { AddressInfo } from "node:net"
import { SMTPServer } from "smtp-server"
import { eventually } from "../support/Receiver.ts"
import { type Fields, TestService } from "../support/TestService.ts"

/** A mail server without STARTTLS, as somebody between would show it. */
const credentials: Array<string> = []
const smtp = new SMTPServer({
  disabledCommands: ["STARTTLS"],
  allowInsecureAuth: true,
  onAuth: ({ password }, _session, done) => {
    credentials.push(String(password))
    done(null, { user: "pix" })
  }
})
smtp.listen(0, "127.0.0.1")
await once(smtp.server, "listening")
const { port } = smtp.server.address() as AddressInfo

// Another way to write 127.0.0.1, which the settings do not know as loopback.
const smtpUrl = Option.some(Redacted.make(`smtp://pix:secret-of-mail@127.1:${port}`))

layer(TestService.layer({ settings: { smtpUrl } }), { excludeTestServices: true })("Mails", (it) => {
  it.effect("OPR-316: a server beyond loopback that offers no TLS gets no password and no mail", () =>
    Effect.gen(function* () {
      const { operate } = yield* TestService
      const path = "/operator/v1/alert-channels"
      const { body } = yield* operate<Fields>("POST", path, {
        body: { name: "Plantão", kind: "email", target: "plantao@example.com", events: ["exception.opened"] }
      })
      const channel = `${path}/${String(body["id"])}`
      yield* operate("POST", `${channel}/test`)
      const { body: tried } = yield* eventually(
        operate<Fields>("GET", channel),
        (answer) => answer.body["last_error"] !== null
      )
      assert.match(String(tried["last_error"]), /STARTTLS/)
      assert.deepStrictEqual(credentials, [])
      yield* operate("DELETE", channel)
      yield* Effect.promise(() => new Promise<void>((resolve) => smtp.close(resolve)))
    })
  )
})
