/**
 * Charges in PostgreSQL: many in one statement and one commit.
 *
 * Guarantees:
 * - an idempotency key is claimed by the row that carries it: of two calls with one key, one inserts and the
 *   other is given the winner's row;
 * - a change is guarded by the transition table of `domain` and by the sequence it was decided on, and its
 *   events, deliveries and ledger transfers are in the same commit.
 *
 * Measured: see bench/RESULTS.md ("create charge"); one statement for a batch costs PostgreSQL a sixth of one
 * for each charge.
 */
import { type ChargeMethod, type ChargeStatus, chargeTransitions, type Receiver } from "@pix-payments/domain/Charge"
import { formatInstant } from "@pix-payments/domain/Instant"
import { lowestIdAt } from "@pix-payments/domain/Uuid"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import type { Fragment } from "effect/sql/Statement"
import type { UnknownCursor } from "../Errors.ts"
import { type ChangedRow, Nudge } from "../events/Nudge.ts"
import { ADDRESSED, TOLD_WIDTH, type Told, tellingCtes, toldParameters } from "../events/Outbox.ts"
import { type Transfer, transferCtes, transferParameters, TRANSFERS_WIDTH } from "../ledger/Ledger.ts"
import * as Batching from "../sql/Batching.ts"
import { type Page, readPage } from "../sql/Paging.ts"
import { recordset } from "../sql/Recordset.ts"
import { orUnavailable, type Unavailable } from "../sql/Unavailable.ts"

/** A charge as it is kept. `expired` is never kept: see `chargeStatusAt`. */
export interface StoredCharge {
  readonly id: string
  readonly accountId: string
  readonly applicationId: string
  readonly origin: "api" | "checkout"
  readonly idempotencyKey: string | null
  readonly status: ChargeStatus
  readonly method: ChargeMethod
  readonly amount: number
  readonly description: string | null
  readonly reference: string | null
  readonly customer: {
    readonly name: string
    readonly email: string
    readonly document: string
    readonly phone: string | null
  } | null
  readonly webhookUrl: string | null
  readonly sealedWebhookSecret: string | null
  readonly brCode: string | null
  readonly endToEndId: string | null
  readonly receiver: Receiver | null
  readonly expiresAtMs: number | null
  readonly paidAtMs: number | null
  readonly failureReason: string | null
  readonly createdAtMs: number
  readonly sequence: number
}

/** A change decided on a charge as it was at `sequence - 1`. */
export interface ChargeChange {
  readonly charge: StoredCharge
  readonly told: Told
  readonly transfers: ReadonlyArray<Transfer>
  /** How long the money of a payment that went to `pending` is held. */
  readonly releaseInMs?: number | undefined
}

export interface ChargeFilters {
  readonly status?: ChargeStatus | undefined
  readonly method?: ChargeMethod | undefined
  readonly origin?: "api" | "checkout" | undefined
  readonly reference?: string | undefined
  readonly endToEndId?: string | undefined
  /** Epoch milliseconds, fractions included. */
  readonly createdAfterMs?: number | undefined
  readonly createdBeforeMs?: number | undefined
}

export class ChargeStore extends Context.Service<
  ChargeStore,
  {
    /** Stores a new charge, or gives the one that its idempotency key names already. */
    readonly insert: (
      charge: StoredCharge,
      recoverInMs: number
    ) => Effect.Effect<{ readonly existing: StoredCharge | undefined }, Unavailable>
    /** Does a change; false when the charge has moved on since it was decided. */
    readonly change: (change: ChargeChange) => Effect.Effect<boolean, Unavailable>
    /** The same within the caller's transaction, on a charge that it has locked. */
    readonly changeInTransaction: (change: ChargeChange) => Effect.Effect<void, SqlError>
    /** Locks a charge for the caller's transaction. */
    readonly lock: (id: string) => Effect.Effect<StoredCharge | undefined, SqlError>
    readonly find: (id: string) => Effect.Effect<StoredCharge | undefined, Unavailable>
    readonly findByKey: (
      applicationId: string,
      origin: "api" | "checkout",
      key: string
    ) => Effect.Effect<StoredCharge | undefined, Unavailable>
    /** Newest first, `page.limit + 1` at the most. `accountId` undefined: of every account. */
    readonly list: (
      accountId: string | undefined,
      filters: ChargeFilters,
      page: Page,
      nowMs: number
    ) => Effect.Effect<ReadonlyArray<StoredCharge>, UnknownCursor | Unavailable>
    /** Takes up to `limit` charges that wait in `processing` for too long, each for `leaseMs`. */
    readonly claimStuck: (limit: number, leaseMs: number) => Effect.Effect<ReadonlyArray<StoredCharge>, Unavailable>
  }
