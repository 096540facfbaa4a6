/**
 * Compares the books with what the banks list since a moment, and applies what the books lack: after a restore.
 *
 * Guarantees:
 * - Nothing before a connection's creation is read. It applies as a sweep does, whatever the sweeps have read already. What it
 *   applied once changes nothing again.
 * - A payment of before that moment may have been returned since: what has a return is read of the 190 days before it, too. So are
 *   the disputes that the books have as open.
 * - What it cannot heal is named: a payout that the bank sent and no row has, that was sent with another amount, or that the books
 *   have as failed.
 * - A list that cannot be read is named, and hides nothing of the others.
 * - One page is in memory, whatever the range.
 *
 * Rules: OPR-224.
 */
import { formatReais } from "@pix-payments/domain/Cents"
import { formatInstant } from "@pix-payments/domain/Instant"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import { text } from "../database/statements/Column.ts"
import { rows, statement, uuids, value } from "../database/statements/Statement.ts"
import { orUnavailable, type Unavailable } from "../database/Unavailable.ts"
import type { ListedIn } from "../payments/exceptions/UnreadableEntries.ts"
import {
  Acquirer,
  AcquirerUnclear,
  type Paged,
  type Provider,
  providerIdOf,
  type Range,
  type ReceivedPix,
  type SentPayout
} from "../providers/Acquirer.ts"
import { ConnectionRegistry } from "../providers/connections/ConnectionRegistry.ts"
import { DISPUTE_MARGIN_MS, everyPage, RETURN_SLICE_MS, RETURNED_MS, SLICE_MS } from "./ListPages.ts"
import { Ownership } from "./Ownership.ts"
import { type Applied, Reports } from "./Reports.ts"
import { ReportStore } from "./ReportStore.ts"

/** `healed`: the books have it now. `open`: somebody has to act. */
export interface Finding {
  readonly kind: "healed" | "open"
  readonly text: string
}

export type OnFinding = (finding: Finding) => Effect.Effect<void>

export class RestoreComparison extends Context.Service<
  RestoreComparison,
  {
    /** Names what the banks have since a moment and the books had not. Ends with how many findings are `open`. */
    readonly since: (sinceMs: number, onFinding: OnFinding) => Effect.Effect<number, Unavailable>
  }
>()("@pix-payments/server/RestoreComparison") {
  static readonly layer = Layer.effect(
    RestoreComparison,
    Effect.gen(function* () {
      const acquirer = yield* Acquirer
      const registry = yield* ConnectionRegistry
      const reports = yield* Reports
      const store = yield* ReportStore
      const { payouts, received } = yield* makePages
      const readRange = yield* makeReadRange

      const compare = Effect.fnUntraced(function* (
        connection: Connection,
        provider: Provider,
        sinceMs: number,
        onFinding: OnFinding
      ) {
        const { id } = connection
        const nowMs = yield* Clock.currentTimeMillis
        const lists = {
          received: provider.received,
          payouts: provider.payouts?.list,
          disputes: provider.disputes?.list
        }
        if (provider.payouts !== undefined && lists.payouts === undefined) {
          yield* onFinding({
            kind: "open",
            text: `${connection.name}: the bank lists no sent payouts. Compare its statement with the payouts since then`
          })
        }
        const openSinceMs = (yield* store.oldestOpenDispute(id)) ?? Infinity
        const read = <A>(
          list: ListedIn["list"],
          fromMs: number,
          sliceMs: number,
          pages: ((range: Range) => Effect.Effect<Paged<A>, AcquirerUnclear>) | undefined,
          apply: (page: ReadonlyArray<A>, where: ListedIn) => Effect.Effect<Applied, Unavailable>
        ) => readRange(connection, { list, fromMs, toMs: nowMs }, sliceMs, pages, apply, onFinding)
        yield* read("received", sinceMs, SLICE_MS, lists.received?.list, (page, where) =>
          received(id, page, where, onFinding)
        )
        yield* read("returned", sinceMs - RETURNED_MS, RETURN_SLICE_MS, lists.received?.listReturned, (page, where) =>
          reports.received(id, page, where)
        )
        yield* read("payouts", sinceMs, SLICE_MS, lists.payouts, (page, where) => payouts(id, page, where, onFinding))
        yield* read(
          "disputes",
          Math.min(sinceMs, openSinceMs - DISPUTE_MARGIN_MS),
          RETURN_SLICE_MS,
          lists.disputes,
          (page, where) => reports.disputes(id, page, where)
        )
      })

      return RestoreComparison.of({
        since: Effect.fn("RestoreComparison.since")(function* (sinceMs, onFinding) {
          let open = 0
          const counted: OnFinding = (finding) => {
            if (finding.kind === "open") open += 1
            return onFinding(finding)
          }
          for (const { row } of registry.all()) {
            const connection = { id: row.id, name: row.name, createdAtMs: row.created_at.getTime() }
            yield* acquirer.providerFor(row.id).pipe(
              Effect.flatMap((provider) => compare(connection, provider, sinceMs, counted)),
              Effect.catchTag("AcquirerUnclear", ({ reason }) =>
                counted({ kind: "open", text: `${row.name}: ${reason}` })
              )
            )
          }
          return open
        })
      })
    })
  )
}

