/**
 * Keyset pagination: a page is read as a range of one index.
 *
 * Guarantees:
 * - A page reads the rows of the page, times the values of the columns before the id that have more than one.
 * - Statistics cannot make the planner choose another index.
 *
 * Why no equality: `account_id = $1 … ORDER BY id` may be answered by the primary key, past every other account's rows,
 * and is where the planner expects few accounts. So a page is the range between two keys of an index,
 * `(account_id, status, id) >= (…)` and `< (…)`, in the order of its columns. No other index gives that order.
 *
 * A column before the id may have several values. Each of them is a range. The newest row of each range is read first,
 * then the pages of the newest ranges, which are merged. Values that are not listed are read by skipping through the index.
 *
 * Why: docs/decisions/0013-lists-walk-an-index.md.
 */

import { NIL_UUID } from "@pix-payments/domain/Uuid"
import { type Bind, type Condition, idArray, type Type } from "./Condition.ts"

/** A column of an index (or its expression, spelled as in the index) and its values. */
export type Column =
  | { readonly sql: string; readonly type: Type; readonly is: unknown }
  | { readonly sql: string; readonly type: Type; readonly oneOf: ReadonlyArray<string> }
  | { readonly sql: string; readonly type: Type; readonly in: Condition }
  | { readonly sql: string; readonly type: Type; readonly each: true }

/** The column has this value. */
export const is = (sql: string, type: Type, value: unknown): Column => ({ sql, type, is: value })

/** The column has one of these values. They are written into the SQL: constants of this program only. */
export const oneOf = (sql: string, values: ReadonlyArray<string>): Column => ({ sql, type: "text", oneOf: values })

/** The column has one of the values of a subquery with one column. */
export const inSubquery = (sql: string, type: Type, subquery: Condition): Column => ({ sql, type, in: subquery })

/** The column has one of these ids. */
export const oneOfIds = (sql: string, ids: ReadonlyArray<string>): Column =>
  inSubquery(sql, "uuid", (bind) => `SELECT DISTINCT unnest(${bind(idArray(ids))}::uuid[])`)

/** The column has any value. Each value that occurs is a range. */
export const everyValue = (sql: string, type: Type): Column => ({ sql, type, each: true })

/** How rows are found: a range of an index, or a condition that few rows of the table meet. */
export type AccessPath = IndexPath | SelectivePath

export interface SelectivePath {
  readonly selective: Condition
  /** Rows of the table under its alias, read in the order of the joins that are written; by default the table. */
  readonly source?: string | undefined
  /** How many rows are read where others decide how many there are. Which ones is not defined; rows beyond are not listed. */
  readonly most?: number | undefined
}

/** Ranges of one index. */
export interface IndexPath {
  /** The columns of the index before the id, which is its last column. */
  readonly columns: ReadonlyArray<Column>
  /** The index is of another table, which has the id of a row in a column of this name. By default it is of the list's. */
  readonly through?: { readonly table: string; readonly id: string } | undefined
  /** The predicate of a partial index, spelled as in the index. */
  readonly predicate?: string | undefined
  /** Bounds of the ids in a range, given the values of its columns: SQL of type uuid. */
  readonly from?: ((keys: ReadonlyArray<string>, bind: Bind) => string) | undefined
  readonly before?: ((keys: ReadonlyArray<string>, bind: Bind) => string) | undefined
  /** A condition on the values of a range: other ranges are not read. */
  readonly only?: ((keys: ReadonlyArray<string>) => string) | undefined
}

