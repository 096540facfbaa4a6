/**
 * A receiver of webhooks: verifies, deduplicates, calls your function, answers.
 *
 * Guarantees:
 * - 2xx is answered only once your function has resolved, or had resolved for an earlier attempt of the delivery. Whatever
 *   fails before is answered so that the service sends the delivery again.
 * - Of one delivery no two attempts are worked on at once, as far as the store knows.
 * - Nothing is dropped for its age: an event older than the last one of its resource comes with `isStale: true`.
 * - A body is read up to 1 MiB.
 *
 * @module
 */
import type { EventName, WebhookEvent } from "./generated/Resources.ts"
import { type Delivery, type EventNamed, unwrap, WebhookSignatureError } from "./webhooks.ts"

export type * from "./generated/Resources.ts"

/** What a store knows a delivery by. */
export interface ClaimedDelivery {
  /** The delivery's id: the same in all its attempts. */
  readonly id: string
  /** Kind and id of the resource that the event is of: `charge/0189…`. */
  readonly resource: string
  /** Grows with each change of the resource. */
  readonly sequence: number
}

/**
 * What became of a claim. `new`: the delivery is yours. `stale`: so it is, and a later `sequence` of its resource was
 * claimed before. `busy`: another attempt of it is being worked on. `done`: it was accepted before.
 */
export type Claim = "new" | "stale" | "busy" | "done"

/** Remembers deliveries: in memory for tests, in your database otherwise. */
export interface ReceiverStore {
  /** Claims a delivery, at once for all processes. A claim that is never released ends by itself, after a minute or so. */
  claim(delivery: ClaimedDelivery): Claim | Promise<Claim>
  /** Ends a claim: an accepted delivery is `done` from now on, and any other can be claimed again. */
  release(delivery: ClaimedDelivery, isAccepted: boolean): void | Promise<void>
}

/** What a receiver knows of an event. */
export interface Order {
  /** Whether a later event of the same resource was claimed before. */
  readonly isStale: boolean
}

/** An event as a receiver gives it. */
export type Received<Event> = Event & Order

/** What to do with events, by name; `"*"` takes those without a function of their own. Others are answered 204. */
export type Handlers = {
  readonly [Name in EventName]?: ((event: Received<EventNamed<Name>>) => unknown) | undefined
} & {
  /** Every other event, those of later releases among them: see `isEvent`. */
  readonly "*"?: ((event: Received<WebhookEvent>) => unknown) | undefined
}

/** What a receiver is made of. */
export interface ReceiverOptions extends Pick<Delivery, "secrets" | "toleranceMs"> {
  /** Resolves once it has the work: it is done, or stored where it will be done. It has ten seconds. */
  readonly on: Handlers
  /** Recognises repeated deliveries and late events. */
  readonly store: ReceiverStore
  /**
   * Called with refusals (`WebhookSignatureError`) and failures; `console.error`, for failures and misconfiguration alone,
   * when absent.
   */
  readonly onError?: ((error: unknown) => void) | undefined
}

/** A request as Node has it; with `rawBody` or `body` where a framework has read it. */
export interface NodeRequest extends AsyncIterable<Uint8Array> {
  /** The HTTP verb. */
  readonly method?: string | undefined
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | ReadonlyArray<string> | undefined>>
}

/** A response as Node has it. */
export interface NodeResponse {
  /** HTTP status. */
  statusCode: number
  /** Sends it. */
  end(): unknown
}

/** Answers a request; its properties do the same for other servers. */
export interface Receiver {
  (request: Request): Promise<Response>
  /** For `node:http` and what is made on it: `createServer(receive.node)`, `app.post("/webhooks", receive.node)`. */
  readonly node: (request: NodeRequest, response: NodeResponse) => Promise<void>
  /** The status to answer, for servers that have read the raw body themselves. */
  readonly status: (body: Delivery["body"], headers: Delivery["headers"]) => Promise<number>
}

/**
 * Makes a receiver.
 *
 * @example
 * ```ts
 * import { receiver, type ReceiverStore } from "@pix-payments/client/receiver"
 * import { createServer } from "node:http"
 *
 * declare const store: ReceiverStore // examples/receivers/stores of the repository has one for PostgreSQL
 *
 * const receive = receiver({
 *   secrets: process.env["WEBHOOK_SECRET"],
 *   store,
 *   on: {
 *     "charge.pix.paid": async ({ data }) => {
 *       console.log(`${data.reference} is paid: ${data.amount} cents`) // store it, then return
 *     }
 *   }
 * })
 * createServer(receive.node).listen(8080)
 * ```
 */
export const receiver = ({ on, onError = report, secrets, store, toleranceMs }: ReceiverOptions): Receiver => {
  const status = async (body: unknown, headers: Delivery["headers"]): Promise<number> => {
    try {
      const event = await unwrap({ body: body as string, headers, secrets, toleranceMs })
      const { data, event: name, id, resource, sequence } = event
      const handlers = on as Readonly<Record<string, (event: Received<WebhookEvent>) => unknown>>
      const work = Object.hasOwn(on, name) ? handlers[name] : on["*"]
      if (!work) return 204
      const delivery = { id, resource: `${resource}/${Object(data).id}`, sequence }
      const claim = await store.claim(delivery)
      if (claim === "busy") return 503
      if (claim === "done") return 204
      let isAccepted = false
      try {
        await work({ ...event, isStale: claim === "stale" })
        isAccepted = true
      } finally {
        await store.release(delivery, isAccepted)
      }
      return 204
    } catch (error) {
      onError(error)
      return error instanceof WebhookSignatureError ? 401 : 500
    }
  }
  const answer = async (
    method: string | undefined,
    headers: Delivery["headers"],
    chunks: AsyncIterable<Uint8Array> | null,
    raw?: unknown
  ): Promise<number> => {
    if (method !== "POST") return 405
    try {
      const body = raw ?? (await bytesOf(chunks))
      return body ? await status(body, headers) : 413
    } catch (error) {
      // It broke off while it was read.
      onError(error)
      return 400
    }
  }
  return Object.assign(
    async ({ body, headers, method }: Request) =>
      new Response(null, { status: await answer(method, headers, body as AsyncIterable<Uint8Array> | null) }),
    {
      node: async (request: NodeRequest, response: NodeResponse) => {
        const { body, rawBody = body } = request as { readonly body?: unknown; readonly rawBody?: unknown }
        response.statusCode = await answer(request.method, request.headers, request, rawBody)
        response.end()
      },
      status
    }
  )
}

/** The whole body; `undefined` where it is too long to be a delivery. */
const bytesOf = async (chunks: AsyncIterable<Uint8Array> | null): Promise<ArrayBuffer | undefined> => {
  const parts: Array<Uint8Array<ArrayBuffer>> = []
  let length = 0
  for await (const chunk of chunks ?? []) {
    length += chunk.length
    if (length > MAX_BYTES) return undefined
    parts.push(chunk as Uint8Array<ArrayBuffer>)
  }
  return new Blob(parts).arrayBuffer()
}

const MAX_BYTES = 1_048_576

const report = (error: unknown): void => {
  // A stranger's request is no failure of this process; a secret that is missing, or a body that was parsed, is.
  // oxlint-disable-next-line no-console -- without `onError` a failure would go unseen
  if (!(error instanceof WebhookSignatureError && !/secret|raw/.test(error.reason))) console.error(error)
}
