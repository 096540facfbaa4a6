/** The statements of `ChargeStore`. */
import { pagesOf } from "../../accounts/AccountPages.ts"
import { isConnectionPaused } from "../../accounts/Brakes.ts"
import { claimed, isProven, NO_PROOF, PROOF, type Proof } from "../../accounts/Caller.ts"
import type { Payer } from "../../providers/Acquirer.ts"
import { notifications } from "../../providers/NotificationStore.ts"
import type { ChangedRow } from "../../events/DeliverySignal.ts"
import { outbox, type OutboxPart } from "../../events/Outbox.ts"
import { lockedTransfers } from "../../ledger/Ledger.ts"
import type { Written } from "../../database/batching/Batching.ts"
import type { LockMode } from "../../database/statements/LockMode.ts"
import { bigint, boolean, float8, json, nullable, type Row, uuid } from "../../database/statements/Column.ts"
import { oneOfIds, type Updates, updatesOf } from "../../database/statements/PrunedIds.ts"
import { CHANGED, rows, statement, value } from "../../database/statements/Statement.ts"
import type { ChargeChange } from "./ChargeDecision.ts"
import { isSettled, lifetimeIn, listedStateOf } from "./ChargeStates.ts"
import { allowedTransitions, chargeColumns, chargeTable, shownChargeTable } from "./ChargeTable.ts"
import { insertedReceivers, storedReceiver } from "./Receivers.ts"
import { connectionIn } from "./Settlements.ts"
import { newRecoveries } from "./NewRecoveries.ts"

/** A charge that was inserted, or the proof of callers. */
export type InsertedRow = { readonly id: string | null; readonly is_paused: boolean } & (
  | Proof
  | { readonly [Column in keyof Proof]: null }
)

const selectCharge = `SELECT ${chargeColumns} FROM charges`

export const findOneByKey = statement(
  { applicationId: value("uuid"), origin: value("text"), idempotencyKey: value("text") },
  (p) => `${selectCharge}
  WHERE id = (
      SELECT resource_id FROM idempotency_keys
      WHERE digest = idempotency_digest(${p.applicationId}, 'charge', ${p.origin}, ${p.idempotencyKey})
    ) AND application_id = ${p.applicationId} AND origin = ${p.origin} AND idempotency_key = ${p.idempotencyKey}`
)

export const findByIds = statement({ ids: oneOfIds }, ({ ids }) => `${selectCharge} WHERE ${ids("id")}`)

// One statement, so that a read of a cached caller takes one round trip.
export const findShown = statement(
  { ids: oneOfIds },
  ({ ids }) => `SELECT ${shownChargeTable.columns()}, ${NO_PROOF} FROM charges WHERE ${ids("id")}
  UNION ALL SELECT ${shownChargeTable.nulls}, ${PROOF}`
)

/** A charge, or the proof of callers. */
export type ShownRow = Row & ({ readonly id: string; readonly generation: null } | Proof)

/** Pages of the charges that accounts created through the API. */
export const chargePages = pagesOf("charges", shownChargeTable, { origin: "'api'" })

export const findAccount = statement(
  { id: value("uuid") },
  ({ id }) => `SELECT account_id FROM charges WHERE id = ${id}`
)

export const lockOne = statement({ id: value("uuid") }, ({ id }) => `${selectCharge} WHERE id = ${id} FOR UPDATE`)

/** What a new charge has. The acquirer's answer, its payment and what waits for that write the other columns. */
const created = chargeTable.fieldsExcept(
  "brCode",
  "endToEndId",
  "receiver",
  "paidAtMs",
  "refundedAmount",
  "failureReason"
)

const createdColumns = chargeTable.names(created)

