/**
 * Disputes in PostgreSQL. A dispute changes together with its charge, or exception, and its money, so that every write runs
 * in a transaction that has locked the charge or exception.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import type { DefenseOrder } from "../../providers/Acquirer.ts"
import type { UnknownCursor } from "../../base/Errors.ts"
import { type ChangedRow, DeliverySignal } from "../../events/DeliverySignal.ts"
import { outbox, type OutboxEntry } from "../../events/Outbox.ts"
import { decoderOf, instant, integer, type Row, type RowOf, text, uuid } from "../../database/statements/Column.ts"
import type { Page, Sum, WalkedPage } from "../../database/statements/Paging.ts"
import { CHANGED, statement, uuids, value } from "../../database/statements/Statement.ts"
import { type Stored, table } from "../../database/statements/Table.ts"
import { orUnavailable, type Unavailable } from "../../database/Unavailable.ts"
import { type DisputeFilters, readDisputes, readSumOfDisputes } from "./DisputeList.ts"
import { disputeTable, type StoredDispute } from "./DisputeTable.ts"

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

/** What is listed of a file. */
const listedFile = { id: uuid(), messageId: uuid(), name: text(), contentType: text(), size: integer() }
const decodeListedFile = decoderOf(listedFile)

export interface ListedFile extends RowOf<typeof listedFile> {}

/** A file to read. */
export interface StoredFile {
  readonly name: string
  readonly content_type: string
  readonly content: Uint8Array
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
    /** The files of messages, in the order in which they were sent; their contents are not read. */
    readonly filesOf: (
      messageIds: ReadonlyArray<string>
    ) => Effect.Effect<ReadonlyMap<string, ReadonlyArray<ListedFile>>, Unavailable>
    readonly readFile: (id: string) => Effect.Effect<StoredFile | undefined, Unavailable>
    readonly messagesOf: (
      ids: ReadonlyArray<string>
    ) => Effect.Effect<ReadonlyMap<string, ReadonlyArray<DisputeMessage>>, Unavailable>
    /** Newest first; with `byDeadline` or a deadline those that are not decided, by the end of their defense. */
    readonly list: (
      filters: DisputeFilters,
      page: Page
    ) => Effect.Effect<WalkedPage<StoredDispute>, UnknownCursor | Unavailable>
    /** Their number and amount, as far as one request looks. */
    readonly sum: (filters: DisputeFilters) => Effect.Effect<Sum, Unavailable>
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
        filesOf: (messageIds) =>
          messageIds.length === 0
            ? Effect.succeed(new Map())
            : sql.unsafe<Row>(...findFiles({ messageIds })).pipe(
                Effect.map((found) => Map.groupBy(found.map(decodeListedFile), ({ messageId }) => messageId)),
                orUnavailable
              ),
        readFile: (id) => Effect.map(orUnavailable(sql.unsafe<StoredFile>(...findFile({ id }))), ([file]) => file),
        messagesOf: (ids) =>
          sql.unsafe<Row>(...findMessages({ ids })).pipe(
            Effect.map((found) => Map.groupBy(found.map(messageTable.decode), ({ disputeId }) => disputeId)),
            orUnavailable
          ),
        list: (filters, page) =>
          readDisputes(filters, page).pipe(
            Effect.map((found) => ({ ...found, rows: found.rows.map(disputeTable.decode) })),
            Effect.provideService(SqlClient, sql),
            orUnavailable
          ),
        sum: (filters) =>
          readSumOfDisputes(filters).pipe(
            Effect.catchTag("UnknownCursor", Effect.die),
            Effect.provideService(SqlClient, sql),
            orUnavailable
          )
      })
    })
  )
}

const columns = disputeTable.columns()

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

// The length of what is stored out of line is read without it.
const findFiles = statement(
  { messageIds: uuids },
  (p) => `SELECT id, message_id, name, content_type, octet_length(content) AS size FROM dispute_files
  WHERE message_id = ANY (${p.messageIds}) ORDER BY message_id, id`
)

const findFile = statement(
  { id: value("uuid") },
  ({ id }) => `SELECT name, content_type, content FROM dispute_files WHERE id = ${id}`
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
