/**
 * Work that ends in time: with its result, at its time limit, or when its caller no longer wants it.
 *
 * Guarantees: it ends even where the work ignores its signal, and leaves no timer and no listener behind.
 */

/** What ended the work. */
export type Ended = "timeout" | "aborted"

/** Runs `work` for at most `timeoutMs`; `onEnd` makes the error where something else than the work ended it. */
export const bounded = <A>(
  work: (signal: AbortSignal) => Promise<A>,
  timeoutMs: number,
  signal: AbortSignal | undefined,
  onEnd: (ended: Ended) => Error
): Promise<A> => {
  const controller = new AbortController()
  let tidy = () => {}
  return new Promise<A>((resolve, reject) => {
    const end = (ended: Ended) => {
      reject(onEnd(ended))
      controller.abort()
    }
    const onAbort = () => end("aborted")
    if (signal?.aborted) return onAbort()
    const timer = setTimeout(() => end("timeout"), timeoutMs)
    signal?.addEventListener("abort", onAbort)
    tidy = () => {
      clearTimeout(timer)
      signal?.removeEventListener("abort", onAbort)
    }
    work(controller.signal).then(resolve, reject)
  }).finally(() => tidy())
}

/** Waits; fails as `onAbort` says when the signal ends it. */
export const sleep = (ms: number, signal: AbortSignal | undefined, onAbort: () => Error): Promise<void> =>
  bounded(
    () => new Promise<void>(() => {}),
    ms,
    signal,
    (ended) => (ended === "timeout" ? new Slept() : onAbort())
  ).catch((error: unknown) => {
    if (!(error instanceof Slept)) throw error
  })

class Slept extends Error {}
