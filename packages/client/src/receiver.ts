/**
 * A webhook receiver: verifies, deduplicates, calls your handler and answers.
 *
 * Guarantees:
 * - 2xx is answered only after your handler has resolved, for this attempt or an earlier one of the delivery. Any failure
 *   before that is answered with an error status, so that the service retries.
 * - Two attempts of a delivery are never handled at the same time, as far as the store knows.
 * - Late events are not dropped: an event older than the latest of its resource has `isStale: true`.
 * - A test delivery, whose `data.test` is true, reaches `onTest` only, never a handler of its event.
 * - At most 1 MiB of a body is kept. The rest is dropped, so that a sender that is still sending gets its answer.
 *
 * @module
 */
import type { EventName, WebhookEvent } from "./generated/Resources.ts"
import { type Delivery, type EventNamed, unwrap, WebhookSignatureError } from "./webhooks.ts"

export type * from "./generated/Resources.ts"

/** A delivery, as a store sees it. */
export interface ClaimedDelivery {
  /** The delivery's id: the same in all its attempts. */
  readonly id: string
  /** Kind and id of the event's resource: `charge/0189…`. */
  readonly resource: string
  /** Grows with each change of the resource. */
  readonly sequence: number
}

/**
 * The result of a claim. `new`: handle the delivery. `stale`: handle it; a later `sequence` of its resource was claimed
 * before. `busy`: another attempt of it is being handled. `done`: it was handled before.
 */
export type Claim = "new" | "stale" | "busy" | "done"

/** Records which deliveries were handled: in your database, or in memory for tests. */
export interface DeliveryStore {
  /** Claims a delivery, atomically across all processes. A claim that is never released expires after about a minute. */
  claim(delivery: ClaimedDelivery): Claim | Promise<Claim>
  /** Ends a claim. After `isHandled`, the delivery is `done`; otherwise it can be claimed again. */
  release(delivery: ClaimedDelivery, isHandled: boolean): void | Promise<void>
}

/** An event, as a handler receives it. */
export type ReceivedEvent<Event> = Event & {
  /** Whether a later event of the same resource was claimed before this one. */
  readonly isStale: boolean
}

/** Handlers by event name. `"*"` handles events without a handler. Without `"*"`, those are answered 204. */
export type Handlers = {
  readonly [Name in EventName]?: ((event: ReceivedEvent<EventNamed<Name>>) => unknown) | undefined
} & {
  /** Every other event, including those of later releases: narrow it with `isEvent`. */
  readonly "*"?: ((event: ReceivedEvent<WebhookEvent>) => unknown) | undefined
}

/** Options of `webhookReceiver`. */
export interface WebhookReceiverOptions extends Pick<Delivery, "secrets" | "toleranceMs"> {
  /** Handlers by event name. A handler has ten seconds: it stores the work, or does it, and resolves. */
  readonly on: Handlers
  /** Records handled deliveries, so that a repeat is not handled twice. */
  readonly store: DeliveryStore
  /** Called with test deliveries instead of a handler. Without it, they are answered 204. */
  readonly onTest?: ((event: WebhookEvent) => unknown) | undefined
  /**
   * Called with rejected deliveries (`WebhookSignatureError`) and failures. Default: `console.error`; of rejected deliveries
   * each reason at most once a minute, with how many there were.
   */
  readonly onError?: ((error: unknown) => void) | undefined
}

/** A request of `node:http`, with `rawBody` or `body` if a framework has read it. */
export interface NodeRequest extends AsyncIterable<Uint8Array> {
  /** HTTP method. */
  readonly method?: string | undefined
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | ReadonlyArray<string> | undefined>>
}

/** A response of `node:http`. */
export interface NodeResponse {
  /** HTTP status. */
  statusCode: number
  /** Sends the response. */
  end(): unknown
}

/** Answers a `Request` with a `Response`. Its methods do the same for other servers. */
export interface WebhookReceiver {
  (request: Request): Promise<Response>
  /** For `node:http` and frameworks on it: `createServer(receive.node)`, `app.post("/webhooks", receive.node)`. */
  readonly node: (request: NodeRequest, response: NodeResponse) => Promise<void>
  /** Returns the status to answer, for servers that have read the raw body themselves. */
  readonly status: (body: Delivery["body"], headers: Delivery["headers"]) => Promise<number>
}

