/**
 * Charges in PostgreSQL: many in one statement and one commit.
 *
 * Guarantees:
 * - an idempotency key is claimed by the row that carries it: of two calls with one key, one inserts and the
 *   other is given the winner's row;
 * - a change is guarded by the transition table of `domain` and by the sequence it was decided on, and its
 *   events, deliveries and ledger transfers are in the same commit;
 * - a charge that the acquirer's answer never reaches is found again: each batch of new charges leaves a note in its
 *   commit that names them and says when to look; who looks lets go of the note when all of them are answered.
 *
 * `processing` is kept as `pending` that no acquirer has answered: so the answer changes no index (see migration 0004).
 *
 * Measured: see bench/RESULTS.md ("create charge"); one statement for a batch costs PostgreSQL a sixth of one
 * for each charge.
 */
import type { Caller } from "@pix-payments/api/Security"
import { type ChargeMethod, type ChargeStatus, chargeTransitions, type Receiver } from "@pix-payments/domain/Charge"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import { type ReceivedNotification, notificationCtes, notificationParameters } from "../acquirer/NotificationStore.ts"
import { StaleCaller, callersOf, findCurrentCallers, currentCallersCte } from "../accounts/CallerCache.ts"
import type { UnknownCursor } from "../Errors.ts"
import { type ChangedRow, DeliverySignal } from "../events/DeliverySignal.ts"
import { Ids } from "../Ids.ts"
import { OUTBOX_ROWS, OUTBOX_WIDTH, type OutboxEntry, outboxCtes, outboxParameters } from "../events/Outbox.ts"
import {
  isLocked,
  ledgerLockCtes,
  lockLedgerOf,
  PASSED_BY,
  type Transfer,
  transferCtes,
  transferParameters,
  TRANSFERS_WIDTH
} from "../ledger/Ledger.ts"
import * as Batching from "../sql/Batching.ts"
import { type Page, readPage } from "../sql/Paging.ts"
import { runToCompletion } from "../sql/Patience.ts"
import { recordset } from "../sql/Recordset.ts"
import { orUnavailable, type Unavailable } from "../sql/Unavailable.ts"
import { type ChargeFilters, chargeList } from "./ChargeLists.ts"
import { recoveryStatements } from "./ChargeRecovery.ts"

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
  /** What was reported of it before its payment was: it is paid together with that. */
  readonly hasDeferredReports: boolean
}

/** A change decided on a charge as it was at `sequence - 1`. */
export interface ChargeChange {
  readonly charge: StoredCharge
  readonly outbox: OutboxEntry
  readonly transfers: ReadonlyArray<Transfer>
  /** How long the money of a payment that went to `pending` is held. */
  readonly releaseInMs?: number | undefined
  /** The report that it is made by, recorded with it. */
  readonly received?: ReceivedNotification | undefined
}

export class ChargeStore extends Context.Service<
  ChargeStore,
  {
    /**
     * Stores a new charge, or gives the one that its idempotency key names already; neither where `remembered` is not
     * who calls any more.
     */
    readonly insert: (
      charge: StoredCharge,
      recoverInMs: number,
      remembered: Caller | undefined
    ) => Effect.Effect<{ readonly existing: StoredCharge | undefined }, StaleCaller | Unavailable>
    /** Does a change; false when the charge has moved on since it was decided. */
    readonly change: (change: ChargeChange) => Effect.Effect<boolean, Unavailable>
    /** The same within the caller's transaction, on a charge that it has locked. */
    readonly changeInTransaction: (change: ChargeChange) => Effect.Effect<void, SqlError>
    /** Locks a charge for the caller's transaction, and before it the ledger of its account. */
    readonly lock: (id: string) => Effect.Effect<StoredCharge | undefined, SqlError>
    readonly find: (id: string) => Effect.Effect<StoredCharge | undefined, Unavailable>
    /** The same for a caller who is remembered, and confirmed beside it. */
    readonly findFor: (
      remembered: Caller,
      id: string
    ) => Effect.Effect<StoredCharge | undefined, StaleCaller | Unavailable>
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
    /**
     * Takes up to `limit` charges that wait in `processing` and are due, some of each account in turn, each for
     * `leaseMs`, or for longer the more often it was taken; `looked` is 0 when there was nothing to look at.
     */
    readonly claimStuck: (
      limit: number,
      leaseMs: number
    ) => Effect.Effect<{ readonly looked: number; readonly stuck: ReadonlyArray<StoredCharge> }, Unavailable>
    /** Keeps what was taken for `leaseMs` from now on. */
    readonly renewStuck: (stuck: ReadonlyArray<StoredCharge>, leaseMs: number) => Effect.Effect<void, Unavailable>
  }
