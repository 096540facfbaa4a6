/** How long a call waits for its answer. */
import { assert, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Redacted from "effect/Redacted"
import * as TestClock from "effect/testing/TestClock"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { call } from "../src/OperatorClient.ts"

/** A service that answers its first call once it is told to. */
const slowService = Effect.gen(function* () {
  const asked = yield* Deferred.make<(body: object) => void>()
  const server = createServer((_request, response) => {
    const answer = (body: object) => response.setHeader("content-type", "application/json").end(JSON.stringify(body))
    Deferred.doneUnsafe(asked, Effect.succeed(answer))
  })
  yield* Effect.acquireRelease(
    Effect.callback<void>((resume) => void server.listen(0, "127.0.0.1", () => resume(Effect.void))),
    () => Effect.sync(() => server.close().closeAllConnections())
  )
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return { service: { url, token: Redacted.make("token") }, asked }
})

it.effect("CLI-2: the books may take 59 minutes to be read whole", () =>
  Effect.gen(function* () {
    const { asked, service } = yield* slowService
    const verifying = yield* Effect.forkScoped(call(service, "ledger.verify", { query: { full: "true" } }))
    const answer = yield* Deferred.await(asked)
    yield* TestClock.adjust("59 minutes")
    answer({ object: "ledger_verification", consistent: true })
    assert.strictEqual((yield* Fiber.join(verifying)).status, 200)
  })
)

it.effect("CLI-2: any other answer is waited for half a minute", () =>
  Effect.gen(function* () {
    const { asked, service } = yield* slowService
    const listing = yield* Effect.forkScoped(Effect.flip(call(service, "charges.list")))
    yield* Deferred.await(asked)
    yield* TestClock.adjust("30 seconds")
    assert.include((yield* Fiber.join(listing)).message, "did not answer within 30 seconds")
  })
)
