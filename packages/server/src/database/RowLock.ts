/** The lock of a row that is read now and changed by its id later in the transaction. Rows that name it stay free. */
import type { SqlClient } from "effect/sql/SqlClient"

export type LockedTable = "accounts" | "applications" | "api_keys" | "operators" | "acquirer_connections"

export const lockRow = (sql: SqlClient, table: LockedTable, id: string) =>
  sql.unsafe(`SELECT FROM ${table} WHERE id = $1::uuid FOR NO KEY UPDATE`, [id])