>()("@pix-payments/server/ChargeStore") {
  static readonly layer = Layer.effect(
    ChargeStore,
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const signal = yield* DeliverySignal
      const ids = yield* Ids

      const findByKey = (key: Pick<StoredCharge, "applicationId" | "origin" | "idempotencyKey">) =>
        Effect.map(
          sql.unsafe<ChargeRow>(`${selectCharge} ${byKey}`, [key.applicationId, key.origin, key.idempotencyKey]),
          ([row]) => (row === undefined ? undefined : toStored(row))
        )

      const insert = yield* Batching.make<NewCharge, Inserted>({
        maxBatch: 200,
        writes: sql,
        accountOf: ({ charge }) => charge.accountId,
        run: (charges) =>
          Effect.gen(function* () {
            const callers = callersOf(charges, ({ remembered }) => remembered)
            const rows = yield* sql.unsafe<{ readonly id: string | null; readonly n: number | null }>(insertMany, [
              ...newRows.parameters(inKeyOrder(charges).map((each) => toRow(each, callers.numberOf(each)))),
              ...notes.parameters(notesOn(charges, ids)),
              ...callers.parameters
            ])
            const live = new Set(rows.map(({ n }) => n))
            const fresh = new Set(rows.map(({ id }) => id))
            return yield* Effect.forEach(charges, (each): Effect.Effect<Inserted, SqlError> => {
              if (fresh.has(each.charge.id)) return Effect.succeed(NEW)
              const n = callers.numberOf(each)
              if (n !== undefined && !live.has(n)) return Effect.succeed(STALE_CALLER)
              return Effect.map(findByKey(each.charge), (existing) => ({ existing }))
            })
          })
      })

      // What moves money waits for it, and holds up nothing that moves none.
      const changeWith = Batching.make<ChargeChange, boolean>({
        maxBatch: 200,
        writes: sql,
        accountOf: ({ charge }) => charge.accountId,
        run: Batching.firstOfEach(
          ({ charge }) => charge.id,
          ({ charge }) => charge.accountId,
          (changes, how) =>
            Effect.tap(sql.unsafe<WrittenRow>(...changeMany(changes, how)), (written) =>
              sql.afterCommit(Effect.sync(() => signal.afterCommit(written.filter(isChanged))))
            )
        )
      })
      const changeState = yield* changeWith
      const moveMoney = yield* changeWith

      const findMany = (ids: ReadonlyArray<string>) =>
        Effect.map(
          sql.unsafe<ChargeRow>(`${selectCharge} WHERE id = ANY (string_to_array($1, ',')::uuid[])`, [ids.join(",")]),
          (rows) => new Map(rows.map((row) => [row.id, toStored(row)]))
        )

      const find = yield* Batching.make<string, StoredCharge | undefined>({
        maxBatch: 500,
        run: (ids) => Effect.map(findMany(ids), (byId) => ids.map((id) => byId.get(id)))
      })

      const findFor = yield* Batching.make<Asked, StoredCharge | undefined | typeof STALE_CALLER>({
        maxBatch: 500,
        run: (asked) => {
          const callers = callersOf(asked, ({ remembered }) => remembered)
          const live = sql.unsafe<{ readonly n: number }>(findCurrentCallers, callers.parameters)
          return Effect.map(
            Effect.all([findMany(asked.map(({ id }) => id)), live], { concurrency: 2 }),
            ([byId, rows]) => {
              const confirmed = new Set<number | undefined>(rows.map(({ n }) => n))
              return asked.map((each) => (confirmed.has(callers.numberOf(each)) ? byId.get(each.id) : STALE_CALLER))
            }
          )
        }
      })

      return ChargeStore.of({
        insert: (charge, recoverInMs, remembered) => orStaleCaller(insert({ charge, recoverInMs, remembered })),
        change: (change) => (change.transfers.length === 0 ? changeState(change) : moveMoney(change)),
        changeInTransaction: (only) =>
          Effect.gen(function* () {
            const done = (yield* sql.unsafe<WrittenRow>(...changeMany([only], "alone"))).filter(isChanged)
            if (done.length !== 1) {
              return yield* Effect.die(new Error(`charge ${only.charge.id} is not as its lock found it`))
            }
            yield* sql.afterCommit(Effect.sync(() => signal.afterCommit(done)))
          }),
        lock: Effect.fnUntraced(function* (id) {
          const [charge] = yield* sql.unsafe<{ readonly account_id: string }>(
            "SELECT account_id FROM charges WHERE id = $1::uuid",
            [id]
          )
          if (charge === undefined) return undefined
          yield* lockLedgerOf(sql, [charge.account_id])
          const [row] = yield* sql.unsafe<ChargeRow>(`${selectCharge} WHERE id = $1::uuid FOR UPDATE`, [id])
          return row === undefined ? undefined : toStored(row)
        }),
        find: (id) => find(id.toLowerCase()),
        findFor: (remembered, id) => orStaleCaller(findFor({ remembered, id: id.toLowerCase() })),
        findByKey: (applicationId, origin, idempotencyKey) =>
          orUnavailable(findByKey({ applicationId, origin, idempotencyKey })),
        list: (accountId, filters, page, nowMs) =>
          readPage<ChargeRow>(chargeList(chargeColumns, accountId, filters, nowMs), page).pipe(
            Effect.map((rows) => rows.map(toStored)),
            Effect.provideService(SqlClient, sql),
            orUnavailable
          ),
        claimStuck: (limit, leaseMs) =>
          Effect.gen(function* () {
            const rows = yield* sql.unsafe<StuckRow>(takeInTurn, [limit, leaseMs])
            const [sorted] = yield* sql.unsafe<{ readonly looked: bigint }>(sortNotes, [NOTES_AT_ONCE])
            return {
              looked: Number(rows[0]?.looked ?? 0) + Number(sorted?.looked ?? 0),
              stuck: rows.filter((row): row is StuckRow & ChargeRow => row.id !== null).map(toStored)
            }
          }).pipe(runToCompletion(sql)),
        renewStuck: (stuck, leaseMs) =>
          sql
            .unsafe(renewTaken, [
              stuck.map(({ id }) => id).join(","),
              [...new Set(stuck.map(({ accountId }) => accountId))].join(","),
              leaseMs
            ])
            .pipe(Effect.asVoid, runToCompletion(sql))
      })
    })
  )
}

