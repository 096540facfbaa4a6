/** A stream that falls silent. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Redacted from "effect/Redacted"
import * as TestClock from "effect/testing/TestClock"
import * as Http from "node:http"
import { openStream } from "../src/listen/EventSource.ts"

describe("The stream", () => {
  it.effect("CLI-15: is lost when no heartbeat came for 40 s", () =>
    Effect.gen(function* () {
      const server = yield* Effect.acquireRelease(
        Effect.promise(async () => {
          const server = Http.createServer((_, response) => {
            response.writeHead(200, { "content-type": "text/event-stream" })
            response.write(": heartbeat\nid: 01a2027c-27ce-74b6-88f7-06b8f8b33cb6.1\n\n")
          })
          await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
          return server
        }),
        (server) =>
          Effect.sync(() => {
            server.close()
            server.closeAllConnections()
          })
      )
      const url = `http://127.0.0.1:${Object(server.address()).port}`
      const pull = yield* openStream({ url, token: Redacted.make("token") }, {}, "oldest")
      assert.deepStrictEqual(yield* pull, [{ id: "01a2027c-27ce-74b6-88f7-06b8f8b33cb6.1", text: undefined }])
      const silent = yield* Effect.forkChild(Effect.flip(pull))
      yield* TestClock.adjust("39 seconds")
      assert.isUndefined(silent.pollUnsafe())
      yield* TestClock.adjust("2 seconds")
      assert.deepInclude(yield* Fiber.join(silent), { _tag: "Lost", reason: "no heartbeat came" })
    }).pipe(Effect.scoped)
  )
})
