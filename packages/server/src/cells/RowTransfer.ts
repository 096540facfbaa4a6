/**
 * The rows of a move: deleted in one transaction, stored by another one, read back there and compared.
 *
 * Guarantees:
 * - It goes over all tables until nothing of the account is left, so that rows of transactions that were open at first come too.
 * - Parents go first, which waits for the transactions that change them, and their ids are kept: what such a transaction adds below
 *   them, such as an attempt of a delivery, is found.
 * - The other cell's log has the account's changes at its end, in the order of this one's.
 * - Changes that were counted here come with their counts. The others are counted there.
 * - Of rows that come late, those that the other cell has already stay as they are there, and what is derived is derived there.
 */
import * as Effect from "effect/Effect"
import { changesInOrder, type ChangeOrder, orderOfChanges } from "./ChangeOrder.ts"
import { type Connection, copyRows, type Digest, emptyDigest, query, readRows, textsOf } from "./Connection.ts"
import { CannotMove, type Cells } from "./Fitness.ts"
import { copiedTables, type IdsOf, isOwned, type Moved, movedTables, parentTables } from "./OwnedRows.ts"

/** Moves the rows within the open transactions of both databases. Returns how many. */
export const transferRows = Effect.fnUntraced(function* (cells: Cells, moved: Moved) {
  const { source, target } = cells
  const columns = yield* columnsOf(cells)
  const isLate = yield* livesThere(cells, moved)
  const digests = new Map(movedTables.map((table) => [table, emptyDigest()]))
  const rows = () => [...digests.values()].reduce((sum, digest) => sum + digest.rows, 0)
  yield* query(source, "CREATE TEMPORARY TABLE moved_ids (id uuid PRIMARY KEY) ON COMMIT DROP")
  const kept: IdsOf = (parent) =>
    copiedTables.includes(parent)
      ? `SELECT id FROM ${parent} WHERE ${isOwned(parent, moved)}`
      : "SELECT id FROM moved_ids"
  let countedUntil: string | null = null
  for (let before = -1, passes = 0; before !== rows(); passes++) {
    if (passes === MOST_PASSES) return yield* new CannotMove({ message: "The rows do not come to rest. Repeat this." })
    before = rows()
    const order: ChangeOrder = yield* orderOfChanges(cells, moved.accountId)
    countedUntil ??= order.countedUntil
    for (const table of movedTables) {
      // This cell goes on refusing the account's requests, and logs that.
      if (table === LOG && (isLate || passes > 0)) continue
      const names = columns.get(table)!
      const gone = `DELETE FROM ${table} WHERE ${isOwned(table, moved, kept)} RETURNING *`
      const sent = sentRows(table, gone, names, order)
      const digest = digests.get(table)!
      if (isLate && derived.has(table)) yield* query(source, gone)
      else if (isLate) yield* addLate(source, sent, target, table, names, digest)
      else yield* copyRows(source, sent, target, into(table, names), digest)
    }
  }
  if (isLate) return rows()
  for (const table of copiedTables.toReversed()) {
    yield* query(target, `DELETE FROM ${table} WHERE ${isOwned(table, moved)}`)
  }
  for (const table of copiedTables) {
    const names = columns.get(table)!
    const values = names.map((name) =>
      name === "moved_to" ? "NULL" : name === "arrived_until" ? `'${countedUntil ?? 0}'::xid8` : name
    )
    const digest = emptyDigest()
    digests.set(table, digest)
    const copied = `SELECT ${values.join(", ")} FROM ${table} WHERE ${isOwned(table, moved)}`
    yield* copyRows(source, copied, target, into(table, names), digest)
  }
  yield* compare(cells, moved, columns, digests)
  return rows()
})

const MOST_PASSES = 20

const LOG = "requests"

/** What the other cell makes itself: what came late was counted here, and is counted there again. */
const derived = new Set([
  "status_counts",
  "daily_volumes",
  "hourly_volumes",
  "delivery_totals",
  "webhook_endpoint_counters",
  "webhook_endpoint_versions",
  "closes"
])

/** A few rows, of which the other cell may have some: a first delivery that was sent from here, a key that was used in both. */
const addLate = Effect.fnUntraced(function* (
  source: Connection,
  sent: string,
  target: Connection,
  table: string,
  names: ReadonlyArray<string>,
  digest: Digest
) {
  const values = names.map((_, at) => `$${at + 1}`).join(", ")
  // Its trigger counts an endpoint, and notes who is subscribed since when.
  const isTriggered = table === "webhook_endpoints"
  if (isTriggered) yield* query(target, "SET LOCAL session_replication_role = origin")
  for (const row of yield* textsOf(source, sent)) {
    digest.rows += 1
    // It says that a report changed nothing here, where the account's money had left.
    if (table === "notification_keys" && row[names.indexOf("key")]!.startsWith("seen:")) continue
    yield* query(target, `INSERT INTO ${into(table, names)} VALUES (${values}) ON CONFLICT DO NOTHING`, row)
  }
  if (isTriggered) yield* query(target, "SET LOCAL session_replication_role = replica")
})

const livesThere = ({ target }: Cells, { accountId }: Moved) =>
  Effect.map(
    query(target, "SELECT 1 FROM accounts WHERE id = $1 AND moved_to IS NULL", [accountId]),
    (rows) => rows.length > 0
  )

const into = (table: string, names: ReadonlyArray<string>) => `${table} (${names.join(", ")})`

/** The rows of a table as the other cell has them. */
const sentRows = (table: string, gone: string, names: ReadonlyArray<string>, order: ChangeOrder): string => {
  if (table === "changes") return changesInOrder(gone, names, order)
  const values = names.map((name) => {
    // No later transaction there can have read a version that had ended here.
    if (name === "removable_from") return `CASE WHEN removable_from IS NOT NULL THEN '${order.ids.at(-1)}'::xid8 END`
    return name === "webhook_registered_at" ? "NULL" : name
  })
  const ids = parentTables.has(table)
    ? ", kept AS (INSERT INTO moved_ids SELECT id FROM gone ON CONFLICT DO NOTHING)"
    : ""
  return `WITH gone AS (${gone})${ids} SELECT ${values.join(", ")} FROM gone`
}

/** Reads back what the other database has. */
const compare = Effect.fnUntraced(function* (
  { target }: Cells,
  moved: Moved,
  columns: ReadonlyMap<string, ReadonlyArray<string>>,
  digests: ReadonlyMap<string, Digest>
) {
  for (const [table, sent] of digests) {
    // Of an account that comes back, lines have stayed.
    if (table === LOG) continue
    const there = emptyDigest()
    yield* readRows(
      target,
      `SELECT ${columns.get(table)!.join(", ")} FROM ${table} WHERE ${isOwned(table, moved)}`,
      there
    )
    if (there.rows === sent.rows && there.sums.join() === sent.sums.join()) continue
    return yield* new CannotMove({
      message: `${table}: ${sent.rows} rows were sent, and the other database has ${there.rows}, or others. Nothing was moved.`
    })
  }
})

/** The columns of each table that are not generated. Both databases have the same schema. */
const columnsOf = ({ source }: Cells) =>
  Effect.map(
    query<{ table: string; names: ReadonlyArray<string> }>(
      source,
      `SELECT c.relname::text AS table, array_agg(a.attname::text ORDER BY a.attnum) AS names
        FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
        WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
          AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
        GROUP BY 1`
    ),
    (rows) => new Map(rows.map(({ names, table }) => [table, names]))
  )
