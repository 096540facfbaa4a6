/**
 * A list of resources: filters in the address, pages by key, a row that is a link.
 *
 * Guarantee: the last data stays while new data comes.
 */
import type { CountSummary, Summary } from "@pix-payments/api/operator/Fields"
import type { ComponentChildren } from "preact"
import { useRef } from "preact/hooks"
import type * as Effect from "effect/Effect"
import { call, type OperatorClient } from "../app/Client.ts"
import { curlOf } from "../app/Curl.ts"
import { useLoaded } from "../app/Loaded.ts"
import { path, query, withQuery } from "../app/Router.ts"
import { money } from "../format/Money.ts"
import { Copy } from "./Copy.tsx"
import { Chips, type Filter, Filters, parametersOf, StateTabs } from "./Filters.tsx"
import { words } from "../words/Words.ts"
import { Problem } from "./Problem.tsx"
import { Skeleton } from "./Skeleton.tsx"

const PAGE = 50

export interface Column<A> {
  readonly name: string
  readonly cell: (row: A) => ComponentChildren
  /** Left out on narrow screens. */
  readonly wide?: boolean
  readonly right?: boolean
  /** The list may be in the order of this column: where the address says so, and how it is in order now. */
  readonly order?: { readonly href: string; readonly now: "ascending" | "descending" | undefined }
  /** It is the time by which the list is in order: the newest first or, on request, the oldest. */
  readonly isTime?: boolean
}

/** The answer of every list. */
export interface ListOf<A> {
  readonly data: ReadonlyArray<A>
  readonly has_more: boolean
  /** From where the next page goes on, where it is not the last row. */
  readonly next?: string | null
  /** How many rows the server looked at. */
  readonly looked_at?: number
}

interface Props<A> {
  readonly title: string
  /** What would be here, and what leads to it. */
  readonly empty: ComponentChildren
  readonly columns: ReadonlyArray<Column<A>>
  readonly filters?: ReadonlyArray<Filter>
  /** The page of a row, where it has one. The first cell is the link. */
  readonly linkOf?: (row: A) => string | undefined
  readonly actions?: ComponentChildren | ((rows: ReadonlyArray<A>) => ComponentChildren)
  /** The query comes from the address, and the server checks it. So it is of every type. */
  readonly load: (api: OperatorClient, query: never) => Effect.Effect<ListOf<A>, unknown>
  /** Changes where the rows must be loaded again. */
  readonly version?: number
  /** Count of what the filters leave, and its sum where the rows have an amount. */
  readonly sum?: (api: OperatorClient, query: never) => Effect.Effect<Summary | CountSummary, unknown>
  /** The path of the list as a file, under `/operator/v1`. */
  readonly file?: string
  /** The events that change the rows; without them the list polls. */
  readonly events?: ReadonlyArray<string>
  /** Parameters that the page sets, beside the filters of the address. */
  readonly fixed?: Readonly<Record<string, string>>
  /** Beside the count: how the rows are in order, where it is not the newest first. */
  readonly note?: ComponentChildren
  /** Above the filters. */
  readonly children?: ComponentChildren
}

/** Parameters that are set, in the order of the filters. */
type Asked = ReadonlyArray<readonly [string, string]>

export const List = <A extends { readonly id: string }>(props: Props<A>) => {
  const { actions, children, columns, empty, events, file, filters = [], fixed = {}, linkOf, load, sum, title } = props
  const { note, version = 0 } = props
  const text = words().list
  const key = query.value.toString()
  const names = [...filters.flatMap(parametersOf), "starting_after"]
  const asked = names.flatMap((name) => {
    const value = query.value.get(name)
    return value === null || value === "" ? [] : [[name, value] as const]
  })
  const amounts = new Set(filters.filter(({ kind }) => kind === "amount").flatMap(parametersOf))
  const queryOf = (values: Asked) =>
    Object.fromEntries(values.map(([name, value]) => [name, amounts.has(name) ? Number(value) : value]))
  const order = columns.some(({ isTime }) => isTime) && query.value.get("order") === "asc" ? { order: "asc" } : {}
  const read = (api: OperatorClient) => load(api, { limit: PAGE, ...order, ...fixed, ...queryOf(asked) } as never)
  const { isLoading, problem, reload, value } = useLoaded(
    `${path.value}?${key}#${version}${JSON.stringify(fixed)}`,
    (signal) => call(read, signal),
    events === undefined ? { every: 10 } : { events }
  )
  const startingAfter = query.value.get("starting_after")
  const chosen = asked.filter(([name]) => name !== "starting_after")
  const isFiltered = chosen.length > 0
  const tabs = filters.find(({ kind }) => kind === "tabs")
  const anyState = chosen.filter(([name]) => name !== tabs?.name)
  const states = useSum(sum, queryOf(anyState))
  const chosenState = useSum(anyState.length === chosen.length ? undefined : sum, queryOf(chosen))
  const next = value?.next ?? value?.data.at(-1)?.id

  return (
    <>
      <div class="head">
        <h1>{title}</h1>
        {typeof actions === "function" ? actions(value?.data ?? []) : actions}
        <span class="grow" />
        {file !== undefined && (
          <a
            class="button small"
            href={`/operator/v1${file}?${new URLSearchParams(Object.fromEntries(chosen))}`}
            download={`${title}.csv`}
            target="_self"
          >
            CSV
          </a>
        )}
        <Copy text={() => curlOf(read)} label={words().actions.curl} isWide />
      </div>
      {tabs !== undefined && <StateTabs of={tabs} sum={states} />}
      {children}
      <Filters filters={filters} />
      <Chips filters={filters} />
      {sum !== undefined && <Total of={anyState.length === chosen.length ? states : chosenState} note={note} />}
      {problem !== undefined && <Problem problem={problem} retry={reload} />}
      {value === undefined && problem === undefined && <Skeleton />}
      {value !== undefined && value.data.length === 0 && (
        <p class="quiet">
          {value.has_more ? text.lookedAt(value.looked_at ?? 0) : isFiltered ? text.none : empty}{" "}
          {isFiltered && (
            <a href={withQuery(Object.fromEntries(chosen.map(([name]) => [name, undefined])))}>{text.clear}</a>
          )}
        </p>
      )}
      {value !== undefined && value.data.length > 0 && (
        <section class="card" aria-busy={isLoading}>
          <Table columns={columns.map(ordered)} linkOf={linkOf} rows={value.data} />
        </section>
      )}
      {value !== undefined && (value.has_more || startingAfter !== null) && (
        <p class="paper">{text.onPaper(value.data.length)}</p>
      )}
      {value !== undefined && (value.has_more || startingAfter !== null) && (
        <div class="head">
          {startingAfter !== null && <a href={withQuery({})}>{text.first}</a>}
          <span class="grow" />
          {value.has_more && next !== undefined && (
            <a href={withQuery({ starting_after: next })}>{value.data.length === 0 ? text.lookOn : text.next}</a>
          )}
        </div>
      )}
    </>
  )
}

