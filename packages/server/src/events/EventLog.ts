/**
 * Every event that is kept, in the order in which its change was committed.
 *
 * Guarantees:
 * - The order is that of `(transaction_id, change id, n)`. A page ends before the oldest transaction that has not ended
 *   (`pg_snapshot_xmin`), so that nothing is ever committed before a position that was read: no event is skipped, and none is
 *   read twice.
 * - A position is found again by its change id alone, in any process and after a restart.
 * - A reader that continues before an event that retention has removed gets an error, and never a gap. Those that came with an account
 *   from another cell are no such event: they are at the end, and old.
 * - A page reads a bounded number of index entries and rows, whatever the filter.
 *
 * Why the transaction's id: change ids are made before the commit, by processes with different clocks. A transaction that
 * stays open delays the events that were committed after it began, and loses none.
 */
import { deliveryBody } from "@pix-payments/domain/Event"
import { idBeside, NIL_UUID } from "@pix-payments/domain/Uuid"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { SqlClient } from "effect/sql/SqlClient"
import { statement, texts, uuids, value } from "../database/statements/Statement.ts"
import { orUnavailable, type Unavailable } from "../database/Unavailable.ts"
import { eventLogStart } from "./EventLogStart.ts"
import { eventData, eventJson } from "./EventData.ts"
import { textDigest } from "./Outbox.ts"

/** A position between events: after the nth event of a change. */
export interface Position {
  readonly transactionId: bigint
  readonly changeId: string
  readonly n: number
}

/** Before every event. */
export const OLDEST: Position = { transactionId: 0n, changeId: NIL_UUID, n: 0 }

export interface EventFilter {
  /** Undefined for all. */
  readonly accountIds: ReadonlyArray<string> | undefined
  readonly applicationId: string | undefined
  readonly events: ReadonlyArray<string> | undefined
}

export interface StreamedEvent {
  readonly position: Position
  /** The body of a delivery. */
  readonly body: string
}

/** A change with its events. */
export interface CommittedChange {
  readonly transactionId: bigint
  readonly id: string
  readonly accountId: string
  readonly applicationId: string | null
  /** The names of its events, in order. */
  readonly names: ReadonlyArray<string>
  readonly createdAt: string
  readonly sequence: number
  readonly data: string
}

export interface EventLogPage {
  readonly changes: ReadonlyArray<CommittedChange>
  /** Everything up to here was read; the rest did not meet the filter. */
  readonly end: Position
  readonly isMore: boolean
}

/** Retention has removed events after the position of a reader. */
export class EventsRemoved extends Schema.TaggedError<EventsRemoved>()("EventsRemoved", {}) {}

export class EventLog extends Context.Service<
  EventLog,
  {
    /**
     * The changes with events after a position that meet a filter. Of the position's own change, all events are returned.
     * Fails with `EventsRemoved` where retention has removed events after the position.
     */
    readonly read: (from: Position, filter: EventFilter) => Effect.Effect<EventLogPage, EventsRemoved | Unavailable>
    /** The position before the oldest event that is kept. */
    readonly oldest: Effect.Effect<Position, Unavailable>
    /** The position after the last event. */
    readonly last: Effect.Effect<Position, Unavailable>
    /** The position after the nth event of a change; `undefined` where the change, or an event after it, is not kept. */
    readonly find: (changeId: string, n: number) => Effect.Effect<Position | undefined, Unavailable>
  }
