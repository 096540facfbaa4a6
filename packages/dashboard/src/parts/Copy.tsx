/** A button that copies a text, and says so. */
import { useSignal } from "@preact/signals"
import { words } from "../words/Words.ts"

export const Copy = ({ label, text }: { readonly text: string; readonly label?: string }) => {
  const isCopied = useSignal(false)
  const copy = () => {
    globalThis.navigator.clipboard.writeText(text).then(
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
