/**
 * Time limits and cancellation of asynchronous work.
 *
 * Guarantees: the promise settles even if the work ignores its signal. No timer and no listener is left behind.
 */

/** Why the work was cut short. */
export type Interruption = "timeout" | "aborted"

/**
 * Runs `work` for at most `timeoutMs`, or until `signal` aborts. `onInterrupt` makes the error of an interruption, or the
 * result to resolve with instead.
 */
export const withTimeout = <A>(
  work: (signal: AbortSignal) => Promise<A>,
  timeoutMs: number,
  signal: AbortSignal | undefined,
  onInterrupt: (interruption: Interruption) => Error | { readonly result: A }
): Promise<A> => {
  const controller = new AbortController()
  let timer: ReturnType<typeof setTimeout> | undefined
  let onAbort = () => {}
  return new Promise<A>((resolve, reject) => {
    const interrupt = (interruption: Interruption) => {
      const outcome = onInterrupt(interruption)
      if ("result" in outcome) resolve(outcome.result)
      else reject(outcome)
      controller.abort()
    }
    onAbort = () => interrupt("aborted")
    if (signal?.aborted) return onAbort()
    timer = setTimeout(() => interrupt("timeout"), timeoutMs)
    signal?.addEventListener("abort", onAbort)
    work(controller.signal).then(resolve, reject)
  }).finally(() => {
    clearTimeout(timer)
    signal?.removeEventListener("abort", onAbort)
  })
}

/** Resolves after `ms`. Rejects with the error of `onAbort` when the signal aborts first. */
export const sleep = (ms: number, signal: AbortSignal | undefined, onAbort: () => Error): Promise<void> =>
  withTimeout<void>(
    () => new Promise(() => {}),
    ms,
    signal,
    (interruption) => (interruption === "aborted" ? onAbort() : { result: undefined })
  )