>()("@pix-payments/server/EventLog") {
  static readonly layer = Layer.effect(
    EventLog,
    Effect.map(SqlClient, (sql) =>
      EventLog.of({
        read: (from, { accountIds, applicationId, events }) =>
          sql
            .unsafe<PageRow>(
              ...readPage({
                transaction: String(from.transactionId),
                change: from.n >= ALL_EVENTS ? from.changeId : idBeside(from.changeId, -1),
                everyAccount: accountIds === undefined,
                accounts: accountIds ?? [],
                application: applicationId ?? null,
                everyEvent: events === undefined,
                events: events ?? []
              })
            )
            .pipe(
              orUnavailable,
              Effect.flatMap((rows) =>
                rows[0]?.is_expired === true ? Effect.fail(new EventsRemoved()) : Effect.succeed(toPage(rows, from))
              )
            ),
        oldest: sql.unsafe<PositionRow>(readStart).pipe(
          Effect.map(([row]) => (row === undefined ? OLDEST : toPosition(row, ALL_EVENTS))),
          orUnavailable
        ),
        last: sql.unsafe<PositionRow>(readLast).pipe(
          Effect.map(([row]) => (row === undefined ? OLDEST : toPosition(row, ALL_EVENTS))),
          orUnavailable
        ),
        find: (changeId, n) =>
          sql.unsafe<PositionRow>(...findChange({ change: changeId, n })).pipe(
            Effect.map(([row]) => (row === undefined ? undefined : toPosition(row, n))),
            orUnavailable
          )
      })
    )
  )
}

/** After all events of a change. No change has as many. */
export const ALL_EVENTS = 999

/** Negative where `one` is before `other`, 0 where they are the same position. */
export const comparePositions = (one: Position, other: Position): number => {
  if (one.transactionId !== other.transactionId) return one.transactionId < other.transactionId ? -1 : 1
  if (one.changeId !== other.changeId) return one.changeId < other.changeId ? -1 : 1
  return one.n - other.n
}

/** The position after a change. */
export const endOf = ({ id, transactionId }: CommittedChange): Position => ({
  transactionId,
  changeId: id,
  n: ALL_EVENTS
})

/** The events of a change that follow a position and meet a filter. */
export const eventsAfter = (
  change: CommittedChange,
  after: Position,
  filter: EventFilter
): ReadonlyArray<StreamedEvent> => {
  if (filter.accountIds !== undefined && !filter.accountIds.includes(change.accountId)) return []
  if (filter.applicationId !== undefined && filter.applicationId !== change.applicationId) return []
  return change.names.flatMap((name, index) => {
    const position = { transactionId: change.transactionId, changeId: change.id, n: index + 1 }
    if (comparePositions(position, after) <= 0) return []
    if (filter.events !== undefined && !filter.events.includes(name)) return []
    return [{ position, body: bodyOf(change, name) }]
  })
}

const bodyOf = ({ createdAt, data, id, sequence }: CommittedChange, name: string): string =>
  deliveryBody({ deliveryId: eventId(id, name), name, createdAt, sequence, dataJson: data })

/** Derived from the change and the event: the change's time and counter, and bits of a digest. */
const eventId = (changeId: string, name: string): string => {
  const digest = textDigest(`${changeId} ${name}`)
  const variant = "89ab"[Number.parseInt(digest.slice(19, 20), 16) % 4]!
  return `${changeId.slice(0, 18)}-${variant}${digest.slice(20)}`
}

interface PositionRow {
  readonly transaction_id: string
  readonly id: string
}

/** A change, or the only row of a page without one. */
type PageRow = (
  | (PositionRow & {
      readonly account_id: string
      readonly application_id: string | null
      readonly names: ReadonlyArray<string>
      readonly created_at: Date
      readonly sequence: number
      readonly data: string
    })
  | { readonly id: null }
) & {
  readonly is_expired: boolean
  readonly scanned: number
  readonly end_transaction_id: string | null
  readonly end_id: string | null
}

const toPosition = ({ id, transaction_id }: PositionRow, n: number): Position => ({
  transactionId: BigInt(transaction_id),
  changeId: id,
  n
})

const toPage = (rows: ReadonlyArray<PageRow>, from: Position): EventLogPage => {
  const changes = rows.flatMap((row) => (row.id === null ? [] : [toChange(row)]))
  const last = changes.at(-1)
  if (last !== undefined && changes.length === CHANGES) return { changes, end: endOf(last), isMore: true }
  const { end_id, end_transaction_id, scanned } = rows[0] ?? { scanned: 0, end_id: null, end_transaction_id: null }
  return {
    changes,
    end:
      end_id === null || end_transaction_id === null
        ? from
        : toPosition({ id: end_id, transaction_id: end_transaction_id }, ALL_EVENTS),
    isMore: scanned === SCANNED
  }
}

