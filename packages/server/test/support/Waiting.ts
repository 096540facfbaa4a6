/** Statements that wait for locks. */
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"

/** How many statements wait for a row of a table. */
export const waitingFor = (table: string) =>
  Effect.flatMap(SqlClient, (sql) =>
    Effect.map(
      sql<{
        count: bigint
      }>`SELECT count(DISTINCT waiting.pid) AS count FROM pg_locks waiting JOIN pg_locks used USING (pid)
        WHERE NOT waiting.granted AND used.relation = ${table}::text::regclass
          AND used.database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
      ([row]) => Number(row?.count)
    )
  )
