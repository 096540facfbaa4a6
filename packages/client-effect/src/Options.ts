/**
 * What the calls of the Effect client take, and what they give beside results. Interruption ends a call.
 */

/** What every call takes; what is absent is as in the layer. */
export interface RequestOptions {
  /** The time that each attempt has until its whole answer is there, in milliseconds. */
  readonly timeoutMs?: number | undefined
  /** How often the request is sent again at most. */
  readonly maxRetries?: number | undefined
  /** Further headers. `X-Api-Key` and `Idempotency-Key` are refused: they have options of their own. */
  readonly headers?: Readonly<Record<string, string>> | undefined
}

/** What a creation takes. */
export interface CreateOptions extends RequestOptions {
  /**
   * 8 to 255 visible ASCII characters, unique per operation. Best made from what is paid for (`order-1001`), so that it
   * outlives this process. Without one, a UUID is made for each call of `create`: its effect creates one thing however
   * often it runs or is retried, and another creation is another call.
   */
  readonly idempotencyKey?: string | undefined
  /**
   * What to do where the key was used before and what is stored under it differs from these params: fail with
   * `ReplayMismatch`, or return what is stored. `"reject"` when absent.
   */
  readonly onReplayMismatch?: "reject" | "return" | undefined
}

/** How a call was answered. */
export interface ResponseInfo {
  /** HTTP status. */
  readonly status: number
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | undefined>>
  /** `X-Request-Id`: names the last attempt in the service's logs. */
  readonly requestId: string
  /** The key of a creation, yours or the one that was made for it. */
  readonly idempotencyKey?: string
  /** True where the key was used before: the resource is as it is now. */
  readonly replayed: boolean
  /** How often the request was sent, 1 or more. */
  readonly attempts: number
}

/** A result together with its response. */
export interface WithResponse<T> {
  /** The result. */
  readonly data: T
  /** How it was answered. */
  readonly response: ResponseInfo
}
