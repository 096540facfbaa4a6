/**
 * A table: one list of columns gives the select list, the row type, its codec, and the input rows of statements.
 */
import { columnName, type Columns, decoderOf, type InputOf, type Row, type RowOf } from "./Column.ts"
import { type Part, rows } from "./Statement.ts"

export interface Table<C extends Columns> {
  /** The select list, prefixed with `alias` where given. */
  readonly columns: (alias?: string) => string
  /** The names of the selected columns, in order. */
  readonly selected: ReadonlyArray<string>
  /** A select list of nulls, as long as that of its columns. */
  readonly nulls: string
  /** Decodes a selected row. */
  readonly decode: (row: Row) => RowOf<C>
  /** A subquery with rows of some of its columns and of `extra` columns: a part of a statement. */
  readonly rows: <const Fields extends ReadonlyArray<keyof C & string>, const Extra extends Columns = {}>(
    fields: Fields,
    extra?: Extra
  ) => Part<ReadonlyArray<InputOf<Pick<C, Fields[number]> & Extra>>, string>
  /** All fields, in order. */
  readonly fields: ReadonlyArray<keyof C & string>
  /** All other fields, in order. */
  readonly fieldsExcept: <const Field extends keyof C & string>(
    ...fields: ReadonlyArray<Field>
  ) => ReadonlyArray<Exclude<keyof C & string, Field>>
  /** The column names of some fields, separated by commas. */
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
    selected,
    nulls: selected.map(() => "NULL").join(", "),
    decode: decoderOf(columns),
    rows: <const Fields extends ReadonlyArray<keyof C & string>, const Extra extends Columns = {}>(
      fields: Fields,
      extra?: Extra
    ) =>
      rows({
        ...(Object.fromEntries(fields.map((field) => [field, columns[field]!])) as Pick<C, Fields[number]>),
        ...(extra as Extra)
      }),
    fields: Object.keys(columns),
    fieldsExcept: <const Field extends keyof C & string>(...fields: ReadonlyArray<Field>) => {
      const excepted: ReadonlyArray<string> = fields
      return Object.keys(columns).filter(
        (field): field is Exclude<keyof C & string, Field> => !excepted.includes(field)
      )
    },
    names: (fields) => fields.map(nameOf).join(", ")
  }
}
