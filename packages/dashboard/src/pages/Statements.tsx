/**
 * The statement of an account or a bank account: the days of a period, each line with the balance after it, and the files that
 * accountants' programs read.
 */
import type { BalanceTransaction } from "@pix-payments/api/operator/Books"
import { BalanceName, BalanceTransactionType } from "@pix-payments/domain/BalanceTransaction"
import { useSignal } from "@preact/signals"
import * as Effect from "effect/Effect"
import { call } from "../app/Client.ts"
import { useLoaded } from "../app/Loaded.ts"
import { query, withQuery } from "../app/Router.ts"
import { may } from "../app/Session.ts"
import { money } from "../format/Money.ts"
import { dayIn, dayText, moment } from "../format/Time.ts"
import { Adjust } from "../parts/Adjust.tsx"
import { BookChoice, type Books, useBooks } from "../parts/BookChoice.tsx"
import { type Days, daysOf, DaysChoice, wholeMonthOf } from "../parts/Days.tsx"
import type { Filter } from "../parts/Filters.tsx"
import { ledgerAccountName } from "../parts/ledgerAccounts.ts"
import { List } from "../parts/List.tsx"
import { now } from "../parts/Time.tsx"
import { words } from "../words/Words.ts"
import { lineTypeName } from "../parts/entryNames.ts"
import { booksWords } from "./booksWords.ts"
import { PeriodSummary } from "./PeriodSummary.tsx"

/** The time zone of the installation's days. */
export const useTimezone = (): string | undefined =>
  useLoaded("timezone", (signal) => call((api) => api.installation.retrieve({}), signal)).value?.timezone

export const Statements = () => {
  const timezone = useTimezone()
  const adjusted = useSignal(0)
  const { all, chosen } = useBooks()
  const { fields, nav } = words()
  const text = booksWords()
  if (timezone === undefined) return null
  if (chosen === undefined) {
    return (
      <>
        <h1>{nav.statements}</h1>
        <p class="quiet">{all.length === 0 ? text.noBooks : ""}</p>
      </>
    )
  }
  const today = dayIn(timezone, now.value)
  const days = daysOf(today)
  const isAccount = chosen.kind === "account"
  const isWhole = query.value.get("lines") === "all"
  return (
    <List
      title={nav.statements}
      empty={text.empty}
      fixed={{ ...days }}
      version={adjusted.value}
      actions={
        <>
          <BookChoice all={all} chosen={chosen} />
          {isAccount && may("operator") && <Adjust of={chosen} onDone={() => (adjusted.value += 1)} />}
        </>
      }
      filters={[
        { name: "type", label: text.type, options: BalanceTransactionType.literals, nameOf: lineTypeName },
        { name: "amount", label: fields.amount, kind: "amount" },
        ...(isAccount ? [balanceFilter()] : [])
      ]}
      load={(api, asked) => {
        const params = { id: chosen.id }
        const page = (query: never) =>
          isAccount
            ? api.accountBooks.transactions({ params, query })
            : api.connectionBooks.transactions({ params, query })
        return isWhole ? wholeOf(page, asked) : page(asked)
      }}
      linkOf={pageOf}
      columns={[
        {
          name: fields.day,
          cell: (line) => (
            <>
              <span class="nowrap">{dayText(line.day)}</span>
              <div class="narrow quiet under">
                <Description of={line} />
              </div>
            </>
          )
        },
        { name: fields.description, cell: (line) => <Description of={line} />, wide: true },
        { name: fields.at, cell: (line) => <span class="nowrap">{moment(line.created_at)}</span>, wide: true },
        { name: fields.amount, cell: (line) => <Amount of={line} />, right: true },
        ...(isAccount ? [balanceColumn(text.balance)] : [])
      ]}
    >
      <DaysChoice days={days} today={today} />
      <PeriodSummary books={chosen} days={days} />
      <Files books={chosen} days={days} today={today} />
    </List>
  )
}

const MOST_PAGES = 10

/** The lines of a period on one page, to print: up to `MOST_PAGES` pages of 100. */
const wholeOf = Effect.fnUntraced(function* <E, R>(
  page: (query: never) => Effect.Effect<LinesOf, E, R>,
  asked: Readonly<Record<string, unknown>>
) {
  const data: Array<BalanceTransaction> = []
  let next: string | null = null
  for (let count = 0; count < MOST_PAGES; count++) {
    const found: LinesOf = yield* page({
      ...asked,
      limit: 100,
      ...(next !== null && { starting_after: next })
    } as never)
    data.push(...found.data)
    next = found.next
    if (next === null) break
  }
  return { data, has_more: next !== null, next }
})

interface LinesOf {
  readonly data: ReadonlyArray<BalanceTransaction>
  readonly next: string | null
}

/** Which balance of an account has the lines. Without a choice, `available`. */
const balanceFilter = (): Filter => {
  const [available, ...others] = BalanceName.literals
  return {
    name: "balance",
    label: booksWords().balance,
    options: others,
    nameOf: (name) => ledgerAccountName({ name }),
    noneName: ledgerAccountName({ name: available })
  }
}

const balanceColumn = (name: string) => ({
  name,
  cell: ({ balance_after }: BalanceTransaction) => (
    <span class="nowrap">{balance_after === null ? "" : money(balance_after)}</span>
  ),
  right: true
})

const pages: Readonly<Record<string, string>> = {
  charge: "charges",
  payout: "payouts",
  refund: "refunds",
  dispute: "disputes",
  exception: "exceptions"
}

const pageOf = ({ source }: BalanceTransaction): string | undefined => {
  const page = pages[source.object]
  return page === undefined ? undefined : `/${page}/${source.id}`
}

const Description = ({ of: { counterparty, reference, type } }: { readonly of: BalanceTransaction }) => (
  <>
    {lineTypeName(type)}
    <span class="quiet under">
      <bdi>{[counterparty?.name, reference].filter(Boolean).join(" · ")}</bdi>
    </span>
  </>
)

const Amount = ({ of: { fee, net } }: { readonly of: BalanceTransaction }) => (
  <>
    <b class="nowrap">{money(net)}</b>
    {fee !== 0 && <span class="quiet under nowrap">{booksWords().fee(money(fee))}</span>}
  </>
)

interface FilesOf {
  readonly books: Books
  readonly days: Days
  readonly today: string
}

/** The period as files: of a whole month also all of them with the closes. */
const Files = ({ books, days, today }: FilesOf) => {
  const text = booksWords()
  const month = wholeMonthOf(days)
  const path = `/operator/v1/${books.kind}s/${books.id}/statement`
  const spreadsheet = { separator: ";", decimal: ",", bom: "true" }
  const formats = [
    ["CSV", { format: "csv", ...spreadsheet }],
    ["OFX", { format: "ofx1" }],
    ["OFX 2.2", { format: "ofx" }],
    [text.journal, { format: "journal", decimal: "," }],
    ["JSON", { format: "jsonl" }]
  ] as const
  return (
    <div class="head" role="group" aria-label={text.files}>
      {month !== undefined && (
        <a
          class="button first"
          href={`/operator/v1/closes/${month}/package?${new URLSearchParams({ [`${books.kind}_id`]: books.id })}`}
          download=""
        >
          {days.to < today ? text.package : text.packageSoFar}
        </a>
      )}
      {formats.map(([name, asked]) => (
        <a class="button" href={`${path}?${new URLSearchParams({ ...days, ...asked })}`} download="" key={name}>
          {name}
        </a>
      ))}
      <a class="button" href={withQuery({ lines: "all" })}>
        {text.allLines}
      </a>
    </div>
  )
}
