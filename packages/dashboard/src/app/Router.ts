/**
 * The address of the page as a signal: its path, and its query, where the filters of a list are.
 *
 * Guarantees: a link works with the keyboard, with a middle click and copied; back and forward work; a change of filters is an
 * entry of the history.
 */
import { computed, signal } from "@preact/signals"

const address = signal(new URL(globalThis.location.href))

export const path = computed(() => address.value.pathname)
export const query = computed(() => address.value.searchParams)

/** How the address changed last: `back` also forward. */
export const lastMove = signal<"link" | "back">("link")

/** Goes to a path of this page. */
export const go = (to: string, how: "push" | "replace" = "push"): void => {
  const url = new URL(to, globalThis.location.href)
  lastMove.value = "link"
  if (how === "push") globalThis.history.pushState(undefined, "", url)
  else globalThis.history.replaceState(undefined, "", url)
  address.value = url
  if (how === "push") globalThis.scrollTo({ top: 0 })
}

/** The address with some parameters of the query changed; `undefined` removes one. A change leaves the page of a list. */
export const withQuery = (changes: Readonly<Record<string, string | undefined>>): string => {
  const params = new URLSearchParams(query.value)
  for (const [name, value] of Object.entries({ starting_after: undefined, ...changes })) {
    if (value === undefined || value === "") params.delete(name)
    else params.set(name, value)
  }
  const text = params.toString()
  return text === "" ? path.value : `${path.value}?${text}`
}

/** The entries of the request log with a request id. */
export const requestPath = (requestId: string): string => `/requests?request_id=${encodeURIComponent(requestId)}`

/** Follows clicks on links of this page, and the history. */
export const follow = (): void => {
  globalThis.addEventListener("popstate", () => {
    lastMove.value = "back"
    address.value = new URL(globalThis.location.href)
  })
  globalThis.document.addEventListener("click", (event) => {
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey) return
    const link = event.target instanceof Element ? event.target.closest("a") : null
    if (
      link === null ||
      link.target !== "" ||
      link.hasAttribute("download") ||
      link.origin !== globalThis.location.origin
    )
      return
    event.preventDefault()
    go(link.href)
  })
}
