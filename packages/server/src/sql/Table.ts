/**
 * A table's columns, listed once: the select list, the type and the codec of its rows, and the rows that statements take
 * are made of this list.
 */
import { columnName, type Columns, decoderOf, type InputOf, type Row, type RowOf } from "./Column.ts"
import { type Part, rows } from "./Statement.ts"

export interface Table<C extends Columns> {
  /** The select list; with the table's alias where one is given. */
  readonly columns: (alias?: string) => string
  /** A row that a statement selected. */
  readonly decode: (row: Row) => RowOf<C>
  /** Rows of some of its columns, with further columns beside them: a part of a statement. */
  readonly rows: <const Fields extends ReadonlyArray<keyof C & string>, const Beside extends Columns = {}>(
    fields: Fields,
    beside?: Beside
  ) => Part<ReadonlyArray<InputOf<Pick<C, Fields[number]> & Beside>>, string>
  /** All of its fields, in order. */
  readonly fields: ReadonlyArray<keyof C & string>
  /** The names of some of its columns, as a list. */
  readonly names: (fields: ReadonlyArray<keyof C & string>) => string
}

/** The row of a table. */
export type Stored<T> = T extends Table<infer C> ? RowOf<C> : never

export const table = <const C extends Columns>(columns: C): Table<C> => {
  const entries = Object.entries(columns).map(([field, column]) => ({ field, column, name: columnName(field, column) }))
  const nameOf = (field: string) => columnName(field, columns[field]!)
  const selected = [
    ...new Set(entries.flatMap(({ column: { beside }, name }) => (beside === undefined ? [name] : [name, beside])))
  ]
  return {
    columns: (alias) => selected.map((name) => (alias === undefined ? name : `${alias}.${name}`)).join(", "),
    decode: decoderOf(columns),
    rows: <const Fields extends ReadonlyArray<keyof C & string>, const Beside extends Columns = {}>(
      fields: Fields,
      beside?: Beside
    ) =>
      rows({
        ...(Object.fromEntries(fields.map((field) => [field, columns[field]!])) as Pick<C, Fields[number]>),
        ...(beside as Beside)
      }),
    fields: Object.keys(columns),
    names: (fields) => fields.map(nameOf).join(", ")
  }
}
