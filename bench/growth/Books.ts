/**
 * The books of one account and one bank account with many lines: copies of eight paid charges and a payout with its fee, eleven
 * transfers in all, which the service stored itself.
 *
 * Guarantees:
 * - Positions have no gap, and each balance after a transfer is the one that its posting would have left: what the service closes
 *   and verifies is consistent.
 * - The template is the newest of all. Copies are of the days before.
 */
import type { Client } from "pg"
import { ofAccount, shownKinds } from "@pix-payments/server/ledger/Ledger"
import { dayOf, startOf, TODAY } from "@pix-payments/server/database/statements/Days"
import { withDatabase } from "../measure/Database.ts"
import { columnsOf, copied, functions } from "./Copies.ts"

export const CHARGES_OF_COPY = 8

/** Transfers of a copy: one of each charge; of a payout its amount with the fee, the amount at the bank, and the fee. */
export const LINES_OF_COPY = CHARGES_OF_COPY + 3

/** Days before today: the first, and the one after the last. */
export interface Days {
  readonly from: number
  readonly before: number
}

/** Adds lines to the days of the template's account, after those that it has. Returns how many it adds. */
export const addLines = (databaseUrl: string, lines: number, days: Days, onProgress: (share: number) => void) =>
  withDatabase(databaseUrl, async (database) => {
    const copies = Math.round(lines / LINES_OF_COPY)
    await database.query("SET session_replication_role = replica")
    await database.query("SET synchronous_commit = off")
    for (const statement of functions) await database.query(statement.replace("CREATE", "CREATE OR REPLACE"))
    const [account] = (await database.query<{ id: string }>("SELECT id FROM accounts")).rows
    const net = await netsOf(database, account!.id)
    const inserts: Array<string> = []
    for (const table of tables) inserts.push(await insertOf(database, table, net))
    for (let first = 0; first < copies; first += CHUNK) {
      const last = Math.min(first + CHUNK, copies) - 1
      for (const insert of inserts) await database.query(insert, [first, last, copies, days.from, days.before])
      onProgress((last + 1) / copies)
    }
    await moveTemplate(database, copies, net)
    await database.query(
      `UPDATE ledger_accounts SET balance = balance + $1::bigint * CASE kind ${cases(net, (cents) => String(cents))} END,
         position = CASE WHEN position = 0 THEN 0 ELSE position + $1::bigint * ${LINES_OF_COPY} END,
         open_day = CASE WHEN open_day IS NOT NULL THEN ${TODAY} - $2::integer END
       WHERE owner_id = $3`,
      [copies, days.from, account!.id]
    )
    await database.query("RESET session_replication_role")
    await database.query("VACUUM (ANALYZE)")
    await database.query("CHECKPOINT")
    return copies * LINES_OF_COPY
  })

const tables = ["charges", "payouts", "ledger_transfers"]

type Nets = ReadonlyMap<string, number>

/** What one copy adds to each ledger account: the balances of the template, before any copy. */
const netsOf = async (database: Client, accountId: string): Promise<Nets> => {
  await database.query(
    `CREATE TABLE IF NOT EXISTS growth_nets AS SELECT kind, balance FROM ledger_accounts WHERE owner_id = '${accountId}'`
  )
  const { rows } = await database.query<{ kind: string; balance: string }>("SELECT kind, balance FROM growth_nets")
  return new Map(rows.map(({ balance, kind }) => [kind, Number(balance)]))
}

const cases = (net: Nets, value: (cents: number) => string) =>
  ofAccount.map((kind) => `WHEN '${kind}' THEN ${value(net.get(kind) ?? 0)}`).join(" ")

/** The balance after a transfer, `copies` copies later. */
const later = (name: string, side: string, copies: string, net: Nets) =>
  `${name} + ${copies} * CASE ${side} ${shownKinds.map((kind) => `WHEN '${kind}' THEN ${net.get(kind) ?? 0}`).join(" ")} END`

const insertOf = async (database: Client, table: string, net: Nets): Promise<string> => {
  const columns = await columnsOf(database, table)
  // The template of the first call: its ids are newer than those of any copy.
  await database.query(`CREATE TABLE IF NOT EXISTS growth_of_${table} AS SELECT * FROM ${table}`)
  const ownWays: Readonly<Record<string, string>> = {
    position: `position + before`,
    debit_after: later("debit_after", "debit", `before / ${LINES_OF_COPY}`, net),
    credit_after: later("credit_after", "credit", `before / ${LINES_OF_COPY}`, net),
    day: "at_day"
  }
  const values = columns.map(({ name, type }) => ownWays[name] ?? copied(name, type))
  return `
    WITH days AS MATERIALIZED (
      SELECT ${startOf(`(${TODAY} - $4::integer)`)} AS starts, ${startOf(`(${TODAY} - $5::integer)`)} AS ends,
        (SELECT min(created_at) FROM growth_of_charges) AS template,
        (SELECT min(position) - 1 FROM ledger_transfers WHERE id IN (SELECT id FROM growth_of_ledger_transfers)) AS positions
    ), copies AS (
      SELECT n + positions::integer / ${LINES_OF_COPY} AS n, 0 AS owner, positions + n::bigint * ${LINES_OF_COPY} AS before,
        ${dayOf("(starts + n * (ends - starts) / $3::integer)")} AS at_day,
        floor(extract(epoch FROM starts + n * (ends - starts) / $3::integer - template) * 1000)::bigint AS later
      FROM days CROSS JOIN generate_series($1::integer, $2::integer) AS n
    )
    INSERT INTO ${table} (${columns.map(({ name }) => name).join(", ")})
    SELECT ${values.join(", ")} FROM copies CROSS JOIN growth_of_${table} AS t ORDER BY n, t.id`
}

/** The transfers of the template come after the copies. */
const moveTemplate = (database: Client, copies: number, net: Nets) =>
  database.query(
    `UPDATE ledger_transfers SET position = position + $1::bigint * ${LINES_OF_COPY},
       debit_after = ${later("debit_after", "debit", "$1::bigint", net)},
       credit_after = ${later("credit_after", "credit", "$1::bigint", net)}
     WHERE id IN (SELECT id FROM growth_of_ledger_transfers)`,
    [copies]
  )

/** Copies in one statement. */
const CHUNK = 2000
