/** The service and `pix listen` decide by one rule whether a receiver has an event. */
import { assert, layer } from "@effect/vitest"
import { isSuccess } from "@pix-payments/domain/ReceiverAnswer"
import { create, settled } from "@pix-payments/server/test/ChargeDeliveries"
import { temporaryFolder } from "@pix-payments/server/test/Postgres"
import { rawAnswers } from "@pix-payments/server/test/RawAnswers"
import { eventually, loopback, peer } from "@pix-payments/server/test/Receiver"
import { TestService } from "@pix-payments/server/test/TestService"
import * as Effect from "effect/Effect"
import type { Socket } from "node:net"
import { start } from "./support/Pix.ts"

const settings = { webhookAllowedNetworks: loopback, webhookTimeoutMs: 60_000, webhookRetryDelaysMs: [] }

const OK = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"

layer(TestService.layer({ settings }), { excludeTestServices: true })("What a receiver answers", (it) => {
  it.effect(
    "DLV-2, CLI-10, CLI-27: the status line decides, for deliveries and for `pix listen`, whose receiver may be a port",
    () =>
      Effect.gen(function* () {
        const { makeCaller, operatorToken, operatorUrl } = yield* TestService
        const { accountId, key } = yield* makeCaller()
        // What `pix` gets: each raw answer once, and 200 where it asks again.
        const talks: Array<(socket: Socket) => void> = []
        const local = yield* peer((socket) => (talks.shift() ?? ((again) => void again.end(OK)))(socket))
        const { port } = new URL(local.url)
        const running = yield* start(
          [
            "listen",
            "--forward-to",
            `${port}/hooks`,
            "--account",
            accountId,
            "--events",
            "charge.pix.emitted",
            "--format",
            "json"
          ],
          { env: { PIX_URL: operatorUrl, PIX_TOKEN: operatorToken, XDG_STATE_HOME: yield* temporaryFolder } }
        )
        const said = yield* eventually(Effect.sync(running.err), (err) => err.includes("Listening to"))
        assert.include(said, `forwarding to http://localhost:${port}/hooks`)
        for (const [index, { name, reason, status, talk }] of rawAnswers.entries()) {
          talks.push(talk)
          const endpoint = yield* peer(talk)
          const { body: charge } = yield* create({ key, webhook_url: endpoint.url })
          for (const { attempts, status: outcome } of yield* settled(charge.id, 2)) {
            assert.strictEqual(outcome, isSuccess(status) ? "delivered" : "failed", name)
            const [attempt] = attempts
            assert.strictEqual(attempt?.status_code, status, name)
            assert.strictEqual(attempt?.error, reason ?? (isSuccess(status) ? null : `status ${status}`), name)
          }
          const [line] = (yield* eventually(Effect.sync(running.lines), ({ length }) => length > index)).slice(index)
          assert.deepInclude(line, status === null ? { status: 200, repeat: true } : { status, repeat: false }, name)
          if (reason !== undefined) assert.include(running.err(), `The receiver is away (${reason})`)
        }
      }).pipe(Effect.scoped)
  )

  it.effect("DLV-7: what arrived of a body is kept, also where it breaks off", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const { key } = yield* makeCaller()
      for (const [text, kept] of [
        ["HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf", "half"],
        ["HTTP/1.1 500 No\r\nContent-Length: 9\r\n\r\nhalf", "half"],
        ["HTTP/1.1 200 OK\r\nx: y\r\n", ""]
      ] as const) {
        const endpoint = yield* peer((socket) => void socket.end(text))
        const { body: charge } = yield* create({ key, webhook_url: endpoint.url })
        for (const { attempts } of yield* settled(charge.id, 2)) assert.strictEqual(attempts[0]?.response_body, kept)
      }
    }).pipe(Effect.scoped)
  )
})
