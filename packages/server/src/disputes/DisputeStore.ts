/**
 * Disputes in PostgreSQL.
 *
 * A dispute moves together with its charge and its money, so that every write here belongs to a transaction that
 * `inTransaction` opens with the charge's row locked. Disputes are rare: no batches.
 */
import type { DisputeStatus } from "@pix-payments/domain/Dispute"
import { formatInstant } from "@pix-payments/domain/Instant"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import type { UnknownCursor } from "../Errors.ts"
import { type ChangedRow, DeliverySignal } from "../events/DeliverySignal.ts"
import { OUTBOX_ROWS, type OutboxEntry, outboxCtes, outboxParameters } from "../events/Outbox.ts"
import { type List, type Page, readPage } from "../sql/Paging.ts"
import { hasAlso, is } from "../sql/Seek.ts"
import { orUnavailable, type Unavailable } from "../sql/Unavailable.ts"

export interface StoredDispute {
  readonly id: string
  readonly chargeId: string
  readonly accountId: string
  readonly applicationId: string
  readonly status: DisputeStatus
  readonly amount: number
  readonly reason: string | null
  readonly reference: string | null
  readonly openedAtMs: number
  readonly defenseDeadlineAtMs: number | null
  readonly resolvedAtMs: number | null
  readonly arrivedResolved: boolean
  readonly sequence: number
}

export interface DisputeMessage {
  readonly author: "operator" | "platform"
  readonly text: string
  readonly atMs: number
}

export class DisputeStore extends Context.Service<
  DisputeStore,
  {
    /** Within a transaction: stores a new dispute, or the next state of a known one, and tells of it. */
    readonly put: (dispute: StoredDispute, outbox: OutboxEntry) => Effect.Effect<void, SqlError>
    /** Within a transaction: notes a message, and tells of it where there is something to tell. */
    readonly addMessage: (
      dispute: StoredDispute,
      message: DisputeMessage & { readonly id: string },
      outbox: OutboxEntry | undefined
    ) => Effect.Effect<void, SqlError>
    /** Within a transaction: the disputes of a charge, locked, newest first. */
    readonly lockOfCharge: (chargeId: string) => Effect.Effect<ReadonlyArray<StoredDispute>, SqlError>
    readonly find: (id: string) => Effect.Effect<StoredDispute | undefined, Unavailable>
    readonly messagesOf: (
      ids: ReadonlyArray<string>
    ) => Effect.Effect<ReadonlyMap<string, ReadonlyArray<DisputeMessage>>, Unavailable>
    readonly list: (
      filters: { readonly chargeId?: string | undefined; readonly status?: DisputeStatus | undefined },
      page: Page
    ) => Effect.Effect<ReadonlyArray<StoredDispute>, UnknownCursor | Unavailable>
  }
>()("@pix-payments/server/DisputeStore") {
  static readonly layer = Layer.effect(
    DisputeStore,
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const signal = yield* DeliverySignal

      const nudged = (written: Effect.Effect<ReadonlyArray<ChangedRow>, SqlError>) =>
        Effect.flatMap(written, (done) => sql.afterCommit(Effect.sync(() => signal.afterCommit(done))))

      return DisputeStore.of({
        put: (dispute, outbox) =>
          nudged(sql.unsafe<ChangedRow>(putOne, [JSON.stringify([toRow(dispute)]), ...outboxParameters([outbox])])),
        addMessage: (dispute, message, outbox) =>
          nudged(
            sql.unsafe<ChangedRow>(addOne, [
              JSON.stringify([
                {
                  id: message.id,
                  dispute_id: dispute.id,
                  author: message.author,
                  text: message.text,
                  at: formatInstant(message.atMs)
                }
              ]),
              ...outboxParameters(outbox === undefined ? [] : [outbox])
            ])
          ),
        lockOfCharge: (chargeId) =>
          Effect.map(
            sql.unsafe<DisputeRow>(
              `SELECT ${columns} FROM disputes WHERE charge_id = $1::uuid ORDER BY id DESC FOR UPDATE`,
              [chargeId]
            ),
            (rows) => rows.map(toStored)
          ),
        find: (id) =>
          sql.unsafe<DisputeRow>(`SELECT ${columns} FROM disputes WHERE id = $1::uuid`, [id]).pipe(
            Effect.map(([row]) => (row === undefined ? undefined : toStored(row))),
            orUnavailable
          ),
        messagesOf: (ids) =>
          sql
            .unsafe<MessageRow>(
              `SELECT dispute_id, author, text, at FROM dispute_messages
               WHERE dispute_id = ANY (string_to_array($1, ',')::uuid[]) ORDER BY id`,
              [ids.join(",")]
            )
            .pipe(
              Effect.map((rows) => {
                const byDispute = new Map<string, Array<DisputeMessage>>()
                for (const { at, author, dispute_id, text } of rows) {
                  const messages = byDispute.get(dispute_id) ?? []
                  messages.push({ author, text, atMs: at.getTime() })
                  byDispute.set(dispute_id, messages)
                }
                return byDispute
              }),
              orUnavailable
            ),
        list: (filters, page) =>
          readPage<DisputeRow>({ table: "disputes", columns, ...waysTo(filters) }, page).pipe(
            Effect.map((rows) => rows.map(toStored)),
            Effect.provideService(SqlClient, sql),
            orUnavailable
          )
      })
    })
  )
}

