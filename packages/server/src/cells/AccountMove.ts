/**
 * Moves an account, with the connection that it alone uses, from its cell to another one, while both work.
 *
 * Guarantees:
 * - A row of the account is in one cell at any time. Rows are deleted here and stored there in two transactions, of which the other
 *   database prepares its own before this one commits. So the old cell has nothing left to work on, and no loop has to know of it.
 * - What was stored is read back and compared, row by row, before anything is committed.
 * - Nobody else has a part in what moves: it is asked again before the end, when nobody can get one any more.
 * - It can be repeated after an end at any point: a move that was not committed here is undone, one that was is completed.
 * - From the freeze on, `/v1` answers the account's keys here with 503 (`http/public/KeyGuard.ts`). Loops and the bank's reports go on.
 * - Ids, bytes and attempts of deliveries, idempotency keys and end-to-end ids are as they were. A reader of events who reads both
 *   cells misses none: the account's changes are at the end of the other cell's log, in their order.
 *
 * While the transactions are open, readers of events in both cells wait for what was committed meanwhile.
 */
import * as Effect from "effect/Effect"
import { type Connection, query, type StatementFailed } from "./Connection.ts"
import { type Cells, cellOf, CannotMove, requireAlone, requireFit, requireUnchanged } from "./Fitness.ts"
import { openTransactions } from "../ledger/Closes.ts"
import { isOwned, type Moved, movedTables } from "./OwnedRows.ts"
import { transferRows } from "./RowTransfer.ts"

export interface Move extends Cells {
  readonly accountId: string
  /** Tells what was done. Where it fails, the move ends there, and can be repeated. */
  readonly say: (line: string) => Effect.Effect<void, CannotMove>
}

/** Moves the account, or completes a move that was interrupted. */
export const moveAccount = Effect.fnUntraced(function* (move: Move) {
  const { accountId, say, source, target } = move
  yield* beAlone(source, accountId)
  const [from, to] = [yield* cellOf(source), yield* cellOf(target)]
  if (from === to) return yield* new CannotMove({ message: `Both databases are of the cell ${from}.` })
  if (yield* settlePrepared(move)) yield* say("A move that had ended here was completed.")
  const [account] = yield* query<{ moved_to: string | null }>(source, "SELECT moved_to FROM accounts WHERE id = $1", [
    accountId
  ])
  if (account === undefined) return yield* new CannotMove({ message: `The cell ${from} has no account ${accountId}.` })
  if (account.moved_to !== null && account.moved_to !== to) {
    return yield* new CannotMove({
      message: `The account moves to the cell ${account.moved_to}, and this database is of ${to}.`
    })
  }
  if (yield* isHere(source, accountId)) {
    const moved = yield* requireFit(move, accountId)
    yield* say(yield* forecast(source, moved))
    yield* freeze(source, moved, to)
    yield* say(`Frozen: the account's keys get 503 in ${from}.`)
    yield* transfer(move, moved, { from, to }, requireAlone(source, moved))
  }
  // Not in the prepared transaction: each change of a key, an account or a setting there would wait for it.
  yield* query(target, NEW_GENERATION)
  yield* say(`The account lives in ${to}. Route its keys and its connection there (keys-map).`)
  yield* moveLateRows(move, { from, to })
  yield* say("Nothing of it is left. Register the connection's webhook again in the other cell.")
})

/** Undoes a move that has not been committed. */
export const undoMove = Effect.fnUntraced(function* (move: Move) {
  const { accountId, say, source } = move
  yield* beAlone(source, accountId)
  yield* settlePrepared(move)
  if (!(yield* isHere(source, accountId))) {
    return yield* new CannotMove({ message: "The account has moved. Move it back from the other cell." })
  }
  yield* query(source, "UPDATE accounts SET moved_to = NULL WHERE id = $1", [accountId])
  yield* say("The account works here as before.")
})

/** One program at a time moves an account. */
const beAlone = Effect.fnUntraced(function* (source: Connection, accountId: string) {
  const [lock] = yield* query<{ taken: boolean }>(source, "SELECT pg_try_advisory_lock(hashtext($1)) AS taken", [
    transactionName(accountId)
  ])
  if (lock?.taken !== true) return yield* new CannotMove({ message: "Another program moves this account." })
})

const transactionName = (accountId: string) => `move ${accountId}`

