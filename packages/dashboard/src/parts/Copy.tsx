/** A button that copies a text, and says so. */
import { useSignal } from "@preact/signals"
import { words } from "../words/Words.ts"

interface Props {
  /** A function is called when the button is pressed; without a text it copies nothing. */
  readonly text: string | (() => string | undefined)
  readonly label?: string
}

export const Copy = ({ label, text }: Props) => {
  const isCopied = useSignal(false)
  const copy = () => {
    const copied = typeof text === "string" ? text : text()
    if (copied === undefined) return
    globalThis.navigator.clipboard.writeText(copied).then(
      () => {
        isCopied.value = true
        setTimeout(() => {
          isCopied.value = false
        }, 2000)
      },
      () => {}
    )
  }
  return (
    <button type="button" class="small" onClick={copy} aria-live="polite">
      {isCopied.value ? words().actions.copied : (label ?? words().actions.copy)}
    </button>
  )
}