export const insertMany = statement(
  {
    charges: chargeTable.rows(created, claimed),
    recoveries: newRecoveries
  },
  (p) => `
  WITH ${p.recoveries},
  requested AS MATERIALIZED (SELECT ${createdColumns} FROM ${p.charges} AS c WHERE ${isProven("c")}),
  claimed AS (
    INSERT INTO idempotency_keys (digest, resource_id)
    SELECT idempotency_digest(application_id, 'charge', origin, idempotency_key), id FROM requested
    WHERE idempotency_key IS NOT NULL
    ON CONFLICT (digest) DO NOTHING
    RETURNING resource_id
  ),
  inserted AS (
    INSERT INTO charges (${createdColumns})
    SELECT ${createdColumns} FROM requested
    WHERE idempotency_key IS NULL OR (id IN (SELECT resource_id FROM claimed)) IS TRUE
    RETURNING id, connection_id, account_id, origin, ${listedStateOf("status")} AS status, ${lifetimeIn("status")} AS lifetime_ms
  ),
  inserted_states AS (
    INSERT INTO charge_states (account_id, status, lifetime_ms, charge_id)
    SELECT account_id, status, lifetime_ms, id FROM inserted WHERE origin = 'api'
  )
  SELECT id, ${isConnectionPaused("connection_id")} AS is_paused, ${NO_PROOF} FROM inserted
  UNION ALL SELECT NULL, false, ${PROOF}`
)

const changedFields = [
  "id",
  "status",
  "brCode",
  "endToEndId",
  "paidAtMs",
  "refundedAmount",
  "failureReason",
  "sequence"
] as const
const changedBeside = { receiverId: nullable(uuid()), settlementClaimed: boolean("settlement_claimed") }
const changesBeside = { receivers: insertedReceivers, outbox }

type ChangedParts = { readonly charges: Updates; readonly receivers: string; readonly outbox: OutboxPart }

const changedCharges = (p: ChangedParts, guard: string, values = "", columns = "") => `
  ${CHANGED} AS (
    UPDATE charges c SET status = i.status, br_code = i.br_code, end_to_end_id = i.end_to_end_id,
      receiver_id = i.receiver_id, paid_at = i.paid_at, refunded_amount = i.refunded_amount,
      failure_reason = i.failure_reason, sequence = i.sequence${values}
    FROM ${p.charges.rows} AS i
    WHERE ${p.charges.isRow("c", "i")} AND c.sequence = i.sequence - 1 AND c.status || '>' || i.status IN (${allowedTransitions})
      AND ${guard}
    RETURNING c.id, c.account_id, ${listedStateOf("new.status")} AS status, ${lifetimeIn("new.status")} AS lifetime_ms,
      ${listedStateOf("old.status")} AS status_before, ${lifetimeIn("old.status")} AS lifetime_ms_before,
      c.origin = 'api' AS is_listed${columns}
  ),
  other_state AS MATERIALIZED (SELECT * FROM ${CHANGED} WHERE is_listed AND status <> status_before),${p.receivers},
  ${p.outbox.insert(CHANGED)}`

const changedStates = (wasInStates: string, isInStates: string) => `
  deleted_states AS (
    DELETE FROM charge_states s USING other_state m
    WHERE ${wasInStates} AND s.account_id = m.account_id AND s.status = m.status_before
      AND s.lifetime_ms = m.lifetime_ms_before AND s.charge_id = m.id
  ),
  inserted_states AS (
    INSERT INTO charge_states (account_id, status, lifetime_ms, charge_id)
    SELECT account_id, status, lifetime_ms, id FROM other_state WHERE ${isInStates}
  )`

const changeUnpaid = statement(
  { charges: updatesOf(chargeTable.rows(changedFields, changedBeside)), ...changesBeside },
  (p) =>
    `WITH ${changedCharges(p, "true")},${changedStates("true", "true")} SELECT id, ${p.outbox.rows} FROM ${CHANGED}`
)

/** The columns of changed charges that their settlements need. */
const settlementColumns = `, ${connectionIn("c")}::uuid AS connection_id, c.amount, c.end_to_end_id,
      ${isSettled("new.status", "new.end_to_end_id")} AS is_settled, ${isSettled("old.status", "old.end_to_end_id")} AS was_settled,
      old.end_to_end_id IS DISTINCT FROM new.end_to_end_id AND NOT i.settlement_claimed AS claims_settlement`

