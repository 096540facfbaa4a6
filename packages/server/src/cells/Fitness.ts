/**
 * What must hold before an account moves to another cell. Nothing is changed here.
 *
 * A sentence says what is in the way, and what to do. Rows of the account that another connection has would stay behind, and the
 * other cell could neither return nor explain them.
 */
import { SIMULATOR_CONNECTION } from "@pix-payments/domain/AcquirerConnection"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import { type Connection, query } from "./Connection.ts"
import type { Moved } from "./OwnedRows.ts"

/** Why an account cannot move. */
export class CannotMove extends Data.TaggedError("CannotMove")<{ readonly message: string }> {}

export interface Cells {
  readonly source: Connection
  readonly target: Connection
  /** Another connection to the target's database. */
  readonly beside: Connection
  /** The ids of the keys that the servers of the target have. */
  readonly secretsKeys: ReadonlyArray<string>
}

/** The name of a database's cell. */
export const cellOf = Effect.fnUntraced(function* (connection: Connection) {
  const [row] = yield* query<{ value: string }>(connection, "SELECT value FROM installation WHERE name = 'cell'")
  return (
    row?.value ??
    (yield* refuse("A database has no cell yet. Start its servers with CELL set, each cell with its own name."))
  )
})

/** The account and the connection that it alone uses. */
export const requireFit = Effect.fnUntraced(function* (cells: Cells, accountId: string) {
  const { source, target } = cells
  const [account] = yield* query<{ connection_id: string | null; is_default: boolean }>(
    source,
    `SELECT a.connection_id, coalesce(c.is_default, false) AS is_default
      FROM accounts a LEFT JOIN acquirer_connections c ON c.id = a.connection_id WHERE a.id = $1`,
    [accountId]
  )
  const { connection_id: connectionId, is_default: isDefault } = account!
  if (connectionId === null || connectionId === SIMULATOR_CONNECTION || isDefault) {
    return yield* refuse(
      "The account has no connection of its own: it moves together with one that it alone uses, and that is not the default one."
    )
  }
  const moved: Moved = { accountId, connectionId }
  yield* requireAlone(source, moved)
  yield* requireNone(source, moved, [
    clientOfOne,
    ...tablesOfBoth.flatMap(ofOneOnly),
    [
      "The account has moved money at another bank account, whose books would stay behind.",
      "SELECT 1 FROM ledger_transfers WHERE account_id = $1 AND connection_id <> $2 LIMIT 1"
    ]
  ])
  const [here] = yield* query(target, "SELECT 1 FROM accounts WHERE id = $1 AND moved_to IS NULL", [accountId])
  if (here !== undefined) return yield* refuse("The account lives in the other cell already.")
  yield* requireEqualCells(cells)
  return moved
})

/** What may change until the move ends: it is asked before the freeze, and again with the connection's row deleted. */
export const requireAlone = (source: Connection, moved: Moved) =>
  requireNone(source, moved, [
    ["Other accounts use the connection.", "SELECT 1 FROM accounts WHERE connection_id = $2 AND id <> $1 LIMIT 1"],
    [
      "Approvals of the account wait: decide them first. What was approved and not done yet ends, or is done after --undo.",
      `SELECT 1 FROM approvals WHERE account_id = $1 AND $2::uuid IS NOT NULL AND used_at IS NULL AND expires_at > now()
        AND status IN ('pending', 'approved') LIMIT 1`
    ]
  ])

/** What operators may change until the ledger and the connection are locked: it is asked again then. */
export const requireUnchanged = (source: Connection, moved: Moved) =>
  requireNone(source, moved, [
    [
      "The connection has become the default one.",
      "SELECT 1 FROM acquirer_connections WHERE $1::uuid IS NOT NULL AND id = $2 AND is_default"
    ],
    clientOfOne,
    ...ofOneOnly(["acquirer_exceptions", "exceptions"])
  ]).pipe(
    Effect.catchTag("CannotMove", ({ message }) =>
      refuse(`${message} The account stays frozen: repeat this, or undo it.`)
    )
  )

