/**
 * The filters of a list: tabs by state, a period, amounts, an account by its name, and what else its rows have. All of them are in
 * the address, as the operator interface names them.
 *
 * Guarantee: each filter that is on is a chip with its meaning in words, which removes it.
 */
import type { CountSummary } from "@pix-payments/api/operator/Fields"
import { formatInstant } from "@pix-payments/domain/Instant"
import { useSignal } from "@preact/signals"
import { centsOf, money } from "../format/Money.ts"
import { instantOf, localTime, moment, startOfDay } from "../format/Time.ts"
import { go, query, withQuery } from "../app/Router.ts"
import { inBoth, words } from "../words/Words.ts"
import { accountName, AccountOptions, useAccountNames } from "./AccountName.tsx"
import { stateName } from "./State.tsx"
import { now } from "./Time.tsx"

/** A filter of a list's query. */
export interface Filter {
  readonly name: string
  readonly label: string
  /**
   * `tabs` are states above the list, `period` the two ends of a time, `amount` the two ends of an amount; a text by default, or
   * one of the options. `quiet` filters come from links: they are chips only.
   */
  readonly kind?: "tabs" | "period" | "amount" | "account" | "quiet" | undefined
  readonly options?: ReadonlyArray<string>
  /** The word of an option or a value; by default that of a state. */
  readonly nameOf?: (option: string) => string
  /** The value of a word, where a person writes it. */
  readonly meaningOf?: (word: string) => string
  /** The word of no option; by default "all", of tabs and accounts in their gender. */
  readonly noneName?: string
  /** Beneath "More filters". */
  readonly isMore?: boolean
}

/** The parameters of the query that a filter sets. */
export const parametersOf = ({ kind, name }: Filter): ReadonlyArray<string> =>
  kind === "period" ? [`${name}_after`, `${name}_before`] : kind === "amount" ? [`${name}_min`, `${name}_max`] : [name]

export const Filters = ({ filters }: { readonly filters: ReadonlyArray<Filter> }) => {
  const text = filterWords()
  const problem = useSignal<string | undefined>(undefined)
  const isMoreOpen = useSignal(false)
  const isUnfolded = useSignal(false)
  const fields = filters.filter(({ kind }) => kind !== "tabs" && kind !== "quiet")
  const [first, more] = [fields.filter(({ isMore }) => isMore !== true), fields.filter(({ isMore }) => isMore === true)]
  const apply = (form: HTMLFormElement) => {
    const values = new FormData(form)
    const read = (name: string) => String(values.get(name) ?? "").trim()
    const changes: Record<string, string | undefined> = {}
    problem.value = undefined
    for (const filter of fields) {
      for (const parameter of parametersOf(filter)) {
        const written = read(parameter)
        const value = written === "" ? undefined : valueOf(filter, written)
        if (Number.isNaN(value)) problem.value = text.noAmount
        changes[parameter] = value === undefined ? undefined : String(value)
      }
    }
    if (problem.value === undefined) go(withQuery(changes))
  }
  if (fields.length === 0) return null
  return (
    <form
      role="search"
      class={isUnfolded.value ? "filters" : "filters folded"}
      key={query.value.toString()}
      onSubmit={(event) => {
        event.preventDefault()
        apply(event.currentTarget)
      }}
      onChange={(event) => {
        const target = event.target
        if (target instanceof HTMLSelectElement && target.name !== "") apply(event.currentTarget)
      }}
    >
      <button
        type="button"
        class="fold narrow"
        aria-expanded={isUnfolded.value}
        onClick={() => {
          isUnfolded.value = !isUnfolded.value
        }}
      >
        {text.fold}
      </button>
      {first.map((filter) => (
        <FilterField of={filter} key={filter.name} />
      ))}
      {more.length > 0 && (
        <details
          class="more"
          open={isMoreOpen.value}
          onToggle={(event) => {
            isMoreOpen.value = event.currentTarget.open
          }}
        >
          <summary>{text.more}</summary>
          <div class="filters">
            {more.map((filter) => (
              <FilterField of={filter} key={filter.name} />
            ))}
          </div>
        </details>
      )}
      <button type="submit">{words().list.filter}</button>
      {problem.value !== undefined && (
        <span class="chip bad" role="alert">
          {problem.value}
        </span>
      )}
    </form>
  )
}

