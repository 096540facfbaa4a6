/**
 * The ledger: transfers between ledger accounts, in double entry (BAL-3).
 *
 * Guarantees:
 * - a transfer has one debit and one credit of the same amount, so that all ledger accounts together sum to zero. A credit
 *   raises a balance, a debit lowers it;
 * - a transfer moves money as a rule of its reason says (`postingRules`);
 * - transfers and balances are written in the commit of the state change that explains them (BAL-4, BAL-8);
 * - every account has its own ledger accounts, so that no movement waits for another account's (BAL-7). A connection has
 *   its own for money that fits no charge (BAL-11); both ends of a transfer have one owner;
 * - each transfer has the next position of its owner, a day and the balances after it, from the rows that it locked. A day is
 *   never before that of the position before;
 * - the head of each owner is locked before anything is written, everywhere in the order of the owners, so that movements never
 *   deadlock. Who has it moves all ledger accounts of the owner alone.
 */
import type { TransferReason } from "@pix-payments/domain/BalanceTransaction"
import * as Effect from "effect/Effect"
import type { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import type { Ids } from "../base/Ids.ts"
import { bigint, instant, nullable, text, uuid } from "../database/statements/Column.ts"
import { dayOf } from "../database/statements/Days.ts"
import type { LockMode } from "../database/statements/LockMode.ts"
import { type Cte, part, type Part, rows, statement, uuids } from "../database/statements/Statement.ts"

/** The ledger accounts of an account. */
export const ofAccount = [
  "available",
  "pending",
  "blocked",
  "payouts_in_transit",
  "returns_in_transit",
  "acquirer",
  "fees"
] as const

/** `unallocated` and `acquirer` are the ledger accounts of a connection. */
export const ledgerKinds = [...ofAccount, "unallocated"] as const

export type LedgerKind = (typeof ledgerKinds)[number]

/**
 * The posting rules: from which ledger account to which the transfers of each reason move money. `transfer` makes no other.
 */
export const postingRules: Readonly<Record<TransferReason, ReadonlyArray<`${LedgerKind}>${LedgerKind}`>>> = {
  "charge.paid": ["acquirer>available", "acquirer>pending"],
  "charge.released": ["pending>available"],
  "charge.refund_ordered": ["pending>returns_in_transit", "available>returns_in_transit"],
  "charge.refunded": ["returns_in_transit>acquirer", "blocked>acquirer", "pending>acquirer", "available>acquirer"],
  "charge.refund_failed": ["returns_in_transit>blocked", "returns_in_transit>pending", "returns_in_transit>available"],
  "charge.infraction": ["pending>blocked", "available>blocked"],
  "charge.dispute_won": ["blocked>available"],
  "charge.charged_back": [
    "blocked>acquirer",
    "pending>acquirer",
    "available>acquirer",
    // A MED took what a refund had ordered, which then failed.
    "returns_in_transit>acquirer",
    // A return that was smaller than the loss.
    "acquirer>available",
    // What other MEDs contest.
    "pending>blocked",
    "available>blocked",
    "blocked>available"
  ],
  "payout.created": ["available>payouts_in_transit"],
  "payout.completed": ["payouts_in_transit>acquirer", "payouts_in_transit>fees"],
  "payout.failed": ["payouts_in_transit>available"],
  "payout.canceled": ["payouts_in_transit>available"],
  "exception.received": ["acquirer>unallocated", "unallocated>acquirer"],
  "exception.accepted": [
    "unallocated>acquirer",
    "acquirer>available",
    // The bank sent what the books have as failed.
    "acquirer>unallocated",
    "available>acquirer"
  ],
  "exception.matched": ["acquirer>unallocated"],
  "exception.reversed": ["acquirer>unallocated", "unallocated>acquirer", "acquirer>available", "available>acquirer"],
  "exception.returned": ["unallocated>acquirer", "blocked>acquirer", "available>acquirer"],
  "exception.refund_ordered": ["available>returns_in_transit"],
  "exception.refunded": ["returns_in_transit>acquirer"],
  "exception.refund_failed": ["returns_in_transit>blocked", "returns_in_transit>available"],
  "exception.infraction": ["available>blocked"],
  "exception.dispute_won": ["blocked>available"],
  "exception.charged_back": [
    "blocked>acquirer",
    "available>acquirer",
    "returns_in_transit>acquirer",
    "acquirer>available",
    "available>blocked",
    "blocked>available"
  ],
  adjustment: ["fees>available", "available>fees"]
}

export interface Transfer {
  readonly id: string
  /** The owner of both ends: an account, or a connection where one end is `unallocated`. */
  readonly account_id: string
  readonly debit: LedgerKind
  readonly credit: LedgerKind
  readonly amount: number
  readonly resource_id: string
  /** The refund or dispute of the resource that it is of. */
  readonly source_id: string | null
  /** Of a movement at the bank: its connection. */
  readonly connection_id: string | null
  /** Cents of the amount that are a fee. */
  readonly fee: number | null
  readonly reason: TransferReason
  /** Epoch milliseconds. */
  readonly created_at: number
}

/** The transfer of a movement; none of zero cents. One without a rule is a defect. */
export const transfer = (
  ids: Ids["Service"],
  movement: {
    readonly accountId: string
    readonly debit: LedgerKind
    readonly credit: LedgerKind
    /** Cents. */
    readonly amount: number
    readonly resourceId: string
    readonly sourceId?: string | undefined
    /** The connection of the bank account in which the money moves, where it moves at the bank. */
    readonly connectionId?: string | undefined
    /** Cents of the amount that are a fee. */
    readonly fee?: number | undefined
    readonly reason: TransferReason
  }
): ReadonlyArray<Transfer> => {
  if (movement.amount === 0) return []
  const ends = `${movement.debit}>${movement.credit}` as const
  if (!postingRules[movement.reason].includes(ends)) throw new Error(`no posting rule: ${movement.reason} ${ends}`)
  const { epochMs, id } = ids.next()
  return [
    {
      id,
      account_id: movement.accountId,
      debit: movement.debit,
      credit: movement.credit,
      amount: movement.amount,
      resource_id: movement.resourceId,
      source_id: movement.sourceId ?? null,
      connection_id: [movement.debit, movement.credit].includes("acquirer") ? (movement.connectionId ?? null) : null,
      fee: movement.fee || null,
      reason: movement.reason,
      created_at: epochMs
    }
  ]
}

const transferRows = rows({
  id: uuid(),
  account_id: uuid(),
  debit: text<LedgerKind>(),
  credit: text<LedgerKind>(),
  amount: bigint(),
  resource_id: uuid(),
  source_id: nullable(uuid()),
  connection_id: nullable(uuid()),
  fee: nullable(bigint()),
  reason: text<TransferReason>(),
  created_at: instant()
})

/** The heads that transfers lock, and the cents that they take from each. */
const headRows = rows({ owner_id: uuid(), kind: text<LedgerKind>(), taken: bigint() })

const headsOf = (transfers: ReadonlyArray<Transfer>) => {
  const heads = new Map<string, { owner_id: string; kind: LedgerKind; taken: number }>()
  for (const { account_id: owner_id, amount, credit, debit } of transfers) {
    const kind = debit === "unallocated" || credit === "unallocated" ? "unallocated" : "available"
    const taken = (heads.get(owner_id)?.taken ?? 0) + (debit === kind ? amount : 0)
    heads.set(owner_id, { owner_id, kind, taken })
  }
  return [...heads.values()]
}

/** The ledger accounts whose balance after it a transfer has: what an account's statement shows. */
export const shownKinds = ["available", "pending", "blocked"] as const

/** The kind of the head, which has the owner's position and day: of a connection it is `unallocated`. */
const head = (row: string) =>
  `CASE WHEN 'unallocated' IN (${row}.debit, ${row}.credit) THEN 'unallocated' ELSE 'available' END`

/** What a transfer adds to a ledger account. */
const addedTo = (kind: LedgerKind) =>
  `CASE '${kind}' WHEN t.credit THEN t.amount WHEN t.debit THEN -t.amount ELSE 0 END`

/** The balance of an end of the posted transfer `p`, given the row of that end after the whole statement. */
const balanceAfter = (row: string, kind: string) =>
  `${row}.balance - ${row}.amount + CASE ${kind} ${shownKinds.map((each) => `WHEN '${each}' THEN p.${each}`).join(" ")} END`

const isShown = (kind: string) => `${kind} IN (${shownKinds.map((each) => `'${each}'`).join(", ")})`

// Positions, days and balances are those of the rows as updated. Several transfers of one owner are in the order of their ids.
const insertTransfers = (transfers: string, changed: Cte): string => `
  posted AS MATERIALIZED (
    SELECT t.*, ${head("t")} AS head, greatest(${dayOf("t.created_at")}, bank.day) AS at_day,
      row_number() OVER of_owner AS nth,
      ${shownKinds.map((kind) => `sum(${addedTo(kind)}) OVER of_owner AS ${kind}`).join(", ")}
    FROM ${transfers} AS t
    LEFT JOIN ledger_accounts bank ON bank.owner_id = t.connection_id AND bank.kind = 'unallocated'
    WHERE (t.resource_id IN (SELECT id FROM ${changed})) IS TRUE
    WINDOW of_owner AS (PARTITION BY t.account_id ORDER BY t.id ROWS UNBOUNDED PRECEDING)
  ),
  sums AS MATERIALIZED (
    SELECT owner_id, kind, sum(amount)::bigint AS amount, sum(lines)::bigint AS lines, max(day) AS day FROM (
      SELECT account_id AS owner_id, credit AS kind, amount, 0 AS lines, NULL::date AS day FROM posted
      UNION ALL
      SELECT account_id, debit, -amount, 0, NULL FROM posted
      UNION ALL
      SELECT account_id, head, 0, 1, at_day FROM posted
    ) ends
    GROUP BY owner_id, kind
  ),
  balanced AS (
    UPDATE ledger_accounts l SET balance = l.balance + s.amount, position = l.position + s.lines,
      day = greatest(l.day, s.day), open_day = coalesce(l.open_day, greatest(l.day, s.day))
    FROM sums s WHERE l.owner_id = s.owner_id AND l.kind = s.kind
    RETURNING l.owner_id, l.kind, l.balance, l.position, l.day, s.amount, s.lines
  ),
  moved AS (
    INSERT INTO ledger_transfers (id, account_id, resource_id, connection_id, position, amount, created_at, debit_after,
      credit_after, fee, source_id, day, debit, credit, reason)
    SELECT p.id, p.account_id, p.resource_id, p.connection_id, h.position - h.lines + p.nth, p.amount, p.created_at,
      ${balanceAfter("d", "p.debit")}, ${balanceAfter("c", "p.credit")},
      p.fee, p.source_id, h.day, p.debit, p.credit, p.reason
    FROM posted p
    LEFT JOIN balanced h ON h.owner_id = p.account_id AND h.kind = p.head
    LEFT JOIN balanced d ON d.owner_id = p.account_id AND d.kind = p.debit AND ${isShown("p.debit")}
    LEFT JOIN balanced c ON c.owner_id = p.account_id AND c.kind = p.credit AND ${isShown("p.credit")}
  )`

/**
 * The part of a statement that writes the transfers of the resources that a CTE returns, in a transaction that has locked their
 * owners with `lockLedgerOf`: CTEs.
 */
export const transfersUnderLock = part(
  { transfers: transferRows },
  ({ transfers }) => ({ insert: (changed: Cte) => insertTransfers(transfers, changed) }),
  (transfers: ReadonlyArray<Transfer>) => ({ transfers })
)

/**
 * The part of a statement that locks the heads of transfers itself. `lock` gives CTEs that come before the CTE of the
 * changed resources; `isLocked` guards it: true of a row whose account the statement has locked. `isCovered` is true of an account
 * whose locked `available` covers its transfers. `insert` gives CTEs that write the transfers of the changed resources.
 *
 * A statement for one account waits for the locks. A statement for several passes by each account of which a row is
 * locked, so that no account waits for another one's lock; `passedBy` selects those accounts.
 */
export const lockedTransfers = part(
  { transfers: transferRows, heads: headRows },
  ({ heads, transfers }) => ({
    lock: (lockMode: LockMode): string => `
  heads AS MATERIALIZED (SELECT * FROM ${heads} AS h),
  locked AS MATERIALIZED (
    SELECT l.owner_id, l.kind, l.balance, h.taken FROM heads h
    JOIN ledger_accounts l ON l.owner_id = h.owner_id AND l.kind = h.kind
    ORDER BY l.owner_id FOR NO KEY UPDATE OF l${lockMode === "wait" ? "" : " SKIP LOCKED"}
  ),
  unlocked AS MATERIALIZED (SELECT owner_id FROM heads EXCEPT SELECT owner_id FROM locked)`,
    isLocked: (accountId: string): string => `(${accountId} IN (SELECT owner_id FROM unlocked)) IS FALSE`,
    isCovered: (accountId: string): string =>
      `(${accountId} IN (SELECT owner_id FROM locked WHERE kind = 'available' AND balance >= taken)) IS TRUE`,
    insert: (changed: Cte): string => insertTransfers(transfers, changed),
    passedBy: "SELECT owner_id FROM unlocked"
  }),
  (transfers: ReadonlyArray<Transfer>) => ({ transfers, heads: headsOf(transfers) })
)

export type LockedTransfers = typeof lockedTransfers extends Part<never, infer Sql> ? Sql : never

/**
 * Locks these accounts and connections for the caller's transaction. A transaction that moves money does this first, before it
 * locks the resource. Returns the accounts that are locked: every one, unless the statement passes by what others have.
 */
export const lockLedgerOf = (
  sql: SqlClient,
  accountIds: ReadonlyArray<string>,
  lockMode: LockMode = "wait"
): Effect.Effect<ReadonlySet<string>, SqlError> =>
  Effect.map(
    sql.unsafe<{ readonly id: string; readonly kind: LedgerKind }>(...lockAll[lockMode]({ accountIds })),
    (heads) => new Set(heads.flatMap(({ id, kind }) => (kind === "available" ? [id] : [])))
  )

/** Cents in `available` of an account, in a transaction that has locked it. */
export const availableOf = (sql: SqlClient, accountId: string): Effect.Effect<number, SqlError> =>
  Effect.map(
    sql<{ balance: bigint }>`
      SELECT balance FROM ledger_accounts WHERE owner_id = ${accountId}::uuid AND kind = 'available'`,
    ([row]) => Number(row?.balance ?? 0n)
  )

const lockAllWith = (option: "" | "SKIP LOCKED") =>
  statement(
    { accountIds: uuids },
    ({ accountIds }) => `
  SELECT owner_id AS id, kind FROM ledger_accounts WHERE owner_id = ANY (${accountIds}) AND kind IN ('available', 'unallocated')
  ORDER BY owner_id FOR NO KEY UPDATE ${option}`
  )

const lockAll = { wait: lockAllWith(""), skip: lockAllWith("SKIP LOCKED") }