const toChange = (row: Extract<PageRow, PositionRow>): CommittedChange => ({
  transactionId: BigInt(row.transaction_id),
  id: row.id,
  accountId: row.account_id,
  applicationId: row.application_id,
  names: row.names,
  createdAt: row.created_at.toISOString(),
  sequence: row.sequence,
  data: eventJson(row.data)
})

/** Changes of a page, and index entries that it reads for them. */
const CHANGES = 200
const SCANNED = 5000

/** No transaction before this one is going to commit. */
const watermark = "pg_snapshot_xmin(pg_current_snapshot())"

const readPage = statement(
  {
    transaction: value("text"),
    change: value("uuid"),
    everyAccount: value("boolean"),
    accounts: uuids,
    application: value("uuid"),
    everyEvent: value("boolean"),
    events: texts
  },
  (p) => `
  WITH ${eventLogStart},
  scanned AS MATERIALIZED (
    SELECT transaction_id, id, account_id FROM changes
    WHERE (transaction_id, id) > (${p.transaction}::xid8, ${p.change}) AND transaction_id < ${watermark}
    ORDER BY transaction_id, id LIMIT ${SCANNED}
  ),
  scan AS MATERIALIZED (
    SELECT count(*)::integer AS scanned,
      EXISTS (SELECT FROM start WHERE (start.transaction_id, start.id) > (${p.transaction}::xid8, ${p.change})) AS is_expired,
      (SELECT transaction_id::text FROM scanned ORDER BY scanned.transaction_id DESC LIMIT 1) AS end_transaction_id,
      (SELECT id FROM scanned ORDER BY scanned.transaction_id DESC, scanned.id DESC LIMIT 1) AS end_id
    FROM scanned
  )
  SELECT t.*, scan.* FROM scan LEFT JOIN (
    SELECT s.transaction_id::text AS transaction_id, s.id, s.account_id, c.application_id,
      ARRAY(SELECT c.kind || '.' || a FROM unnest(c.actions) AS a) AS names, c.created_at, c.sequence,
      ${eventData} AS data
    FROM (
      SELECT * FROM scanned WHERE ${p.everyAccount} OR account_id = ANY (${p.accounts})
      ORDER BY transaction_id, id
    ) s CROSS JOIN LATERAL (
      SELECT * FROM changes
      WHERE id = s.id AND (${p.application} IS NULL OR application_id = ${p.application})
        AND (${p.everyEvent} OR EXISTS (SELECT FROM unnest(actions) AS a WHERE kind || '.' || a = ANY (${p.events})))
      OFFSET 0
    ) c
    ORDER BY s.transaction_id, s.id LIMIT ${CHANGES}
  ) t ON true
  ORDER BY t.transaction_id::xid8, t.id`
)

const readStart = `WITH ${eventLogStart} SELECT transaction_id::text AS transaction_id, id FROM start`

const readLast = `
  WITH ${eventLogStart},
  newest AS MATERIALIZED (
    SELECT transaction_id, id FROM changes WHERE transaction_id < ${watermark}
    ORDER BY transaction_id DESC, id DESC LIMIT 1
  ),
  ends AS (SELECT * FROM newest UNION ALL SELECT * FROM start)
  SELECT transaction_id::text AS transaction_id, id FROM ends ORDER BY ends.transaction_id DESC, id DESC LIMIT 1`

// The position after all events of the last removed change is kept: nothing after it was removed.
const findChange = statement(
  { change: value("uuid"), n: value("integer") },
  (p) => `
  WITH ${eventLogStart},
  found AS (
    SELECT transaction_id, id FROM changes WHERE id = ${p.change}
    UNION ALL SELECT transaction_id, id FROM start WHERE id = ${p.change}
  )
  SELECT transaction_id::text AS transaction_id, id FROM found f
  WHERE NOT EXISTS (
    SELECT FROM start s WHERE (s.transaction_id, s.id) > (f.transaction_id, f.id)
      OR s.id = f.id AND ${p.n} < ${ALL_EVENTS}
  )
  LIMIT 1`
)