export interface Seek {
  readonly table: string
  /** The alias of the table in `columns`, `join` and the conditions; by default the name of the table. */
  readonly as?: string | undefined
  readonly columns: string
  /** A join to the rows of a page. */
  readonly join?: string | undefined
  /** Each row of the list is on one of these; by default the primary key. */
  readonly paths?: ReadonlyArray<AccessPath> | undefined
  /** A row may be on several paths. */
  readonly overlaps?: boolean | undefined
  /** Further conditions. None repeats a condition of a path: an equality would change its plan. */
  readonly filters?: ReadonlyArray<Condition> | undefined
  /** Ids of the list are at least `from` and below `before`. */
  readonly from?: string | undefined
  readonly before?: string | undefined
  /** Oldest first: the same ranges, from their other end. */
  readonly isAscending?: boolean | undefined
}

/**
 * A list whose conditions no index serves: rows are looked at in the order of an index, a bounded number of them in a
 * statement, and those that meet the conditions are found.
 */
export interface Walk extends Pick<Seek, "table" | "as" | "columns" | "join" | "from" | "before" | "isAscending"> {
  /** The ranges that have all rows of the list; by default the primary key. */
  readonly paths?: ReadonlyArray<AccessPath> | undefined
  /** A row may be in several ranges. */
  readonly overlaps?: boolean | undefined
  /** What the rows of the list meet. */
  readonly conditions: ReadonlyArray<Condition>
}

export interface Statement {
  readonly text: string
  readonly parameters: ReadonlyArray<unknown>
}

/** The statement that reads up to `count` rows, newest first, or oldest first. */
export const pageStatement = (seek: Seek, count: number): Statement =>
  statement(seek, count, (context) => {
    const paths = seek.paths ?? [primaryKey]
    const rows = paths
      .map((path) => `(${"selective" in path ? selective(context, path) : ranges(context, path)})`)
      .join(" UNION ALL ")
    return seek.overlaps === true
      ? `SELECT DISTINCT ON (id) * FROM (${rows}) AS found ORDER BY id ${context.order}`
      : rows
  })

/** Reads the rows that meet `conditions` among the newest rows of the table, or the oldest. */
export const recentStatement = (seek: Seek, conditions: ReadonlyArray<Condition>, count: number): Statement =>
  statement(seek, count, (context) => {
    const filters = [...conditions.map((condition) => condition(context.bind)), ...context.filters]
    return `SELECT * FROM (${range(context, primaryKey, [], "*", RECENT)}) AS ${context.as}
      WHERE ${filters.join(" AND ")} ORDER BY id ${context.order} LIMIT ${context.limit}`
  })

/** How many rows of a range a walk looks at, of one range or each of several: a first look fills the usual page. */
const WALKED = { first: { alone: 500, each: 100 }, further: { alone: 5000, each: 1000 } } as const

type Look = keyof typeof WALKED

/**
 * The CTEs of a walk. `walked` has the rows that were looked at, with further `columns`, `horizon` the id up to which, in the order of
 * the list, no row was left out: that of a range which had more rows. It is empty where the walk came to its end.
 */
const walk = (context: Context, { conditions, paths = [primaryKey] }: Walk, look: Look, columns?: string): string => {
  const isAlone = paths.every((path) => "columns" in path && path.columns.every((column) => "is" in column))
  const limit = WALKED[look][isAlone ? "alone" : "each"]
  const matches = ["true", ...conditions.map((condition) => condition(context.bind))].join(" AND ")
  const walked = (rows: string, nth: string) =>
    `SELECT ${context.as}.id, (${matches}) IS TRUE AS matches, ${nth} AS nth${columns === undefined ? "" : `, ${columns}`}
      FROM (${rows}) AS ${context.as}`
  const rows = paths.map((path) =>
    "selective" in path
      ? walked(selective(context, path), "0")
      : // The rows of a range come in the order of its index.
        everyRange(context, path, (keys) => walked(range(context, path, keys, "*", limit), "row_number() OVER ()"))
  )
  return `walked AS MATERIALIZED (${rows.map((each) => `(${each})`).join(" UNION ALL ")}),
    horizon AS MATERIALIZED (SELECT id FROM walked WHERE nth = ${limit} ORDER BY id ${context.order} LIMIT 1),
    looked AS MATERIALIZED (SELECT * FROM walked WHERE ${
      context.order === "ASC"
        ? `id <= coalesce((SELECT id FROM horizon), '${HIGHEST}')`
        : `id >= coalesce((SELECT id FROM horizon), '${LOWEST}')`
    })`
}

