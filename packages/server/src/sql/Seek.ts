/**
 * A page of a list as a walk along an index, in words that no statistics can read in another way.
 *
 * A condition `account_id = $1 … ORDER BY id` may be answered by the primary key, with every other account's rows looked
 * at on the way, and is wherever the planner believes that there are few accounts. So what is equal is not said as an
 * equality: a page lies between two points of an index, `(account_id, status, id) >= (…)` and `< (…)`, in the order of
 * these columns, and no other index gives that order.
 *
 * Where a column before the id may have several values, each of them is a walk of its own: the newest row of each is
 * read, the pages of the newest are read, and merged. Values that nobody lists are stepped through in the index.
 *
 * Cost: rows of a page, times the values of such columns; never what lies beside them.
 */

/** A column of an index (or an expression, in the words of the index) and what is asked of it. */
export type Column =
  | { readonly sql: string; readonly type: Type; readonly is: unknown }
  | { readonly sql: string; readonly type: Type; readonly oneOf: ReadonlyArray<string> }
  | { readonly sql: string; readonly type: Type; readonly each: true }

type Type = "uuid" | "text" | "integer" | "bigint"

/** The column has this value. */
export const is = (sql: string, type: Type, value: unknown): Column => ({ sql, type, is: value })

/** The column has one of a few known values: words of this program, and nobody else's. */
export const oneOf = (sql: string, values: ReadonlyArray<string>): Column => ({ sql, type: "text", oneOf: values })

/** The column has some value: each that there is, of whatever number. */
export const everyValue = (sql: string, type: Type): Column => ({ sql, type, each: true })

/** A condition in SQL; `bind` gives the words for a parameter. */
export type Condition = (bind: Bind) => string

export type Bind = (value: unknown) => string

/** A column is equal to this. */
export const equals =
  (column: string, type: Type, value: unknown): Condition =>
  (bind) =>
    `${column} = ${bind(value)}::${type}`

/** The same of rows that another condition finds, in words that no index is read for. */
export const equalsUnindexed =
  (column: string, type: Type, value: unknown): Condition =>
  (bind) =>
    `${column} IS NOT DISTINCT FROM ${bind(value)}::${type}`

/** A way to rows of a list: along an index, or to the few rows that have a value that few rows share. */
export type AccessPath = IndexPath | { readonly selective: Condition }

/** A way along one index. */
export interface IndexPath {
  /** The columns of the index, up to the id, which is its last. */
  readonly columns: ReadonlyArray<Column>
  /** The predicate of the index where it is partial, in its words. */
  readonly predicate?: string | undefined
  /** The ids that a walk is bounded by, by the values of its columns: SQL of type uuid. */
  readonly from?: ((keys: ReadonlyArray<string>, bind: Bind) => string) | undefined
  readonly before?: ((keys: ReadonlyArray<string>, bind: Bind) => string) | undefined
  /** Which of the values are walked at all. */
  readonly only?: ((keys: ReadonlyArray<string>) => string) | undefined
}

export interface Seek {
  readonly table: string
  /** The name of a row in `columns`, `join` and the conditions; that of the table unless it is given. */
  readonly as?: string | undefined
  readonly columns: string
  /** What is joined to the rows of a page. */
  readonly join?: string | undefined
  /** Ways of which each row of the list is on one; without any, the primary key. */
  readonly paths?: ReadonlyArray<AccessPath> | undefined
  /** What is asked of a row beside where it lies: nothing of what the paths say, which an equality would undo. */
  readonly filters?: ReadonlyArray<Condition> | undefined
  /** The lowest id that may be in the list, and the one that all are below. */
  readonly from?: string | undefined
  readonly before?: string | undefined
}

export interface Statement {
  readonly text: string
  readonly parameters: ReadonlyArray<unknown>
}

/** The statement that reads up to `count` rows, newest first. */
export const pageStatement = (seek: Seek, count: number): Statement =>
  statement(seek, count, (context) => {
    const paths = seek.paths ?? [primaryKey]
    return paths
      .map((path) => `(${"selective" in path ? selective(context, path.selective) : walk(context, path)})`)
      .join(" UNION ALL ")
  })

/** The same for what is among the newest rows of the table, whatever they are; `conditions` say what is in the list. */
export const recentStatement = (seek: Seek, conditions: ReadonlyArray<Condition>, count: number): Statement =>
  statement(seek, count, (context) => {
    const asked = [...conditions.map((condition) => condition(context.bind)), ...context.filters]
    return `SELECT * FROM (${between(context, primaryKey, [], "*", RECENT)}) AS ${context.as}
      WHERE ${asked.join(" AND ")} ORDER BY id DESC LIMIT ${context.most}`
  })

/** How many rows count as the newest. */
export const RECENT = 1000

interface Context {
  readonly table: string
  readonly as: string
  readonly filters: ReadonlyArray<string>
  readonly from: string
  readonly before: string
  /** In the text: of a number that it is not told, the planner expects a tenth of the table. */
  readonly most: number
  readonly bind: Bind
}

const primaryKey: IndexPath = { columns: [] }

