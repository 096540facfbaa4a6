/**
 * The place of moved changes in the other cell's event log.
 *
 * The log's order is that of transaction ids and change ids (`events/EventLog.ts`). Each moved change gets an id that a transaction of
 * the other database had, and that began after the one that stores it: readers wait for that one, so they have passed none of these
 * ids when the changes are there. A change whose id is lower than that of the change before it gets the next transaction id, so that
 * the order stays.
 */
import * as Effect from "effect/Effect"
import { type Connection, query } from "./Connection.ts"
import type { Cells } from "./Fitness.ts"

export interface ChangeOrder {
  /** Ids of transactions of the other database, one for each step. */
  readonly ids: ReadonlyArray<string>
  /** Changes up to this id were counted here; null: none was. */
  readonly countedUntil: string | null
  /** Up to where this cell has counted, in SQL. */
  readonly counted: string
}

/** Reads the order of an account's changes, and makes the ids. Nobody counts here until the transaction ends. */
export const orderOfChanges = Effect.fnUntraced(function* ({ beside, source, target }: Cells, accountId: string) {
  const [at] = yield* query<{ transaction_id: string; change_id: string }>(
    source,
    "SELECT transaction_id::text AS transaction_id, change_id FROM status_counts_position FOR UPDATE"
  )
  const counted = `('${at!.transaction_id}'::xid8, '${at!.change_id}'::uuid)`
  const [steps] = yield* query<{ last: number | null; counted: number | null }>(
    source,
    `SELECT max(step)::integer AS last, (max(step) FILTER (WHERE is_counted))::integer AS counted
      FROM (${stepsOf(`SELECT * FROM changes WHERE account_id = '${accountId}'`, counted)}) AS numbered`
  )
  // The transaction that stores the changes has an id before theirs.
  yield* query(target, "SELECT pg_current_xact_id()")
  const ids = yield* makeIds(beside, (steps?.last ?? 0) + 1)
  const until = steps?.counted ?? null
  return { ids, countedUntil: until === null ? null : ids[until]!, counted } satisfies ChangeOrder
})

/** Transactions that do nothing, for their ids. */
const makeIds = Effect.fnUntraced(function* (connection: Connection, count: number) {
  yield* query(
    connection,
    `DO $$ DECLARE ids text[] := '{}'; BEGIN
      FOR n IN 1..${count} LOOP ids := ids || pg_current_xact_id()::text; COMMIT; END LOOP;
      PERFORM set_config('move.ids', array_to_string(ids, ','), false);
    END $$`
  )
  const [row] = yield* query<{ ids: string }>(connection, "SELECT current_setting('move.ids') AS ids")
  return row!.ids.split(",")
})

/** The changes that a statement deletes, with these transaction ids. What came since they were made has the last one. */
export const changesInOrder = (gone: string, names: ReadonlyArray<string>, { counted, ids }: ChangeOrder): string => {
  const values = names.map((name) =>
    name === "transaction_id" ? `('{${ids.join(",")}}'::text[])[least(step + 1, ${ids.length})]::xid8` : name
  )
  return `WITH gone AS (${gone}) SELECT ${values.join(", ")} FROM (${stepsOf("SELECT * FROM gone", counted)}) AS numbered`
}

/** Changes, each with the number of steps before it. */
const stepsOf = (changes: string, counted: string) => `
  SELECT *, count(*) FILTER (WHERE is_step) OVER (ORDER BY transaction_id, id ROWS UNBOUNDED PRECEDING) AS step
  FROM (
    SELECT *, coalesce(id < lag(id) OVER log OR is_counted <> lag(is_counted) OVER log, false) AS is_step
    FROM (SELECT *, (transaction_id, id) <= ${counted} AS is_counted FROM (${changes}) AS each) AS placed
    WINDOW log AS (ORDER BY transaction_id, id)
  ) AS stepping`