>()("@pix-payments/server/ChargeStore") {
  static readonly layer = Layer.effect(
    ChargeStore,
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const nudge = yield* Nudge

      const findByKey = (key: Pick<StoredCharge, "applicationId" | "origin" | "idempotencyKey">) =>
        Effect.map(
          sql.unsafe<ChargeRow>(`${selectCharge} ${byKey}`, [key.applicationId, key.origin, key.idempotencyKey]),
          ([row]) => (row === undefined ? undefined : toStored(row))
        )

      const insert = yield* Batching.make<NewCharge, { readonly existing: StoredCharge | undefined }>({
        maxBatch: 200,
        run: (charges) =>
          Effect.gen(function* () {
            const inserted = yield* sql.unsafe<{ readonly id: string }>(
              insertMany,
              newRows.parameters(charges.map(toRow))
            )
            if (inserted.length === charges.length) return charges.map(() => NEW)
            const fresh = new Set(inserted.map(({ id }) => id))
            return yield* Effect.forEach(charges, ({ charge }) =>
              fresh.has(charge.id) ? Effect.succeed(NEW) : Effect.map(findByKey(charge), (existing) => ({ existing }))
            )
          })
      })

      const change = yield* Batching.make<ChargeChange, boolean>({
        maxBatch: 200,
        run: Batching.firstOfEach(
          ({ charge }) => charge.id,
          (changes) =>
            Effect.tap(sql.unsafe<ChangedRow>(...changeMany(changes)), (done) =>
              Effect.sync(() => nudge.afterCommit(done))
            )
        )
      })

      const find = yield* Batching.make<string, StoredCharge | undefined>({
        maxBatch: 500,
        run: (ids) =>
          Effect.map(
            sql.unsafe<ChargeRow>(`${selectCharge} WHERE id = ANY (string_to_array($1, ',')::uuid[])`, [ids.join(",")]),
            (rows) => {
              const byId = new Map(rows.map((row) => [row.id, toStored(row)]))
              return ids.map((id) => byId.get(id))
            }
          )
      })

      return ChargeStore.of({
        insert: (charge, recoverInMs) => insert({ charge, recoverInMs }),
        change,
        changeInTransaction: (only) =>
          Effect.gen(function* () {
            const done = yield* sql.unsafe<ChangedRow>(...changeMany([only]))
            if (done.length !== 1) {
              return yield* Effect.die(new Error(`charge ${only.charge.id} is not as its lock found it`))
            }
            yield* sql.afterCommit(Effect.sync(() => nudge.afterCommit(done)))
          }),
        lock: (id) =>
          Effect.map(sql.unsafe<ChargeRow>(`${selectCharge} WHERE id = $1::uuid FOR UPDATE`, [id]), ([row]) =>
            row === undefined ? undefined : toStored(row)
          ),
        find: (id) => find(id.toLowerCase()),
        findByKey: (applicationId, origin, idempotencyKey) =>
          orUnavailable(findByKey({ applicationId, origin, idempotencyKey })),
        list: (accountId, filters, page, nowMs) =>
          readPage<ChargeRow>({
            table: "charges",
            columns: chargeColumns,
            scope: [
              ...(accountId === undefined ? [] : [sql`account_id = ${accountId}::uuid`]),
              ...(filters.origin === undefined ? [] : [sql`origin = ${filters.origin}`])
            ],
            filters: conditions(sql, filters, nowMs),
            page
          }).pipe(
            Effect.map((rows) => rows.map(toStored)),
            Effect.provideService(SqlClient, sql),
            orUnavailable
          ),
        claimStuck: (limit, leaseMs) =>
          sql.unsafe<ChargeRow>(claimMany, [limit, leaseMs]).pipe(
            Effect.map((rows) => rows.map(toStored)),
            orUnavailable
          )
      })
    })
  )
}

interface NewCharge {
  readonly charge: StoredCharge
  readonly recoverInMs: number
}

const NEW = { existing: undefined }

interface ChargeRow {
  readonly id: string
  readonly account_id: string
  readonly application_id: string
  readonly origin: "api" | "checkout"
  readonly idempotency_key: string | null
  readonly status: ChargeStatus
  readonly method: ChargeMethod
  readonly amount: bigint
  readonly description: string | null
  readonly reference: string | null
  readonly customer_name: string | null
  readonly customer_email: string | null
  readonly customer_document: string | null
  readonly customer_phone: string | null
  readonly webhook_url: string | null
  readonly webhook_secret: string | null
  readonly br_code: string | null
  readonly end_to_end_id: string | null
  readonly receiver: Receiver | null
  readonly expires_at: Date | null
  readonly paid_at: Date | null
  readonly failure_reason: string | null
  readonly created_at: Date
  readonly sequence: number
}

