/**
 * Many rows as parameters of one statement: an array for each column.
 */

export interface Rows<Column extends string> {
  /** The FROM item `r` with the rows; its parameters are numbered from `first`. */
  readonly from: (first: number) => string
  /** The number of parameters. */
  readonly width: number
  readonly values: (rows: ReadonlyArray<Readonly<Record<Column, unknown>>>) => ReadonlyArray<ReadonlyArray<unknown>>
}

/** `columns` maps names to SQL types. */
export const rowsOf = <const Column extends string>(columns: Readonly<Record<Column, string>>): Rows<Column> => {
  const names = Object.keys(columns).filter((name): name is Column => name in columns)
  return {
    width: names.length,
    from: (first) => {
      const arrays = names.map((name, index) => `$${first + index}::${columns[name]}[]`)
      return `unnest(${arrays.join(", ")}) AS r(${names.join(", ")})`
    },
    values: (rows) => names.map((name) => rows.map((row) => row[name]))
  }
}