const changedSettlements = `
  inserted_settlements AS (
    INSERT INTO charge_settlements (end_to_end_id, connection_id, charge_id, amount, account_id)
    SELECT end_to_end_id, connection_id, id, amount, CASE WHEN is_settled AND is_listed THEN account_id END
    FROM ${CHANGED} WHERE claims_settlement AND end_to_end_id IS NOT NULL
  ),
  changed_settlements AS (
    UPDATE charge_settlements s SET account_id = CASE WHEN m.is_settled THEN m.account_id END
    FROM other_state m WHERE m.is_settled <> m.was_settled AND NOT m.claims_settlement
      AND s.end_to_end_id = m.end_to_end_id AND s.connection_id = m.connection_id
  )`

/** Its payment names who paid a charge, or the callback of a provider later (`ReportStore.namePayers`). No other change reads it. */
const payerOfPayment = ", payer = coalesce(i.payer, c.payer)"

const changePaid = (lockMode: LockMode) =>
  statement(
    {
      charges: updatesOf(chargeTable.rows(changedFields, { ...changedBeside, payer: nullable(json<Payer>()) })),
      ...changesBeside,
      transfers: lockedTransfers,
      releases: rows({ charge_id: uuid(), account_id: uuid(), amount: bigint(), due_in_ms: float8() }),
      notifications
    },
    (p) => `WITH ${p.transfers.lock(lockMode)},
  ${changedCharges(p, p.transfers.isLocked("c.account_id"), payerOfPayment, settlementColumns)},
  ${changedStates("NOT m.was_settled", "NOT is_settled")},${changedSettlements},
  ${p.transfers.insert(CHANGED)},
  ${p.notifications.insert(CHANGED)},
  inserted_releases AS (
    INSERT INTO releases (charge_id, account_id, amount, due_at)
    SELECT r.charge_id, r.account_id, r.amount, now() + r.due_in_ms * interval '1 millisecond'
    FROM ${p.releases} AS r
    WHERE (r.charge_id IN (SELECT id FROM ${CHANGED})) IS TRUE
  )
  SELECT id, ${p.outbox.rows}, NULL::uuid AS passed_by FROM ${CHANGED}
  UNION ALL SELECT NULL, 0, p.owner_id FROM (${p.transfers.passedBy}) p`
  )

const changePaidIn = { wait: changePaid("wait"), skip: changePaid("skip") }

/** A charge that was changed, or an account that was skipped because it was locked. */
export type WrittenRow = Omit<ChangedRow, "id"> & Written

export const isChanged = (row: WrittenRow): row is WrittenRow & ChangedRow => row.id !== null

/**
 * Whether the charge has no payment before and after the change, and nothing of the change concerns one: a short statement is
 * enough, which waits for no lock of a ledger.
 */
export const isUnpaid = ({ charge, received, transfers }: ChargeChange): boolean =>
  charge.endToEndId === null && transfers.length === 0 && received === undefined

/** `settlementClaimed`: the transaction has claimed the settlement of a payment before (`Settlements.ts`). */
export const changeMany = (unordered: ReadonlyArray<ChargeChange>, lockMode: LockMode, settlementClaimed = false) => {
  // Rows are locked in the order of their ids, so that two processes never wait for each other.
  const ordered = unordered.toSorted((one, other) => (one.charge.id < other.charge.id ? -1 : 1))
  const receivers = ordered.map(({ charge: { receiver } }) =>
    receiver === null ? undefined : storedReceiver(receiver)
  )
  const changed = {
    charges: ordered.map(({ charge, payer }, index) => ({
      ...charge,
      payer,
      settlementClaimed,
      receiverId: receivers[index]?.id
    })),
    receivers: receivers.flatMap((receiver) => receiver ?? []),
    outbox: ordered.map(({ outbox }) => outbox)
  }
  return ordered.every(isUnpaid)
    ? changeUnpaid(changed)
    : changePaidIn[lockMode]({
        ...changed,
        transfers: ordered.flatMap(({ transfers }) => transfers),
        releases: ordered.flatMap(releaseOf),
        notifications: ordered.flatMap(({ charge, received }) =>
          received === undefined ? [] : [{ resourceId: charge.id, received }]
        )
      })
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
