/** The daily closes of an account or a bank account: their chain, a day that is not closed, and the check of the newest one. */
import type { Close } from "@pix-payments/api/operator/Books"
import type { BrokenClose, LedgerVerification } from "@pix-payments/api/operator/Ledger"
import { useSignal } from "@preact/signals"
import * as Effect from "effect/Effect"
import { call, type Outcome } from "../app/Client.ts"
import { useLoaded } from "../app/Loaded.ts"
import { money } from "../format/Money.ts"
import { dayAfter, dayIn, dayText } from "../format/Time.ts"
import { BookChoice, type Books, parameterOf, useBooks } from "../parts/BookChoice.tsx"
import { Card } from "../parts/Detail.tsx"
import { List, Table } from "../parts/List.tsx"
import { Problem } from "../parts/Problem.tsx"
import { now } from "../parts/Time.tsx"
import { words } from "../words/Words.ts"
import { booksWords } from "./booksWords.ts"
import { useTimezone } from "./Statements.tsx"

type Chain = "chained" | "broken" | "first" | "unknown"

/** A close, and whether it continues the one before it. */
type ChainedClose = Close & { readonly chain: Chain }

/** Closes are newest first: the one before a close follows it. */
const chained = (closes: ReadonlyArray<Close>, hasMore: boolean): ReadonlyArray<ChainedClose> =>
  closes.map((close, index) => {
    const before = closes[index + 1]
    const continues =
      before === undefined ? undefined : close.previous_hash === before.hash && close.opening === before.closing
    const chain: Chain =
      continues !== undefined
        ? continues
          ? "chained"
          : "broken"
        : hasMore
          ? "unknown"
          : close.previous_hash === null
            ? "first"
            : "broken"
    return { ...close, chain }
  })

const tones: Readonly<Record<Chain, string>> = { chained: "good", broken: "bad", first: "good", unknown: "" }

export const Closes = () => {
  const timezone = useTimezone()
  const { all, chosen } = useBooks()
  const { fields, nav } = words()
  const text = booksWords()
  if (timezone === undefined) return null
  if (chosen === undefined) {
    return (
      <>
        <h1>{nav.closes}</h1>
        <p class="quiet">{all.length === 0 ? text.noBooks : ""}</p>
      </>
    )
  }
  const params = { id: chosen.id }
  const isAccount = chosen.kind === "account"
  return (
    <List
      title={nav.closes}
      empty={text.noCloses}
      actions={<BookChoice all={all} chosen={chosen} />}
      load={(api, query) =>
        Effect.map(
          isAccount ? api.accountBooks.closes({ params, query }) : api.connectionBooks.closes({ params, query }),
          (list) => ({ ...list, data: chained(list.data, list.has_more) })
        )
      }
      linkOf={({ day }) => `/statements?${new URLSearchParams({ ...parameterOf(chosen), from: day, to: day })}`}
      columns={[
        {
          name: fields.day,
          cell: ({ credits, day, debits }) => (
            <>
              <span class="nowrap">{dayText(day)}</span>
              <div class="narrow quiet under">
                +<Cents of={credits} /> <Cents of={-debits} />
              </div>
            </>
          )
        },
        {
          name: text.chain,
          cell: ({ chain, hash }) => (
            <span class={`chip ${tones[chain]}`} title={hash}>
              {text.chains[chain]}
            </span>
          )
        },
        { name: text.opening, cell: ({ opening }) => <Cents of={opening} />, wide: true, right: true },
        { name: text.credits, cell: ({ credits }) => <Cents of={credits} />, wide: true, right: true },
        { name: text.debits, cell: ({ debits }) => <Cents of={-debits} />, wide: true, right: true },
        ...(isAccount ? [feesColumn(text.fees)] : []),
        { name: text.lines, cell: ({ lines }) => lines, wide: true, right: true },
        { name: text.closing, cell: ({ closing }) => <Cents of={closing} />, right: true }
      ]}
    >
      <Unclosed books={chosen} timezone={timezone} />
      <Verified books={chosen} key={chosen.id} />
    </List>
  )
}

/** Of the debits. A bank account has none: its fees are lines. */
const feesColumn = (name: string) => ({
  name,
  cell: ({ fees }: Close) => <Cents of={fees} />,
  wide: true,
  right: true
})