const chargeColumns = `id, account_id, application_id, origin, idempotency_key, status, method, amount, description,
  reference, customer_name, customer_email, customer_document, customer_phone, webhook_url, webhook_secret, br_code,
  end_to_end_id, receiver, expires_at, paid_at, failure_reason, created_at, sequence`

const selectCharge = `SELECT ${chargeColumns} FROM charges`

const byKey = "WHERE application_id = $1::uuid AND origin = $2 AND idempotency_key = $3"

const newRows = recordset({
  id: "uuid",
  account_id: "uuid",
  application_id: "uuid",
  origin: "text",
  idempotency_key: "text",
  status: "text",
  method: "text",
  amount: "bigint",
  description: "text",
  reference: "text",
  customer_name: "text",
  customer_email: "text",
  customer_document: "text",
  customer_phone: "text",
  webhook_url: "text",
  webhook_secret: "text",
  expires_at: "timestamptz",
  created_at: "timestamptz",
  sequence: "integer",
  recover_in_ms: "float8"
})

// What is waited for is counted on the database's clock, which asks for it: a process's may be wrong by hours.
const insertMany = `
  INSERT INTO charges (id, account_id, application_id, origin, idempotency_key, status, method, amount, description,
    reference, customer_name, customer_email, customer_document, customer_phone, webhook_url, webhook_secret,
    expires_at, created_at, sequence, recover_at)
  SELECT id, account_id, application_id, origin, idempotency_key, status, method, amount, description, reference,
    customer_name, customer_email, customer_document, customer_phone, webhook_url, webhook_secret, expires_at, created_at,
    sequence, now() + recover_in_ms * interval '1 millisecond'
  FROM ${newRows.from(1)} AS c
  ON CONFLICT (application_id, origin, idempotency_key) WHERE idempotency_key IS NOT NULL DO NOTHING
  RETURNING id`

const changedRows = recordset({
  id: "uuid",
  status: "text",
  br_code: "text",
  end_to_end_id: "text",
  receiver: "json",
  paid_at: "timestamptz",
  failure_reason: "text",
  sequence: "integer"
})

// The guard of every change: the pairs of stored states that the transition table of domain allows.
const allowedMoves = [
  ...new Set(
    chargeTransitions.flatMap(({ from, to }) =>
      from.map((state) => `'${state === "expired" ? "pending" : state}>${to}'`)
    )
  )
].join(", ")

// The numbers of the parameters behind the changed rows: what is told of them, and the money that moves with them.
const TOLD = 1 + changedRows.width
const MOVED = TOLD + TOLD_WIDTH

const changed = `
  WITH changed AS (
    UPDATE charges c SET status = i.status, br_code = i.br_code, end_to_end_id = i.end_to_end_id,
      receiver = i.receiver, paid_at = i.paid_at, failure_reason = i.failure_reason, sequence = i.sequence,
      recover_at = NULL
    FROM ${changedRows.from(1)} AS i
    WHERE c.id = i.id AND c.sequence = i.sequence - 1 AND c.status || '>' || i.status IN (${allowedMoves})
    RETURNING c.id
  ),
  ${tellingCtes(TOLD)}`

const heldRows = recordset({ charge_id: "uuid", account_id: "uuid", amount: "bigint", due_in_ms: "float8" })

const changeStates = `${changed} SELECT id, ${ADDRESSED} FROM changed`

const changeStatesAndMoveMoney = `${changed},
  ${transferCtes(MOVED)},
  held AS (
    INSERT INTO releases (charge_id, account_id, amount, due_at)
    SELECT r.charge_id, r.account_id, r.amount, now() + r.due_in_ms * interval '1 millisecond'
    FROM ${heldRows.from(MOVED + TRANSFERS_WIDTH)} AS r
    WHERE (r.charge_id IN (SELECT id FROM changed)) IS TRUE
  )
  SELECT id, ${ADDRESSED} FROM changed`