/** Until a move is committed here, the account has its balances here. */
const isHere = (source: Connection, accountId: string) =>
  Effect.map(
    query(source, "SELECT 1 FROM ledger_accounts WHERE owner_id = $1 LIMIT 1", [accountId]),
    (rows) => rows.length > 0
  )

/** Ends what an interrupted move has prepared, as this database has decided. True where it was committed. */
const settlePrepared = Effect.fnUntraced(function* ({ accountId, source, target }: Move) {
  const name = transactionName(accountId)
  const prepared = yield* query(
    target,
    "SELECT 1 FROM pg_prepared_xacts WHERE gid = $1 AND database = current_database()",
    [name]
  )
  if (prepared.length === 0) return false
  const isCommitted = !(yield* isHere(source, accountId))
  yield* query(target, `${isCommitted ? "COMMIT" : "ROLLBACK"} PREPARED '${name}'`)
  return isCommitted
})

/** With their comparison, on two shared cores (docs/scaling.md). */
const ROWS_PER_SECOND = 12_000

const forecast = Effect.fnUntraced(function* (source: Connection, moved: Moved) {
  const counts = movedTables.map((table) => `(SELECT count(*) FROM ${table} WHERE ${isOwned(table, moved)})`)
  const [row] = yield* query<{ rows: string }>(source, `SELECT ${counts.join(" + ")} AS rows`)
  const rows = Number(row?.rows)
  return `Rows: ${rows}. The account is frozen for about ${Math.ceil(SETTLE_SECONDS + 2 + rows / ROWS_PER_SECOND)} s.`
})

const SETTLE_SECONDS = 2

/** Refuses the account's requests from now on, and waits for those that came before. */
const freeze = Effect.fnUntraced(function* (source: Connection, { accountId, connectionId }: Moved, to: string) {
  const frozen = yield* query(
    source,
    "UPDATE accounts SET moved_to = $3 WHERE id = $1 AND connection_id = $2 RETURNING id",
    [accountId, connectionId, to]
  )
  if (frozen.length === 0) {
    return yield* new CannotMove({ message: "The account has got another connection meanwhile. Repeat this." })
  }
  // A key that was looked up before: its statement begins within the time that a connection is waited for.
  yield* Effect.sleep(`${SETTLE_SECONDS} seconds`)
  const before = yield* query<{ id: string }>(source, openTransactions)
  const ids = before.map(({ id }) => id)
  // Not by the columns of pg_stat_activity, which show an owner without privileges nothing of other roles.
  const open = query<{ writes: boolean }>(
    source,
    `SELECT bool_or(locktype = 'transactionid') AS writes FROM pg_locks
      WHERE virtualtransaction = ANY ($1) AND locktype IN ('virtualxid', 'transactionid') AND granted GROUP BY virtualtransaction`,
    [ids]
  )
  for (let waits = 0; ; waits++) {
    const all = yield* open
    // One that has written nothing for so long only reads, as a back-up does.
    if (!all.some(({ writes }) => writes) && (all.length === 0 || waits >= WAITS_FOR_READERS)) return
    if (waits === MOST_WAITS) {
      return yield* new CannotMove({
        message:
          "A transaction has been open for a minute (pg_stat_activity). The account stays frozen: repeat this, or undo it."
      })
    }
    yield* Effect.sleep("250 millis")
  }
})

const MOST_WAITS = 240
const WAITS_FOR_READERS = 40

interface Names {
  readonly from: string
  readonly to: string
}

/** Moves everything that is here, in two transactions, of which the other database prepares its own first. */
const transfer = Effect.fnUntraced(function* (
  move: Move,
  moved: Moved,
  { from, to }: Names,
  condition: Effect.Effect<void, CannotMove | StatementFailed>
) {
  const { accountId, say, source, target } = move
  yield* Effect.forEach([source, target], (each) => query(each, BEGIN))
  yield* query(source, splitRecoveries(moved))
  yield* query(source, lockMoney(moved))
  yield* query(source, "SELECT 1 FROM acquirer_connections WHERE id = $1 FOR UPDATE", [moved.connectionId])
  yield* requireUnchanged(source, moved)
  const rows = yield* transferRows(move, moved)
  yield* copyReceivers(move)
  // No account gets the deleted connection any more; one that got it since the first look is seen.
  yield* condition
  yield* say(`Copied: ${rows} rows, which the other database has byte for byte.`)
  yield* query(target, "INSERT INTO secrets_keys (id) SELECT unnest($1::text[]) ON CONFLICT DO NOTHING", [
    (yield* query<{ id: string }>(source, "SELECT id FROM secrets_keys")).map(({ id }) => id)
  ])
  yield* query(source, "UPDATE accounts SET connection_id = NULL WHERE id = $1", [accountId])
  for (const each of [source, target]) yield* query(each, noteMove, [accountId, from, to])
  yield* query(source, NEW_GENERATION)
  yield* query(target, `PREPARE TRANSACTION '${transactionName(accountId)}'`)
  yield* say("Prepared.")
  yield* query(source, "COMMIT")
  yield* say(`Committed in ${from}.`)
  yield* query(target, `COMMIT PREPARED '${transactionName(accountId)}'`)
})

