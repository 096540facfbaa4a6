/**
 * Disputes in PostgreSQL. A dispute changes together with its charge, or exception, and its money, so that every write runs
 * in a transaction that has locked the charge or exception.
 */
import { DisputeStatus } from "@pix-payments/domain/Dispute"
import { formatInstant } from "@pix-payments/domain/Instant"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import type { DefenseOrder } from "../../providers/Acquirer.ts"
import { UnknownCursor } from "../../base/Errors.ts"
import { type ChangedRow, DeliverySignal } from "../../events/DeliverySignal.ts"
import { outbox, type OutboxEntry } from "../../events/Outbox.ts"
import { bigint, boolean, instant, integer, nullable, type Row, text, uuid } from "../../database/statements/Column.ts"
import {
  type CreatedBetween,
  idsBetween,
  LimitedTo,
  type List,
  type Page,
  readPage
} from "../../database/statements/Paging.ts"
import { equalsUnindexed, HIGHEST, is, LOWEST, oneOf, oneOfIds } from "../../database/statements/Seek.ts"
import { CHANGED, statement, uuids, value } from "../../database/statements/Statement.ts"
import { type Stored, table } from "../../database/statements/Table.ts"
import { orUnavailable, type Unavailable } from "../../database/Unavailable.ts"

const disputeTable = table({
  id: uuid(),
  chargeId: nullable(uuid()),
  /** Of money that an account accepted; a dispute is of a charge or of an exception. */
  exceptionId: nullable(uuid()),
  accountId: uuid(),
  applicationId: nullable(uuid()),
  /** Null is the simulator's. */
  connectionId: nullable(uuid()),
  /** Its id at the provider. */
  externalId: nullable(text()),
  status: text<DisputeStatus>(),
  amount: bigint(),
  reason: nullable(text()),
  reference: nullable(text()),
  openedAtMs: instant("opened_at"),
  defenseDeadlineAtMs: nullable(instant("defense_deadline_at")),
  resolvedAtMs: nullable(instant("resolved_at")),
  arrivedResolved: boolean(),
  sequence: integer(),
  /** Cents of an exception that went back to the payer with it. Of a charge, refunds have them. */
  returned: bigint(),
  /** The provider's id of that return; null until it is reported. */
  returnId: nullable(text())
})

export interface DisputeFilters extends CreatedBetween {
  readonly chargeId?: string | undefined
  readonly status?: DisputeStatus | undefined
  readonly deadlineBeforeMs?: number | undefined
  readonly byDeadline?: boolean | undefined
}

export interface StoredDispute extends Stored<typeof disputeTable> {}

const messageTable = table({
  id: uuid(),
  disputeId: uuid(),
  author: text<"operator" | "platform">(),
  text: text(),
  atMs: instant("at")
})

export interface DisputeMessage extends Stored<typeof messageTable> {}

/** A file of a defense, as it was sent. */
export interface DisputeFile {
  readonly id: string
  readonly name: string
  readonly contentType: string
  readonly base64: string
}

export class DisputeStore extends Context.Service<
  DisputeStore,
  {
    /** Stores a new dispute or the next state of one, with an outbox entry if it has events, in a transaction. */
    readonly put: (dispute: StoredDispute, outbox: OutboxEntry | undefined) => Effect.Effect<void, SqlError>
    /** Stores a message, with an outbox entry if it is an event, in a transaction. */
    readonly addMessage: (message: DisputeMessage, outbox: OutboxEntry | undefined) => Effect.Effect<void, SqlError>
    /** Stores a file of a message, in its transaction. */
    readonly addFile: (messageId: string, file: DisputeFile) => Effect.Effect<void, SqlError>
    /** The disputes of a charge, newest first, locked for the caller's transaction. */
    readonly lockOfCharge: (chargeId: string) => Effect.Effect<ReadonlyArray<StoredDispute>, SqlError>
    /** The disputes of an exception, newest first, locked for the caller's transaction. */
    readonly lockOfException: (exceptionId: string) => Effect.Effect<ReadonlyArray<StoredDispute>, SqlError>
    readonly lock: (id: string) => Effect.Effect<StoredDispute | undefined, SqlError>
    readonly find: (id: string) => Effect.Effect<StoredDispute | undefined, Unavailable>
    /** A dispute by its id at the provider of a connection. */
    readonly findByExternalId: (
      connectionId: string | null,
      externalId: string
    ) => Effect.Effect<StoredDispute | undefined, SqlError>
    /** A defense, by the id of its message. */
    readonly findDefense: (id: string) => Effect.Effect<Pick<DefenseOrder, "text" | "files">, Unavailable>
    /** The disputes of these whose defense the provider has not answered yet. */
    readonly defensesOpenOf: (ids: ReadonlyArray<string>) => Effect.Effect<ReadonlySet<string>, Unavailable>
    readonly messagesOf: (
      ids: ReadonlyArray<string>
    ) => Effect.Effect<ReadonlyMap<string, ReadonlyArray<DisputeMessage>>, Unavailable>
    /** Newest first; with `byDeadline` or a deadline those that are not decided, by the end of their defense. */
    readonly list: (
      filters: DisputeFilters,
      page: Page
    ) => Effect.Effect<ReadonlyArray<StoredDispute>, UnknownCursor | Unavailable>
  }