const statement = (seek: Seek, count: number, body: (context: Context) => string): Statement => {
  const parameters: Array<unknown> = []
  const bind = (value: unknown) => `$${parameters.push(value)}`
  const context: Context = {
    table: seek.table,
    as: seek.as ?? seek.table,
    filters: (seek.filters ?? []).map((filter) => filter(bind)),
    from: `${bind(seek.from ?? LOWEST)}::uuid`,
    before: `${bind(seek.before ?? HIGHEST)}::uuid`,
    // Two texts for each list, and not one for each size of a page.
    most: count <= USUAL ? USUAL : MOST,
    bind
  }
  const text = `SELECT ${seek.columns} FROM (${body(context)}) AS ${context.as} ${seek.join ?? ""}
    ORDER BY ${context.as}.id DESC LIMIT ${bind(count)}::integer`
  return { text, parameters }
}

const LOWEST = "00000000-0000-0000-0000-000000000000"
const HIGHEST = "ffffffff-ffff-ffff-ffff-ffffffffffff"
const USUAL = 21
const MOST = 101

/** Without an order or a limit, so that nothing but the condition chooses the index. */
const selective = ({ as, before, bind, filters, from, most, table }: Context, condition: Condition): string => `
  SELECT * FROM (
    WITH few AS MATERIALIZED (SELECT * FROM ${table} AS ${as} WHERE ${condition(bind)}) SELECT * FROM few
  ) AS ${as}
  WHERE ${[`id >= ${from}`, `id < ${before}`, ...filters].join(" AND ")} ORDER BY id DESC LIMIT ${most}`

/** One path: a walk, or the walks of its values merged. */
const walk = (context: Context, path: IndexPath): string => {
  const given = path.columns.map((column) =>
    "is" in column ? `${context.bind(column.is)}::${column.type}` : undefined
  )
  const varying = path.columns.flatMap((_, index) => (given[index] === undefined ? [index] : []))
  const { most } = context
  if (varying.length === 0) {
    const values = given.filter((value) => value !== undefined)
    const only = path.only === undefined ? [] : [path.only(values)]
    return between({ ...context, filters: [...only, ...context.filters] }, path, values, "*", most)
  }
  const keys = given.map((value, index) => value ?? `k${index}.v`)
  const best = given.map((value, index) => value ?? `best.v${index}`)
  const values = varying.map((index) => valuesOf(context, path, keys, index)).join(" CROSS JOIN LATERAL ")
  return `
    SELECT walked.* FROM (
      SELECT ${varying.map((index) => `k${index}.v AS v${index}`).join(", ")}, newest.id
      FROM ${values} CROSS JOIN LATERAL (${between(context, path, keys, "id", 1)}) newest
      ${path.only === undefined ? "" : `WHERE ${path.only(keys)}`}
      ORDER BY newest.id DESC LIMIT ${most}
    ) best CROSS JOIN LATERAL (${between(context, path, best, "*", most)}) walked`
}

/** Rows between two points of an index, the highest first. */
const between = (
  context: Context,
  path: IndexPath,
  keys: ReadonlyArray<string>,
  select: string,
  limit: number
): string => {
  const { as, bind, filters, table } = context
  const columns = path.columns.map(({ sql }) => sql)
  const from = path.from === undefined ? context.from : `greatest(${context.from}, ${path.from(keys, bind)})`
  const before = path.before === undefined ? context.before : `least(${context.before}, ${path.before(keys, bind)})`
  const conditions = [
    ...(path.predicate === undefined ? [] : [path.predicate]),
    `${row([...columns, "id"])} >= ${row([...keys, from])}`,
    `${row([...columns, "id"])} < ${row([...keys, before])}`,
    ...filters
  ]
  return `SELECT ${as}.${select} FROM ${table} AS ${as} WHERE ${conditions.join(" AND ")}
    ORDER BY ${[...columns, "id"].map((column) => `${column} DESC`).join(", ")} LIMIT ${limit}`
}

/** The values of a column, below those of the columns before it: a table `k<index>` with a column `v`. */
const valuesOf = (context: Context, path: IndexPath, keys: ReadonlyArray<string>, index: number): string => {
  const column = path.columns[index]!
  if ("oneOf" in column) {
    const values = column.oneOf.map((value) => `'${value}'`).join(", ")
    return `unnest(ARRAY[${values}]::${column.type}[]) AS k${index}(v)`
  }
  const above = path.columns.slice(0, index).map(({ sql }) => sql)
  const order = [...above, column.sql].join(", ")
  const predicate = path.predicate === undefined ? [] : [path.predicate]
  const fixed = keys.slice(0, index)
  const end = above.length === 0 ? [] : [`${row(above)} <= ${row(fixed)}`]
  const next = (conditions: ReadonlyArray<string>) => {
    const asked = [...predicate, ...conditions, ...end]
    return `SELECT ${column.sql} AS v FROM ${context.table} AS ${context.as}
      ${asked.length === 0 ? "" : `WHERE ${asked.join(" AND ")}`} ORDER BY ${order} LIMIT 1`
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
