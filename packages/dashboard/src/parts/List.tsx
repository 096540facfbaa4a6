/**
 * A list of resources: filters in the address, pages by key, a row that is a link.
 *
 * Guarantee: the last data stays while new data comes.
 */
import type { ComponentChildren } from "preact"
import { useRef } from "preact/hooks"
import type * as Effect from "effect/Effect"
import { call, type OperatorClient } from "../app/Client.ts"
import { curlOf } from "../app/Curl.ts"
import { useLoaded } from "../app/Loaded.ts"
import { go, path, query, withQuery } from "../app/Router.ts"
import { Copy } from "./Copy.tsx"
import { stateName } from "./State.tsx"
import { words } from "../words/Words.ts"
import { Problem } from "./Problem.tsx"

const PAGE = 50

export interface Column<A> {
  readonly name: string
  readonly cell: (row: A) => ComponentChildren
  /** Left out on narrow screens. */
  readonly wide?: boolean
  readonly right?: boolean
}

/** A parameter of the list's query: a text, or one of these states. */
interface Filter {
  readonly name: string
  readonly label: string
  readonly options?: ReadonlyArray<string>
  /** The word of an option; by default that of a state. */
  readonly nameOf?: (option: string) => string
}

/** The answer of every list. */
export interface ListOf<A> {
  readonly data: ReadonlyArray<A>
  readonly has_more: boolean
}

interface Props<A> {
  readonly title: string
  /** What would be here, and what leads to it. */
  readonly empty: ComponentChildren
  readonly columns: ReadonlyArray<Column<A>>
  readonly filters?: ReadonlyArray<Filter>
  /** The page of a row. The first cell is the link. */
  readonly linkOf?: (row: A) => string
  readonly actions?: ComponentChildren | ((rows: ReadonlyArray<A>) => ComponentChildren)
  /** The query comes from the address, and the server checks it. So it is of every type. */
  readonly load: (api: OperatorClient, query: never) => Effect.Effect<ListOf<A>, unknown>
  /** Changes where the rows must be loaded again. */
  readonly version?: number
  /** The events that change the rows; without them the list polls. */
  readonly events?: ReadonlyArray<string>
}

export const List = <A extends { readonly id: string }>(props: Props<A>) => {
  const { actions, columns, empty, events, filters = [], linkOf, load, title, version = 0 } = props
  const text = words().list
  const key = query.value.toString()
  const names = [...filters.map(({ name }) => name), "starting_after"]
  const asked = names.flatMap((name) => {
    const value = query.value.get(name)
    return value === null || value === "" ? [] : [[name, value] as const]
  })
  const read = (api: OperatorClient) => load(api, { limit: PAGE, ...Object.fromEntries(asked) } as never)
  const { isLoading, problem, reload, value } = useLoaded(
    `${path.value}?${key}#${version}`,
    (signal) => call(read, signal),
    events === undefined ? { every: 10 } : { events }
  )
  const startingAfter = query.value.get("starting_after")
  const isFiltered = asked.some(([name]) => name !== "starting_after")

  return (
    <>
      <div class="head">
        <h1>{title}</h1>
        {typeof actions === "function" ? actions(value?.data ?? []) : actions}
        <Copy text={() => curlOf(read)} label={words().actions.curl} />
        <span class="grow" />
        {filters.length > 0 && <Filters filters={filters} key={key} />}
      </div>
      {problem !== undefined && <Problem problem={problem} retry={reload} />}
      {value !== undefined && value.data.length === 0 && (
        <p class="quiet">
          {isFiltered ? text.none : empty} {isFiltered && <a href={path.value}>{text.clear}</a>}
        </p>
      )}
      {value !== undefined && value.data.length > 0 && (
        <section class="card" aria-busy={isLoading}>
          <Table columns={columns} linkOf={linkOf} rows={value.data} />
        </section>
      )}
      {value !== undefined && (value.has_more || startingAfter !== null) && (
        <div class="head">
          {startingAfter !== null && <a href={withQuery({})}>{text.first}</a>}
          <span class="grow" />
          {value.has_more && <a href={withQuery({ starting_after: value.data.at(-1)!.id })}>{text.next}</a>}
        </div>
      )}
    </>
  )
}

/** Rows in columns; the row is a link where it has a page. */
export const Table = <A extends { readonly id: string }>({
  columns,
  linkOf,
  rows
}: {
  readonly columns: ReadonlyArray<Column<A>>
  readonly rows: ReadonlyArray<A>
  readonly linkOf?: ((row: A) => string) | undefined
}) => {
  const arrived = useArrived(rows)
  return (
    <table>
      <thead>
        <tr>
          {columns.map((column) => (
            <th scope="col" class={classOf(column)} key={column.name}>
              {column.name}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={row.id} class={arrived.has(row.id) ? "arrived" : undefined}>
            {columns.map((column, index) => (
              <td class={classOf(column)} key={column.name}>
                {index === 0 && linkOf !== undefined ? (
                  <a class="row" href={linkOf(row)}>
                    {column.cell(row)}
                  </a>
                ) : (
                  column.cell(row)
                )}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  )
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

const Filters = ({ filters }: { readonly filters: ReadonlyArray<Filter> }) => {
  const apply = (form: HTMLFormElement) => {
    const values = new FormData(form)
    go(withQuery(Object.fromEntries(filters.map(({ name }) => [name, String(values.get(name) ?? "").trim()]))))
  }
  return (
    <form
      role="search"
      class="head"
      onSubmit={(event) => {
        event.preventDefault()
        apply(event.currentTarget)
      }}
    >
      {filters.map(({ label, name, nameOf = stateName, options }) => (
        <label class="inline" key={name}>
          {label}
          {options === undefined ? (
            <input name={name} defaultValue={query.value.get(name) ?? ""} />
          ) : (
            <select name={name} onChange={(event) => apply(event.currentTarget.form!)}>
              <option value="">{words().list.all}</option>
              {options.map((option) => (
                <option value={option} selected={query.value.get(name) === option} key={option}>
                  {nameOf(option)}
                </option>
              ))}
            </select>
          )}
        </label>
      ))}
      {filters.some(({ options }) => options === undefined) && <button type="submit">{words().list.filter}</button>}
    </form>
  )
}