>()("@pix-payments/server/DisputeStore") {
  static readonly layer = Layer.effect(
    DisputeStore,
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const signal = yield* DeliverySignal

      const signaled = (written: Effect.Effect<ReadonlyArray<ChangedRow>, SqlError>) =>
        Effect.flatMap(written, (done) => sql.afterCommit(Effect.sync(() => signal.afterCommit(done))))

      return DisputeStore.of({
        put: (dispute, outbox) =>
          signaled(
            sql.unsafe<ChangedRow>(...putOne({ disputes: [dispute], outbox: outbox === undefined ? [] : [outbox] }))
          ),
        addMessage: (message, outbox) =>
          signaled(
            sql.unsafe<ChangedRow>(...addOne({ messages: [message], outbox: outbox === undefined ? [] : [outbox] }))
          ),
        addFile: (messageId, { base64, contentType, id, name }) =>
          Effect.asVoid(sql`INSERT INTO dispute_files (id, message_id, name, content_type, content)
            VALUES (${id}::uuid, ${messageId}::uuid, ${name}, ${contentType}, decode(${base64}, 'base64'))`),
        lockOfCharge: (chargeId) =>
          Effect.map(sql.unsafe<Row>(...lockAllOf({ chargeId })), (found) => found.map(disputeTable.decode)),
        lockOfException: (exceptionId) =>
          Effect.map(sql.unsafe<Row>(...lockAllOfException({ exceptionId })), (found) =>
            found.map(disputeTable.decode)
          ),
        lock: (id) =>
          Effect.map(sql.unsafe<Row>(...lockOne({ id })), ([row]) =>
            row === undefined ? undefined : disputeTable.decode(row)
          ),
        find: (id) =>
          sql.unsafe<Row>(...findOne({ id })).pipe(
            Effect.map(([row]) => (row === undefined ? undefined : disputeTable.decode(row))),
            orUnavailable
          ),
        findByExternalId: (connectionId, externalId) =>
          Effect.map(sql.unsafe<Row>(...findOneByExternalId({ connectionId, externalId })), ([row]) =>
            row === undefined ? undefined : disputeTable.decode(row)
          ),
        findDefense: Effect.fnUntraced(function* (id) {
          const [message] = yield* sql<{ text: string }>`SELECT text FROM dispute_messages WHERE id = ${id}::uuid`
          const files = yield* sql<{ name: string; content_type: string; content: Uint8Array }>`
            SELECT name, content_type, content FROM dispute_files WHERE message_id = ${id}::uuid ORDER BY id`
          return {
            text: message?.text ?? "",
            files: files.map(({ content, content_type, name }) => ({ name, contentType: content_type, content }))
          }
        }, orUnavailable),
        defensesOpenOf: (ids) =>
          sql.unsafe<{ readonly id: string }>(...findOpenDefenses({ ids })).pipe(
            Effect.map((found) => new Set(found.map(({ id }) => id))),
            orUnavailable
          ),
        messagesOf: (ids) =>
          sql.unsafe<Row>(...findMessages({ ids })).pipe(
            Effect.map((found) => Map.groupBy(found.map(messageTable.decode), ({ disputeId }) => disputeId)),
            orUnavailable
          ),
        list: (filters, page) =>
          (filters.byDeadline === true || filters.deadlineBeforeMs !== undefined
            ? readByDeadline(filters, page)
            : readPage<Row>(
                {
                  table: "disputes",
                  columns,
                  account: "account_id",
                  ...indexPaths(filters),
                  ...idsBetween(filters)
                },
                page
              )
          ).pipe(
            Effect.map((found) => found.map(disputeTable.decode)),
            Effect.provideService(SqlClient, sql),
            orUnavailable
          )
      })
    })
  )
}

const columns = disputeTable.columns()

/** A page of those that are not decided, the first to end first. They are few. */
const readByDeadline = Effect.fnUntraced(function* (filters: DisputeFilters, page: Page) {
  const sql = yield* SqlClient
  const limit = yield* LimitedTo
  const { before = HIGHEST, from = LOWEST } = idsBetween(filters)
  const asked = {
    accounts: limit === undefined ? null : `{${limit.join(",")}}`,
    charge: filters.chargeId ?? null,
    status: filters.status ?? null,
    from,
    before,
    deadline: filters.deadlineBeforeMs === undefined ? "infinity" : formatInstant(filters.deadlineBeforeMs)
  }
  const { startingAfter = null } = page
  if (startingAfter !== null) {
    const [known] = yield* sql.unsafe(...findOpen({ id: startingAfter, accounts: asked.accounts }))
    if (known === undefined) return yield* new UnknownCursor()
  }
  return yield* sql.unsafe<Row>(...findByDeadline({ ...asked, after: startingAfter, count: page.limit + 1 }))
})

