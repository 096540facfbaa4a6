/** How much a receiver can make the service read: counted on the socket, without a clock. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import { subscribe, unsubscribe } from "node:diagnostics_channel"
import type { Socket } from "node:net"
import { MIN_READ_BYTES, READ_BYTES } from "@pix-payments/domain/ReceiverAnswer"
import { KEPT_BYTES, makeReceiverClient } from "../../../src/webhooks/sending/ReceiverClient.ts"
import { peer, receiver } from "../../support/Receiver.ts"

/** The sockets that requests were written to, with how often each was read from. */
const sockets = Effect.gen(function* () {
  const seen = new Map<Socket, { reads: number }>()
  const onSent = (message: unknown) => {
    const { socket } = message as { readonly socket: Socket }
    if (seen.has(socket)) return
    const entry = { reads: 0 }
    seen.set(socket, entry)
    socket.on("readable", () => entry.reads++)
  }
  yield* Effect.acquireRelease(
    Effect.sync(() => subscribe("undici:client:sendHeaders", onSent)),
    () => Effect.sync(() => unsubscribe("undici:client:sendHeaders", onSent))
  )
  return seen
})

const client = makeReceiverClient({
  lookup: (_, __, callback) => callback(new Error("no names here"), ""),
  // Time ends nothing here.
  timeoutMs: 600_000,
  connections: 1
})

const post = (url: string, id = "1") =>
  Effect.flatMap(client, (made) =>
    Effect.map(Effect.result(made.post({ id, url: new URL(url), headers: {}, body: '{"id":"1"}' })), (result) => ({
      ...made.take(id),
      isComplete: Result.isSuccess(result)
    }))
  )

/** Writes `piece` again and again, as fast as it is taken. */
const endless = (first: string, piece: string) => (socket: Socket) => {
  const write = () => {
    while (!socket.destroyed && socket.write(piece)) {}
  }
  socket.on("drain", write)
  socket.write(first)
  write()
}

/** Writes one byte after the other, so that they come in as many reads. */
const drip = (first: string, piece: string) => (socket: Socket) => {
  socket.setNoDelay(true)
  socket.write(first)
  let at = 0
  const write = () => {
    if (socket.destroyed) return
    socket.write(piece.charAt(at++ % piece.length))
    setImmediate(write)
  }
  write()
}

const CHUNKED = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
const EARLY = "HTTP/1.1 103 Early Hints\r\nlink: </style.css>\r\n\r\n"

const hostile: ReadonlyArray<readonly [name: string, status: number | null, talk: (socket: Socket) => void]> = [
  ["103 without end", null, endless(EARLY, EARLY.repeat(200))],
  ["102 without end, byte by byte", null, drip("", "HTTP/1.1 102 Processing\r\n\r\n")],
  ["a chunk extension without end", 200, endless(`${CHUNKED}1;`, "x".repeat(10_000))],
  ["a chunk extension without end, byte by byte", 200, drip(`${CHUNKED}1;`, "x")],
  ["chunks of one byte with long extensions", 200, endless(CHUNKED, `1;${"e".repeat(8000)}\r\n.\r\n`)],
  ["a header without end, byte by byte", 200, drip("HTTP/1.1 200 OK\r\n", "x: y\r\n")],
  ["a status line without end", null, endless("HTTP/1.1 200 ", "O".repeat(10_000))],
  ["headers without end", 200, endless("HTTP/1.1 200 OK\r\n", ":\r\n".repeat(10_000))],
  ["trailers without end", 200, endless(`${CHUNKED}0\r\n`, "x: y\r\n".repeat(1000))],
  ["a body of few bytes, byte by byte, without end", 200, drip(`${CHUNKED}1\r\n.\r\n`, "0")]
]