/** What applies pages of lists, and names what the books had not. */
const makePages = Effect.gen(function* () {
  const sql = yield* SqlClient
  const reports = yield* Reports
  const ownership = yield* Ownership

  /** What the books have of Pix, by end-to-end id. */
  const recorded = Effect.fnUntraced(function* (connectionId: string, page: ReadonlyArray<ReceivedPix>) {
    const found = yield* orUnavailable(
      sql.unsafe<RecordedRow>(
        ...findRecorded({ connectionId, endToEndIds: page.map(({ endToEndId }) => ({ name: endToEndId })) })
      )
    )
    return new Map(found.map((row) => [row.end_to_end_id, row]))
  })

  const received = Effect.fnUntraced(function* (
    connectionId: string,
    page: ReadonlyArray<ReceivedPix>,
    where: ListedIn,
    onFinding: OnFinding
  ) {
    const before = yield* recorded(connectionId, page)
    const applied = yield* reports.received(connectionId, page, where)
    const after = yield* recorded(connectionId, page)
    let named = 0
    for (const { amount, atMs, endToEndId } of page) {
      const now = after.get(endToEndId)
      if (before.has(endToEndId) || now === undefined) continue
      named += 1
      const what = `payment ${endToEndId} of ${formatReais(amount)} at ${formatInstant(atMs)}`
      yield* onFinding(
        now.exception === null
          ? { kind: "healed", text: `${what}: charge ${now.charge_id} is paid` }
          : { kind: "open", text: `${what}: exception ${now.charge_id} (${now.exception})` }
      )
    }
    return { ...applied, effects: applied.effects - named }
  })

  const payouts = Effect.fnUntraced(function* (
    connectionId: string,
    page: ReadonlyArray<SentPayout>,
    where: ListedIn,
    onFinding: OnFinding
  ) {
    const applied = yield* reports.payouts(connectionId, page, where)
    const found = yield* orUnavailable(
      sql.unsafe<OrderedRow>(...findOrdered({ orderIds: page.flatMap(({ id }) => id ?? []), connectionId }))
    )
    const ordered = new Map(found.map((row) => [row.order_id, row]))
    const sent = page.filter(({ progress }) => progress._tag !== "Failed")
    for (const payout of yield* ownership.own(connectionId, sent, ({ key }) => ({ key }))) {
      const problem = problemOf(payout, ordered.get(payout.id ?? ""))
      if (problem !== undefined) yield* onFinding({ kind: "open", text: problem })
    }
    return applied
  })

  return { received, payouts }
})