interface NewCharge {
  readonly charge: StoredCharge
  readonly recoverInMs: number
  readonly remembered: Caller | undefined
}

interface Asked {
  readonly remembered: Caller
  readonly id: string
}

const NEW = { existing: undefined }

const STALE_CALLER = "unconfirmed"

const orStaleCaller = <A>(answer: Effect.Effect<A | typeof STALE_CALLER, Unavailable>) =>
  Effect.filterOrFail(
    answer,
    (given): given is Exclude<A, typeof STALE_CALLER> => given !== STALE_CALLER,
    () => new StaleCaller()
  )

type Inserted = { readonly existing: StoredCharge | undefined } | typeof STALE_CALLER

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
  readonly acquirer_answered: boolean
  readonly has_deferred_reports: boolean
}

type StuckRow = { readonly looked: bigint } & (ChargeRow | { readonly id: null })

const chargeColumns = `id, account_id, application_id, origin, idempotency_key, status, method, amount, description,
  reference, customer_name, customer_email, customer_document, customer_phone, webhook_url, webhook_secret, br_code,
  end_to_end_id, receiver, expires_at, paid_at, failure_reason, created_at, sequence, acquirer_answered,
  has_deferred_reports`

/**
 * The status of a row, as it is meant: a `pending` charge that no acquirer has answered is `processing`. So the answer
 * leaves the status alone; and whatever a process of the release before, which knows nothing of it, made of a charge
 * holds.
 */
