/** `j` and `k` move the focus from row to row, in every table of a page. Enter opens the focused one, as it is a link. */
import { hasShortcuts } from "./Shortcuts.ts"

/** A row's link, or the checkbox that selects it. */
const ROWS = "main :is(a, input).row"

/** Where a letter is text. */
const WRITING = "input:not(.row), select, textarea, dialog"

export const followRowKeys = (): void => {
  globalThis.addEventListener("keydown", (event) => {
    if (!hasShortcuts.peek()) return
    if ((event.key !== "j" && event.key !== "k") || event.metaKey || event.ctrlKey || event.altKey) return
    if (event.target instanceof Element && event.target.closest(WRITING) !== null) return
    const rows = [...globalThis.document.querySelectorAll<HTMLElement>(ROWS)]
    const here = rows.indexOf(globalThis.document.activeElement as HTMLElement)
    rows[event.key === "j" ? Math.min(here + 1, rows.length - 1) : Math.max(here - 1, 0)]?.focus()
  })
}
