/** The bytes of tables and indexes, partitions added up. */
import { withDatabase } from "../measure/Database.ts"

export interface Size {
  readonly table: string
  /** Null for the table itself. */
  readonly index: string | null
  readonly bytes: number
}

/** Of the tables with the most bytes. An index of a partition counts as that of the partitioned table. */
export const sizes = (databaseUrl: string) =>
  withDatabase(databaseUrl, async (database): Promise<ReadonlyArray<Size>> => {
    const { rows } = await database.query<{ table: string; index: string | null; bytes: string }>(
      `WITH tables AS (
         SELECT c.oid, coalesce(p.relname, c.relname)::text AS name
         FROM pg_class c LEFT JOIN pg_inherits i ON i.inhrelid = c.oid LEFT JOIN pg_class p ON p.oid = i.inhparent
         WHERE c.relkind = 'r' AND c.relnamespace = current_schema()::regnamespace
       ),
       indexes AS (
         SELECT x.indrelid, x.indexrelid, coalesce(p.relname, c.relname)::text AS name
         FROM pg_index x JOIN pg_class c ON c.oid = x.indexrelid
         LEFT JOIN pg_inherits i ON i.inhrelid = c.oid LEFT JOIN pg_class p ON p.oid = i.inhparent
       )
       SELECT t.name AS table, NULL AS index, sum(pg_table_size(t.oid)) AS bytes FROM tables t GROUP BY 1
       UNION ALL
       SELECT t.name, x.name, sum(pg_relation_size(x.indexrelid)) FROM tables t JOIN indexes x ON x.indrelid = t.oid
       GROUP BY 1, 2
       ORDER BY 3 DESC`
    )
    return rows.map(({ bytes, index, table }) => ({ table, index, bytes: Number(bytes) }))
  })