/** Refuses with the sentence of the first query, of account and connection, that finds a row. */
const requireNone = Effect.fnUntraced(function* (
  source: Connection,
  { accountId, connectionId }: Moved,
  checks: ReadonlyArray<readonly [sentence: string, query: string]>
) {
  for (const [sentence, text] of checks) {
    if ((yield* query(source, text, [accountId, connectionId])).length > 0) return yield* refuse(sentence)
  }
})

/**
 * Tables whose rows have an account and a connection, and what they are. Null is the simulator's connection, and that of a payout
 * that has not been sent.
 */
const tablesOfBoth = [
  ["charges", "charges"],
  ["payouts", "payouts"],
  ["refunds", "returns"],
  ["disputes", "disputes"],
  ["acquirer_exceptions", "exceptions"],
  ["acquirer_orders", "orders"]
] as const

const clientOfOne = [
  "Another connection is of the same client of the bank: what the bank reports of both would be in two cells.",
  `SELECT 1 FROM connection_keys own JOIN connection_keys other USING (client)
    WHERE $1::uuid IS NOT NULL AND own.connection_id = $2 AND other.connection_id <> $2 LIMIT 1`
] as const

/** No row is of the account and of another connection, or the other way round. */
const ofOneOnly = ([table, what]: readonly [string, string]) =>
  [
    [
      `The account has ${what} of another connection, which would stay behind.`,
      `SELECT 1 FROM ${table} WHERE account_id = $1 AND coalesce(connection_id, '${SIMULATOR_CONNECTION}') <> $2
        ${table === "payouts" ? "AND (connection_id IS NOT NULL OR attempts > 0)" : ""} LIMIT 1`
    ],
    [
      `Another account has ${what} of the connection.`,
      `SELECT 1 FROM ${table} WHERE account_id <> $1 AND connection_id = $2 LIMIT 1`
    ]
  ] as const

const requireEqualCells = Effect.fnUntraced(function* ({ secretsKeys, source, target }: Cells) {
  const schemaOf = (connection: Connection) =>
    query<{ schema: string }>(
      connection,
      `SELECT (SELECT value FROM installation WHERE name = 'baseline') || ' ' || max(migration_id) AS schema
        FROM effect_sql_migrations`
    )
  const [[one], [other]] = [yield* schemaOf(source), yield* schemaOf(target)]
  if (one?.schema !== other?.schema)
    return yield* refuse("The cells have different releases. Bring both to the same one.")
  const [setting] = yield* query<{ max_prepared_transactions: string }>(target, "SHOW max_prepared_transactions")
  if (Number(setting?.max_prepared_transactions) === 0) {
    return yield* refuse(
      "The other PostgreSQL prepares no transactions: set max_prepared_transactions to 2 there, and restart it."
    )
  }
  for (const { isFree, of } of [
    { of: source, isFree: yield* mayReplicate(source) },
    { of: target, isFree: yield* mayReplicate(target) }
  ]) {
    if (isFree) continue
    return yield* refuse(
      `The role ${of.user} may not set session_replication_role. As a superuser: GRANT SET ON PARAMETER session_replication_role TO ${of.user}`
    )
  }
  const missing = (yield* query<{ id: string }>(source, "SELECT id FROM secrets_keys")).filter(
    ({ id }) => !secretsKeys.includes(id)
  )
  if (missing.length > 0) {
    const ids = missing.map(({ id }) => id).join(", ")
    return yield* refuse(
      `SECRETS_KEYS lacks the keys ${ids}, which seal what moves. Append them to that of the other cell, start its servers again, and give it to this program.`
    )
  }
})

const mayReplicate = (connection: Connection) =>
  Effect.map(
    query<{ may: boolean }>(
      connection,
      `SELECT rolsuper OR has_parameter_privilege('session_replication_role', 'SET') AS may FROM pg_roles WHERE rolname = current_user`
    ),
    ([row]) => row?.may === true
  )

const refuse = (message: string) => Effect.fail(new CannotMove({ message }))