describe("A receiver that sends", () => {
  for (const [name, status, talk] of hostile) {
    it.live(
      `${name} has its connection destroyed after ${READ_BYTES} bytes, or ${READ_BYTES / MIN_READ_BYTES} reads`,
      () =>
        Effect.gen(function* () {
          const seen = yield* sockets
          const { url } = yield* peer(talk)
          const { isComplete, statusCode } = yield* post(url)
          assert.deepStrictEqual([isComplete, statusCode], [false, status])
          assert.strictEqual(seen.size, 1)
          for (const [socket, { reads }] of seen) {
            assert.isTrue(socket.destroyed)
            // The last read may be as large as the socket's buffer.
            assert.isAtMost(socket.bytesRead, READ_BYTES + 65_536)
            assert.isAtMost(reads, READ_BYTES / MIN_READ_BYTES)
          }
        })
    )
  }
})

describe("An answer", () => {
  it.live("DLV-7: with a large body is an answer all the same: 1 KiB is kept, the rest is not read", () =>
    Effect.gen(function* () {
      const seen = yield* sockets
      const { url } = yield* receiver((_, response) => response.end("x".repeat(3_000_000)))
      const { body, statusCode } = yield* post(url)
      assert.deepStrictEqual([statusCode, body.length], [200, KEPT_BYTES])
      for (const socket of seen.keys()) {
        assert.isTrue(socket.destroyed)
        assert.isAtMost(socket.bytesRead, 2 * 65_536)
      }
    })
  )

  it.live("that is not over after 1 KiB is not waited for: its connection is destroyed, not drained", () =>
    Effect.gen(function* () {
      const seen = yield* sockets
      const { url } = yield* peer((socket) =>
        socket.write(`HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n${"x".repeat(2000)}`)
      )
      const { body, statusCode } = yield* post(url)
      assert.deepStrictEqual([statusCode, body.length], [200, KEPT_BYTES])
      assert.deepStrictEqual(
        [...seen.keys()].map(({ destroyed }) => destroyed),
        [true]
      )
    })
  )

  it.live("may have 15 KiB of header, some informational answers before it, and chunks with extensions", () =>
    Effect.gen(function* () {
      const { url } = yield* peer((socket) =>
        socket.write(
          `${EARLY.repeat(5)}HTTP/1.1 200 OK\r\nx: ${"y".repeat(15_000)}\r\ntransfer-encoding: chunked\r\n\r\n` +
            "2;a=b\r\nok\r\n0\r\n\r\n"
        )
      )
      const { body, statusCode } = yield* post(url)
      assert.deepStrictEqual([statusCode, body.toString()], [200, "ok"])
    })
  )

  it.live("is counted by itself: a connection serves any number of them", () =>
    Effect.gen(function* () {
      const seen = yield* sockets
      const made = yield* client
      const { url } = yield* receiver((_, response) => response.end("x".repeat(1000)))
      for (let count = 0; count < 100; count++) {
        const id = String(count)
        yield* made.post({ id, url: new URL(url), headers: {}, body: '{"id":"1"}' })
        const { address, body } = made.take(id)
        assert.deepStrictEqual([address, body.length], ["127.0.0.1", 1000])
        // Taken once: nothing is left of it.
        assert.isNull(made.take(id).address)
      }
      assert.strictEqual(seen.size, 1)
      for (const { bytesRead } of seen.keys()) assert.isAbove(bytesRead, 3 * READ_BYTES)
    })
  )

  it.live("of an interrupted request is not read: its connection is destroyed", () =>
    Effect.gen(function* () {
      const seen = yield* sockets
      const { url } = yield* peer((socket) => socket.write("HTTP/1.1 200 OK\r\n"))
      const raced = yield* Effect.race(
        Effect.map(post(url), () => "answered"),
        Effect.as(
          until(() => [...seen.values()].some(({ reads }) => reads > 0)),
          "interrupted"
        )
      )
      assert.strictEqual(raced, "interrupted")
      for (const socket of seen.keys()) assert.isTrue(socket.destroyed)
    })
  )
})

const until = (isThere: () => boolean): Effect.Effect<void> =>
  Effect.suspend(() => (isThere() ? Effect.void : Effect.andThen(Effect.sleep("5 millis"), until(isThere))))