interface DisputeRow {
  readonly id: string
  readonly charge_id: string
  readonly account_id: string
  readonly application_id: string
  readonly status: DisputeStatus
  readonly amount: bigint
  readonly reason: string | null
  readonly reference: string | null
  readonly opened_at: Date
  readonly defense_deadline_at: Date | null
  readonly resolved_at: Date | null
  readonly arrived_resolved: boolean
  readonly sequence: number
}

interface MessageRow {
  readonly dispute_id: string
  readonly author: "operator" | "platform"
  readonly text: string
  readonly at: Date
}

const columns = `id, charge_id, account_id, application_id, status, amount, reason, reference, opened_at,
  defense_deadline_at, resolved_at, arrived_resolved, sequence`

/** A charge has few disputes, so that what else is asked of them costs nothing. */
const waysTo = (filters: Parameters<DisputeStore["Service"]["list"]>[0]): Partial<List> => {
  const { chargeId, status } = filters
  if (chargeId !== undefined) {
    return {
      paths: [{ along: [is("charge_id", "uuid", chargeId)] }],
      filters: status === undefined ? [] : [hasAlso("status", "text", status)]
    }
  }
  return status === undefined ? {} : { paths: [{ along: [is("status", "text", status)] }] }
}

const telling = outboxCtes(2)

const putOne = `
  WITH changed AS (
    INSERT INTO disputes (${columns})
    SELECT ${columns} FROM json_to_recordset($1::json) AS d(id uuid, charge_id uuid, account_id uuid,
      application_id uuid, status text, amount bigint, reason text, reference text, opened_at timestamptz,
      defense_deadline_at timestamptz, resolved_at timestamptz, arrived_resolved boolean, sequence integer)
    ON CONFLICT (id) DO UPDATE SET status = excluded.status, resolved_at = excluded.resolved_at,
      sequence = excluded.sequence
    RETURNING id
  ),
  ${telling}
  SELECT id, ${OUTBOX_ROWS} FROM changed`

const addOne = `
  WITH changed AS (
    INSERT INTO dispute_messages (id, dispute_id, author, text, at)
    SELECT id, dispute_id, author, text, at
    FROM json_to_recordset($1::json) AS m(id uuid, dispute_id uuid, author text, text text, at timestamptz)
    RETURNING dispute_id AS id
  ),
  ${telling}
  SELECT id, ${OUTBOX_ROWS} FROM changed`

const instantOrNull = (epochMs: number | null): string | null => (epochMs === null ? null : formatInstant(epochMs))

const toRow = (dispute: StoredDispute) => ({
  id: dispute.id,
  charge_id: dispute.chargeId,
  account_id: dispute.accountId,
  application_id: dispute.applicationId,
  status: dispute.status,
  amount: dispute.amount,
  reason: dispute.reason,
  reference: dispute.reference,
  opened_at: formatInstant(dispute.openedAtMs),
  defense_deadline_at: instantOrNull(dispute.defenseDeadlineAtMs),
  resolved_at: instantOrNull(dispute.resolvedAtMs),
  arrived_resolved: dispute.arrivedResolved,
  sequence: dispute.sequence
})

const toStored = (row: DisputeRow): StoredDispute => ({
  id: row.id,
  chargeId: row.charge_id,
  accountId: row.account_id,
  applicationId: row.application_id,
  status: row.status,
  amount: Number(row.amount),
  reason: row.reason,
  reference: row.reference,
  openedAtMs: row.opened_at.getTime(),
  defenseDeadlineAtMs: row.defense_deadline_at === null ? null : row.defense_deadline_at.getTime(),
  resolvedAtMs: row.resolved_at === null ? null : row.resolved_at.getTime(),
  arrivedResolved: row.arrived_resolved,
  sequence: row.sequence
})
