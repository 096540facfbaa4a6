/**
 * Invariants: checked repeatedly during a history, and completely at its end.
 *
 * Each rule is written again, from the contract and the tables of `domain`, against what PostgreSQL stores, what the
 * acquirer's books say (`Institutions`) and what the receivers got; none of it goes through the service.
 */
import { wrongStates } from "../../support/ChargeStates.ts"
import { incompleteKeys } from "../../support/KeyTables.ts"
import type { Callers } from "./Callers.ts"
import type { Calls } from "./Calls.ts"
import type { Database } from "./Database.ts"
import { compareDeliveries } from "./DeliveryInvariants.ts"
import type { Institutions } from "./Institutions.ts"
import { makeMoneyModel, type MoveRow } from "./MoneyModel.ts"
import type { Receivers } from "./Receivers.ts"
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
  const model = makeMoneyModel((id) => callers.merchants.find(({ accountId }) => accountId === id)!)
  const moved = new Map<string, Array<string>>()
  const reached = new Map<string, number>()
  let seen = 0

  const soFar: Invariants["soFar"] = async () => {
    const broken = [...calls.broken, ...institutions.broken, ...receivers.broken]
    const [rows, kept, connections, differing] = await Promise.all([
      query<MoveRow>(movesSince, [String(seen)]),
      query<{ owner_id: string; kind: string; balance: bigint }>("SELECT owner_id, kind, balance FROM ledger_accounts"),
      unallocatedOf(),
      query<{ owner_id: string; kind: string }>(transfersThatDiffer)
    ])
    for (const row of rows) {
      seen = Number(row.order_no)
      if (row.kind === "deliveries") {
        broken.push(`delivery ${row.id} was ${row.was}, and is ${row.is_now} though nobody resent it`)
        continue
      }
      if (row.kind !== "releases" && row.kind !== "orders" && row.kind !== "exceptions") {
        const states = moved.get(row.id) ?? []
        moved.set(row.id, [...states, row.is_now])
        const step = `${row.kind} ${row.was ?? "-"}>${row.is_now}`
        const state = `${row.kind} that were ${row.is_now}`
        reached.set(state, (reached.get(state) ?? 0) + 1)
        if (!allowedMoves.has(step)) broken.push(`${row.id} is moved as no table allows: ${step}`)
        if (row.sequence !== states.length + 1)
          broken.push(`${row.id} has the sequence ${row.sequence} after ${states.join(">")}`)
      }
      // States say nothing of the parts of a charge that went back.
      if (!institutions.hasParts()) broken.push(...model.apply(row, moved.get(row.id) ?? []))
    }
    if (institutions.hasParts()) {
      const rows = await query<{ resource_id: string; kind: string }>(fundsBelowZero)
      for (const { kind, resource_id } of rows) broken.push(`${kind} of charge ${resource_id} is below zero`)
    }
    let sum = 0
    for (const { balance, kind, owner_id } of kept) {
      sum += Number(balance)
      if (institutions.hasParts()) continue
      const expected = model.balanceOf(owner_id, kind) + (connections.get(`${owner_id} ${kind}`) ?? 0)
      if (Number(balance) !== expected) broken.push(`${kind} of ${owner_id} is ${balance}, in the model ${expected}`)
    }
    if (sum !== 0) broken.push(`all ledger accounts sum to ${sum}`)
    for (const { kind, owner_id } of differing) broken.push(`${kind} of ${owner_id} is not the sum of its transfers`)
    return broken
  }

  /** The ledger accounts of connections: what their exceptions have not given away. */
  const unallocatedOf = async () => {
    const rows = await query<{ connection_id: string; cents: bigint }>(
      "SELECT connection_id, sum(unallocated)::bigint AS cents FROM acquirer_exceptions GROUP BY connection_id"
    )
    const balances = new Map<string, number>()
    for (const { cents, connection_id } of rows) {
      balances.set(`${connection_id} unallocated`, Number(cents))
      balances.set(`${connection_id} acquirer`, -Number(cents))
    }
    return balances
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
      const broken = [...(await soFar()), ...(await institutions.reconcile())]
      await compareOperations(broken)
      for (const { id } of await query<{ id: string }>(incompleteKeys))
        broken.push(`${id} is not as the key tables have it`)
      for (const row of await query<object>(wrongStates)) broken.push(`lists find ${JSON.stringify(row)} by its state`)
      broken.push(...(await compareDeliveries({ database, callers, receivers, attemptsInAll, moved })))
      return broken
    }
  }
}

const movesSince = `
  SELECT m.order_no, m.kind, m.id, m.was, m.is_now, m.sequence,
    coalesce(c.account_id, p.account_id, d.account_id, e.account_id) AS account_id,
    coalesce(m.amount, c.amount, p.amount, d.amount) AS amount, p.fee,
    EXISTS (SELECT FROM acquirer_exceptions a WHERE a.action = 'accept' AND a.charge_id = c.id
      AND a.end_to_end_id = c.end_to_end_id) AS by_exception
  FROM simulation_moves m
  LEFT JOIN charges c ON c.id = m.id AND m.kind IN ('charges', 'releases', 'orders')
  LEFT JOIN payouts p ON p.id = m.id AND m.kind = 'payouts'
  LEFT JOIN disputes d ON d.id = m.id AND m.kind = 'disputes'
  LEFT JOIN acquirer_exceptions e ON e.id = m.id AND m.kind = 'exceptions'
  WHERE m.order_no > $1::bigint ORDER BY m.order_no`

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

const waitingRows = `
  SELECT 'charge' AS what, id, 'processing' AS status FROM charges WHERE status = 'processing'
  UNION ALL SELECT 'payout', id, status FROM payouts WHERE status = 'processing'
  UNION ALL SELECT 'delivery', d.id, d.status FROM deliveries d LEFT JOIN webhook_endpoints w ON w.id = d.endpoint_id
    WHERE d.status IN ('scheduled', 'delivering') AND w.deleted_at IS NULL
  UNION ALL SELECT 'outbox', change_id, 'waiting' FROM outbox
  UNION ALL SELECT 'order', charge_id, state FROM acquirer_orders WHERE state = 'ordered'
  UNION ALL SELECT 'early return', id, 'waiting' FROM early_reversals
    WHERE charge_id IS NOT NULL OR notification ->> '_tag' <> 'med.opened'
  UNION ALL SELECT 'release', charge_id, 'waiting' FROM releases WHERE released_at IS NULL`