/**
 * Makes a webhook receiver.
 *
 * @example
 * ```ts
 * import { type DeliveryStore, webhookReceiver } from "@pix-payments/client/receiver"
 * import { createServer } from "node:http"
 *
 * declare const store: DeliveryStore // postgresStore or redisStore of @pix-payments/client/stores
 *
 * const receive = webhookReceiver({
 *   secrets: process.env["WEBHOOK_SECRET"],
 *   store,
 *   on: {
 *     "charge.pix.paid": async ({ data }) => {
 *       console.log(`${data.reference} is paid: ${data.amount} cents`) // store the work, then return
 *     }
 *   }
 * })
 * createServer(receive.node).listen(8080)
 * ```
 */
export const webhookReceiver = ({
  on,
  onError = makeLog(),
  onTest,
  secrets,
  store,
  toleranceMs
}: WebhookReceiverOptions): WebhookReceiver => {
  const status = async (body: unknown, headers: Delivery["headers"]): Promise<number> => {
    try {
      const event = await unwrap({ body: body as string, headers, secrets, toleranceMs })
      const { data, event: name, id, resource, sequence } = event
      if (Object(data).test === true) {
        await onTest?.(event)
        return 204
      }
      const handlers = on as Readonly<Record<string, (event: ReceivedEvent<WebhookEvent>) => unknown>>
      const handler = Object.hasOwn(on, name) ? handlers[name] : on["*"]
      if (!handler) return 204
      const delivery = { id, resource: `${resource}/${Object(data).id}`, sequence }
      const claim = await store.claim(delivery)
      if (claim === "busy") return 503
      if (claim === "done") return 204
      let isHandled = false
      try {
        await handler({ ...event, isStale: claim === "stale" })
        isHandled = true
      } finally {
        await store.release(delivery, isHandled)
      }
      return 204
    } catch (error) {
      onError(error)
      return error instanceof WebhookSignatureError ? 401 : 500
    }
  }
  const statusOf = async (
    method: string | undefined,
    headers: Delivery["headers"],
    chunks: AsyncIterable<Uint8Array> | null,
    raw?: unknown
  ): Promise<number> => {
    if (method !== "POST") return 405
    try {
      const body = raw ?? (await readBody(chunks))
      return body ? await status(body, headers) : 413
    } catch (error) {
      // The connection broke while the body was read.
      onError(error)
      return 400
    }
  }
  return Object.assign(
    async ({ body, bodyUsed, headers, method }: Request) =>
      // A body that was read before, as by `json()`, is refused as one that is not raw.
      new Response(null, {
        status: await statusOf(method, headers, body as AsyncIterable<Uint8Array> | null, bodyUsed ? {} : undefined)
      }),
    {
      node: async (request: NodeRequest, response: NodeResponse) => {
        const { body, rawBody, readableDidRead } = request as FrameworkRequest
        // Parsers of Express 4 set an empty body where they read nothing.
        const parsed = readableDidRead === false && body?.constructor === Object ? undefined : body
        response.statusCode = await statusOf(request.method, request.headers, request, rawBody ?? parsed)
        response.end()
      },
      status
    }
  )
}

/** What frameworks and Node add to a request. */
interface FrameworkRequest {
  readonly body?: unknown
  readonly rawBody?: unknown
  readonly readableDidRead?: boolean
}

/** Reads a body; `undefined` if it is too long to be a delivery. */
const readBody = async (chunks: AsyncIterable<Uint8Array> | null): Promise<ArrayBuffer | undefined> => {
  const parts: Array<Uint8Array<ArrayBuffer>> = []
  let length = 0
  for await (const chunk of chunks ?? []) {
    length += chunk.length
    if (length > MAX_BYTES) parts.length = 0
    else parts.push(chunk as Uint8Array<ArrayBuffer>)
  }
  return length > MAX_BYTES ? undefined : new Blob(parts).arrayBuffer()
}

const MAX_BYTES = 1_048_576

/** Forged requests may come by the thousand, and a wrong secret or clock refuses every delivery. */
const LOG_INTERVAL_MS = 60_000

const makeLog = () => {
  const refused = new Map<string, { count: number; readonly sinceMs: number }>()
  return (error: unknown): void => {
    let more = ""
    if (error instanceof WebhookSignatureError) {
      const { reason } = error
      const nowMs = performance.now()
      const last = refused.get(reason)
      if (last && nowMs - last.sinceMs < LOG_INTERVAL_MS) return void last.count++
      refused.set(reason, { count: 0, sinceMs: nowMs })
      if (last?.count) more = `and ${last.count} more since the last one`
    }
    // oxlint-disable-next-line no-console -- without `onError`, nobody would see the failure
    console.error(...[error, more].filter(Boolean))
  }
}