/** Of the rows that a walk looks at, up to `count` that meet the conditions, in the order of the list, each with `horizon` and `looked_at`. */
export const walkStatement = (list: Walk, count: number, look: Look): Statement =>
  parameterised(list, count, (context) => {
    const { as, limit, order, table } = context
    const distinct = list.overlaps === true ? "DISTINCT ON (id)" : ""
    return `WITH ${walk(context, list, look)},
    page AS (
      SELECT ${list.columns} FROM (SELECT ${distinct} id FROM looked WHERE matches ORDER BY id ${order} LIMIT ${limit}) found
      CROSS JOIN LATERAL (SELECT * FROM ${table} WHERE id = found.id OFFSET 0) AS ${as} ${list.join ?? ""}
    )
    SELECT page.*, (SELECT id FROM horizon) AS walk_horizon, (SELECT count(*)::integer FROM looked) AS walk_looked_at
    FROM (SELECT) AS once LEFT JOIN page ON true ORDER BY page.id ${order} LIMIT ${context.bind(count)}::integer`
  })

/** What a list is counted by: the state of a row and its amount, as SQL. */
export interface Counted {
  readonly state: Condition
  readonly amount?: string | undefined
}

/**
 * Counts and sums, state by state, the rows that a walk looks at and that meet the conditions, each with `walk_horizon` and
 * `walk_looked_at`. Without such rows the state is null.
 */
export const sumStatement = (list: Walk, { amount = "0::bigint", state }: Counted): Statement =>
  parameterised(list, 1, (context) => {
    const distinct = list.overlaps === true ? "DISTINCT ON (id)" : ""
    const counted = `${state(context.bind)} AS state, ${amount} AS cents`
    return `WITH ${walk(context, list, "further", counted)},
    states AS (
      SELECT state, count(*)::integer AS count, sum(cents)::bigint AS amount
      FROM (SELECT ${distinct} state, cents FROM looked WHERE matches) each GROUP BY state
    )
    SELECT states.*, (SELECT id FROM horizon) AS walk_horizon, (SELECT count(*)::integer FROM looked) AS walk_looked_at
    FROM (SELECT) AS once LEFT JOIN states ON true`
  })

/** The rows between two keys of an index, `(…keys, from)` and `(…keys, before)`, by default highest first. All values are SQL. */
export const rangeStatement = (range: {
  readonly table: string
  readonly select: string
  /** The columns of the index before the id, which is its last column. */
  readonly columns: ReadonlyArray<string>
  readonly id?: string
  readonly keys: ReadonlyArray<string>
  readonly from: string
  readonly before: string
  readonly conditions?: ReadonlyArray<string>
  readonly limit: number
  readonly order?: Order
}): string => {
  const { before, columns, conditions = [], from, id = "id", keys, limit, order = "DESC", select, table } = range
  const all = [
    `${row([...columns, id])} >= ${row([...keys, from])}`,
    `${row([...columns, id])} < ${row([...keys, before])}`,
    ...conditions
  ]
  return `SELECT ${select} FROM ${table} WHERE ${all.join(" AND ")}
    ORDER BY ${[...columns, id].map((column) => `${column} ${order}`).join(", ")} LIMIT ${limit}`
}

/** How many rows are the newest. */
export const RECENT = 1000

type Order = "ASC" | "DESC"

interface Context {
  readonly table: string
  readonly as: string
  readonly filters: ReadonlyArray<string>
  readonly from: string
  readonly before: string
  /** A literal in the text: without it the planner expects a tenth of the table. */
  readonly limit: number
  readonly order: Order
  readonly bind: Bind
}

