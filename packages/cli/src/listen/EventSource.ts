/**
 * Events as they are committed: over the stream, or in pages where something between buffers it.
 *
 * Guarantees:
 * - Nothing is read ahead of what the reader asks for, beyond one chunk: a slow receiver costs no memory.
 * - A stream without a heartbeat ends as lost.
 */
import type { EventPage } from "@pix-payments/api/operator/Events"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { exitCodes, Failure } from "../Failure.ts"
import { type Answer, call, open, refusalOf, type Service } from "../OperatorClient.ts"
import { type Arrived, sseParser } from "./SseLines.ts"

export interface EventFilter {
  readonly account_id?: string
  readonly application_id?: string
  readonly events?: ReadonlyArray<string>
}

/** The connection ended, or the service is away: connect again. */
export class Lost extends Data.TaggedError("Lost")<{ readonly reason: string }> {}

/** Nothing came when a stream was opened, not even its first heartbeat. */
export class Buffered extends Data.TaggedError("Buffered")<{}> {}

/** Returns what came next; empty if it was incomplete. */
export type Pull = Effect.Effect<ReadonlyArray<Arrived>, Lost | Buffered | Failure>

/** The service sends a heartbeat each 15 s. */
const HEARTBEAT_MS = 40_000

/** The first heartbeat is sent with the headers. */
const FIRST_MS = 6000

/** Seconds that a page waits for an event. */
const WAIT_S = 10

/** The position after the last event that was committed. */
export const currentPosition = (service: Service, filter: EventFilter) =>
  Effect.map(
    call(service, "events.list", { query: { ...filter, limit: 1 } }),
    ({ body }) => (body as EventPage).next_after
  )

/** Opens a stream after a position. */
export const openStream = (
  service: Service,
  filter: EventFilter,
  after: string
): Effect.Effect<Pull, Lost | Buffered | Failure, Scope.Scope> =>
  Effect.gen(function* () {
    const response = yield* open(service, "events.stream", { query: { ...filter, after } }).pipe(
      Effect.timeoutOrElse({ duration: FIRST_MS, orElse: () => Effect.fail(new Buffered()) }),
      Effect.catchTag("Failure", orLost)
    )
    if (response.status !== 200) {
      const text = yield* Effect.orElseSucceed(response.text, () => "")
      return yield* orLost(refusalOf(answerOf(response.status, text), service, response.headers["retry-after"]))
    }
    if (!response.headers["content-type"]?.startsWith("text/event-stream")) return yield* new Buffered()
    return yield* Effect.map(Stream.toPull(Stream.decodeText(response.stream)), pullOf)
  })

/** What comes of a stream. */
const pullOf = (chunks: Effect.Effect<ReadonlyArray<string>, unknown>): Pull => {
  const parse = sseParser()
  let isFirst = true
  return Effect.suspend(() =>
    Effect.mapError(chunks, () => new Lost({ reason: "the stream ended" })).pipe(
      Effect.timeoutOrElse({
        duration: isFirst ? FIRST_MS : HEARTBEAT_MS,
        orElse: () => Effect.fail(isFirst ? new Buffered() : new Lost({ reason: "no heartbeat came" }))
      }),
      Effect.map((texts) => {
        isFirst = false
        return texts.flatMap((text) => parse(text))
      })
    )
  )
}

/** Pages after a position, each of which waits for an event. */
export const openPages = (service: Service, filter: EventFilter, from: string): Pull => {
  let after = from
  return Effect.suspend(() =>
    call(service, "events.list", { query: { ...filter, after, limit: 100, wait: WAIT_S } })
  ).pipe(
    Effect.catchTag("Failure", orLost),
    Effect.map(({ body }) => {
      const { data, next_after } = body as EventPage
      after = next_after
      return [
        ...data.map((event) => ({ id: event.id, text: JSON.stringify(event.data) })),
        { id: next_after, text: undefined }
      ]
    })
  )
}

/** What may pass by itself is lost; anything else ends the session. */
const orLost = (failure: Failure): Effect.Effect<never, Lost | Failure> =>
  failure.exitCode === exitCodes.unreachable || failure.exitCode === exitCodes.unavailable
    ? Effect.fail(new Lost({ reason: failure.message }))
    : Effect.fail(failure)

const answerOf = (status: number, text: string): Answer => {
  try {
    return { status, text, body: JSON.parse(text) }
  } catch {
    return { status, text, body: undefined }
  }
}
