/**
 * Answers that are sent in pieces for as long as the caller reads: the streams of one listener in one process.
 *
 * Guarantees:
 * - At most `MAX_STREAMS` are open, and `MAX_STREAMS_OF_ONE` of one owner. A stream takes no request slot.
 * - A piece is made when the one before it has left the process. A caller that does not read for `answerTimeoutMs` is
 *   disconnected.
 * - The request of an open stream is judged again every `ADMIT_EVERY_MS`; the stream ends when it would be refused, or
 *   answered for another scope.
 * - Streams end when the listener closes, and when their callers leave.
 * - A body that is not sent to its end ends with its connection, so that nobody takes it for whole. Events have no end.
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import { describeCause } from "../../base/observability/SafeCause.ts"
import { Unavailable } from "../../database/Unavailable.ts"
import type { Answer, StreamedBody, WireError } from "./Answer.ts"
import type { BoundedResponse } from "./SocketBounds.ts"

export interface Streams {
  /** Sends a stream; false where there is no place for it. `again` is the same request, for a later judgement. */
  readonly start: (
    response: BoundedResponse,
    status: number,
    headers: ReadonlyArray<string>,
    body: StreamedBody,
    again: Effect.Effect<Answer, WireError | Unavailable>
  ) => boolean
  readonly count: () => number
  /** Ends all streams, and refuses others. */
  readonly close: () => void
}

export const make = (runFork: (effect: Effect.Effect<void>) => Fiber.Fiber<void>, answerTimeoutMs: number): Streams => {
  const open = new Map<BoundedResponse, Fiber.Fiber<void>>()
  const byOwner = new Map<string, number>()
  let isClosed = false

  const released = (owner: string): void => {
    const own = byOwner.get(owner) ?? 0
    if (own > 1) byOwner.set(owner, own - 1)
    else byOwner.delete(owner)
  }

  return {
    start: (response, status, headers, body, again) => {
      const own = byOwner.get(body.owner) ?? 0
      if (isClosed || open.size >= MAX_STREAMS || own >= MAX_STREAMS_OF_ONE) return false
      if (response.destroyed || !response.takeConnection()) return true
      const disposition =
        body.fileName === undefined ? [] : ["content-disposition", `attachment; filename="${body.fileName}"`]
      response.writeHead(status, [...headers, "content-type", body.contentType, ...disposition])
      if (response.req.method === "HEAD") {
        response.end()
        return true
      }
      response.flushHeaders()
      byOwner.set(body.owner, own + 1)
      let isWhole = body.contentType === "text/event-stream"
      const sent = Effect.tap(sendAll(response, body.next, answerTimeoutMs), () =>
        Effect.sync(() => {
          isWhole = true
        })
      )
      const fiber = runFork(
        Effect.raceFirst(sent, admitted(again, body.scope)).pipe(
          Effect.scoped,
          Effect.catchCause((cause) =>
            Cause.hasInterruptsOnly(cause) ? Effect.void : Effect.logWarning("a stream failed", describeCause(cause))
          )
        )
      )
      open.set(response, fiber)
      fiber.addObserver(() => {
        open.delete(response)
        released(body.owner)
        if (isWhole) response.end()
        else response.destroy()
      })
      response.once("close", () => fiber.interruptUnsafe())
      return true
    },
    count: () => open.size,
    close: () => {
      isClosed = true
      for (const fiber of open.values()) fiber.interruptUnsafe()
    }
  }
}

const MAX_STREAMS = 128
const MAX_STREAMS_OF_ONE = 16
const ADMIT_EVERY_MS = 15_000

/** Sends all pieces. */
const sendAll = (response: BoundedResponse, next: StreamedBody["next"], answerTimeoutMs: number) =>
  Effect.gen(function* () {
    while (true) {
      const piece = yield* next
      if (piece === undefined || response.destroyed) return
      if (!response.write(piece)) yield* drained(response, answerTimeoutMs)
    }
  })

/** Waits until what was written has left the process. */
const drained = (response: BoundedResponse, timeoutMs: number) =>
  Effect.callback<void>((resume) => {
    const timer = setTimeout(() => response.cut("unread"), timeoutMs)
    const done = () => {
      clearTimeout(timer)
      resume(Effect.void)
    }
    response.once("drain", done)
    return Effect.sync(() => {
      clearTimeout(timer)
      response.off("drain", done)
    })
  })

/** Returns once the request would be refused. Nothing is decided while the database is away. */
const admitted = (again: Effect.Effect<Answer, WireError | Unavailable>, scope: string) =>
  Effect.gen(function* () {
    while (true) {
      yield* Effect.sleep(ADMIT_EVERY_MS)
      const scopeNow = yield* again.pipe(
        Effect.map((answer) => answer.stream?.scope),
        Effect.catch((error) => Effect.succeed(error instanceof Unavailable ? scope : undefined))
      )
      if (scopeNow !== scope) return
    }
  })
