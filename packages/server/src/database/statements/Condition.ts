/** Conditions on a column of a list, as SQL with placeholders. */

/** A condition in SQL. `bind` returns the placeholder of a parameter. */
export type Condition = (bind: Bind) => string

export type Bind = (value: unknown) => string

/** A type of PostgreSQL, by its name. */
export type Type = "uuid" | "text" | "integer" | "bigint"

/** The column equals the value. */
export const equals =
  (column: string, type: Type, value: unknown): Condition =>
  (bind) =>
    `${column} = ${bind(value)}::${type}`

/** The same condition, spelled so that no index serves it: for rows that another condition finds. */
export const equalsUnindexed =
  (column: string, type: Type, value: unknown): Condition =>
  (bind) =>
    `${column} IS NOT DISTINCT FROM ${bind(value)}::${type}`

/** The column is between two values, which are among them or not; undefined for no bound. */
export const between = (
  column: string,
  type: "bigint" | "timestamptz",
  [low, high]: readonly [unknown, unknown],
  isInclusive: boolean
): ReadonlyArray<Condition> => {
  const than = (operator: string, value: unknown): ReadonlyArray<Condition> =>
    value === undefined ? [] : [(bind) => `${column} ${operator}${isInclusive ? "=" : ""} ${bind(value)}::${type}`]
  return [...than(">", low), ...than("<", high)]
}

/** The column is one of these ids. */
export const isOneOf =
  (column: string, ids: ReadonlyArray<string>): Condition =>
  (bind) =>
    `${column} = ANY (${bind(idArray(ids))}::uuid[])`

/** The column is one of these ids, spelled so that no index serves it. */
export const isAmong =
  (column: string, ids: ReadonlyArray<string>): Condition =>
  (bind) =>
    `${bind(idArray(ids))}::uuid[] @> ARRAY[${column}]`

/** The text of an array of ids. */
export const idArray = (ids: ReadonlyArray<string>): string => `{${ids.join(",")}}`
