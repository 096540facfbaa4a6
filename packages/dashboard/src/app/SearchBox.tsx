/**
 * The one search box: a combobox that finds names, amounts, references, documents and ids, pages and actions.
 *
 * Guarantees:
 * - `/` and ⌘K or Ctrl+K lead to it from every page; arrows choose, Enter opens, Escape leaves. A screen reader hears how many
 *   results there are, and the chosen one.
 * - Only the answer to what is written now is shown.
 */
import { shortIdOf } from "@pix-payments/domain/Uuid"
import type { SearchResults } from "@pix-payments/api/operator/Search"
import { useSignal } from "@preact/signals"
import { useEffect, useLayoutEffect, useRef } from "preact/hooks"
import { inBoth, words } from "../words/Words.ts"
import { call } from "./Client.ts"
import { jumps } from "./Jumps.tsx"
import { go, requestPath } from "./Router.ts"
import { session } from "./Session.ts"
import { hasShortcuts } from "./Shortcuts.ts"

type Result = SearchResults["data"][number]

/** A page of this dashboard: its kind is `page`, its id the path. */
const pagesLike = (q: string): ReadonlyArray<Result> => {
  const sought = folded(q)
  if (sought.length < 2) return []
  const { nav } = words()
  const names: ReadonlyArray<readonly [string, string]> = [
    ...jumps.map(([, to, name]) => [to, nav[name]] as const),
    ["/reconciliations", nav.reconciliations],
    ["/developers", nav.applications],
    ["/outbox-failures", nav.outboxFailures],
    ...(session.state.value?.settings.acquirer === "simulator" ? [["/simulator", nav.simulator] as const] : []),
    ["/accounts", nav.accounts],
    ["/connections", nav.connections],
    ["/operators", nav.operators],
    ["/sessions", nav.sessions],
    ["/audit", nav.audit],
    ["/settings", nav.settings],
    ...searchWords().actions
  ]
  return names
    .filter(
      ([, name]) =>
        folded(name)
          .split(" ")
          .some((word) => word.startsWith(sought)) || folded(name).startsWith(sought)
    )
    .map(([to, title]) => ({ kind: "page", id: to, account_id: null, title }))
}

/** Without accents and case. */
const folded = (text: string): string =>
  text
    .normalize("NFD")
    .replaceAll(/[\u0300-\u036F]/g, "")
    .toLowerCase()

/** What is written is looked for once nothing is added to it for this long. */
export const WAIT_MS = 150

