/** Single keys that lead somewhere: `g` and a letter to a page, `?` to the list of all keys. */
import { useSignal } from "@preact/signals"
import { useLayoutEffect, useRef } from "preact/hooks"
import { inBoth, words } from "../words/Words.ts"
import { go } from "./Router.ts"
import { hasShortcuts } from "./Shortcuts.ts"

type NavName = keyof ReturnType<typeof words>["nav"]

/** The letter after `g`, the page and its name. */
export const jumps: ReadonlyArray<readonly [key: string, to: string, name: NavName]> = [
  ["t", "/", "today"],
  ["a", "/approvals", "approvals"],
  ["d", "/disputes?status=open", "disputes"],
  ["e", "/exceptions", "exceptions"],
  ["c", "/charges", "charges"],
  ["p", "/payouts", "payouts"],
  ["r", "/refunds", "refunds"],
  ["l", "/ledger", "ledger"],
  ["s", "/statements", "statements"],
  ["f", "/closes", "closes"],
  ["w", "/endpoints", "endpoints"],
  ["v", "/deliveries", "deliveries"],
  ["q", "/requests", "requests"]
]

/** How long `g` waits for its letter. */
const WAIT_MS = 1500

export const Jumps = () => {
  const dialog = useRef<HTMLDialogElement>(null)
  const isAsked = useSignal(false)
  const text = jumpWords()
  // Not after the paint: a key that is pressed as soon as the page is seen counts.
  useLayoutEffect(() => {
    let pressedAt = Number.NEGATIVE_INFINITY
    const onKey = (event: KeyboardEvent) => {
      const { altKey, ctrlKey, key, metaKey, target, timeStamp } = event
      const isWriting =
        target instanceof Element && target.closest("input:not(.row), select, textarea, dialog") !== null
      if (!hasShortcuts.peek() || isWriting || altKey || ctrlKey || metaKey) return
      const jump = timeStamp - pressedAt < WAIT_MS ? jumps.find(([letter]) => letter === key) : undefined
      pressedAt = key === "g" ? timeStamp : Number.NEGATIVE_INFINITY
      if (jump !== undefined) {
        event.preventDefault()
        event.stopImmediatePropagation()
        go(jump[1])
      } else if (key === "?") {
        isAsked.value = true
        dialog.current?.showModal()
      }
    }
    // Before the keys of a page, so that the letter after `g` is not one of theirs.
    globalThis.document.addEventListener("keydown", onKey, { capture: true })
    return () => globalThis.document.removeEventListener("keydown", onKey, { capture: true })
  }, [])
  return (
    <dialog
      ref={dialog}
      aria-label={text.title}
      onClose={() => {
        isAsked.value = false
      }}
    >
      {isAsked.value && (
        <>
          <h2>{text.title}</h2>
          <dl>
            {[...text.keys, ...jumps.map(([letter, , name]) => [`g ${letter}`, words().nav[name]] as const)].map(
              ([key, meaning]) => (
                <div class="brake" key={key}>
                  <dt>
                    <kbd>{key}</kbd>
                  </dt>
                  <dd>{meaning}</dd>
                </div>
              )
            )}
          </dl>
          <form method="dialog">
            <button type="submit">{text.close}</button>
          </form>
        </>
      )}
    </dialog>
  )
}

const jumpWords = inBoth({
  en: {
    title: "Keyboard shortcuts",
    close: "Close",
    keys: [
      ["/", "Search; also Ctrl+K and ⌘K"],
      ["j, k", "Next row, row before"],
      ["Enter", "Open the row"],
      ["x", "On Approvals: select a request"],
      ["a, r", "On Approvals: approve, reject"],
      ["?", "This list"]
    ] as ReadonlyArray<readonly [string, string]>
  },
  pt: {
    title: "Atalhos do teclado",
    close: "Fechar",
    keys: [
      ["/", "Buscar; também Ctrl+K e ⌘K"],
      ["j, k", "Próxima linha, linha anterior"],
      ["Enter", "Abrir a linha"],
      ["x", "Em Aprovações: escolher um pedido"],
      ["a, r", "Em Aprovações: aprovar, recusar"],
      ["?", "Esta lista"]
    ]
  }
})
