/**
 * Invariants: checked repeatedly during a history, and completely at its end.
 *
 * Each rule is written again, from the contract and the tables of `domain`, against what PostgreSQL stores, what the
 * acquirer's books say (`Institutions`) and what the receivers got; none of it goes through the service.
 */
import { statesAgainstBalances } from "../../../src/ledger/LedgerStates.ts"
import { wrongStates } from "../../support/ChargeStates.ts"
import { incompleteKeys } from "../../support/KeyTables.ts"
import type { Callers } from "./Callers.ts"
import type { Calls } from "./Calls.ts"
import type { Database } from "./Database.ts"
import { compareDeliveries } from "./DeliveryInvariants.ts"
import type { Institutions } from "./Institutions.ts"
import type { Receivers } from "./Receivers.ts"
import { reconcile } from "./Reconciliation.ts"
import { allowedMoves } from "./Transitions.ts"

export interface Invariants {
  /** Checks the current state; returns violations. */
  readonly soFar: () => Promise<ReadonlyArray<string>>
  /** Unfinished work. */
  readonly waiting: () => Promise<ReadonlyArray<string>>
  /** Checks everything, at the end. */
  readonly atTheEnd: () => Promise<ReadonlyArray<string>>
  /** How often each final state was reached. */
  readonly reached: () => ReadonlyMap<string, number>
}

export const makeInvariants = (options: {
  readonly database: Database
  readonly institutions: Institutions
  readonly calls: Calls
  readonly callers: Callers
  readonly receivers: Receivers
  readonly attemptsInAll: number
}): Invariants => {
  const { attemptsInAll, callers, calls, database, institutions, receivers } = options
  const { query } = database
  const moved = new Map<string, Array<string>>()
  const reached = new Map<string, number>()
  let seen = 0

  const soFar: Invariants["soFar"] = async () => {
    const broken = [...calls.broken, ...institutions.broken, ...receivers.broken]
    const [rows, [all], negative, differing] = await Promise.all([
      query<MoveRow>("SELECT * FROM simulation_moves WHERE order_no > $1::bigint ORDER BY order_no", [String(seen)]),
      query<{ sum: bigint }>("SELECT coalesce(sum(balance), 0)::bigint AS sum FROM ledger_accounts"),
      query<{ resource_id: string; kind: string }>(fundsBelowZero),
      query<{ owner_id: string; kind: string }>(transfersThatDiffer)
    ])
    for (const row of rows) {
      seen = Number(row.order_no)
      if (row.kind === "deliveries") {
        broken.push(`delivery ${row.id} was ${row.was}, and is ${row.is_now} though nobody resent it`)
        continue
      }
      if (row.kind === "transfers") {
        broken.push(`${row.is_now} of ${row.id} spends what is not there`)
        continue
      }
      if (row.kind === "brakes") {
        broken.push(`payout ${row.id} is claimed to be sent, and a brake stops it`)
        continue
      }
      const states = moved.get(row.id) ?? []
      moved.set(row.id, [...states, row.is_now])
      const step = `${row.kind} ${row.was ?? "-"}>${row.is_now}`
      const state = `${row.kind} that were ${row.is_now}`
      reached.set(state, (reached.get(state) ?? 0) + 1)
      if (!allowedMoves.has(step)) broken.push(`${row.id} is moved as no table allows: ${step}`)
      if (row.sequence !== states.length + 1)
        broken.push(`${row.id} has the sequence ${row.sequence} after ${states.join(">")}`)
    }
    for (const { kind, resource_id } of negative) broken.push(`${kind} of charge ${resource_id} is below zero`)
    if (all!.sum !== 0n) broken.push(`all ledger accounts sum to ${all!.sum}`)
    for (const { kind, owner_id } of differing) broken.push(`${kind} of ${owner_id} is not the sum of its transfers`)
    return broken
  }

  const waiting: Invariants["waiting"] = async () => {
    const [rows, behind] = await Promise.all([
      query<{ what: string; id: string; status: string }>(waitingRows),
      institutions.waiting()
    ])
    return [
      ...rows.map(({ id, status, what }) => `${what} ${id} is ${status}`),
      ...callers.operations.filter(({ isSettled }) => !isSettled).map(({ name }) => `${name} is not answered`),
      ...behind,
      ...(calls.waiting() > 0 ? [`${calls.waiting()} calls hang`] : [])
    ]
  }

  /** The charges and payouts of the service against the operations of the callers. */
  const compareOperations = async (broken: Array<string>) => {
    const rows = await query<{ id: string }>("SELECT id FROM charges UNION ALL SELECT id FROM payouts")
    const named = new Set(callers.operations.flatMap(({ id }) => id ?? []))
    for (const { id } of rows) if (!named.has(id)) broken.push(`${id} is there, and nobody was answered with it`)
    if (rows.length !== named.size) broken.push("there are not as many resources as operations")
  }

  return {
    soFar,
    waiting,
    reached: () => reached,
    atTheEnd: async () => {
      const broken = [...(await soFar()), ...(await reconcile({ database, callers, institutions }))]
      await compareOperations(broken)
      for (const { id } of await query<{ id: string }>(incompleteKeys))
        broken.push(`${id} is not as the key tables have it`)
      for (const row of await query<object>(wrongStates)) broken.push(`lists find ${JSON.stringify(row)} by its state`)
      for (const row of await query<object>(statesAgainstBalances))
        broken.push(
          `no state explains ${JSON.stringify(row, (_, value) => (typeof value === "bigint" ? `${value}` : value))}`
        )
      broken.push(...(await compareDeliveries({ database, callers, receivers, attemptsInAll, moved })))
      return broken
    }
  }
}

