/**
 * Payouts in PostgreSQL: read, and changed many in one statement and one commit. `creation/NewPayoutStore.ts` stores new ones.
 *
 * Guarantees:
 * - A change is guarded by the transition table of `domain` and by the sequence it was decided on.
 * - A change, its outbox row, its ledger transfers and its notification are one commit.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import { makeReadPage, type ReadPage } from "../../accounts/AccountPages.ts"
import type { UnknownCursor } from "../../base/Errors.ts"
import * as Batching from "../../database/batching/Batching.ts"
import type { Row } from "../../database/statements/Column.ts"
import {
  type Page,
  readPage,
  readSum,
  readWalked,
  type Sum,
  type WalkedPage
} from "../../database/statements/Paging.ts"
import { runToCompletion } from "../../database/RunToCompletion.ts"
import { orUnavailable, type Unavailable } from "../../database/Unavailable.ts"
import { DeliverySignal } from "../../events/DeliverySignal.ts"
import type { AuthorityOf } from "../../operators/approvals/Authority.ts"
import type { PayoutChange } from "./PayoutDecision.ts"
import { type PayoutFilters, payoutList } from "./PayoutLists.ts"
import { payoutWalk, type PayoutWalkFilters } from "./PayoutWalks.ts"
import {
  changePayouts,
  findPayouts,
  isChanged,
  payoutPages,
  approvePayouts,
  type WrittenRow
} from "./PayoutStatements.ts"
import { payoutColumns, payoutTable, type StoredPayout } from "./PayoutTable.ts"

export class PayoutStore extends Context.Service<
  PayoutStore,
  {
    /** Stores an approval where it is authorized; false where the payout, its account or the limit is not as decided on. */
    readonly approve: (change: PayoutChange, authority: AuthorityOf) => Effect.Effect<boolean, Unavailable>
    /** Stores a change; false where the payout was changed since it was decided. */
    readonly change: (change: PayoutChange) => Effect.Effect<boolean, Unavailable>
    /** The same at once, in the caller's transaction. */
    readonly changeInTransaction: (change: PayoutChange) => Effect.Effect<boolean, SqlError>
    readonly find: (id: string) => Effect.Effect<StoredPayout | undefined, Unavailable>
    /** A page of the payouts of the caller's account. */
    readonly listFor: ReadPage<StoredPayout, PayoutFilters>
    /** Newest first. `accountId` undefined: of every account. */
    readonly listAll: (
      accountId: string | undefined,
      filters: PayoutWalkFilters,
      page: Page
    ) => Effect.Effect<WalkedPage<StoredPayout>, UnknownCursor | Unavailable>
    /** Their number and amount, as far as one request looks. */
    readonly sumAll: (accountId: string | undefined, filters: PayoutWalkFilters) => Effect.Effect<Sum, Unavailable>
  }
>()("@pix-payments/server/PayoutStore") {
  static readonly layer = Layer.effect(
    PayoutStore,
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const signal = yield* DeliverySignal

      const signalAfterCommit = (written: ReadonlyArray<WrittenRow>) =>
        sql.afterCommit(Effect.sync(() => signal.afterCommit(written.filter(isChanged))))

      // Changes that move money wait for it, and delay none that move none.
      const changeWith = Batching.make<PayoutChange, boolean>({
        maxBatch: 200,
        writes: sql,
        accountOf: ({ payout }) => payout.accountId,
        run: Batching.firstOfEach(
          ({ payout }) => payout.id,
          ({ payout }) => payout.accountId,
          (changes, lockMode) =>
            Effect.tap(sql.unsafe<WrittenRow>(...changePayouts(changes, lockMode)), signalAfterCommit)
        )
      })
      const changeState = yield* changeWith
      const moveMoney = yield* changeWith

      const find = yield* Batching.make<string, StoredPayout | undefined>({
        maxBatch: 500,
        run: (payoutIds) =>
          Effect.map(sql.unsafe<Row>(...findPayouts({ ids: payoutIds })), (rows) => {
            const byId = new Map(rows.map(payoutTable.decode).map((payout) => [payout.id, payout]))
            return payoutIds.map((id) => byId.get(id))
          })
      })

      const list = (accountId: string, filters: PayoutFilters, page: Page) =>
        readPage<Row>(payoutList(payoutColumns, accountId, filters), page).pipe(
          Effect.map((rows) => rows.map(payoutTable.decode)),
          Effect.provideService(SqlClient, sql),
          orUnavailable
        )

      return PayoutStore.of({
        approve: ({ outbox, payout, transfers }, authority) =>
          sql.unsafe<WrittenRow>(...approvePayouts({ payouts: [payout], outbox: [outbox], transfers, authority })).pipe(
            Effect.tap(signalAfterCommit),
            Effect.map((written) => written.some(isChanged)),
            runToCompletion(sql)
          ),
        change: (change) => (change.transfers.length === 0 ? changeState(change) : moveMoney(change)),
        changeInTransaction: (change) =>
          sql.unsafe<WrittenRow>(...changePayouts([change], "wait")).pipe(
            Effect.tap(signalAfterCommit),
            Effect.map((written) => written.some(isChanged))
          ),
        find: (id) => find(id.toLowerCase()),
        listFor: yield* makeReadPage(sql, payoutPages, list),
        listAll: (accountId, filters, page) =>
          readWalked<Row>(payoutWalk(payoutTable.columns("payouts"), accountId, filters), page).pipe(
            Effect.map((found) => ({ ...found, rows: found.rows.map(payoutTable.decode) })),
            Effect.provideService(SqlClient, sql),
            orUnavailable
          ),
        sumAll: (accountId, filters) =>
          readSum(payoutWalk("payouts.id", accountId, filters)).pipe(
            Effect.catchTag("UnknownCursor", Effect.die),
            Effect.provideService(SqlClient, sql),
            orUnavailable
          )
      })
    })
  )
}
