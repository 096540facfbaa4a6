/**
 * What a page shows of the server, loaded again as its key changes.
 *
 * Guarantees:
 * - The last data stays while new data comes. Only the answer of the latest key is shown.
 * - A call that the page no longer needs is aborted.
 */
import { useSignal } from "@preact/signals"
import { useEffect } from "preact/hooks"
import type { Outcome, Problem } from "./Client.ts"

export interface Loaded<A> {
  /** Undefined before the first answer. */
  readonly value: A | undefined
  readonly problem: Problem | undefined
  readonly isLoading: boolean
  readonly reload: () => void
}

export const useLoaded = <A>(key: string, load: (signal: AbortSignal) => Promise<Outcome<A>>): Loaded<A> => {
  const value = useSignal<A | undefined>(undefined)
  const problem = useSignal<Problem | undefined>(undefined)
  const isLoading = useSignal(true)
  const round = useSignal(0)

  useEffect(() => {
    const abort = new AbortController()
    isLoading.value = true
    load(abort.signal).then(
      (outcome) => {
        if (abort.signal.aborted) return
        isLoading.value = false
        problem.value = outcome._tag === "Failed" ? outcome.problem : undefined
        if (outcome._tag === "Done") value.value = outcome.value
      },
      // The call was aborted with the page's need for it.
      () => {}
    )
    return () => abort.abort()
  }, [key, round.value])

  return {
    value: value.value,
    problem: problem.value,
    isLoading: isLoading.value,
    reload: () => {
      round.value += 1
    }
  }
}
