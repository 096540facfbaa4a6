/**
 * Refunds in PostgreSQL: every return of a charge's money, ordered by an operator or reported by the provider.
 *
 * Guarantees:
 * - a refund is written in the commit that moves its money;
 * - the completed refunds of a charge sum up to its `refunded_amount`.
 */
import type { ProviderOutcome } from "@pix-payments/domain/AcquirerException"
import type { Cents } from "@pix-payments/domain/Cents"
import { formatInstant } from "@pix-payments/domain/Instant"
import {
  type Refund,
  type RefundNature,
  type RefundOrigin,
  type RefundStatus,
  refundStatuses
} from "@pix-payments/domain/Refund"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import { NotFoundError, type UnknownCursor } from "../../base/Errors.ts"
import {
  bigint,
  decoderOf,
  instant,
  nullable,
  type Row,
  type RowOf,
  text,
  uuid
} from "../../database/statements/Column.ts"
import {
  type CreatedBetween,
  idsBetween,
  type List,
  type Page,
  readSum,
  readWalked,
  type Sum,
  type Walkable,
  type WalkedPage
} from "../../database/statements/Paging.ts"
import { between, equalsUnindexed } from "../../database/statements/Condition.ts"
import { is, oneOf, oneOfIds } from "../../database/statements/Seek.ts"
import { statement, uuids, value } from "../../database/statements/Statement.ts"
import { type Stored, table } from "../../database/statements/Table.ts"
import { orUnavailable, type Unavailable } from "../../database/Unavailable.ts"
import { contradictionOf } from "../../providers/LateOutcomes.ts"

const refundTable = table({
  id: uuid(),
  chargeId: uuid(),
  accountId: uuid(),
  connectionId: nullable(uuid()),
  origin: text<RefundOrigin>(),
  status: text<RefundStatus>(),
  amount: bigint(),
  /** Of these, the cents that were not released yet. */
  pending: bigint(),
  description: nullable(text()),
  nature: nullable(text<RefundNature>()),
  /** The MED whose money it is, where its return was not the first news of it. */
  disputeId: nullable(uuid()),
  /** The provider's id of a return that it reported; null until it did. */
  providerId: nullable(text()),
  failureReason: nullable(text()),
  createdAtMs: instant("created_at"),
  completedAtMs: nullable(instant("completed_at"))
})

export interface StoredRefund extends Stored<typeof refundTable> {}

export interface RefundFilters extends CreatedBetween {
  readonly chargeId?: string | undefined
  readonly status?: RefundStatus | undefined
  readonly amountMin?: number | undefined
  readonly amountMax?: number | undefined
}

/** What is shown of a refund beside its row: what the provider says, where it contradicts the books. */
const shownColumns = { providerOutcome: nullable(text<ProviderOutcome>()) }
const decodeShown = decoderOf(shownColumns)

export interface ShownRefund extends StoredRefund, RowOf<typeof shownColumns> {}

const shown = (row: Row): ShownRefund => ({ ...refundTable.decode(row), ...decodeShown(row) })

export class RefundStore extends Context.Service<
  RefundStore,
  {
    /** Stores a refund, or the next state of one, in a transaction that has locked its charge. */
    readonly put: (refund: StoredRefund) => Effect.Effect<void, SqlError>
    /** The refunds of a charge, oldest first, in a transaction that has locked it. */
    readonly ofLocked: (chargeId: string) => Effect.Effect<ReadonlyArray<StoredRefund>, SqlError>
    readonly get: (id: string) => Effect.Effect<ShownRefund, NotFoundError | Unavailable>
    /** By charge, oldest first; a charge without refunds has no entry. */
    readonly ofCharges: (
      chargeIds: ReadonlyArray<string>
    ) => Effect.Effect<ReadonlyMap<string, ReadonlyArray<ShownRefund>>, Unavailable>
    readonly list: (
      filters: RefundFilters,
      page: Page
    ) => Effect.Effect<WalkedPage<ShownRefund>, UnknownCursor | Unavailable>
    /** Their number and amount, as far as one request looks. */
    readonly sum: (filters: RefundFilters) => Effect.Effect<Sum, Unavailable>
  }
