/**
 * What a page shows of the server: loaded again as its key changes, and as the server's data does (`Live.ts`).
 *
 * Guarantees:
 * - The last data stays while new data comes, also where it does not come. Only the answer of the latest key is shown.
 * - A call that the page no longer needs is aborted. One without an answer after a minute too, and it is a problem.
 */
import { computed, signal, useSignal } from "@preact/signals"
import { useLayoutEffect, useRef } from "preact/hooks"
import { NO_ANSWER, type Outcome, type Problem } from "./Client.ts"
import { type Live, type Subscription, subscribe } from "./Live.ts"

export interface Loaded<A> {
  /** Undefined before the first answer. */
  readonly value: A | undefined
  readonly problem: Problem | undefined
  readonly isLoading: boolean
  readonly reload: () => void
}

const LONGEST_LOAD_MS = 60_000

const callsInFlight = signal(0)

/** Whether a part of the page waits for its data. */
export const isPageLoading = computed(() => callsInFlight.value > 0)

export const useLoaded = <A>(
  key: string,
  load: (signal: AbortSignal) => Promise<Outcome<A>>,
  live?: Live
): Loaded<A> => {
  const value = useSignal<A | undefined>(undefined)
  const problem = useSignal<Problem | undefined>(undefined)
  const isLoading = useSignal(true)
  const round = useSignal(0)
  /** The round that nobody waits for: data that is loaded again because it may have changed. */
  const quietRound = useRef(-1)
  /** The load in flight. Another key, or a reload by hand, aborts it. */
  const inFlight = useRef<AbortController | undefined>(undefined)
  const subscription = useRef<Subscription | undefined>(undefined)

  useLayoutEffect(() => {
    const abort = new AbortController()
    inFlight.current = abort
    const isQuiet = quietRound.current === round.value
    isLoading.value = !isQuiet
    if (!isQuiet) callsInFlight.value += 1
    const loading = load(AbortSignal.any([abort.signal, AbortSignal.timeout(LONGEST_LOAD_MS)]))
      .catch((): Outcome<A> => ({ _tag: "Failed", problem: NO_ANSWER }))
      .then((outcome) => {
        if (abort.signal.aborted) return
        isLoading.value = false
        if (outcome._tag === "Done") {
          value.value = outcome.value
          problem.value = undefined
        } else if (!isQuiet || outcome.problem.code !== "NETWORK") {
          problem.value = outcome.problem
        }
      })
    void loading.finally(() => {
      if (inFlight.current !== abort) return
      inFlight.current = undefined
      subscription.current?.onLoaded()
    })
    // What the answer shows may have calls of its own: they begin before this one counts as ended.
    if (!isQuiet) void loading.finally(() => setTimeout(() => (callsInFlight.value -= 1)))
    return () => abort.abort()
  }, [key, round.value])

  useLayoutEffect(() => {
    if (live === undefined) return
    const refresh = () => {
      quietRound.current = round.peek() + 1
      round.value += 1
    }
    const current = subscribe(live, refresh, () => inFlight.current !== undefined)
    subscription.current = current
    return () => current[Symbol.dispose]()
  }, [key, live?.events?.join(" ")])

  return {
    value: value.value,
    problem: problem.value,
    isLoading: isLoading.value,
    reload: () => {
      round.value += 1
    }
  }
}
