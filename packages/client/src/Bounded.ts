/**
 * Work that ends in time: with its result, at its time limit, or when its caller no longer wants it.
 *
 * Guarantees: it ends even where the work ignores its signal, and leaves no timer and no listener behind.
 */

/** What ended the work. */
export type Ended = "timeout" | "aborted"

/** Runs `work` for at most `timeoutMs`. `onEnd` makes the error where something else ended it, or the work's result. */
export const bounded = <A>(
  work: (signal: AbortSignal) => Promise<A>,
  timeoutMs: number,
  signal: AbortSignal | undefined,
  onEnd: (ended: Ended) => Error | { readonly result: A }
): Promise<A> => {
  const controller = new AbortController()
  let timer: ReturnType<typeof setTimeout> | undefined
  let onAbort = () => {}
  return new Promise<A>((resolve, reject) => {
    const end = (ended: Ended) => {
      const outcome = onEnd(ended)
      if ("result" in outcome) resolve(outcome.result)
      else reject(outcome)
      controller.abort()
    }
    onAbort = () => end("aborted")
    if (signal?.aborted) return onAbort()
    timer = setTimeout(() => end("timeout"), timeoutMs)
    signal?.addEventListener("abort", onAbort)
    work(controller.signal).then(resolve, reject)
  }).finally(() => {
    clearTimeout(timer)
    signal?.removeEventListener("abort", onAbort)
  })
}

/** Waits; fails as `onAbort` says when the signal ends it. */
export const sleep = (ms: number, signal: AbortSignal | undefined, onAbort: () => Error): Promise<void> =>
  bounded<void>(
    () => new Promise(() => {}),
    ms,
    signal,
    (ended) => (ended === "aborted" ? onAbort() : { result: undefined })
  )
