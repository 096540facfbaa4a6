/**
 * Invariants: checked repeatedly during a history, and completely at its end.
 *
 * Each rule is written again, from the contract and the tables of `domain`, against what PostgreSQL stores, what the
 * acquirer's books say and what the receivers got; none of it goes through the service.
 */
import { chargeTransitions } from "@pix-payments/domain/Charge"
import { disputeTransitions } from "@pix-payments/domain/Dispute"
import { eventCatalog } from "@pix-payments/domain/EventCatalog"
import { payoutTransitions } from "@pix-payments/domain/Payout"
import { normalizeUrl } from "@pix-payments/domain/PublicUrl"
import { idFromTxid, txidFromId } from "@pix-payments/domain/Txid"
import type { Books } from "./Books.ts"
import type { Callers, Merchant } from "./Callers.ts"
import type { Database } from "./Database.ts"
import { isPoisoned } from "./HostileTenant.ts"
import type { Receivers } from "./Receivers.ts"

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
  readonly books: Books
  readonly callers: Callers
  readonly receivers: Receivers
  readonly attemptsInAll: number
  /** True where a process's clock was wrong for a time. */
  readonly wereClocksWrong: () => boolean
}): Invariants => {
  const { attemptsInAll, books, callers, database, receivers, wereClocksWrong } = options
  const { query } = database
  const model = new Map<string, number>()
  const moved = new Map<string, Array<string>>()
  const reached = new Map<string, number>()
  let seen = 0

  const move = (owner: string, kind: string, amount: number) =>
    model.set(`${owner} ${kind}`, (model.get(`${owner} ${kind}`) ?? 0) + amount)
  const merchantOf = (accountId: string): Merchant =>
    callers.merchants.find((merchant) => merchant.accountId === accountId)!

  /** What is not released yet of a charge. */
  const unreleased = new Map<string, number>()
  /** Charges of which a refund is under way, with what it took of their unreleased money. */
  const refunding = new Map<string, number>()

  /** Money of a charge leaves the balance: what is not released first. Answers how much of it that was. */
  const leave = (chargeId: string, owner: string, amount: number): number => {
    const held = Math.min(amount, unreleased.get(chargeId) ?? 0)
    unreleased.set(chargeId, (unreleased.get(chargeId) ?? 0) - held)
    move(owner, "pending", -held)
    move(owner, "available", held - amount)
    return held
  }

  /** What a move of a resource does to the money, by the rules of the contract. */
  const pay = (row: MoveRow, broken: Array<string>) => {
    const { account_id: owner } = row
    const amount = Number(row.amount)
    const step = `${row.was ?? "-"}>${row.is_now}`
    if (row.kind === "charges") {
      if (row.is_now === "paid" && row.was === "pending") {
        const isHeld = merchantOf(owner).releaseDelayS > 0
        if (isHeld) unreleased.set(row.id, amount)
        move(owner, isHeld ? "pending" : "available", amount)
        move(owner, "acquirer", -amount)
      } else if (refunding.has(row.id)) {
        // The money left with the order.
      } else if (step === "paid>infraction") {
        leave(row.id, owner, amount)
        move(owner, "blocked", amount)
      } else if (step === "infraction>paid") {
        move(owner, "blocked", -amount)
        move(owner, "available", amount)
      } else if (row.is_now === "refunded" || row.is_now === "charged_back") {
        if (row.was === "infraction") move(owner, "blocked", -amount)
        else leave(row.id, owner, amount)
        move(owner, "acquirer", amount)
      }
    } else if (row.kind === "orders") {
      if (row.is_now === "ordered") {
        if (refunding.has(row.id)) broken.push(`two refunds of ${row.id} are under way`)
        refunding.set(row.id, leave(row.id, owner, amount))
        move(owner, "acquirer", amount)
        if ((model.get(`${owner} available`) ?? 0) < 0 && refunding.get(row.id) !== amount) {
          broken.push(`a refund of ${row.id} spends what is not there`)
        }
      } else {
        const held = refunding.get(row.id) ?? 0
        refunding.delete(row.id)
        if (row.is_now !== "refused") return
        move(owner, "acquirer", -amount)
        if (moved.get(row.id)?.at(-1) === "infraction") {
          move(owner, "blocked", amount)
          return
        }
        unreleased.set(row.id, (unreleased.get(row.id) ?? 0) + held)
        move(owner, "pending", held)
        move(owner, "available", amount - held)
      }
    } else if (row.kind === "releases") {
      unreleased.set(row.id, (unreleased.get(row.id) ?? 0) - amount)
      move(owner, "pending", -amount)
      move(owner, "available", amount)
    } else if (row.kind === "payouts") {
      const { feeBasisPoints, feeFixed } = merchantOf(owner)
      const fee = feeFixed + Math.floor((amount * feeBasisPoints + 5000) / 10_000)
      if (fee !== Number(row.fee)) broken.push(`payout ${row.id} has the fee ${row.fee}, the model ${fee}`)
      const all = amount + fee
      if (row.was === null) {
        move(owner, "available", -all)
        move(owner, "payouts_in_transit", all)
        if ((model.get(`${owner} available`) ?? 0) < 0) broken.push(`payout ${row.id} spends what is not there`)
      } else if (row.is_now === "completed") {
        move(owner, "payouts_in_transit", -all)
        move(owner, "acquirer", amount)
        move(owner, "fees", fee)
      } else if (row.is_now === "failed" || row.is_now === "canceled") {
        move(owner, "payouts_in_transit", -all)
        move(owner, "available", all)
      }
    }
  }

  const soFar: Invariants["soFar"] = async () => {
    const broken = [...callers.broken, ...books.broken, ...receivers.broken]
    const rows = await query<MoveRow>(movesSince, [String(seen)])
    for (const row of rows) {
      seen = Number(row.order_no)
      if (row.kind === "deliveries") {
        broken.push(`delivery ${row.id} was ${row.was}, and is ${row.is_now} though nobody resent it`)
        continue
      }
      if (row.kind !== "releases" && row.kind !== "orders") {
        const states = moved.get(row.id) ?? []
        moved.set(row.id, [...states, row.is_now])
        const step = `${row.kind} ${row.was ?? "-"}>${row.is_now}`
        const state = `${row.kind} that were ${row.is_now}`
        reached.set(state, (reached.get(state) ?? 0) + 1)
        if (!allowedMoves.has(step)) broken.push(`${row.id} is moved as no table allows: ${step}`)
        if (row.sequence !== states.length + 1)
          broken.push(`${row.id} has the sequence ${row.sequence} after ${states.join(">")}`)
      }
      pay(row, broken)
    }
    const kept = await query<{ owner_id: string; kind: string; balance: bigint }>(
      "SELECT owner_id, kind, balance FROM ledger_accounts"
    )
    let sum = 0
    for (const { balance, kind, owner_id } of kept) {
      sum += Number(balance)
      const expected = model.get(`${owner_id} ${kind}`) ?? 0
      if (Number(balance) !== expected) broken.push(`${kind} of ${owner_id} is ${balance}, in the model ${expected}`)
    }
    if (sum !== 0) broken.push(`all ledger accounts sum to ${sum}`)
    const differing = await query<{ owner_id: string; kind: string }>(transfersThatDiffer)
    for (const { kind, owner_id } of differing) broken.push(`${kind} of ${owner_id} is not the sum of its transfers`)
    return broken
  }

  const waiting: Invariants["waiting"] = async () => {
    const rows = await query<{ what: string; id: string; status: string }>(waitingRows)
    return [
      ...rows.map(({ id, status, what }) => `${what} ${id} is ${status}`),
      ...callers.operations.filter(({ isSettled }) => !isSettled).map(({ name }) => `${name} is not answered`),
      ...[...books.pixes.values(), ...books.sent.values()]
        .flatMap(({ reports }) => reports)
        .map(({ _tag }) => `a report is not heard: ${_tag}`),
      ...(callers.waiting() > 0 ? [`${callers.waiting()} calls hang`] : [])
    ]
  }

  /** The service's books against the acquirer's. */
  const reconcile = async (broken: Array<string>) => {
    const charges = await query<{ id: string; status: string; amount: bigint; end_to_end_id: string | null }>(
      `SELECT id, CASE WHEN NOT acquirer_answered AND status = 'pending' THEN 'processing' WHEN status = 'pending' AND expires_at <= now() THEN 'expired' ELSE status END AS status, amount,
         end_to_end_id FROM charges`
    )
    const fitting: Readonly<Record<string, ReadonlyArray<string>>> = {
      emitted: ["pending", "expired"],
      refused: ["failed"],
      paid: ["paid"],
      // It failed after it had expired, by the clock of the process that was notified: no event says so.
      failed: wereClocksWrong() ? ["failed", "expired", "pending"] : ["failed", "expired"],
      // A cancellation without an answer leaves a charge that expires.
      canceled: ["canceled", "pending", "expired"],
      refunded: ["refunded"],
      charged_back: ["charged_back"],
      contested: ["infraction"]
    }
    for (const { amount, end_to_end_id, id, status } of charges) {
      const pix = books.pixes.get(txidFromId(id))
      if (pix === undefined) broken.push(`charge ${id} is ${status}, and the acquirer knows no Pix of it`)
      else if (!fitting[pix.state]!.includes(status)) {
        broken.push(`charge ${id} is ${status}, at the acquirer ${pix.state}`)
      } else if (pix.amount !== Number(amount)) broken.push(`charge ${id} has another amount than its Pix`)
      if (["paid", "refunded", "charged_back", "infraction"].includes(status) && end_to_end_id === null) {
        broken.push(`charge ${id} is ${status} without a settlement`)
      }
    }
    const known = new Set(charges.map(({ id }) => id))
    for (const { txid } of books.pixes.values()) {
      if (!known.has(idFromTxid(txid) ?? "")) broken.push(`the acquirer has a Pix that is no charge of ours: ${txid}`)
    }
    const payouts = await query<{ id: string; status: string; amount: bigint }>(
      "SELECT id, status, amount FROM payouts"
    )
    for (const { amount, id, status } of payouts) {
      const sent = books.sent.get(id)
      const expected = sent === undefined ? ["pending", "canceled"] : [sent.outcome as string]
      if (!expected.includes(status)) broken.push(`payout ${id} is ${status}, at the acquirer ${expected.join(" or ")}`)
      if (sent !== undefined && sent.order.amount !== Number(amount))
        broken.push(`payout ${id} was sent with another amount`)
    }
    const paidOut = new Set(payouts.map(({ id }) => id))
    for (const id of books.sent.keys()) if (!paidOut.has(id)) broken.push(`${id} was sent, and is no payout of ours`)
    const named = new Set([...callers.operations].flatMap(({ id }) => id ?? []))
    for (const id of [...known, ...paidOut]) {
      if (!named.has(id)) broken.push(`${id} is there, and nobody was answered with it`)
    }
    if (known.size + paidOut.size !== named.size) broken.push("there are not as many resources as operations")
  }

  /** Each event reaches each of its destinations, under one id. */
  const compareDeliveries = async (broken: Array<string>) => {
    const expected = new Set<string>()
    // To an endpoint that was deleted before the fan-out there is none; its `webhook_url` then has its own.
    const allowed = new Set<string>()
    const told = await query<ToldRow>(
      `SELECT t.change_id, t.event, t.endpoint_id, t.normalized_url, w.deleted_at IS NOT NULL AS is_deleted
       FROM simulation_told t JOIN webhook_endpoints w ON w.id = t.endpoint_id`
    )
    const equal = new Set<string>()
    const equalDeleted = new Map<string, string>()
    for (const row of told) {
      if (isPoisoned(row.normalized_url)) continue
      const folding = `${row.change_id} ${row.event} ${row.normalized_url}`
      const delivery = `${row.change_id} ${row.event} ${row.endpoint_id}`
      if (!row.is_deleted) equal.add(folding)
      else equalDeleted.set(folding, delivery)
      if (dispatched.has(row.event)) (row.is_deleted ? allowed : expected).add(delivery)
    }
    /** Of these one at the least. */
    const either: Array<ReadonlyArray<string>> = []
    const changes = await query<ChangeRow>(
      `SELECT c.id, c.resource_id, c.kind, c.actions, c.status, c.sequence,
         coalesce((SELECT webhook_url FROM charges r WHERE r.id = c.resource_id),
           (SELECT webhook_url FROM payouts r WHERE r.id = c.resource_id)) AS webhook_url
       FROM changes c ORDER BY c.sequence, c.id`
    )
    const statesTold = new Map<string, Array<string>>()
    for (const change of changes) {
      const isMessage = change.actions.includes("message")
      if (!isMessage) statesTold.set(change.resource_id, [...(statesTold.get(change.resource_id) ?? []), change.status])
      const states = moved.get(change.resource_id) ?? []
      const step = `${change.kind.split(".")[0]} ${states[change.sequence - 2] ?? "-"}>${change.status}`
      const actions = eventsOf.get(step)
      if (!isMessage && actions?.includes(change.actions.join(" ")) !== true) {
        broken.push(`${change.resource_id} told of ${step} with "${change.actions.join(" ")}"`)
      }
      if (change.webhook_url === null || isPoisoned(change.webhook_url)) continue
      for (const action of change.actions) {
        const event = `${change.kind}.${action}`
        if (!dispatched.has(event)) continue
        const folding = `${change.id} ${event} ${normalizeUrl(change.webhook_url)}`
        if (equal.has(folding)) continue
        const delivery = `${change.id} ${event} ${change.webhook_url}`
        const deleted = equalDeleted.get(folding)
        if (deleted === undefined) expected.add(delivery)
        else {
          allowed.add(delivery)
          either.push([deleted, delivery])
        }
      }
    }
    for (const [id, states] of moved) {
      const [first, ...later] = states
      const all = first === "processing" && !statesTold.get(id)?.includes("processing") ? later : states
      if ((statesTold.get(id) ?? []).join(">") !== all.join(">")) {
        broken.push(`${id} went through ${all.join(">")}, and told of ${(statesTold.get(id) ?? []).join(">")}`)
      }
    }
    const deliveries = await query<DeliveryRow>(
      `SELECT d.id, d.change_id, d.event, d.endpoint_id, d.url, d.status, d.attempts_made, d.curve_from,
         w.deleted_at IS NOT NULL AS is_deleted
       FROM deliveries d LEFT JOIN webhook_endpoints w ON w.id = d.endpoint_id`
    )
    const made = new Set<string>()
    for (const {
      attempts_made,
      change_id,
      curve_from,
      endpoint_id,
      event,
      id,
      is_deleted,
      status,
      url
    } of deliveries) {
      if (isPoisoned(url)) continue
      const what = `${change_id} ${event} ${endpoint_id ?? url}`
      made.add(what)
      if (!expected.delete(what) && !allowed.delete(what)) broken.push(`delivery ${id} is one too many: ${what}`)
      const accepted = receivers.received.get(id)?.accepted ?? 0
      if (status === "delivered" && accepted === 0) broken.push(`delivery ${id} is delivered, and nobody took it`)
      if (status === "failed" && attempts_made - curve_from < attemptsInAll) {
        broken.push(`delivery ${id} is given up after ${attempts_made - curve_from} attempts`)
      }
      if (status === "canceled" && is_deleted !== true)
        broken.push(`delivery ${id} is canceled, and its endpoint is there`)
    }
    for (const what of expected) broken.push(`nobody is told: ${what}`)
    for (const ways of either)
      if (!ways.some((what) => made.has(what))) broken.push(`nobody is told: ${ways.join(" or ")}`)
    for (const { error } of await query<{ error: string }>(setAsideRows, [
      callers.merchants
        .filter(({ isHostile }) => isHostile)
        .map(({ accountId }) => accountId)
        .join(",")
    ]))
      broken.push(`set aside: ${error}`)
  }

  return {
    soFar,
    waiting,
    reached: () => reached,
    atTheEnd: async () => {
      const broken = [...(await soFar())]
      await reconcile(broken)
      await compareDeliveries(broken)
      return broken
    }
  }
}

