/**
 * Where a person is, after each navigation.
 *
 * Guarantees:
 * - The title of the tab is that of the page.
 * - After a link the focus is on the heading, which a screen reader reads; after "back" on the row that was opened. A page that is
 *   opened first keeps the browser's focus, and so does a change of filters. A user who is back in the search before the page is there
 *   stays in it.
 * - After an action that takes its own button away, the focus is on the result: the row it was in, else the state of the page.
 */
import { effect } from "@preact/signals"
import { words } from "../words/Words.ts"
import { lastMove, path } from "./Router.ts"

/** The row that was opened in each list of this tab. */
const opened = new Map<string, string>()

export const startWayfinding = (): void => {
  const { document } = globalThis
  let isMoving = false
  let first = true

  // Before the router follows the link.
  const remember = (event: Event) => {
    const row = event.target instanceof Element ? event.target.closest("a.row") : null
    if (row !== null) opened.set(path.peek(), row.getAttribute("href") ?? "")
  }
  document.addEventListener("click", remember, { capture: true })

  /** What had the focus last in the page, and its row. */
  let last: { readonly element: HTMLElement; readonly row: HTMLElement | null } | undefined
  document.addEventListener("focusin", ({ target }) => {
    last =
      target instanceof HTMLElement && target.closest("main") !== null
        ? { element: target, row: target.closest("tr") }
        : undefined
  })

  const followResult = (heading: HTMLElement) => {
    if (last === undefined || last.element.isConnected || document.activeElement !== document.body) return
    const row = last.row?.isConnected === true ? last.row.querySelector<HTMLElement>("a.row") : null
    last = undefined
    const result = row ?? document.querySelector<HTMLElement>("main .head .chip") ?? heading
    if (row === null) result.tabIndex = -1
    result.focus({ preventScroll: true })
  }

  const arrive = () => {
    const heading = document.querySelector<HTMLElement>("main h1")
    if (heading === null) return
    const title = `${heading.textContent} · ${words().product}`
    if (document.title !== title) document.title = title
    if (!isMoving) return followResult(heading)
    const href = lastMove.peek() === "back" ? opened.get(path.peek()) : undefined
    const rows = [...document.querySelectorAll<HTMLElement>("main a.row")]
    const row = rows.find((each) => each.getAttribute("href") === href)
    // Its rows are not there yet.
    if (href !== undefined && row === undefined && rows.length === 0) return
    isMoving = false
    if (document.activeElement?.role === "combobox") return
    heading.tabIndex = -1
    const target = row ?? heading
    target.focus({ preventScroll: row === undefined })
  }

  effect(() => {
    void path.value
    isMoving = !first
    first = false
  })
  new MutationObserver(arrive).observe(document.body, { childList: true, subtree: true, characterData: true })
}
