/** The WAL of some work, by the table that it is about. */
import * as Effect from "effect/Effect"
import { withDatabase } from "../measure/Database.ts"

export interface Wal {
  readonly bytes: number
  /** Without the rows and commits of the simulator and the audit of its operator, which a real bank has none of. */
  readonly bytesWithBank: number
  /** The largest first. Records of no table, such as commits, have an empty name. */
  readonly tables: ReadonlyArray<WalOfTable>
}

interface WalOfTable {
  readonly table: string
  readonly heap: number
  readonly indexes: number
  /** Of transactions that write nothing but the simulator's rows. */
  readonly simulator: number
}

/** Runs `work`, and reads the WAL that was written meanwhile, without full-page images, which depend on checkpoints. */
export const measureWal = Effect.fnUntraced(function* <E, R>(databaseUrl: string, work: Effect.Effect<unknown, E, R>) {
  const position = (before: ReadonlyArray<string>) =>
    withDatabase(databaseUrl, async (database) => {
      for (const statement of before) await database.query(statement)
      const { rows } = await database.query<{ lsn: string }>("SELECT pg_current_wal_insert_lsn()::text AS lsn")
      return rows[0]!.lsn
    })
  const from = yield* position([
    "CREATE EXTENSION IF NOT EXISTS pg_walinspect",
    "ALTER SYSTEM SET full_page_writes = off",
    "SELECT pg_reload_conf()",
    "SELECT pg_sleep(0.2)",
    "CHECKPOINT"
  ])
  yield* work
  const until = yield* position([])
  return yield* withDatabase(databaseUrl, async (database): Promise<Wal> => {
    const { rows } = await database.query<Record<keyof WalOfTable, string>>(byTable, [from, until])
    await database.query("ALTER SYSTEM RESET full_page_writes")
    await database.query("SELECT pg_reload_conf()")
    const tables = rows.map(({ heap, indexes, simulator, table }) => ({
      table,
      heap: Number(heap),
      indexes: Number(indexes),
      simulator: Number(simulator)
    }))
    const bytes = tables.reduce((sum, { heap, indexes }) => sum + heap + indexes, 0)
    return { bytes, bytesWithBank: bytes - tables.reduce((sum, { simulator }) => sum + simulator, 0), tables }
  })
})

/** A record of several blocks counts as that of the first. Partitions count as their table. */
const byTable = `
  WITH relations AS (
    SELECT pg_relation_filenode(c.oid) AS relfilenode, c.relkind = 'i' AS is_index, coalesce(p.relname, t.relname) AS name
    FROM pg_class c LEFT JOIN pg_index x ON x.indexrelid = c.oid
    JOIN pg_class t ON t.oid = coalesce(x.indrelid, c.oid)
    LEFT JOIN pg_inherits i ON i.inhrelid = t.oid LEFT JOIN pg_class p ON p.oid = i.inhparent
    WHERE c.relkind IN ('r', 'i', 't')
  ),
  records AS MATERIALIZED (
    SELECT r.record_length - r.fpi_length AS bytes, r.xid::text AS xid, n.is_index, n.name,
      n.name LIKE 'simulator_%' OR n.name = 'audit' AS is_of_simulator
    FROM (
      SELECT * FROM pg_get_wal_records_info($1, $2) WHERE resource_manager <> 'XLOG' OR record_type NOT LIKE 'FPI%'
    ) r LEFT JOIN (
      SELECT DISTINCT ON (start_lsn) start_lsn, relfilenode FROM pg_get_wal_block_info($1, $2, false)
      ORDER BY start_lsn, block_id
    ) b USING (start_lsn) LEFT JOIN relations n USING (relfilenode)
  ),
  simulator AS MATERIALIZED (
    SELECT xid FROM records WHERE xid <> '0' AND name IS NOT NULL GROUP BY xid HAVING bool_and(is_of_simulator)
  )
  SELECT coalesce(r.name, '') AS table,
    coalesce(sum(r.bytes) FILTER (WHERE r.is_index IS NOT TRUE), 0) AS heap,
    coalesce(sum(r.bytes) FILTER (WHERE r.is_index), 0) AS indexes,
    coalesce(sum(r.bytes) FILTER (WHERE r.is_of_simulator OR r.xid IN (SELECT xid FROM simulator)), 0) AS simulator
  FROM records r
  GROUP BY 1 ORDER BY sum(r.bytes) DESC`