interface MoveRow {
  readonly order_no: bigint
  readonly kind: "charges" | "payouts" | "disputes" | "releases" | "orders" | "deliveries"
  readonly id: string
  readonly was: string | null
  readonly is_now: string
  readonly sequence: number | null
  readonly account_id: string
  readonly amount: bigint
  readonly fee: bigint | null
}

interface ChangeRow {
  readonly id: string
  readonly resource_id: string
  readonly kind: string
  readonly actions: ReadonlyArray<string>
  readonly status: string
  readonly sequence: number
  readonly webhook_url: string | null
}

interface ToldRow {
  readonly change_id: string
  readonly event: string
  readonly endpoint_id: string
  readonly normalized_url: string
  readonly is_deleted: boolean
}

interface DeliveryRow {
  readonly id: string
  readonly change_id: string
  readonly event: string
  readonly endpoint_id: string | null
  readonly url: string
  readonly status: string
  readonly attempts_made: number
  readonly curve_from: number
  readonly is_deleted: boolean | null
}

const dispatched: ReadonlySet<string> = new Set(
  eventCatalog.flatMap(({ dispatched: isDispatched, event }) => (isDispatched ? [event] : []))
)

/** A charge that is `expired` is stored as `pending`. */
const stored = (state: string) => (state === "expired" ? "pending" : state)

