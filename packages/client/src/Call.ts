/**
 * A call under way: a promise of its result, with how it was answered.
 *
 * Guarantees:
 * - The request is sent once, when the call is made (a list's when it is first looked at), however often it is awaited.
 * - The idempotency key is known before the outcome is.
 * - A failure that nobody awaits is an unhandled rejection, as with any promise.
 */

/** How a call was answered. */
export interface ResponseInfo {
  /** HTTP status. */
  readonly status: number
  /** The answer's headers. */
  readonly headers: ResponseHeaders
  /** `X-Request-Id`: names the last attempt in the service's logs. */
  readonly requestId: string
  /** The key of a creation, yours or the one that was made for it. */
  readonly idempotencyKey?: string
  /** True where the key was used before: the resource is as it is now. */
  readonly replayed: boolean
  /** How often the request was sent, 1 or more. */
  readonly attempts: number
}

/** The headers of an answer, as far as every `fetch` has them. */
export interface ResponseHeaders {
  /** The value of a header, whatever its case. */
  get(name: string): string | null
  /** Calls back with each value and name. */
  forEach(each: (value: string, name: string) => void): void
}

/** A result together with its response. */
export interface WithResponse<T> {
  /** The result. */
  readonly data: T
  /** How it was answered. */
  readonly response: ResponseInfo
}

/** What every call takes; what is absent is as in `new Payments`. */
export interface RequestOptions {
  /** Ends the call, its waits between attempts included, with `AbortError`. */
  readonly signal?: AbortSignal | undefined
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
   * outlives this process. Without one, a UUID is made for the call and kept over its retries.
   */
  readonly idempotencyKey?: string | undefined
  /**
   * What to do where the key was used before and what is stored under it differs from these params: reject with
   * `ReplayMismatchError`, or return what is stored. `"reject"` when absent.
   */
  readonly onReplayMismatch?: "reject" | "return" | undefined
}

/** A promise of a result; `await` it, or its `withResponse()`. */
export class Call<T> implements Promise<T> {
  readonly [Symbol.toStringTag] = "Call"
  /** The key under which a creation can be repeated; known before the outcome is. */
  declare readonly idempotencyKey?: string
  readonly #answered: () => Promise<WithResponse<T>>

  /** @internal */
  constructor(answered: () => Promise<WithResponse<T>>, idempotencyKey?: string | undefined) {
    this.#answered = answered
    if (idempotencyKey !== undefined) this.idempotencyKey = idempotencyKey
  }

  /** The result, with status, headers, request id, idempotency key and number of attempts. */
  withResponse(): Promise<WithResponse<T>> {
    return this.#answered()
  }

  // oxlint-disable-next-line unicorn/no-thenable -- a call is a promise
  then<A = T, B = never>(
    onFulfilled?: ((value: T) => A | PromiseLike<A>) | null,
    onRejected?: ((reason: unknown) => B | PromiseLike<B>) | null
  ): Promise<A | B> {
    return this.#answered()
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