const primaryKey: IndexPath = { columns: [] }

const statement = (seek: Seek, count: number, body: (context: Context) => string): Statement =>
  parameterised(
    seek,
    count,
    (context) => `SELECT ${seek.columns} FROM (${body(context)}) AS ${context.as} ${seek.join ?? ""}
    ORDER BY ${context.as}.id ${context.order} LIMIT ${context.bind(count)}::integer`
  )

const parameterised = (
  seek: Pick<Seek, "table" | "as" | "filters" | "from" | "before" | "isAscending">,
  count: number,
  text: (context: Context) => string
): Statement => {
  const parameters: Array<unknown> = []
  const bind = (value: unknown) => `$${parameters.push(value)}`
  const context: Context = {
    table: seek.table,
    as: seek.as ?? seek.table,
    filters: (seek.filters ?? []).map((filter) => filter(bind)),
    from: `${bind(seek.from ?? LOWEST)}::uuid`,
    before: `${bind(seek.before ?? HIGHEST)}::uuid`,
    // Two limits, so that a list has two prepared statements and not one for each page size.
    limit: count <= DEFAULT_LIMIT ? DEFAULT_LIMIT : MAX_LIMIT,
    order: seek.isAscending === true ? "ASC" : "DESC",
    bind
  }
  return { text: text(context), parameters }
}

/** Ids of every list are at least the first and below the second. */
export const LOWEST = NIL_UUID
export const HIGHEST = "ffffffff-ffff-ffff-ffff-ffffffffffff"
// One more than the default and the maximum page size.
export const DEFAULT_LIMIT = 21
export const MAX_LIMIT = 101

/** Without order and limit in the CTE, so that only the condition chooses the index. It is read as far as the limit after it. */
const selective = (
  { as, before, bind, filters, from, limit, order, table }: Context,
  { most, selective: condition, source = `${table} AS ${as}` }: SelectivePath
): string => `
  SELECT * FROM (
    WITH few AS MATERIALIZED (SELECT ${as}.* FROM ${source} WHERE ${condition(bind)})
    SELECT * FROM few ${most === undefined ? "" : `LIMIT ${most}`}
  ) AS ${as}
  WHERE ${[`id >= ${from}`, `id < ${before}`, ...filters].join(" AND ")} ORDER BY id ${order} LIMIT ${limit}`

/** The rows of each range of a path, by the values of its columns. */
const everyRange = (context: Context, path: IndexPath, rowsOf: (keys: ReadonlyArray<string>) => string): string => {
  const keys = path.columns.map((column, index) =>
    "is" in column ? `${context.bind(column.is)}::${column.type}` : `k${index}.v`
  )
  const values = path.columns.flatMap((column, index) => ("is" in column ? [] : [valuesOf(context, path, keys, index)]))
  return values.length === 0
    ? rowsOf(keys)
    : `SELECT walked.* FROM ${values.join(" CROSS JOIN LATERAL ")} CROSS JOIN LATERAL (${rowsOf(keys)}) walked`
}

/** One range, or the ranges of several values merged. */
const ranges = (context: Context, path: IndexPath): string => {
  const given = path.columns.map((column) =>
    "is" in column ? `${context.bind(column.is)}::${column.type}` : undefined
  )
  const varying = path.columns.flatMap((_, index) => (given[index] === undefined ? [index] : []))
  const { limit } = context
  if (varying.length === 0) {
    const values = given.filter((value) => value !== undefined)
    const only = path.only === undefined ? [] : [path.only(values)]
    const all = { ...context, filters: [...only, ...context.filters] }
    return range(all, path, values, "*", limit)
  }
  const keys = given.map((value, index) => value ?? `k${index}.v`)
  const best = given.map((value, index) => value ?? `best.v${index}`)
  const values = varying.map((index) => valuesOf(context, path, keys, index)).join(" CROSS JOIN LATERAL ")
  return `
    SELECT walked.* FROM (
      SELECT ${varying.map((index) => `k${index}.v AS v${index}`).join(", ")}, newest.id
      FROM ${values} CROSS JOIN LATERAL (${range(context, path, keys, "id", 1)}) newest
      ${path.only === undefined ? "" : `WHERE ${path.only(keys)}`}
      ORDER BY newest.id ${context.order} LIMIT ${limit}
    ) best CROSS JOIN LATERAL (${range(context, path, best, "*", limit)}) walked`
}

