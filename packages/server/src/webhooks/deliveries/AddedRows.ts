/**
 * Adds to rows of counts that may not exist yet.
 *
 * Guarantees: of several rows each is locked in the order of their keys, so that two statements never deadlock.
 *
 * Why not `ON CONFLICT` alone: it locks the row before it updates it, which is a WAL record of 54 bytes. A single row, of a
 * batch of one account, is updated, and inserted only where there is none.
 */

export interface Counts {
  readonly table: string
  readonly key: ReadonlyArray<string>
  readonly columns: ReadonlyArray<string>
  /** The assignments that add the row `added` to the row `existing`. */
  readonly add: (existing: string, added: string) => string
}

/** CTEs that add the rows of `from`, each of another key. Their names begin with `name`. */
export const addRows = (name: string, from: string, { add, columns, key, table }: Counts): string => {
  const all = [...key, ...columns].join(", ")
  return `${name}_input AS MATERIALIZED (SELECT ${all} FROM ${from} i),
  ${name}_updated AS (
    UPDATE ${table} t SET ${add("t", "i")}
    FROM ${name}_input i
    WHERE ${key.map((column) => `t.${column} = i.${column}`).join(" AND ")} AND (SELECT count(*) FROM ${name}_input) = 1
    RETURNING true
  ),
  ${name}_added AS (
    INSERT INTO ${table} AS t (${all})
    SELECT ${all} FROM ${name}_input WHERE NOT EXISTS (SELECT FROM ${name}_updated)
    ORDER BY ${key.join(", ")}
    ON CONFLICT (${key.join(", ")}) DO UPDATE SET ${add("t", "excluded")}
  )`
}
