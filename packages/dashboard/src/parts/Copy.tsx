/** A button that copies a text, and says so. */
import { useSignal } from "@preact/signals"
import { words } from "../words/Words.ts"

interface Props {
  /** A function is called when the button is pressed; without a text it copies nothing. */
  readonly text: string | (() => string | undefined)
  readonly label?: string
  /** Not on a phone. */
  readonly isWide?: boolean
}

export const Copy = ({ isWide = false, label, text }: Props) => {
  const outcome = useSignal<"copied" | "failed" | undefined>(undefined)
  const copy = () => {
    const copied = typeof text === "string" ? text : text()
    if (copied === undefined) return
    const say = (what: "copied" | "failed") => {
      outcome.value = what
      setTimeout(() => {
        outcome.value = undefined
      }, 2000)
    }
    // A page over plain HTTP has no clipboard.
    const { clipboard } = globalThis.navigator as { readonly clipboard?: Clipboard }
    if (clipboard === undefined) say(copiedByHand(copied) ? "copied" : "failed")
    else
      clipboard.writeText(copied).then(
        () => say("copied"),
        () => say(copiedByHand(copied) ? "copied" : "failed")
      )
  }
  return (
    <button type="button" class={isWide ? "small wide-only" : "small"} onClick={copy} aria-live="polite">
      {outcome.value === undefined
        ? (label ?? words().actions.copy)
        : outcome.value === "copied"
          ? words().actions.copied
          : words().actions.notCopied}
    </button>
  )
}

/** Copies by a field that is selected, as pages did before there was a clipboard; false where the browser refuses. */
const copiedByHand = (text: string): boolean => {
  const { activeElement, body } = globalThis.document
  const field = globalThis.document.createElement("textarea")
  field.value = text
  field.className = "unseen"
  body.append(field)
  field.select()
  // oxlint-disable-next-line no-deprecated -- There is nothing else without HTTPS.
  const isCopied = globalThis.document.execCommand("copy")
  field.remove()
  if (activeElement instanceof HTMLElement) activeElement.focus()
  return isCopied
}
