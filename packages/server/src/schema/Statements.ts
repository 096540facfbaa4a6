/** How the tables of `schema/tables` are written: checks from lists, comments beside columns. */

/** The check that a text column has one of these values. */
export const oneOf = (column: string, values: ReadonlyArray<string>) =>
  `CHECK (${column} IN (${values.map((value) => `'${value}'`).join(", ")}))`

/**
 * The statements of a table: its `CREATE TABLE`, and a `COMMENT` for the line before it and for each column that has one at the
 * end of its line. Other statements stay as they are.
 */
export const withComments = (text: string): ReadonlyArray<string> => {
  const found = /^-- (.+)\n\s*(CREATE TABLE (\w+) \([^]*)$/.exec(text)
  if (found === null) return [text]
  const [, about, create, table] = found
  const columns = [...create!.matchAll(/^\s+(\w+) .*-- (.+)$/gm)]
  return [
    create!,
    `COMMENT ON TABLE ${table} IS ${quoted(about!)}`,
    ...columns.map(([, column, comment]) => `COMMENT ON COLUMN ${table}.${column} IS ${quoted(comment!)}`)
  ]
}

const quoted = (text: string): string => `'${text.replaceAll("'", "''")}'`
