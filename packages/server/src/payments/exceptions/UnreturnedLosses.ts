/**
 * MEDs that are lost and of which the provider lists no return, as contradictory outcomes.
 *
 * Guarantees:
 * - `RETURNED_WITHIN_DAYS` after the books had the loss, and once the provider's returns were read since, its money is an exception
 *   above zero: the provider still has it. Where a part of them cannot be read, `UNREAD_FOR_DAYS` after it. The states of the charge
 *   and of the dispute stay;
 * - a return that is reported later agrees with the books: the exception's money goes back in the commit that applies it;
 * - of a connection, `MOST` are raised after each reading.
 *
 * Rules: BAL-16, DSP-4.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import { runToCompletion } from "../../database/RunToCompletion.ts"
import { statement, value } from "../../database/statements/Statement.ts"
import type { Unavailable } from "../../database/Unavailable.ts"
import { lockLedgerOf } from "../../ledger/Ledger.ts"
import { IN_FORCE, LateOutcomes } from "../../providers/LateOutcomes.ts"
import { LockedCharges } from "../charges/LockedCharges.ts"
import { ExceptionStore } from "./ExceptionStore.ts"

export class UnreturnedLosses extends Context.Service<
  UnreturnedLosses,
  {
    /** Raises those of a connection whose returns were read; `isWhole`: all of them. */
    readonly raise: (connectionId: string, isWhole: boolean) => Effect.Effect<void, Unavailable>
    /** Closes those of a charge, or of an accepted exception, whose return was reported, in a transaction that has locked it. */
    readonly close: (connectionId: string, resourceId: string) => Effect.Effect<void, SqlError>
  }
>()("@pix-payments/server/UnreturnedLosses") {
  static readonly layer = Layer.effect(
    UnreturnedLosses,
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const late = yield* LateOutcomes
      const money = yield* LockedCharges
      const exceptions = yield* ExceptionStore

      const lossOf = (connectionId: string, row: LossRow) => ({
        id: row.id,
        connectionId,
        accountId: row.account_id,
        chargeId: row.charge_id,
        amount: Number(row.amount)
      })

      const raiseOne = Effect.fnUntraced(
        function* (connectionId: string, { account_id, charge_id, exception_id, id }: LossRow) {
          yield* lockLedgerOf(sql, [connectionId, account_id])
          if (charge_id !== null) yield* money.lock(charge_id)
          if (exception_id !== null) yield* exceptions.lock(exception_id)
          // Meanwhile its return may have been reported.
          const all = yield* sql.unsafe<LossRow>(...findOf({ resourceId: charge_id ?? exception_id }))
          const row = all.find((each) => each.id === id && !each.is_reported)
          if (row === undefined) return
          const reason = "the provider lists no return of a MED that was lost"
          yield* late.ofLoss(lossOf(connectionId, row), { outcome: "failed", reason })
        },
        sql.withTransaction,
        runToCompletion(sql)
      )

      return UnreturnedLosses.of({
        raise: Effect.fn("UnreturnedLosses.raise")(function* (connectionId, isWhole) {
          const days = isWhole ? RETURNED_WITHIN_DAYS : UNREAD_FOR_DAYS
          const due = yield* runToCompletion(sql)(sql.unsafe<LossRow>(...findDue({ connectionId, days, limit: MOST })))
          for (const row of due) yield* raiseOne(connectionId, row)
        }),

        close: Effect.fnUntraced(function* (connectionId, resourceId) {
          for (const row of yield* sql.unsafe<LossRow>(...findOf({ resourceId }))) {
            if (row.is_reported && row.is_contradicted)
              yield* late.ofLoss(lossOf(connectionId, row), { outcome: "completed" })
          }
        })
      })
    })
  )
}

/** Seven days for the provider, and a day for the reading of its returns. */
const RETURNED_WITHIN_DAYS = 8
/** A part of the returns that cannot be read for so long hides no loss any more. */
const UNREAD_FOR_DAYS = 30
const MOST = 100

interface LossRow {
  /** Of the refund; of accepted money, of the dispute. */
  readonly id: string
  readonly account_id: string
  readonly charge_id: string | null
  readonly exception_id: string | null
  readonly amount: bigint
  readonly is_reported: boolean
  readonly is_contradicted: boolean
}

const contradiction = (id: string, amount: string) => `EXISTS (
    SELECT FROM acquirer_exceptions e WHERE coalesce(e.payout_id, e.refund_id) = ${id} AND ${amount} AND ${IN_FORCE})`

const ofCharges = `SELECT r.id, r.account_id, r.charge_id, NULL::uuid AS exception_id, r.amount,
    r.provider_id IS NOT NULL AS is_reported, ${contradiction("r.id", "true")} AS is_contradicted
  FROM refunds r WHERE r.nature = 'dispute'`
const ofExceptions = `SELECT d.id, d.account_id, NULL::uuid, d.exception_id, d.returned,
    d.return_id IS NOT NULL, ${contradiction("d.id", "true")}
  FROM disputes d WHERE d.exception_id IS NOT NULL AND d.status = 'lost' AND d.returned > 0`

const findOf = statement(
  { resourceId: value("uuid") },
  (p) => `${ofCharges} AND r.charge_id = ${p.resourceId} UNION ALL ${ofExceptions} AND d.exception_id = ${p.resourceId}`
)

const findDue = statement(
  { connectionId: value("uuid"), days: value("integer"), limit: value("integer") },
  (p) => `
  (${ofCharges} AND r.connection_id = ${p.connectionId} AND r.provider_id IS NULL
    AND r.completed_at < now() - ${p.days} * interval '1 day' AND NOT ${contradiction("r.id", "e.amount = r.amount")}
  LIMIT ${p.limit})
  UNION ALL
  (${ofExceptions} AND d.connection_id = ${p.connectionId} AND d.return_id IS NULL
    AND d.resolved_at < now() - ${p.days} * interval '1 day' AND NOT ${contradiction("d.id", "e.amount = d.returned")}
  LIMIT ${p.limit})`
)