/** The rows of a range, in the order of the list. */
const range = (
  context: Context,
  path: IndexPath,
  keys: ReadonlyArray<string>,
  select: string,
  limit: number
): string => {
  const { as, bind, filters, order, table } = context
  const from = path.from === undefined ? context.from : `greatest(${context.from}, ${path.from(keys, bind)})`
  const before = path.before === undefined ? context.before : `least(${context.before}, ${path.before(keys, bind)})`
  const columns = path.columns.map(({ sql }) => sql)
  const conditions = [...(path.predicate === undefined ? [] : [path.predicate]), ...filters]
  if (path.through !== undefined) {
    // Its columns have other names, because filters name those of the list's table.
    const names = columns.map((_, index) => `i${index}`)
    const entries = `(
      SELECT ${columns.map((column, index) => `${column} AS ${names[index]}, `).join("")}${path.through.id} AS entry
      FROM ${path.through.table} ${path.predicate === undefined ? "" : `WHERE ${path.predicate}`}
    ) entries`
    return rangeStatement({
      // OFFSET 0: each row is looked up by its id, in the order of the index.
      table: `${entries} CROSS JOIN LATERAL (SELECT * FROM ${table} WHERE id = entries.entry OFFSET 0) AS ${as}`,
      select: `${as}.${select}`,
      columns: names,
      id: "entry",
      keys,
      from,
      before,
      conditions: filters,
      limit,
      order
    })
  }
  return rangeStatement({
    table: `${table} AS ${as}`,
    select: `${as}.${select}`,
    columns,
    keys,
    from,
    before,
    conditions,
    limit,
    order
  })
}

/** The values of a column, given those of the columns before it: a table `k<index>` with a column `v`. */
const valuesOf = (context: Context, path: IndexPath, keys: ReadonlyArray<string>, index: number): string => {
  const column = path.columns[index]!
  if ("oneOf" in column) {
    const values = column.oneOf.map((value) => `'${value}'`).join(", ")
    return `unnest(ARRAY[${values}]::${column.type}[]) AS k${index}(v)`
  }
  if ("in" in column) return `(${column.in(context.bind)}) AS k${index}(v)`
  const above = path.columns.slice(0, index).map(({ sql }) => sql)
  const order = [...above, column.sql].join(", ")
  const predicate = path.predicate === undefined ? [] : [path.predicate]
  const fixed = keys.slice(0, index)
  const end = above.length === 0 ? [] : [`${row(above)} <= ${row(fixed)}`]
  const next = (conditions: ReadonlyArray<string>) => {
    const all = [...predicate, ...conditions, ...end]
    return `SELECT ${column.sql} AS v FROM ${path.through?.table ?? context.table} AS ${context.as}
      ${all.length === 0 ? "" : `WHERE ${all.join(" AND ")}`} ORDER BY ${order} LIMIT 1`
  }
  return `(
    WITH RECURSIVE steps AS (
      (${next(above.length === 0 ? [] : [`${row(above)} >= ${row(fixed)}`])})
      UNION ALL
      SELECT (${next([`${row([...above, column.sql])} > ${row([...fixed, "s.v"])}`])})
      FROM steps s WHERE s.v IS NOT NULL
    )
    SELECT v FROM steps WHERE v IS NOT NULL
  ) AS k${index}`
}

const row = (values: ReadonlyArray<string>): string => `(${values.join(", ")})`