/** The head of the time turns the order of the list. */
const ordered = <A,>(column: Column<A>): Column<A> => {
  if (column.isTime !== true) return column
  const isAscending = query.value.get("order") === "asc"
  const href = withQuery({ order: isAscending ? undefined : "asc" })
  return { ...column, order: { href, now: isAscending ? "ascending" : "descending" } }
}

/** Count and sum of what filters leave, and of each of its states, as far as the server looks. */
const useSum = (
  read: Props<never>["sum"],
  asked: Readonly<Record<string, string | number>>
): Summary | CountSummary | undefined =>
  useLoaded<Summary | CountSummary | undefined>(
    `sum ${path.value} ${read !== undefined} ${JSON.stringify(asked)}`,
    async (signal) =>
      read === undefined ? { _tag: "Done", value: undefined } : call((api) => read(api, asked as never), signal),
    { every: 60 }
  ).value

/** How many rows there are, and their sum. */
const Total = ({ note, of }: { readonly note: ComponentChildren; readonly of: Summary | CountSummary | undefined }) => (
  <p class="quiet total" role="status">
    {of !== undefined && words().list.total(of.count, "amount" in of ? money(of.amount) : undefined, of.at_least)}
    {of !== undefined && note && <> · {note}</>}
  </p>
)

const arrows = { ascending: "↑", descending: "↓", none: "↕" }

/** Rows in columns; the row is a link where it has a page. */
export const Table = <A extends { readonly id: string }>({
  columns,
  linkOf,
  rows
}: {
  readonly columns: ReadonlyArray<Column<A>>
  readonly rows: ReadonlyArray<A>
  readonly linkOf?: ((row: A) => string | undefined) | undefined
}) => {
  const arrived = useArrived(rows)
  return (
    <table class={isStacked(columns) ? "stacked" : undefined}>
      <thead>
        <tr>
          {columns.map((column) => (
            <th scope="col" class={classOf(column)} aria-sort={column.order?.now} key={column.name}>
              {column.order === undefined ? (
                column.name
              ) : (
                <a href={column.order.href}>
                  {column.name} <span aria-hidden="true">{arrows[column.order.now ?? "none"]}</span>
                </a>
              )}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => {
          const link = linkOf?.(row)
          return (
            <tr key={row.id} class={arrived.has(row.id) ? "arrived" : undefined}>
              {columns.map((column, index) => (
                <td class={classOf(column)} key={column.name}>
                  {index === 0 && link !== undefined ? (
                    <a class="row" href={link}>
                      {column.cell(row)}
                    </a>
                  ) : (
                    column.cell(row)
                  )}
                </td>
              ))}
            </tr>
          )
        })}
      </tbody>
    </table>
  )
}

/** A phone has two lines for a row: what it is, and beside it the state above the time. A number in between needs its head. */
const isStacked = (columns: ReadonlyArray<Pick<Column<never>, "right" | "wide">>): boolean => {
  const shown = columns.filter(({ wide }) => wide !== true)
  return shown.length <= 3 && shown.at(-1)?.right === true && shown.slice(1, -1).every(({ right }) => right !== true)
}

/** The rows that came while the others were shown. */
const useArrived = (rows: ReadonlyArray<{ readonly id: string }>): ReadonlySet<string> => {
  const shown = useRef<ReadonlySet<string>>(new Set())
  const arrived = useRef<ReadonlySet<string>>(new Set())
  const ids = rows.map(({ id }) => id)
  if (ids.some((id) => !shown.current.has(id))) {
    // A list with other filters or of another page has other rows: none of them arrives.
    const isSameList = ids.some((id) => shown.current.has(id))
    arrived.current = new Set(isSameList ? ids.filter((id) => !shown.current.has(id)) : [])
    shown.current = new Set(ids)
  }
  return arrived.current
}

const classOf = ({ right, wide }: { readonly wide?: boolean; readonly right?: boolean }) =>
  [wide && "wide", right && "right"].filter(Boolean).join(" ") || undefined