const tables = [
  { kind: "charges", told: "charge", transitions: chargeTransitions },
  { kind: "payouts", told: "payment", transitions: payoutTransitions },
  { kind: "disputes", told: "dispute", transitions: disputeTransitions }
] as const

/** Every move that the tables know, and how a resource begins. */
const allowedMoves = new Set([
  "charges ->processing",
  "payouts ->pending",
  "payouts ->processing",
  "disputes ->open",
  "disputes ->lost",
  ...tables.flatMap(({ kind, transitions }) =>
    transitions.flatMap(({ from, to }) => from.map((state) => `${kind} ${stored(state)}>${to}`))
  )
])

/** The events of each transition. */
const eventsOf = new Map<string, Array<string>>([
  ["payment ->pending", ["created"]],
  ["payment ->processing", ["created processing"]],
  ["dispute ->open", ["opened"]],
  ["dispute ->lost", ["lost"]]
])
for (const { told, transitions } of tables) {
  for (const { events, from, to } of transitions) {
    for (const state of from) {
      const step = `${told} ${stored(state)}>${to}`
      eventsOf.set(step, [...(eventsOf.get(step) ?? []), events.join(" ")])
    }
  }
}

const movesSince = `
  SELECT m.order_no, m.kind, m.id, m.was, m.is_now, m.sequence,
    coalesce(c.account_id, p.account_id, d.account_id) AS account_id, 
    coalesce(m.amount, c.amount, p.amount, d.amount) AS amount, p.fee
  FROM simulation_moves m
  LEFT JOIN charges c ON c.id = m.id AND m.kind IN ('charges', 'releases', 'orders')
  LEFT JOIN payouts p ON p.id = m.id AND m.kind = 'payouts'
  LEFT JOIN disputes d ON d.id = m.id AND m.kind = 'disputes'
  WHERE m.order_no > $1::bigint ORDER BY m.order_no`