const isWithin = (accounts: string) => `(${accounts}::uuid[] IS NULL OR account_id = ANY (${accounts}::uuid[]))`

const findOpen = statement(
  { id: value("uuid"), accounts: value("text") },
  (p) => `SELECT id FROM disputes WHERE id = ${p.id} AND ${isWithin(p.accounts)} AND defense_deadline_at IS NOT NULL`
)

const findByDeadline = statement(
  {
    accounts: value("text"),
    charge: value("uuid"),
    status: value("text"),
    from: value("uuid"),
    before: value("uuid"),
    deadline: value("text"),
    after: value("uuid"),
    count: value("integer")
  },
  (p) => `SELECT ${columns} FROM disputes
  WHERE status IN ('open', 'under_review') AND (defense_deadline_at, id) > (
      coalesce((SELECT a.defense_deadline_at FROM disputes a WHERE a.id = ${p.after}), '-infinity'), coalesce(${p.after}, '${LOWEST}'))
    AND defense_deadline_at < ${p.deadline}::timestamptz AND ${isWithin(p.accounts)}
    AND (${p.charge} IS NULL OR charge_id IS NOT DISTINCT FROM ${p.charge})
    AND (${p.status} IS NULL OR status IS NOT DISTINCT FROM ${p.status})
    AND (id >= ${p.from}) IS TRUE AND (id < ${p.before}) IS TRUE
  ORDER BY defense_deadline_at, disputes.id LIMIT ${p.count}`
)

/** A charge has few disputes, so that a further filter on them needs no index. */
const indexPaths = (filters: DisputeFilters): Partial<List> => {
  const { chargeId, status } = filters
  if (chargeId !== undefined) {
    return {
      paths: [{ columns: [is("charge_id", "uuid", chargeId)] }],
      filters: status === undefined ? [] : [equalsUnindexed("status", "text", status)]
    }
  }
  const statusIs = status === undefined ? oneOf("status", DisputeStatus.literals) : is("status", "text", status)
  return {
    ...(status === undefined ? {} : { paths: [{ columns: [statusIs] }] }),
    pathsOf: (ids) => [{ columns: [oneOfIds("account_id", ids), statusIs] }]
  }
}

const findOne = statement({ id: value("uuid") }, ({ id }) => `SELECT ${columns} FROM disputes WHERE id = ${id}`)

// The index disputes_of_provider treats nulls as equal.
const findOneByExternalId = statement(
  { connectionId: value("uuid"), externalId: value("text") },
  (p) => `SELECT ${columns} FROM disputes
  WHERE external_id = ${p.externalId} AND connection_id IS NOT DISTINCT FROM ${p.connectionId}`
)

const findOpenDefenses = statement(
  { ids: uuids },
  ({ ids }) => `SELECT dispute_id AS id FROM acquirer_orders WHERE dispute_id = ANY (${ids}) AND state = 'ordered'`
)

const lockAllOf = statement(
  { chargeId: value("uuid") },
  ({ chargeId }) => `SELECT ${columns} FROM disputes WHERE charge_id = ${chargeId} ORDER BY id DESC FOR UPDATE`
)

const lockAllOfException = statement(
  { exceptionId: value("uuid") },
  ({ exceptionId }) => `SELECT ${columns} FROM disputes WHERE exception_id = ${exceptionId} ORDER BY id DESC FOR UPDATE`
)

const lockOne = statement(
  { id: value("uuid") },
  ({ id }) => `SELECT ${columns} FROM disputes WHERE id = ${id} FOR UPDATE`
)

const findMessages = statement(
  { ids: uuids },
  ({ ids }) => `SELECT ${messageTable.columns()} FROM dispute_messages WHERE dispute_id = ANY (${ids}) ORDER BY id`
)

const putOne = statement(
  { disputes: disputeTable.rows(disputeTable.fields), outbox },
  (p) => `
  WITH ${CHANGED} AS (
    INSERT INTO disputes (${columns})
    SELECT ${columns} FROM ${p.disputes} AS d
    ON CONFLICT (id) DO UPDATE SET status = excluded.status, resolved_at = excluded.resolved_at,
      sequence = excluded.sequence, external_id = excluded.external_id, returned = excluded.returned,
      return_id = excluded.return_id
    RETURNING id
  ),
  ${p.outbox.insert(CHANGED)}
  SELECT id, ${p.outbox.rows} FROM ${CHANGED}`
)

const addOne = statement(
  { messages: messageTable.rows(messageTable.fields), outbox },
  (p) => `
  WITH ${CHANGED} AS (
    INSERT INTO dispute_messages (${messageTable.columns()})
    SELECT ${messageTable.columns()} FROM ${p.messages} AS m
    RETURNING dispute_id AS id
  ),
  ${p.outbox.insert(CHANGED)}
  SELECT id, ${p.outbox.rows} FROM ${CHANGED}`
)