/** No trigger and no foreign key acts on the rows: those of the other cell's books are as they were here. */
const BEGIN = "BEGIN; SET LOCAL session_replication_role = replica; SET LOCAL lock_timeout = '30s'"

/** Callers are looked up again. */
const NEW_GENERATION = "UPDATE caller_generation SET generation = gen_random_uuid() WHERE id"

/** Money that is being booked is booked before. */
const lockMoney = ({ accountId, connectionId }: Moved) =>
  `SELECT 1 FROM ledger_accounts WHERE owner_id IN ('${accountId}', '${connectionId}')
    ORDER BY owner_id, kind <> 'available', kind FOR UPDATE -- as postings do`

/** A batch of several accounts has a row for each of the account's charges then. */
const splitRecoveries = ({ accountId }: Moved) => `
  INSERT INTO charge_recoveries (due_at, id, charge_ids, account_id, attempts)
  SELECT r.due_at, c.id, ARRAY[c.id], c.account_id, r.attempts
  FROM charge_recoveries r CROSS JOIN unnest(r.charge_ids) AS of (charge_id) JOIN charges c ON c.id = of.charge_id
  WHERE r.account_id IS NULL AND c.account_id = '${accountId}' AND c.status = 'processing'
  ON CONFLICT DO NOTHING`

/** Those that the other cell's charges lack: rows that both may have, under ids that say what they contain. They stay. */
const copyReceivers = Effect.fnUntraced(function* ({ accountId, source, target }: Move) {
  const missing = yield* query<{ id: string }>(
    target,
    `SELECT DISTINCT receiver_id AS id FROM charges WHERE account_id = $1 AND receiver_id NOT IN (SELECT id FROM receivers)`,
    [accountId]
  )
  const receivers = yield* query<{ id: string; receiver: string }>(
    source,
    "SELECT id, receiver::text AS receiver FROM receivers WHERE id = ANY ($1)",
    [missing.map(({ id }) => id)]
  )
  for (const { id, receiver } of receivers) {
    yield* query(target, "INSERT INTO receivers (id, receiver) VALUES ($1, $2) ON CONFLICT DO NOTHING", [id, receiver])
  }
})

const noteMove = `
  INSERT INTO audit (id, operator, action, resource_id, request_id, before, after, at)
  SELECT uuidv7(), 'move', 'accounts.moved', $1, uuidv7()::text, json_build_object('cell', $2::text),
    json_build_object('cell', $3::text), now()`

/**
 * Rows that somebody stored here after the move, such as a request that had waited for a connection since before the freeze. A line of
 * the request log is none: it says what this cell answered.
 */
const moveLateRows = Effect.fnUntraced(function* (move: Move, names: Names) {
  const { accountId, say, source, target } = move
  const [there] = yield* query<{ connection_id: string }>(target, "SELECT connection_id FROM accounts WHERE id = $1", [
    accountId
  ])
  if (there === undefined) return yield* new CannotMove({ message: "The other cell does not have the account." })
  const moved = { accountId, connectionId: there.connection_id }
  const late = ["charges", "payouts", "changes", "deliveries", "webhook_endpoints", "notifications"].map(
    (table) => `SELECT 1 FROM ${table} WHERE ${isOwned(table, moved)}`
  )
  yield* Effect.sleep(`${LATE_SECONDS} seconds`)
  if ((yield* query(source, `${late.join(" UNION ALL ")} LIMIT 1`)).length === 0) return
  yield* say("Rows came late, and follow.")
  yield* transfer(move, moved, names, Effect.void)
})

/** The longest that a request takes which was admitted before the freeze: a name is looked up, and the database is waited for. */
const LATE_SECONDS = 8
