/**
 * An action of a page: a button that asks before it acts, in a dialog with what it needs.
 *
 * Guarantees:
 * - The dialog names the amount, or what else it changes, in legible text (OPR-241). It acts once: what is repeated in it has the
 *   same key.
 * - It opens on its first field, else on the button that acts; a screen reader hears the question. Escape leaves it, but not while it acts. A refusal stays in it, and a failure of the page too.
 * - Data that arrives while it is open changes neither its fields nor what it does.
 * - Where another operator has to approve, the dialog says so.
 */
import type { Approval } from "@pix-payments/api/operator/Approvals"
import { legible } from "@pix-payments/domain/Text"
import { useSignal } from "@preact/signals"
import type { ComponentChildren } from "preact"
import { useId, useLayoutEffect, useRef } from "preact/hooks"
import { FAILED_PAGE, type Outcome, type Problem } from "../app/Client.ts"
import { words } from "../words/Words.ts"
import { type Field, Fields, type Files, filesOf, type Values, valuesOf } from "./Form.tsx"

interface Props<A> {
  readonly label: string
  /** What will happen, as a question or a statement. Without one the button acts, and the dialog shows only what went wrong. */
  readonly question?: ComponentChildren
  /** The button that acts; by default the label. */
  readonly confirm?: string
  readonly tone?: "first" | "bad" | undefined
  readonly isSmall?: boolean
  readonly fields?: ReadonlyArray<Field>
  /** The values of the form as it opens and as they change; undefined as it closes. */
  readonly onValues?: (values: Values | undefined) => void
  /** False where the form cannot be sent yet. */
  readonly canSubmit?: boolean
  /** `key` is the idempotency key of the dialog, made when it opens. */
  readonly run: (values: Values, files: Files, key: string) => Promise<Outcome<A>>
  /** Not called where the action waits for another operator. */
  readonly onDone: (value: Exclude<A, Approval>) => void
}

export const Action = <A,>(props: Props<A>) => {
  const { canSubmit = true, confirm = props.label, isSmall = false, label, onDone, question, tone } = props
  const dialog = useRef<HTMLDialogElement>(null)
  const problem = useSignal<Problem | undefined>(undefined)
  const isBusy = useSignal(false)
  const isOpen = useSignal(false)
  const form = useRef<HTMLFormElement>(null)
  const isWaiting = useSignal(false)
  const key = useRef("")
  const opened = useRef(props)
  if (!isOpen.value) opened.current = props
  const { fields = [], onValues, run } = opened.current

  const show = () => {
    isOpen.value = true
    if (dialog.current?.open === false) dialog.current.showModal()
  }
  const open = () => {
    problem.value = undefined
    isWaiting.value = false
    key.current = newKey()
    if (question === undefined) void act({}, [])
    else show()
  }
  const act = async (...written: readonly [Values, Files]) => {
    if (isBusy.value || !canSubmit) return
    isBusy.value = true
    let outcome: Outcome<A> = { _tag: "Failed", problem: FAILED_PAGE }
    try {
      outcome = await run(...written, key.current)
    } catch {
      // A file that cannot be read.
    }
    isBusy.value = false
    if (outcome._tag === "Failed") {
      problem.value = outcome.problem
      show()
      return
    }
    if (isWaitingApproval(outcome.value)) {
      isWaiting.value = true
      show()
      return
    }
    dialog.current?.close()
    onDone(outcome.value as Exclude<A, Approval>)
  }
  const submit = (event: SubmitEvent) => {
    event.preventDefault()
    const form = event.currentTarget as HTMLFormElement
    void act(valuesOf(form, fields), filesOf(form, fields))
  }

  const readValues = () => onValues?.(form.current === null ? undefined : valuesOf(form.current, fields))
  useLayoutEffect(() => {
    readValues()
    // Not on a link of the question, which Enter would follow. A long question is read from its beginning.
    form.current
      ?.querySelector<HTMLElement>(":is(input, select, textarea), button[type=submit]")
      ?.focus({ preventScroll: true })
  }, [isOpen.value])
  const questionId = useId()

  return (
    <>
      <button
        type="button"
        class={[tone, isSmall && "small"].filter(Boolean).join(" ")}
        disabled={isBusy.value && !isOpen.value}
        onClick={open}
      >
        {label}
      </button>
      <dialog
        ref={dialog}
        aria-label={label}
        aria-describedby={isOpen.value && !isWaiting.value ? questionId : undefined}
        // A browser that lets Escape close it all the same does so only after a second press.
        onCancel={(event) => {
          if (isBusy.value) event.preventDefault()
        }}
        onKeyDown={(event) => {
          if (event.key === "Escape" && isBusy.value) event.preventDefault()
        }}
        onClose={() => {
          isOpen.value = false
        }}
      >
        {isWaiting.value && <Waiting close={() => dialog.current?.close()} />}
        {isOpen.value && !isWaiting.value && (
          <form ref={form} onSubmit={submit} onInput={readValues}>
            <h2>{label}</h2>
            <div class="question" id={questionId}>
              {typeof question === "string" ? legible(question) : question}
            </div>
            <Fields fields={fields} problem={problem.value} />
            <div class="head">
              <button type="submit" class={tone ?? "first"} disabled={isBusy.value || !canSubmit}>
                {confirm}
              </button>
              <button type="button" disabled={isBusy.value} onClick={() => dialog.current?.close()}>
                {words().actions.back}
              </button>
            </div>
          </form>
        )}
      </dialog>
    </>
  )
}

/** 128 random bits. `randomUUID` is not there where a page is served without TLS. */
const newKey = (): string =>
  Array.from(globalThis.crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join(
    ""
  )

/** A request that was just stored, instead of the answer. A decided one is the answer of its decision. */
const isWaitingApproval = (value: unknown): boolean =>
  typeof value === "object" &&
  value !== null &&
  "object" in value &&
  value.object === "approval" &&
  "status" in value &&
  value.status === "pending"

const Waiting = ({ close }: { readonly close: () => void }) => (
  <div role="status">
    <h2>{words().approval.waits}</h2>
    <p>{words().approval.asked}</p>
    <div class="head">
      <a href="/approvals" onClick={close}>
        {words().nav.approvals}
      </a>
      <button type="button" onClick={close}>
        {words().actions.back}
      </button>
    </div>
  </div>
)
