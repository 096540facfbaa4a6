/**
 * A call of an operation: a promise of its result that also gives the response.
 *
 * Guarantees:
 * - The request is sent once, however often the call is awaited: immediately, or for a list when it is first used.
 * - The idempotency key is known before the call settles.
 * - A rejection that nobody handles is an unhandled rejection, as with any promise.
 */

/** The HTTP response to a call. */
export interface ResponseInfo {
  /** HTTP status. */
  readonly status: number
  /** Response headers. */
  readonly headers: ResponseHeaders
  /** `X-Request-Id` of the last attempt; quote it when you ask the service's operators. */
  readonly requestId: string
  /** The idempotency key of a creation: yours, or the generated one. */
  readonly idempotencyKey?: string
  /** True if an earlier call with this key created the resource. It is returned in its current state. */
  readonly replayed: boolean
  /** How many times the request was sent: 1 or more. */
  readonly attempts: number
}

/** Response headers: the part of `Headers` that every `fetch` implements. */
export interface ResponseHeaders {
  /** The value of a header, or null. Names are case-insensitive. */
  get(name: string): string | null
  /** Calls `each` for every header. */
  forEach(each: (value: string, name: string) => void): void
}

/** A result together with its response. */
export interface WithResponse<T> {
  /** The result. */
  readonly data: T
  /** The HTTP response. */
  readonly response: ResponseInfo
}

/** Options of any call. They override those of `new Payments`. */
export interface RequestOptions {
  /** Aborts the call, including its waits between attempts. The call rejects with `AbortError`. */
  readonly signal?: AbortSignal | undefined
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
   * restarted process repeats the same creation. Without it, the client generates a UUID for the call and its retries.
   */
  readonly idempotencyKey?: string | undefined
  /**
   * What to do if the key already created a resource from other params: `"reject"` with `ReplayMismatchError` (default),
   * or `"return"` the stored resource.
   */
  readonly onReplayMismatch?: "reject" | "return" | undefined
}

/** A promise of a result. `await` it, or `await call.withResponse()`. */
export class Call<T> implements Promise<T> {
  readonly [Symbol.toStringTag] = "Call"
  /** The key to repeat this creation with. Only creations have one. */
  declare readonly idempotencyKey?: string
  readonly #settled: () => Promise<WithResponse<T>>

  /** @internal */
  constructor(settled: () => Promise<WithResponse<T>>, idempotencyKey?: string | undefined) {
    this.#settled = settled
    if (idempotencyKey !== undefined) this.idempotencyKey = idempotencyKey
  }

  /** The result with its response: status, headers, request id, idempotency key, number of attempts. */
  withResponse(): Promise<WithResponse<T>> {
    return this.#settled()
  }

  // oxlint-disable-next-line unicorn/no-thenable -- a call is a promise
  then<A = T, B = never>(
    onFulfilled?: ((value: T) => A | PromiseLike<A>) | null,
    onRejected?: ((reason: unknown) => B | PromiseLike<B>) | null
  ): Promise<A | B> {
    return this.#settled()
      .then(({ data }) => data)
      .then(onFulfilled, onRejected)
  }

  catch<B = never>(onRejected?: ((reason: unknown) => B | PromiseLike<B>) | null): Promise<T | B> {
    return this.then(undefined, onRejected)
  }

  finally(onFinally?: (() => void) | null): Promise<T> {
    return this.then().finally(onFinally)
  }
}