/** The states of a list, as links above it, each with the number of its rows as far as the server has counted. */
export const StateTabs = ({
  of: { name, nameOf = stateName, noneName = words().list.all, options = [] },
  sum
}: {
  readonly of: Filter
  readonly sum: CountSummary | undefined
}) => {
  const present = query.value.get(name) ?? ""
  const counts = new Map(sum?.states.map(({ count, status }) => [status, count]))
  return (
    <nav class="tabs" aria-label={words().fields.status}>
      {["", ...options].map((option) => (
        <a
          href={withQuery({ [name]: option === "" ? undefined : option })}
          aria-current={present === option ? "page" : undefined}
          key={option}
        >
          {option === "" ? noneName : nameOf(option)}
          <TabCount of={option === "" ? sum?.count : counts.get(option)} isAtLeast={sum?.at_least === true} />
        </a>
      ))}
    </nav>
  )
}

/** None where there is no row, or none among those that were counted. */
const TabCount = ({ isAtLeast, of = 0 }: { readonly of: number | undefined; readonly isAtLeast: boolean }) =>
  of === 0 ? null : <span class="count"> {words().list.count(of, isAtLeast)}</span>

/** The filters that are on, each a link that removes it. */
export const Chips = ({ filters }: { readonly filters: ReadonlyArray<Filter> }) => {
  const names = useAccountNames()
  const text = filterWords()
  const on = filters.flatMap((filter) =>
    filter.kind === "tabs"
      ? []
      : parametersOf(filter).flatMap((parameter) => {
          const value = query.value.get(parameter)
          return value === null || value === "" ? [] : [{ filter, parameter, value }]
        })
  )
  if (on.length === 0) return null
  return (
    <ul class="chips" aria-label={text.on}>
      {on.map(({ filter, parameter, value }) => {
        const shown = filter.kind === "account" ? accountName(names, value) : shownOf(filter, parameter, value)
        return (
          <li key={parameter}>
            <a href={withQuery({ [parameter]: undefined })} title={text.remove}>
              <span>{filter.label}</span> {shown} <b aria-hidden="true">×</b>
            </a>
          </li>
        )
      })}
    </ul>
  )
}

const shownOf = ({ kind, nameOf, options }: Filter, parameter: string, value: string): string => {
  if (kind === "period") return `${parameter.endsWith("_after") ? "≥" : "<"} ${moment(value)}`
  if (kind === "amount") return `${parameter.endsWith("_min") ? "≥" : "≤"} ${money(Number(value))}`
  return nameOf !== undefined ? nameOf(value) : options === undefined ? value : stateName(value)
}

const valueOf = ({ kind, meaningOf }: Filter, written: string): string | number | undefined =>
  kind === "period" ? instantOf(written) : kind === "amount" ? centsOf(written) : (meaningOf?.(written) ?? written)

const FilterField = ({ of: filter }: { readonly of: Filter }) => {
  const { kind, label, name, nameOf = stateName, noneName = words().list.masculineAll, options } = filter
  switch (kind) {
    case "period":
      return <PeriodField of={filter} />
    case "amount":
      return (
        <fieldset class="inline">
          <legend class="unseen">{label}</legend>
          <label class="inline">
            {label}
            <input
              name={`${name}_min`}
              inputMode="decimal"
              size={9}
              placeholder="0,00"
              defaultValue={reais(`${name}_min`)}
            />
          </label>
          <label class="inline">
            {filterWords().to}
            <input
              name={`${name}_max`}
              inputMode="decimal"
              size={9}
              placeholder="0,00"
              defaultValue={reais(`${name}_max`)}
            />
          </label>
        </fieldset>
      )
    case "account":
      return <AccountField of={filter} />
    default:
      return (
        <label class="inline">
          {label}
          {options === undefined ? (
            <input name={name} defaultValue={writtenOf(filter)} />
          ) : (
            <select name={name}>
              <option value="">{noneName}</option>
              {options.map((option) => (
                <option value={option} selected={query.value.get(name) === option} key={option}>
                  {nameOf(option)}
                </option>
              ))}
            </select>
          )}
        </label>
      )
  }
}

