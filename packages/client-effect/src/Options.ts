/**
 * Options and response metadata of the Effect client's operations. There is no abort signal: interrupt the effect.
 */

/** Options of any operation. They override those of the layer. */
export interface RequestOptions {
  /** Time limit of each attempt, including its response body, in milliseconds. */
  readonly timeoutMs?: number | undefined
  /** Maximum number of retries. */
  readonly maxRetries?: number | undefined
  /** Extra headers. `X-Api-Key` and `Idempotency-Key` are rejected: use `apiKey` and `idempotencyKey`. */
  readonly headers?: Readonly<Record<string, string>> | undefined
}

/** Options of a creation. */
export interface CreateOptions extends RequestOptions {
  /**
   * 8 to 255 visible ASCII characters, unique per operation. Derive it from your own data (`order-1001`), so that a
   * restarted process repeats the same creation. Without it, each call of `create` generates a UUID: its effect creates one
   * resource however often it runs or is retried. Call `create` again for another resource.
   */
  readonly idempotencyKey?: string | undefined
  /**
   * What to do if the key already created a resource from other params: `"reject"` with `ReplayMismatchError` (default),
   * or `"return"` the stored resource.
   */
  readonly onReplayMismatch?: "reject" | "return" | undefined
}

/** The HTTP response to an operation. */
export interface ResponseInfo {
  /** HTTP status. */
  readonly status: number
  /** Response headers. Names are in lower case. */
  readonly headers: Readonly<Record<string, string | undefined>>
  /** `X-Request-Id` of the last attempt; quote it when you ask the service's operators. */
  readonly requestId: string
  /** The idempotency key of a creation: yours, or the generated one. */
  readonly idempotencyKey?: string
  /** True if an earlier call with this key created the resource. It is returned in its current state. */
  readonly replayed: boolean
  /** How many times the request was sent: 1 or more. */
  readonly attempts: number
}

/** A result together with its response. */
export interface WithResponse<T> {
  /** The result. */
  readonly data: T
  /** The HTTP response. */
  readonly response: ResponseInfo
}