export const SearchBox = () => {
  const input = useRef<HTMLInputElement>(null)
  const written = useSignal("")
  const found = useSignal<ReadonlyArray<Result> | undefined>(undefined)
  const chosen = useSignal(0)
  const isOpen = useSignal(false)
  const text = searchWords()

  useLayoutEffect(() => {
    const focus = (event: KeyboardEvent) => {
      const isCommand = (event.metaKey || event.ctrlKey) && event.key.toLowerCase() === "k"
      const isSlash = event.key === "/" && hasShortcuts.peek() && !isWriting(event.target)
      if (!isCommand && !isSlash) return
      event.preventDefault()
      input.current?.focus()
      input.current?.select()
    }
    globalThis.document.addEventListener("keydown", focus)
    return () => globalThis.document.removeEventListener("keydown", focus)
  }, [])

  useEffect(() => {
    found.value = undefined
    const q = written.value.trim()
    if (q === "") return
    const abort = new AbortController()
    const timer = setTimeout(() => {
      call((api) => api.search.find({ query: { q } }), abort.signal).then(
        (outcome) => {
          if (abort.signal.aborted) return
          chosen.value = 0
          found.value = [...pagesLike(q), ...(outcome._tag === "Done" ? outcome.value.data : [])]
        },
        () => {}
      )
    }, WAIT_MS)
    return () => {
      clearTimeout(timer)
      abort.abort()
    }
  }, [written.value])

  const results = found.value ?? []
  const isShown = isOpen.value && found.value !== undefined && written.value.trim() !== ""
  const open = (result: Result | undefined) => {
    if (result === undefined) return
    isOpen.value = false
    const sought = written.value.trim()
    written.value = ""
    input.current?.blur()
    // A request is found by its request id only, which is not the id of its entry.
    if (result.kind === "request") go(requestPath(sought))
    else go(pathOf(result))
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Escape") {
      isOpen.value = false
      if (written.value === "") input.current?.blur()
      return
    }
    if (!isShown) return
    if (event.key === "Enter") open(results[chosen.value])
    else if (event.key === "ArrowDown") chosen.value = Math.min(chosen.value + 1, results.length - 1)
    else if (event.key === "ArrowUp") chosen.value = Math.max(chosen.value - 1, 0)
    else return
    event.preventDefault()
  }

  return (
    <div class="find">
      <input
        ref={input}
        type="text"
        role="combobox"
        aria-label={text.label}
        aria-expanded={isShown && results.length > 0}
        aria-controls="found"
        aria-autocomplete="list"
        aria-activedescendant={isShown && results.length > 0 ? `found-${chosen.value}` : undefined}
        aria-keyshortcuts={hasShortcuts.value ? "/ Control+K Meta+K" : "Control+K Meta+K"}
        autocomplete="off"
        spellcheck={false}
        maxLength={1000}
        placeholder={text.hint}
        value={written.value}
        onInput={(event) => {
          written.value = event.currentTarget.value
          isOpen.value = true
        }}
        onFocus={() => {
          isOpen.value = true
        }}
        onBlur={() => {
          isOpen.value = false
        }}
        onKeyDown={onKeyDown}
      />
      <ul id="found" role="listbox" aria-label={text.results} hidden={!isShown || results.length === 0}>
        {results.map((result, index) => (
          <li
            key={`${result.kind} ${result.id}`}
            id={`found-${index}`}
            role="option"
            aria-selected={index === chosen.value}
            // The box keeps the focus, which would close the list before the click.
            onPointerDown={(event) => event.preventDefault()}
            onClick={() => open(result)}
          >
            <b>{text.kinds[result.kind as keyof typeof text.kinds] ?? result.kind}</b>
            <span>{result.title}</span>
            <code>{result.kind === "page" ? "" : shortIdOf(result.id)}</code>
          </li>
        ))}
      </ul>
      <span class={isShown && results.length === 0 ? "none" : "unseen"} role="status">
        {isShown && text.count(results.length)}
      </span>
    </div>
  )
}

const isWriting = (target: EventTarget | null): boolean =>
  target instanceof Element && target.closest("input, textarea, select, [contenteditable], dialog") !== null

/** The page of a result. */
const pathOf = ({ account_id: accountId, id, kind }: Result): string => {
  switch (kind) {
    case "page":
      return id
    case "delivery":
      return `/deliveries/${id}`
    case "application":
      return `/applications/${id}?account=${accountId}`
    case "endpoint":
      return `/endpoints/${id}`
    default:
      return `/${kind}s/${id}`
  }
}

const searchWords = inBoth({
  en: {
    label: "Search",
    results: "Results",
    hint: "Name, amount (352,21 25/11), document, id…",
    count: (count: number) => (count === 0 ? "Nothing found." : count === 1 ? "1 result" : `${count} results`),
    kinds: {
      account: "Account",
      application: "Application",
      charge: "Charge",
      delivery: "Delivery",
      dispute: "Dispute",
      endpoint: "Endpoint",
      exception: "Exception",
      payout: "Payout",
      refund: "Return",
      request: "Request",
      page: "Page"
    },
    actions: [
      ["/payouts?status=pending", "Approve payouts"],
      ["/disputes?status=open", "Defend disputes by deadline"],
      ["/charges?status=failed", "Failed charges"],
      ["/deliveries?status=failed", "Resend failed deliveries"]
    ] as ReadonlyArray<readonly [string, string]>
  },
  pt: {
    label: "Buscar",
    results: "Resultados",
    hint: "Nome, valor (352,21 25/11), documento, id…",
    count: (count: number) => (count === 0 ? "Nada encontrado." : count === 1 ? "1 resultado" : `${count} resultados`),
    kinds: {
      account: "Conta",
      application: "Aplicação",
      charge: "Cobrança",
      delivery: "Entrega",
      dispute: "Contestação",
      endpoint: "Endpoint",
      exception: "Divergência",
      payout: "Pagamento",
      refund: "Devolução",
      request: "Requisição",
      page: "Página"
    },
    actions: [
      ["/payouts?status=pending", "Aprovar pagamentos"],
      ["/disputes?status=open", "Defender contestações por prazo"],
      ["/charges?status=failed", "Cobranças que falharam"],
      ["/deliveries?status=failed", "Reenviar entregas que falharam"]
    ]
  }
})
