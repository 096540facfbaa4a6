/**
 * What a period of the books begins and ends with.
 *
 * - Of an account, from the balance after its lines.
 * - Of a bank account, whose lines have no balance, from the closes of its days. Days that are not closed yet are not in it: the last
 *   tile names its day.
 */
import type { Close } from "@pix-payments/api/operator/Books"
import { call, type Outcome } from "../app/Client.ts"
import { useLoaded } from "../app/Loaded.ts"
import { query } from "../app/Router.ts"
import { money } from "../format/Money.ts"
import { dayAfter, dayText } from "../format/Time.ts"
import type { Books } from "../parts/BookChoice.tsx"
import { type Days, daysText } from "../parts/Days.tsx"
import { booksWords } from "./booksWords.ts"

/** A name, and cents. */
type Tile = readonly [name: string, cents: number]

export const PeriodSummary = ({ books, days }: { readonly books: Books; readonly days: Days }) => {
  const balance = query.value.get("balance") ?? "available"
  const { value } = useLoaded(
    `${books.id} ${balance} ${days.from} ${days.to}`,
    (signal) =>
      books.kind === "account" ? accountTiles(books.id, balance, days, signal) : bankTiles(books.id, days, signal),
    { every: 10 }
  )
  return (
    <>
      <p>
        <bdi>{books.name}</bdi> · {daysText(days)}
      </p>
      {value !== undefined && value.length > 0 && (
        <section class="tiles">
          {value.map(([name, cents]) => (
            <div class="card tile" key={name}>
              <span class="quiet">{name}</span>
              <strong class="nowrap">{money(cents)}</strong>
            </div>
          ))}
        </section>
      )}
    </>
  )
}

type Tiles = Outcome<ReadonlyArray<Tile>>

/** Both are read page by page, so far back. */
const MOST_PAGES = 10

const accountTiles = async (id: string, balance: string, { from, to }: Days, signal: AbortSignal): Promise<Tiles> => {
  const text = booksWords()
  const opening = await balanceAfter(id, balance, dayAfter(from, -1), signal)
  if (opening._tag === "Failed") return opening
  const closing = await balanceAfter(id, balance, to, signal)
  if (closing._tag === "Failed") return closing
  if (opening.value === undefined || closing.value === undefined) return { _tag: "Done", value: [] }
  return {
    _tag: "Done",
    value: [
      [text.opening, opening.value],
      [text.net, closing.value - opening.value],
      [text.closing, closing.value]
    ]
  }
}

/** The balance at the end of a day: what its last line left. Undefined where that is too far back. */
const balanceAfter = async (
  id: string,
  balance: string,
  day: string,
  signal: AbortSignal
): Promise<Outcome<number | undefined>> => {
  let after: string | undefined
  for (let page = 0; page < MOST_PAGES; page++) {
    const asked = { limit: 1, to: day, balance, ...(after !== undefined && { starting_after: after }) } as never
    const outcome = await call((api) => api.accountBooks.transactions({ params: { id }, query: asked }), signal)
    if (outcome._tag === "Failed") return outcome
    const [line] = outcome.value.data
    // A page with filters looks at 1,000 lines, which may all be others.
    if (line !== undefined) return { _tag: "Done", value: line.balance_after ?? undefined }
    if (outcome.value.next === null) return { _tag: "Done", value: 0 }
    after = outcome.value.next
  }
  return { _tag: "Done", value: undefined }
}

const bankTiles = async (id: string, { from, to }: Days, signal: AbortSignal): Promise<Tiles> => {
  const closes: Array<Close> = []
  let after: string | undefined
  for (let page = 0; page < MOST_PAGES; page++) {
    const asked = { limit: 100, ...(after !== undefined && { starting_after: after }) }
    const outcome = await call((api) => api.connectionBooks.closes({ params: { id }, query: asked }), signal)
    if (outcome._tag === "Failed") return outcome
    const { data, has_more: hasMore } = outcome.value
    closes.push(...data)
    after = data.at(-1)?.id
    if (!hasMore || data.at(-1)!.day < from) return { _tag: "Done", value: tilesOfCloses(closes, from, to) }
  }
  return { _tag: "Done", value: [] }
}

/** Of closes, newest first. */
const tilesOfCloses = (closes: ReadonlyArray<Close>, from: string, to: string): ReadonlyArray<Tile> => {
  const text = booksWords()
  const ended = closes.filter(({ day }) => day <= to)
  const [last] = ended
  if (last === undefined) return []
  const ofPeriod = ended.filter(({ day }) => day >= from)
  const sum = (of: (close: Close) => number) => ofPeriod.reduce((total, close) => total + of(close), 0)
  return [
    [text.opening, ofPeriod.at(-1)?.opening ?? last.closing],
    [text.credits, sum(({ credits }) => credits)],
    [text.debits, sum(({ debits }) => -debits)],
    [text.closingOf(dayText(last.day)), last.closing]
  ]
}