const shownStatus = (row: string) =>
  `CASE WHEN ${row}.acquirer_answered OR ${row}.status <> 'pending' THEN ${row}.status ELSE 'processing' END`

const { renewTaken, sortNotes, takeInTurn } = recoveryStatements(chargeColumns, shownStatus)

const NOTES_AT_ONCE = 200

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
  caller: "integer"
})

const notes = recordset({ id: "uuid", charge_ids: "text", due_in_ms: "float8" })

const NOTES = 1 + newRows.width

// What is waited for is counted on the database's clock, which asks for it: a process's may be wrong by hours.
const insertMany = `
  WITH ${currentCallersCte(NOTES + notes.width)},
  noted AS (
    INSERT INTO charge_recoveries (due_at, id, charge_ids)
    SELECT now() + n.due_in_ms * interval '1 millisecond', n.id, string_to_array(n.charge_ids, ',')::uuid[] FROM ${notes.from(NOTES)} AS n
  ),
  inserted AS (
    INSERT INTO charges (id, account_id, application_id, origin, idempotency_key, status, method, amount, description,
      reference, customer_name, customer_email, customer_document, customer_phone, webhook_url, webhook_secret,
      expires_at, created_at, sequence, acquirer_answered)
    SELECT id, account_id, application_id, origin, idempotency_key, status, method, amount, description,
      reference, customer_name, customer_email, customer_document, customer_phone, webhook_url, webhook_secret,
      expires_at, created_at, sequence, false
    FROM ${newRows.from(1)} AS c
    WHERE c.caller IS NULL OR (c.caller IN (SELECT n FROM live)) IS TRUE
    ON CONFLICT (application_id, origin, idempotency_key) WHERE idempotency_key IS NOT NULL DO NOTHING
    RETURNING id
  )
  SELECT id, NULL::integer AS n FROM inserted UNION ALL SELECT NULL, n FROM live`

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
const MOVED = TOLD + OUTBOX_WIDTH

const changedCtes = (guard: string) => `
  changed AS (
    UPDATE charges c SET status = i.status, br_code = i.br_code, end_to_end_id = i.end_to_end_id,
      receiver = i.receiver, paid_at = i.paid_at, failure_reason = i.failure_reason, sequence = i.sequence,
      acquirer_answered = true
    FROM ${changedRows.from(1)} AS i
    WHERE c.id = i.id AND c.sequence = i.sequence - 1 AND (${shownStatus("c")}) || '>' || i.status IN (${allowedMoves})
      AND NOT (i.status = 'paid' AND c.has_deferred_reports) AND ${guard}
    RETURNING c.id
  ),
  ${outboxCtes(TOLD)}`

const heldRows = recordset({ charge_id: "uuid", account_id: "uuid", amount: "bigint", due_in_ms: "float8" })

const changeStates = `WITH ${changedCtes("true")} SELECT id, ${OUTBOX_ROWS} FROM changed`

const HELD = MOVED + TRANSFERS_WIDTH

const changeStatesAndMoveMoney = (
  how: Batching.How
) => `WITH ${ledgerLockCtes(MOVED, how === "alone" ? "wait" : "pass by")},
  ${changedCtes(isLocked("c.account_id"))},
  ${transferCtes(MOVED)},
  ${notificationCtes(HELD + heldRows.width)},
  held AS (
    INSERT INTO releases (charge_id, account_id, amount, due_at)
    SELECT r.charge_id, r.account_id, r.amount, now() + r.due_in_ms * interval '1 millisecond'
    FROM ${heldRows.from(HELD)} AS r
    WHERE (r.charge_id IN (SELECT id FROM changed)) IS TRUE
  )
  SELECT id, ${OUTBOX_ROWS}, NULL::uuid AS passed_by FROM changed
  UNION ALL SELECT NULL, 0, p.owner_id FROM (${PASSED_BY}) p`

