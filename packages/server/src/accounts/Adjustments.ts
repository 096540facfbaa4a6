/**
 * Adjustments: money between an account's `available` and `fees`, moved by operators, with the reason that they gave.
 *
 * Guarantees (OPR-262, OPR-263):
 * - An adjustment and its transfer are one commit, by the `Authority` around it. The transfer has both ends, so that all ledger
 *   accounts still sum to zero.
 * - `available` covers what an adjustment takes, under the lock of the account.
 * - No adjustment changes. Account, amount and instant are those of its transfer (`ledger/Lines.ts`), and the close of its day covers
 *   its reason.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import { InsufficientBalanceError, NotFoundError } from "../base/Errors.ts"
import { Ids } from "../base/Ids.ts"
import { runToCompletion } from "../database/RunToCompletion.ts"
import { CHANGED, statement, value } from "../database/statements/Statement.ts"
import { orUnavailable, type Unavailable } from "../database/Unavailable.ts"
import { availableOf, lockLedgerOf, transfer, transfersUnderLock } from "../ledger/Ledger.ts"
import { type ApprovalRequired, authorize } from "../operators/approvals/Authority.ts"

export interface AdjustmentRow {
  readonly id: string
  readonly account_id: string
  readonly amount: bigint
  readonly reason: string
  readonly created_at: Date
}

export interface NewAdjustment {
  readonly accountId: string
  /** Cents, below zero where the account gives them. */
  readonly amount: number
  readonly reason: string
}

export class Adjustments extends Context.Service<
  Adjustments,
  {
    /** Fails where it would be refused now. */
    readonly check: (input: NewAdjustment) => Effect.Effect<void, InsufficientBalanceError | Unavailable>
    /** Stores it with its transfer. `stored` runs in the same transaction. */
    readonly create: <E, R>(
      input: NewAdjustment,
      stored: (id: string) => Effect.Effect<void, SqlError | E, R>
    ) => Effect.Effect<AdjustmentRow, NotFoundError | InsufficientBalanceError | ApprovalRequired | Unavailable | E, R>
    readonly get: (id: string) => Effect.Effect<AdjustmentRow, NotFoundError | Unavailable>
  }
>()("@pix-payments/server/Adjustments") {
  static readonly layer = Layer.effect(
    Adjustments,
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const ids = yield* Ids

      const covered = Effect.fnUntraced(function* ({ accountId, amount }: NewAdjustment) {
        const available = yield* availableOf(sql, accountId)
        if (available + amount < 0 && amount < 0) {
          return yield* new InsufficientBalanceError({ needed: -amount, available })
        }
      })

      return Adjustments.of({
        check: (input) => orUnavailable(covered(input)),

        create: Effect.fn("Adjustments.create")((input, stored) =>
          Effect.gen(function* () {
            const { accountId, amount, reason } = input
            const locked = yield* lockLedgerOf(sql, [accountId])
            if (!locked.has(accountId)) return yield* new NotFoundError()
            yield* authorize(sql, "adjustment.create", accountId)
            yield* covered(input)
            const { id } = ids.next()
            const ends = amount > 0 ? (["fees", "available"] as const) : (["available", "fees"] as const)
            const transfers = transfer(ids, {
              accountId,
              debit: ends[0],
              credit: ends[1],
              amount: Math.abs(amount),
              resourceId: id,
              reason: "adjustment"
            })
            const [row] = yield* sql.unsafe<AdjustmentRow>(
              ...insertOne({ id, accountId, amount, reason, epochMs: transfers[0]!.created_at, transfers })
            )
            yield* stored(id)
            return row!
          }).pipe(sql.withTransaction, runToCompletion(sql))
        ),

        get: Effect.fn("Adjustments.get")(function* (id) {
          const [row] = yield* sql.unsafe<AdjustmentRow>(...findOne({ id }))
          return row ?? (yield* new NotFoundError())
        }, orUnavailable)
      })
    })
  )
}

const columns = "id, account_id, amount, reason, created_at"

const insertOne = statement(
  {
    id: value("uuid"),
    accountId: value("uuid"),
    amount: value("bigint"),
    reason: value("text"),
    epochMs: value("double precision"),
    transfers: transfersUnderLock
  },
  (p) => `
  WITH ${CHANGED} AS (
    INSERT INTO adjustments (${columns})
    VALUES (${p.id}, ${p.accountId}, ${p.amount}, ${p.reason}, to_timestamp(${p.epochMs} / 1000))
    RETURNING ${columns}
  ),
  ${p.transfers.insert(CHANGED)}
  SELECT * FROM ${CHANGED}`
)

const findOne = statement({ id: value("uuid") }, ({ id }) => `SELECT ${columns} FROM adjustments WHERE id = ${id}`)
