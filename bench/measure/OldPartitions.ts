/** Partitions for rows of the past, which the service makes only for rows to come. */
import { partitionedTables } from "@pix-payments/server/schema/partitions/PartitionedTables"
import { boundOf, periodAfter } from "@pix-payments/server/database/Period"
import * as DateTime from "effect/DateTime"
import { withDatabase } from "./Database.ts"

/** Makes the partitions of the months and quarters before now, where a table has any. */
export const makeOldPartitions = (databaseUrl: string, months: number) =>
  withDatabase(databaseUrl, async (database) => {
    const { rows } = await database.query<{ name: string; first: string; before: string }>(
      `SELECT p.relname AS name, c.oid::regclass::text AS first,
         (regexp_match(pg_get_expr(c.relpartbound, c.oid), 'TO \\(''([^'']+)''\\)'))[1] AS before
       FROM pg_class p JOIN pg_inherits i ON i.inhparent = p.oid JOIN pg_class c ON c.oid = i.inhrelid
       WHERE p.relkind = 'p' AND p.relnamespace = current_schema()::regnamespace
         AND pg_get_expr(c.relpartbound, c.oid) LIKE '%(MINVALUE)%'`
    )
    for (const { before, first, name } of rows) {
      const { period, storage } = partitionedTables.find((table) => table.name === name)!
      const count = period === "month" ? months : Math.ceil(months / 3)
      // The rows of the template stay where they are: their partition begins with this period.
      const now = DateTime.toEpochMillis(DateTime.nowUnsafe())
      const bounds = Array.from({ length: count + 1 }, (_, at) => boundOf(periodAfter(period, now, at - count)))
      await database.query("BEGIN")
      await database.query(`ALTER TABLE ${name} DETACH PARTITION ${first}`)
      await database.query(
        `ALTER TABLE ${name} ATTACH PARTITION ${first} FOR VALUES FROM ('${bounds.at(-1)}') TO ('${before}')`
      )
      for (const [at, from] of bounds.slice(0, -1).entries()) {
        await database.query(
          `CREATE TABLE ${name}_before_${count - at} PARTITION OF ${name} FOR VALUES FROM ('${from}') TO ('${bounds[at + 1]}')
             WITH (${storage})`
        )
      }
      await database.query("COMMIT")
    }
  })