const transfersThatDiffer = `
  SELECT owner_id, kind FROM (
    SELECT owner_id, kind, balance AS amount FROM ledger_accounts
    UNION ALL
    SELECT account_id, credit, -amount FROM ledger_transfers
    UNION ALL
    SELECT account_id, debit, amount FROM ledger_transfers
  ) sides GROUP BY owner_id, kind HAVING sum(amount) <> 0`

/** Only a hostile tenant makes single rows fail. */
const setAsideRows = `
  SELECT error FROM outbox_failures WHERE account_id <> ALL (string_to_array($1, ',')::uuid[])
  UNION ALL SELECT reason FROM deliveries WHERE account_id <> ALL (string_to_array($1, ',')::uuid[])
    AND reason IS NOT NULL AND reason <> 'endpoint deleted'`

const waitingRows = `
  SELECT 'charge' AS what, id, 'processing' AS status FROM charges WHERE NOT acquirer_answered AND status = 'pending'
  UNION ALL SELECT 'payout', id, status FROM payouts WHERE status = 'processing'
  UNION ALL SELECT 'delivery', d.id, d.status FROM deliveries d LEFT JOIN webhook_endpoints w ON w.id = d.endpoint_id
    WHERE d.status IN ('scheduled', 'delivering') AND w.deleted_at IS NULL
  UNION ALL SELECT 'outbox', change_id, 'waiting' FROM outbox
  UNION ALL SELECT 'order', charge_id, state FROM acquirer_orders WHERE state = 'ordered'
  UNION ALL SELECT 'deferred report', d.id, 'waiting' FROM deferred_reports d
  UNION ALL SELECT 'release', charge_id, 'waiting' FROM releases WHERE released_at IS NULL`