/** What a person would write for the value of the address. */
const writtenOf = ({ meaningOf, name, nameOf }: Filter): string => {
  const value = query.value.get(name) ?? ""
  return meaningOf === undefined || nameOf === undefined ? value : nameOf(value)
}

const reais = (parameter: string): string => {
  const value = query.value.get(parameter)
  return value === null || value === "" ? "" : money(Number(value)).replace(/R\$\s*/, "")
}

/** Days of Brazil: a choice of them, or two instants. */
const PeriodField = ({ of: { label, name } }: { readonly of: Filter }) => {
  const text = filterWords()
  const [after, before] = [query.value.get(`${name}_after`), query.value.get(`${name}_before`)]
  const choices = periods(now.value)
  const present = Object.entries(choices).find(([, ends]) => ends[0] === after && ends[1] === before)?.[0]
  const isOwn = present === undefined && (after ?? before) !== null
  return (
    <fieldset class="inline">
      <legend class="unseen">{label}</legend>
      <label class="inline">
        {label}
        <select
          aria-label={label}
          onChange={(event) => {
            const [start, end] = choices[event.currentTarget.value as keyof typeof choices] ?? [undefined, undefined]
            go(withQuery({ [`${name}_after`]: start, [`${name}_before`]: end ?? undefined }))
          }}
        >
          <option value="">{text.always}</option>
          {Object.keys(choices).map((choice) => (
            <option value={choice} selected={choice === present} key={choice}>
              {text.periods[choice as keyof typeof text.periods]}
            </option>
          ))}
          {isOwn && (
            <option value="own" selected>
              {text.own}
            </option>
          )}
        </select>
      </label>
      <input
        type="datetime-local"
        name={`${name}_after`}
        aria-label={`${label}: ${text.from}`}
        defaultValue={after === null ? "" : localTime(Date.parse(after) + 1)}
      />
      <input
        type="datetime-local"
        name={`${name}_before`}
        aria-label={`${label}: ${text.to}`}
        defaultValue={before === null ? "" : localTime(Date.parse(before))}
      />
    </fieldset>
  )
}

/** The ends of each choice: the filter's `after` is before its first instant. */
const periods = (nowMs: number) => {
  const day = (offset: number) => formatInstant(startOfDay(nowMs, offset))
  const before = (offset: number) => formatInstant(startOfDay(nowMs, offset) - 1)
  const today = dayOfMonth(nowMs)
  const lastMonthDays = dayOfMonth(startOfDay(nowMs, -today))
  return {
    today: [before(0), null],
    yesterday: [before(-1), day(0)],
    week: [before(-6), null],
    month: [before(-29), null],
    thisMonth: [before(1 - today), null],
    lastMonth: [before(1 - today - lastMonthDays), day(1 - today)]
  } as const satisfies Record<string, readonly [string, string | null]>
}

const dayOfMonth = (ms: number): number => Number(localTime(ms).slice(8, 10))

const AccountField = ({ of: { label, name } }: { readonly of: Filter }) => (
  <label class="inline">
    {label}
    <select name={name}>
      <option value="">{words().list.all}</option>
      <AccountOptions chosen={query.value.get(name)} />
    </select>
  </label>
)

const filterWords = inBoth({
  en: {
    fold: "Filters",
    more: "More filters",
    on: "Filters that are on",
    remove: "Remove this filter",
    noAmount: "An amount in reais, as 12,34.",
    always: "always",
    own: "own",
    from: "from",
    to: "to",
    periods: {
      today: "today",
      yesterday: "yesterday",
      week: "last 7 days",
      month: "last 30 days",
      thisMonth: "this month",
      lastMonth: "last month"
    }
  },
  pt: {
    fold: "Filtros",
    more: "Mais filtros",
    on: "Filtros ligados",
    remove: "Tirar este filtro",
    noAmount: "Um valor em reais, como 12,34.",
    always: "sempre",
    own: "próprio",
    from: "de",
    to: "até",
    periods: {
      today: "hoje",
      yesterday: "ontem",
      week: "últimos 7 dias",
      month: "últimos 30 dias",
      thisMonth: "este mês",
      lastMonth: "mês passado"
    }
  }
})