/** The last closed days of a bank account, on its connection's page. */
export const LastCloses = ({ connectionId: id }: { readonly connectionId: string }) => {
  const { fields } = words()
  const text = booksWords()
  const { value } = useLoaded(
    `last closes ${id}`,
    (signal) => call((api) => api.connectionBooks.closes({ params: { id }, query: { limit: 5 } }), signal),
    { every: 10 }
  )
  if (value === undefined) return null
  return (
    <Card title={text.lastDays} note={<a href={`/closes?connection_id=${id}`}>{text.allCloses}</a>}>
      {value.data.length === 0 ? (
        <p class="quiet pad">{text.noCloses}</p>
      ) : (
        <Table
          rows={value.data}
          linkOf={({ day }) => `/statements?${new URLSearchParams({ connection_id: id, from: day, to: day })}`}
          columns={[
            { name: fields.day, cell: ({ day }) => <span class="nowrap">{dayText(day)}</span> },
            { name: text.opening, cell: ({ opening }) => <Cents of={opening} />, wide: true, right: true },
            { name: text.credits, cell: ({ credits }) => <Cents of={credits} />, wide: true, right: true },
            { name: text.debits, cell: ({ debits }) => <Cents of={-debits} />, wide: true, right: true },
            { name: text.closing, cell: ({ closing }) => <Cents of={closing} />, right: true }
          ]}
        />
      )}
    </Card>
  )
}

/** No `-0`. */
const Cents = ({ of }: { readonly of: number }) => <span class="nowrap">{money(of === 0 ? 0 : of)}</span>

/** Closes begin this long after midnight, and take a moment. */
const CLOSING_MS = 15 * 60_000

/** A day that has ended, has entries, and is not closed. */
const Unclosed = ({ books, timezone }: { readonly books: Books; readonly timezone: string }) => {
  const ended = dayAfter(dayIn(timezone, now.value - CLOSING_MS), -1)
  const { value } = useLoaded(`unclosed ${books.id} ${ended}`, (signal) => unclosedDay(books, ended, signal), {
    every: 10
  })
  if (value === undefined || value === null) return null
  return (
    <p class="card banner bad" role="alert">
      {booksWords().unclosed(dayText(value))}
    </p>
  )
}

const unclosedDay = async (
  { id, kind }: Books,
  ended: string,
  signal: AbortSignal
): Promise<Outcome<string | null>> => {
  const params = { id }
  const newest = { limit: 1 }
  const closes = await call(
    (api) =>
      kind === "account"
        ? api.accountBooks.closes({ params, query: newest })
        : api.connectionBooks.closes({ params, query: newest }),
    signal
  )
  if (closes._tag === "Failed") return closes
  const lines = await call(
    (api) =>
      kind === "account"
        ? api.accountBooks.transactions({ params, query: { limit: 1, to: ended } })
        : api.connectionBooks.transactions({ params, query: { limit: 1, to: ended } }),
    signal
  )
  if (lines._tag === "Failed") return lines
  const [line] = lines.value.data
  const closed = closes.value.data[0]?.day ?? ""
  return { _tag: "Done", value: line !== undefined && line.day > closed ? line.day : null }
}

/** The check of closes against their entries, when somebody asks. */
const Verified = ({ books }: { readonly books: Books }) => {
  const text = booksWords()
  const outcome = useSignal<Outcome<LedgerVerification> | undefined>(undefined)
  const isBusy = useSignal(false)
  const verify = async () => {
    isBusy.value = true
    outcome.value = await call((api) => api.ledger.verify({ query: {} }))
    isBusy.value = false
  }
  const found = outcome.value
  const broken = found?._tag === "Done" ? found.value.closes.filter((close) => isOf(close, books)) : []
  return (
    <div class="head" role="status">
      <button type="button" disabled={isBusy.value} onClick={() => void verify()}>
        {text.verify}
      </button>
      {found?._tag === "Failed" && <Problem problem={found.problem} />}
      {found?._tag === "Done" && broken.length === 0 && <span class="chip good">{text.verified}</span>}
      {broken.map(({ day, problem }) => (
        <span class="chip bad" key={`${day} ${problem}`}>
          {text.changed(dayText(day), text.problems[problem] ?? problem)}
        </span>
      ))}
    </div>
  )
}

const isOf = ({ account_id, connection_id }: BrokenClose, { id }: Books) => account_id === id || connection_id === id
