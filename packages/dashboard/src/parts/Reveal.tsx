/**
 * Personal data that a role sees masked, and a button that reveals it (OPR-49).
 *
 * Guarantee: each press is one entry of the audit log: what was revealed is not loaded again with the page.
 */
import { useSignal } from "@preact/signals"
import type { ComponentChildren } from "preact"
import type { Outcome } from "../app/Client.ts"
import { session } from "../app/Session.ts"
import { words } from "../words/Words.ts"
import { Problem } from "./Problem.tsx"

interface Props<A> {
  /** As the page has it. */
  readonly value: A
  readonly load: () => Promise<Outcome<A>>
  /** Shows the value, with the button where it can be revealed. */
  readonly children: (value: A, button: ComponentChildren) => ComponentChildren
}

export const Reveal = <A,>({ children, load, value }: Props<A>) => {
  const outcome = useSignal<Outcome<A> | undefined>(undefined)
  const revealed = outcome.value
  const press = async () => {
    outcome.value = await load()
  }
  // Viewers may not, and the other roles see everything.
  const canReveal = session.state.value?.operator.role === "developer" && revealed?._tag !== "Done"
  return (
    <>
      {revealed?._tag === "Failed" && <Problem problem={revealed.problem} />}
      {children(
        revealed?._tag === "Done" ? revealed.value : value,
        canReveal && (
          <button type="button" class="small" title={words().ask.reveal} onClick={() => void press()}>
            {words().actions.reveal}
          </button>
        )
      )}
    </>
  )
}