const changeMany = (changes: ReadonlyArray<ChargeChange>): [string, ReadonlyArray<unknown>] => {
  const parameters = [
    ...changedRows.parameters(
      changes.map(({ charge }) => ({
        id: charge.id,
        status: charge.status,
        br_code: charge.brCode,
        end_to_end_id: charge.endToEndId,
        receiver: charge.receiver === null ? null : JSON.stringify(charge.receiver),
        paid_at: instantOrNull(charge.paidAtMs),
        failure_reason: charge.failureReason,
        sequence: charge.sequence
      }))
    ),
    ...toldParameters(changes.map(({ told }) => told))
  ]
  const transfers = changes.flatMap((change) => change.transfers)
  return transfers.length === 0
    ? [changeStates, parameters]
    : [
        changeStatesAndMoveMoney,
        [...parameters, ...transferParameters(transfers), ...heldRows.parameters(changes.flatMap(releaseOf))]
      ]
}

const releaseOf = ({ charge, releaseInMs }: ChargeChange) =>
  releaseInMs === undefined
    ? []
    : [
        {
          charge_id: charge.id,
          account_id: charge.accountId,
          amount: charge.amount,
          due_in_ms: releaseInMs
        }
      ]

const claimMany = `
  UPDATE charges SET recover_at = now() + $2::double precision * interval '1 millisecond'
  WHERE id IN (
    SELECT id FROM charges WHERE status = 'processing' AND recover_at <= now()
    ORDER BY recover_at LIMIT $1::integer FOR UPDATE SKIP LOCKED
  )
  RETURNING ${chargeColumns}`

const conditions = (sql: SqlClient, filters: ChargeFilters, nowMs: number): ReadonlyArray<Fragment> => {
  const found: Array<Fragment> = []
  const now = formatInstant(nowMs)
  if (filters.status === "expired") {
    found.push(sql`status = 'pending' AND expires_at <= ${now}::timestamptz`)
  } else if (filters.status === "pending") {
    found.push(sql`status = 'pending' AND (expires_at IS NULL OR expires_at > ${now}::timestamptz)`)
  } else if (filters.status !== undefined) {
    found.push(sql`status = ${filters.status}`)
  }
  if (filters.method !== undefined) found.push(sql`method = ${filters.method}`)
  if (filters.reference !== undefined) found.push(sql`reference = ${filters.reference}`)
  if (filters.endToEndId !== undefined) found.push(sql`end_to_end_id = ${filters.endToEndId}`)
  // Ids carry the millisecond of creation: a range of time is a range of ids.
  if (filters.createdAfterMs !== undefined) {
    found.push(sql`id >= ${lowestIdAt(Math.floor(filters.createdAfterMs) + 1)}::uuid`)
  }
  if (filters.createdBeforeMs !== undefined) {
    found.push(sql`id < ${lowestIdAt(Math.ceil(filters.createdBeforeMs))}::uuid`)
  }
  return found
}

const instantOrNull = (epochMs: number | null): string | null => (epochMs === null ? null : formatInstant(epochMs))

const toRow = ({ charge, recoverInMs }: NewCharge) => ({
  id: charge.id,
  account_id: charge.accountId,
  application_id: charge.applicationId,
  origin: charge.origin,
  idempotency_key: charge.idempotencyKey,
  status: charge.status,
  method: charge.method,
  amount: charge.amount,
  description: charge.description,
  reference: charge.reference,
  customer_name: charge.customer?.name,
  customer_email: charge.customer?.email,
  customer_document: charge.customer?.document,
  customer_phone: charge.customer?.phone,
  webhook_url: charge.webhookUrl,
  webhook_secret: charge.sealedWebhookSecret,
  expires_at: instantOrNull(charge.expiresAtMs),
  created_at: formatInstant(charge.createdAtMs),
  sequence: charge.sequence,
  recover_in_ms: recoverInMs
})

const toStored = (row: ChargeRow): StoredCharge => ({
  id: row.id,
  accountId: row.account_id,
  applicationId: row.application_id,
  origin: row.origin,
  idempotencyKey: row.idempotency_key,
  status: row.status,
  method: row.method,
  amount: Number(row.amount),
  description: row.description,
  reference: row.reference,
  customer:
    row.customer_name === null || row.customer_email === null || row.customer_document === null
      ? null
      : {
          name: row.customer_name,
          email: row.customer_email,
          document: row.customer_document,
          phone: row.customer_phone
        },
  webhookUrl: row.webhook_url,
  sealedWebhookSecret: row.webhook_secret,
  brCode: row.br_code,
  endToEndId: row.end_to_end_id,
  receiver: row.receiver,
  expiresAtMs: row.expires_at === null ? null : row.expires_at.getTime(),
  paidAtMs: row.paid_at === null ? null : row.paid_at.getTime(),
  failureReason: row.failure_reason,
  createdAtMs: row.created_at.getTime(),
  sequence: row.sequence
})