/** What reads a list of a range slice by slice. */
const makeReadRange = Effect.gen(function* () {
  const reports = yield* Reports

  /** Reads a list of a slice. What it found that is not named by itself is counted. */
  const readList = <A>(
    { id, name }: Connection,
    where: ListedIn,
    list: (range: Range) => Effect.Effect<Paged<A>, AcquirerUnclear>,
    apply: (page: ReadonlyArray<A>, where: ListedIn) => Effect.Effect<Applied, Unavailable>,
    onFinding: OnFinding
  ) =>
    everyPage(
      where,
      list,
      Effect.fnUntraced(function* ({ items, unreadable }) {
        const { effects, failures, unread: aside } = yield* apply(items, where)
        if (effects > 0) yield* onFinding({ kind: "healed", text: `${name}: ${applied[where.list]}: ${effects}` })
        const { failures: beyond, unread } = yield* reports.unreadable(id, where, unreadable)
        const open = [
          ...(failures > 0 ? [`facts that could not be applied: ${failures}`] : []),
          ...(aside.length > 0 ? [`entries that are exceptions: ${aside.length}`] : []),
          ...(unread.length + beyond > 0 ? [`entries that could not be read: ${unread.length + beyond}`] : [])
        ]
        for (const text of open) yield* onFinding({ kind: "open", text: `${name}: ${text}` })
      })
    ).pipe(
      Effect.catchTag("AcquirerUnclear", ({ reason }) => Effect.succeed(reason)),
      Effect.flatMap((problem) =>
        problem === undefined
          ? Effect.void
          : onFinding({ kind: "open", text: `${name}: a list cannot be read: ${problem}` })
      )
    )

  return Effect.fnUntraced(function* <A>(
    connection: Connection,
    { fromMs, list: which, toMs }: ListedIn,
    sliceMs: number,
    list: ((range: Range) => Effect.Effect<Paged<A>, AcquirerUnclear>) | undefined,
    apply: (page: ReadonlyArray<A>, where: ListedIn) => Effect.Effect<Applied, Unavailable>,
    onFinding: OnFinding
  ) {
    if (list === undefined) return
    for (let startMs = Math.max(fromMs, connection.createdAtMs); startMs < toMs; startMs += sliceMs) {
      const slice = { list: which, fromMs: startMs, toMs: Math.min(startMs + sliceMs, toMs) }
      yield* readList(connection, slice, list, apply, onFinding)
    }
  })
})

/** What a list led to that is not named by itself. */
const applied: Readonly<Record<ListedIn["list"], string>> = {
  received: "returns that are in the books now",
  returned: "returns that are in the books now",
  payouts: "outcomes of payouts that are in the books now",
  disputes: "disputes and their outcomes that are in the books now"
}

/** What the books have otherwise; undefined where they agree. */
const problemOf = (
  { amount, endToEndId, id, progress }: SentPayout,
  row: OrderedRow | undefined
): string | undefined => {
  const what = `payout of ${formatReais(amount)} (end-to-end id ${endToEndId ?? "unknown"})`
  if (id === null) return `${what} was not sent by this service`
  if (row === undefined) {
    return `${what} with the bank's id ${providerIdOf(id)} is not in the books. Its caller repeats it with the same idempotency key`
  }
  if (!row.is_here) {
    return `${what} is payout ${row.payout_id} in the books, which another connection sent: it may have been paid twice`
  }
  const books = `payout ${row.payout_id} of ${formatReais(Number(row.amount))} is ${row.status} in the books`
  if (Number(row.amount) !== amount) return `${what} was sent with another amount: ${books}`
  if (progress._tag === "Completed" && row.status !== "completed") return `${what} is completed at the bank: ${books}`
  return undefined
}

interface OrderedRow {
  readonly order_id: string
  readonly payout_id: string
  /** Whether the books have it as sent by this client of the bank, or not sent yet. */
  readonly is_here: boolean
  readonly amount: bigint
  readonly status: string
}

const findOrdered = statement(
  { orderIds: uuids, connectionId: value("uuid") },
  ({ connectionId, orderIds }) => `
  SELECT k.digest AS order_id, p.id AS payout_id, p.amount, p.status,
    p.connection_id IS NULL OR p.connection_id = ${connectionId} OR EXISTS (
      SELECT FROM connection_keys its JOIN connection_keys ours ON ours.client = its.client
      WHERE its.connection_id = p.connection_id AND ours.connection_id = ${connectionId}
    ) AS is_here
  FROM idempotency_keys k JOIN payouts p ON p.id = k.resource_id
  WHERE k.digest = ANY (${orderIds})`
)

interface Connection {
  readonly id: string
  readonly name: string
  readonly createdAtMs: number
}

interface RecordedRow {
  readonly end_to_end_id: string
  /** Of the charge, or of the exception. */
  readonly charge_id: string
  /** The kind of the exception. */
  readonly exception: string | null
}

const findRecorded = statement(
  { connectionId: value("uuid"), endToEndIds: rows({ name: text() }) },
  (p) => `
  SELECT s.end_to_end_id, s.charge_id, (SELECT e.kind FROM acquirer_exceptions e WHERE e.id = s.charge_id) AS exception
  FROM charge_settlements s
  WHERE s.end_to_end_id = ANY (ARRAY(SELECT e.name FROM ${p.endToEndIds} AS e)) AND s.connection_id = ${p.connectionId}
    AND s.charge_id IS NOT NULL`
)
