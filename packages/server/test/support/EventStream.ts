/** A reader of `GET /operator/v1/events/stream`. */
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { once } from "node:events"
import * as Http from "node:http"
import { onServer } from "./Postgres.ts"
import { eventually } from "./Receiver.ts"
import { TestService } from "./TestService.ts"

export interface Received {
  /** `<change id>.<n>`. */
  readonly id: string
  /** The text of the envelope. */
  readonly data: string
  readonly body: {
    readonly id: string
    readonly event: string
    readonly sequence: number
    readonly data: { readonly id: string }
  }
}

export interface Reader {
  readonly status: number
  readonly headers: Http.IncomingHttpHeaders
  readonly received: Array<Received>
  /** Comments, and the position that each was sent with. */
  readonly heartbeats: Array<string>
  /** The id to reconnect with. */
  readonly lastEventId: () => string | undefined
  readonly response: Http.IncomingMessage
  readonly hasEnded: () => boolean
}

/** Opens a stream, closed with the scope. */
export const streamFrom = (
  operatorUrl: string,
  token: string,
  query = "",
  headers: Readonly<Record<string, string>> = {}
) =>
  Effect.acquireRelease(
    Effect.promise(async (): Promise<Reader> => {
      const request = Http.get(`${operatorUrl}/operator/v1/events/stream?${query}`, {
        agent: false,
        headers: { "x-operator-token": token, ...headers }
      })
      const [response]: ReadonlyArray<Http.IncomingMessage> = (await once(request, "response")) as never
      if (response === undefined) throw new Error("no response")
      const received: Array<Received> = []
      const heartbeats: Array<string> = []
      let lastEventId: string | undefined
      let ended = false
      let rest = ""
      response.setEncoding("utf8")
      response.on("data", (chunk: string) => {
        const blocks = (rest + chunk).split("\n\n")
        rest = blocks.pop() ?? ""
        for (const block of blocks) {
          const field = (name: string) =>
            block
              .split("\n")
              .find((line) => line.startsWith(`${name}:`))
              ?.slice(name.length + 1)
              .trimStart()
          const data = field("data")
          lastEventId = field("id") ?? lastEventId
          if (data === undefined) heartbeats.push(field("id") ?? "")
          else received.push({ id: field("id") ?? "", data, body: JSON.parse(data) })
        }
      })
      // A connection that the server cuts is an error of the response.
      response.on("error", () => {})
      request.on("error", () => {})
      response.on("close", () => {
        ended = true
      })
      return {
        status: response.statusCode ?? 0,
        headers: response.headers,
        received,
        heartbeats,
        lastEventId: () => lastEventId,
        response,
        hasEnded: () => ended
      }
    }),
    ({ response }) => Effect.sync(() => response.destroy())
  )

/** Opens a stream of the service under test. */
export const streamed = (query?: string, headers?: Readonly<Record<string, string>>) =>
  Effect.flatMap(TestService, ({ operatorToken, operatorUrl }) =>
    streamFrom(operatorUrl, operatorToken, query, headers)
  )

/** The events of a reader, once there are as many. Fails if its stream ends before. */
export const eventsOf = ({ hasEnded, received }: Reader, count: number) =>
  earlierTransactionsEnded.pipe(
    Effect.andThen(
      eventually(
        Effect.sync(() => received),
        ({ length }) => length >= count || hasEnded()
      )
    ),
    Effect.tap(({ length }) => Effect.sync(() => assert.isAtLeast(length, count, "events, and then the stream ended")))
  )

export const ended = ({ hasEnded }: Reader) => eventually(Effect.sync(hasEnded), (has) => has)

/**
 * Waits until every transaction that has begun has ended, in all databases of the server: before that, readers get no
 * event of a later one.
 */
export const earlierTransactionsEnded = Effect.gen(function* () {
  const [now] = yield* onServer("SELECT pg_snapshot_xmax(pg_current_snapshot())::text")
  yield* eventually(
    onServer(
      `SELECT FROM pg_snapshot_xmin(pg_current_snapshot()) AS oldest WHERE oldest >= '${String(now![0])}'::xid8`
    ),
    (rows) => rows.length > 0
  )
})