>()("@pix-payments/server/RefundStore") {
  static readonly layer = Layer.effect(
    RefundStore,
    Effect.gen(function* () {
      const sql = yield* SqlClient

      const of = (chargeIds: ReadonlyArray<string>) =>
        Effect.map(sql.unsafe<Row>(...findOfCharges({ chargeIds })), (found) => found.map(shown))

      return RefundStore.of({
        put: (refund) => Effect.asVoid(sql.unsafe(...putOne({ refunds: [refund] }))),
        ofLocked: (chargeId) => of([chargeId]),
        get: (id) =>
          Effect.flatMap(orUnavailable(sql.unsafe<Row>(...findOne({ id }))), ([row]) =>
            row === undefined ? Effect.fail(new NotFoundError()) : Effect.succeed(shown(row))
          ),
        ofCharges: (chargeIds) =>
          orUnavailable(Effect.map(of(chargeIds), (refunds) => Map.groupBy(refunds, ({ chargeId }) => chargeId))),
        list: (filters, page) =>
          readWalked<Row>(refundList(shownList, filters), page).pipe(
            Effect.map((found) => ({ ...found, rows: found.rows.map(shown) })),
            Effect.provideService(SqlClient, sql),
            orUnavailable
          ),
        sum: (filters) =>
          readSum(refundList("refunds.id", filters)).pipe(
            Effect.catchTag("UnknownCursor", Effect.die),
            Effect.provideService(SqlClient, sql),
            orUnavailable
          )
      })
    })
  )
}

/** A refund as operators see it (OPR-70). */
export const toRefund = (refund: ShownRefund): Refund => ({
  id: refund.id,
  object: "refund",
  charge_id: refund.chargeId,
  account_id: refund.accountId,
  origin: refund.origin,
  status: refund.status,
  // A CHECK of the column enforces the brand.
  amount: refund.amount as Cents,
  currency: "BRL",
  description: refund.description,
  nature: refund.nature,
  failure_reason: refund.failureReason,
  provider_outcome: refund.providerOutcome,
  created_at: formatInstant(refund.createdAtMs),
  completed_at:
    refund.completedAtMs === null || refund.status !== "completed" ? null : formatInstant(refund.completedAtMs)
})

const columns = refundTable.columns()
const shownList = `${refundTable.columns("refunds")}, ${contradictionOf("refunds.id")} AS provider_outcome`

/** The list of refunds; a filter by amount is checked on the rows of a walk. */
const refundList = (columns: string, filters: RefundFilters): Walkable => {
  const { amountMax, amountMin, chargeId, status } = filters
  const statuses = status === undefined ? oneOf("status", refundStatuses) : is("status", "text", status)
  return {
    table: "refunds",
    columns,
    account: "account_id",
    ...indexPaths(filters),
    ...idsBetween(filters),
    isServed: amountMin === undefined && amountMax === undefined,
    counted: { state: () => "status", amount: "amount" },
    walk: {
      paths:
        chargeId !== undefined
          ? [{ columns: [is("charge_id", "uuid", chargeId)] }]
          : status === undefined
            ? undefined
            : [{ columns: [statuses] }],
      conditions: [
        ...(status === undefined ? [] : [equalsUnindexed("status", "text", status)]),
        ...between("amount", "bigint", [amountMin, amountMax], true)
      ]
    },
    walkOf: chargeId === undefined ? (ids) => [{ columns: [oneOfIds("account_id", ids), statuses] }] : undefined
  }
}

/** A charge has few refunds, so that a further filter on them needs no index. */
const indexPaths = (filters: RefundFilters): Partial<List> => {
  const { chargeId, status } = filters
  if (chargeId !== undefined) {
    return {
      paths: [{ columns: [is("charge_id", "uuid", chargeId)] }],
      filters: status === undefined ? [] : [equalsUnindexed("status", "text", status)]
    }
  }
  const statusIs = status === undefined ? oneOf("status", refundStatuses) : is("status", "text", status)
  return {
    ...(status === undefined ? {} : { paths: [{ columns: [statusIs] }] }),
    pathsOf: (ids) => [{ columns: [oneOfIds("account_id", ids), statusIs] }]
  }
}

const putOne = statement(
  { refunds: refundTable.rows(refundTable.fields) },
  (p) => `
  INSERT INTO refunds (${columns}) SELECT ${columns} FROM ${p.refunds} AS r
  ON CONFLICT (id) DO UPDATE SET status = excluded.status, amount = excluded.amount, pending = excluded.pending,
    provider_id = excluded.provider_id, dispute_id = excluded.dispute_id, failure_reason = excluded.failure_reason, completed_at = excluded.completed_at`
)

const findOne = statement({ id: value("uuid") }, ({ id }) => `SELECT ${shownList} FROM refunds WHERE id = ${id}`)

const findOfCharges = statement(
  { chargeIds: uuids },
  ({ chargeIds }) => `SELECT ${shownList} FROM refunds WHERE charge_id = ANY (${chargeIds}) ORDER BY id`
)