const moveMoneyOf = { alone: changeStatesAndMoveMoney("alone"), together: changeStatesAndMoveMoney("together") }

/** A charge that was changed, or else an account that was passed by. */
type WrittenRow = Omit<ChangedRow, "id"> & Batching.Written

const isChanged = (row: WrittenRow): row is WrittenRow & ChangedRow => row.id !== null

const changeMany = (unordered: ReadonlyArray<ChargeChange>, how: Batching.How): [string, ReadonlyArray<unknown>] => {
  // Rows are locked in the order of their ids, so that two processes never wait for each other.
  const changes = unordered.toSorted((one, other) => (one.charge.id < other.charge.id ? -1 : 1))
  const parameters = [
    ...changedRows.parameters(
      changes.map(({ charge }) => ({
        id: charge.id,
        status: charge.status,
        br_code: charge.brCode,
        end_to_end_id: charge.endToEndId,
        receiver: charge.receiver === null ? null : JSON.stringify(charge.receiver),
        paid_at: charge.paidAtMs,
        failure_reason: charge.failureReason,
        sequence: charge.sequence
      }))
    ),
    ...outboxParameters(changes.map(({ outbox }) => outbox))
  ]
  const transfers = changes.flatMap((change) => change.transfers)
  const reports = changes.flatMap(({ charge, received }) =>
    received === undefined ? [] : [{ resourceId: charge.id, received }]
  )
  return transfers.length === 0 && reports.length === 0
    ? [changeStates, parameters]
    : [
        moveMoneyOf[how],
        [
          ...parameters,
          ...transferParameters(transfers),
          ...heldRows.parameters(changes.flatMap(releaseOf)),
          ...notificationParameters(reports)
        ]
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

/** At most so many charges are named by one note, so that what is taken at once is bounded. */
const NAMED_BY_A_NOTE = 50

const notesOn = (charges: ReadonlyArray<NewCharge>, ids: Ids["Service"]) => {
  const parts = Array.from({ length: Math.ceil(charges.length / NAMED_BY_A_NOTE) }, (_, index) =>
    charges.slice(index * NAMED_BY_A_NOTE, (index + 1) * NAMED_BY_A_NOTE)
  )
  return parts.map((part) => ({
    id: ids.next().id,
    charge_ids: part.map(({ charge }) => charge.id).join(","),
    due_in_ms: Math.max(...part.map(({ recoverInMs }) => recoverInMs))
  }))
}

/**
 * A key that another process has inserted and not committed is waited for: in one order everywhere, so that two processes
 * never wait for each other. Of equal keys the first stays the first.
 */
const inKeyOrder = (charges: ReadonlyArray<NewCharge>): ReadonlyArray<NewCharge> => {
  if (charges.length === 1) return charges
  const keyOf = ({ charge }: NewCharge) => `${charge.applicationId} ${charge.origin} ${charge.idempotencyKey ?? ""}`
  return charges
    .map((each) => ({ each, key: keyOf(each) }))
    .toSorted((one, other) => (one.key < other.key ? -1 : one.key > other.key ? 1 : 0))
    .map(({ each }) => each)
}

const toRow = ({ charge }: NewCharge, caller: number | undefined) => ({
  id: charge.id,
  account_id: charge.accountId,
  application_id: charge.applicationId,
  origin: charge.origin,
  idempotency_key: charge.idempotencyKey,
  // See `shownStatus`.
  status: charge.status === "processing" ? "pending" : charge.status,
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
  expires_at: charge.expiresAtMs,
  created_at: charge.createdAtMs,
  sequence: charge.sequence,
  caller
})

const toStored = (row: ChargeRow): StoredCharge => ({
  id: row.id,
  accountId: row.account_id,
  applicationId: row.application_id,
  origin: row.origin,
  idempotencyKey: row.idempotency_key,
  status: row.acquirer_answered || row.status !== "pending" ? row.status : "processing",
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
  sequence: row.sequence,
  hasDeferredReports: row.has_deferred_reports
})
