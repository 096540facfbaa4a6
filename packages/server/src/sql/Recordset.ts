/**
 * Many rows as parameters of one statement: an array of texts for each column, cast where it arrives.
 *
 * Measured at 256 connections: a third less work for PostgreSQL than `json_to_recordset` over the same rows, which
 * parses names and quotes for every row anew.
 */
import * as PgTypes from "@effect/sql-pg/PgTypes"
import * as Result from "effect/Result"

type Value = string | number | null | undefined

export interface Recordset<Column extends string> {
  /** A subquery of the rows; its parameters are numbered from `first`. */
  readonly from: (first: number) => string
  /** How many parameters it takes. */
  readonly width: number
  readonly parameters: (rows: ReadonlyArray<Readonly<Partial<Record<Column, Value>>>>) => ReadonlyArray<unknown>
}

/** Rows of these columns, each with its SQL type. */
export const recordset = <const Column extends string>(
  columns: Readonly<Record<Column, string>>
): Recordset<Column> => {
  const names = Object.keys(columns).filter((name): name is Column => name in columns)
  const casts = names
    .map((name) => (columns[name] === "text" ? name : `${name}::${columns[name]} AS ${name}`))
    .join(", ")
  return {
    width: names.length,
    from: (first) => {
      const arrays = names.map((_, index) => `$${first + index}::text[]`).join(", ")
      return `(SELECT ${casts} FROM unnest(${arrays}) AS t(${names.join(", ")}))`
    },
    parameters: (rows) =>
      names.map((name) =>
        Result.getOrThrow(
          PgTypes.array(
            rows.map((row) => {
              const value = row[name]
              return value === undefined || value === null ? null : String(value)
            }),
            TEXT_OID
          )
        )
      )
  }
}

/** A list as the text of an SQL array: for names without quotes, commas or braces. */
export const arrayText = (names: ReadonlyArray<string>): string => `{${names.join(",")}}`

const TEXT_OID = 25
