/**
 * An action of a page: a button that asks before it acts, in a dialog with what it needs.
 *
 * Guarantees: the dialog names the amount, or what else it changes; Escape leaves it; it acts once; a refusal stays in it.
 */
import { useSignal } from "@preact/signals"
import type { ComponentChildren } from "preact"
import { useRef } from "preact/hooks"
import type { Outcome, Problem } from "../app/Client.ts"
import { words } from "../words/Words.ts"
import { type Field, Fields, type Values, valuesOf } from "./Form.tsx"

interface Props<A> {
  readonly label: string
  /** What will happen, as a question or a statement. */
  readonly question: ComponentChildren
  readonly tone?: "first" | "bad" | undefined
  readonly isSmall?: boolean
  readonly fields?: ReadonlyArray<Field>
  readonly run: (values: Values) => Promise<Outcome<A>>
  readonly onDone: (value: A) => void
}

export const Action = <A,>({ fields = [], isSmall = false, label, onDone, question, run, tone }: Props<A>) => {
  const dialog = useRef<HTMLDialogElement>(null)
  const problem = useSignal<Problem | undefined>(undefined)
  const isBusy = useSignal(false)
  const isOpen = useSignal(false)

  const open = () => {
    problem.value = undefined
    isOpen.value = true
    dialog.current?.showModal()
  }
  const submit = async (event: SubmitEvent) => {
    event.preventDefault()
    if (isBusy.value) return
    isBusy.value = true
    const outcome = await run(valuesOf(event.currentTarget as HTMLFormElement, fields))
    isBusy.value = false
    if (outcome._tag === "Failed") {
      problem.value = outcome.problem
      return
    }
    dialog.current?.close()
    onDone(outcome.value)
  }

  return (
    <>
      <button type="button" class={[tone, isSmall && "small"].filter(Boolean).join(" ")} onClick={open}>
        {label}
      </button>
      <dialog
        ref={dialog}
        aria-label={label}
        onClose={() => {
          isOpen.value = false
        }}
      >
        {isOpen.value && (
          <form onSubmit={submit}>
            <h2>{label}</h2>
            <p>{question}</p>
            <Fields fields={fields} problem={problem.value} />
            <div class="head">
              <button type="submit" class={tone ?? "first"} disabled={isBusy.value}>
                {label}
              </button>
              <button type="button" onClick={() => dialog.current?.close()}>
                {words().actions.back}
              </button>
            </div>
          </form>
        )}
      </dialog>
    </>
  )
}