const transfersThatDiffer = `
  SELECT owner_id, kind FROM (
    SELECT owner_id, kind, balance AS amount FROM ledger_accounts
    UNION ALL
    SELECT account_id, credit, -amount FROM ledger_transfers
    UNION ALL
    SELECT account_id, debit, amount FROM ledger_transfers
  ) sides GROUP BY owner_id, kind HAVING sum(amount) <> 0`

/** The part of each charge that a ledger account has. What pays a payout was in `available`. */
const fundsBelowZero = `
  SELECT t.resource_id, ends.kind FROM ledger_transfers t JOIN charges c ON c.id = t.resource_id
  CROSS JOIN LATERAL (VALUES (t.credit, t.amount), (t.debit, -t.amount)) AS ends (kind, amount)
  WHERE ends.kind <> 'acquirer' GROUP BY t.resource_id, ends.kind HAVING sum(ends.amount) < 0`

/** A row of `simulation_moves`. */
interface MoveRow {
  readonly order_no: bigint
  readonly kind: "charges" | "payouts" | "disputes" | "transfers" | "deliveries" | "brakes"
  readonly id: string
  readonly was: string | null
  readonly is_now: string
  readonly sequence: number | null
}

const waitingRows = `
  SELECT 'charge' AS what, id, 'processing' AS status FROM charges WHERE status = 'processing'
  UNION ALL SELECT 'payout', id, status FROM payouts WHERE status = 'processing'
  UNION ALL SELECT 'delivery', d.id, d.status FROM deliveries d LEFT JOIN webhook_endpoints w ON w.id = d.endpoint_id
    WHERE d.status IN ('scheduled', 'delivering') AND w.deleted_at IS NULL
  UNION ALL SELECT 'outbox', change_id, 'waiting' FROM outbox
  UNION ALL SELECT 'order', charge_id, state FROM acquirer_orders WHERE state = 'ordered'
  UNION ALL SELECT 'early return', id, 'waiting' FROM early_reversals
    WHERE NOT (is_taken OR notification ->> '_tag' = 'med.opened')
  UNION ALL SELECT 'release', charge_id, 'waiting' FROM releases WHERE released_at IS NULL`
