/** Changes of the schema beside the service's own statements. */
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"

/**
 * Runs one statement. It locks a table with all its partitions, and background work may have locked some of them in another order:
 * it is repeated when PostgreSQL ends it for that.
 */
export const changeSchema = (statement: string) =>
  Effect.flatMap(SqlClient, (sql) =>
    Effect.retry(sql.unsafe(statement), { times: 10, while: ({ reason }) => reason._tag === "DeadlockError" })
  )
