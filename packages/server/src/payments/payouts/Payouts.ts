/**
 * Payouts: read, and moved as operators decide and as the acquirer reports. `creation/NewPayouts.ts` creates them.
 *
 * Guarantees: amount and fee return to `available` in the commit of `failed` or `canceled` (PAY-5).
 */
import type { PayoutReport } from "@pix-payments/domain/Payout"
import { isUuid } from "@pix-payments/domain/Uuid"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Accounts } from "../../accounts/Accounts.ts"
import type { ReadPage } from "../../accounts/AccountPages.ts"
import { InvalidStateError, NotFoundError, type UnknownCursor } from "../../base/Errors.ts"
import { Ids } from "../../base/Ids.ts"
import { inTrace } from "../../base/observability/Tracing.ts"
import type { Page, Sum, WalkedPage } from "../../database/statements/Paging.ts"
import type { Unavailable } from "../../database/Unavailable.ts"
import { ApprovalRequired, Authority } from "../../operators/approvals/Authority.ts"
import type { ReceivedNotification } from "../../providers/NotificationStore.ts"
import { decideChange, type PayoutChange, type PayoutFacts } from "./PayoutDecision.ts"
import type { PayoutFilters } from "./PayoutLists.ts"
import type { PayoutWalkFilters } from "./PayoutWalks.ts"
import { PayoutStore } from "./PayoutStore.ts"
import type { StoredPayout } from "./PayoutTable.ts"

export class Payouts extends Context.Service<
  Payouts,
  {
    readonly get: (accountId: string, id: string) => Effect.Effect<StoredPayout, NotFoundError | Unavailable>
    /** A payout of any account. */
    readonly find: (id: string) => Effect.Effect<StoredPayout, NotFoundError | Unavailable>
    /** The payouts of the caller's account. */
    readonly listFor: ReadPage<StoredPayout, PayoutFilters>
    /** The payouts of an account, or of all. */
    readonly listAll: (
      accountId: string | undefined,
      filters: PayoutWalkFilters,
      page: Page
    ) => Effect.Effect<WalkedPage<StoredPayout>, UnknownCursor | Unavailable>
    /** Their number and amount, as far as one request looks. */
    readonly sumAll: (accountId: string | undefined, filters: PayoutWalkFilters) => Effect.Effect<Sum, Unavailable>
    /** Cancels a pending payout; of two concurrent decisions one wins. */
    readonly cancel: (id: string) => Effect.Effect<StoredPayout, NotFoundError | InvalidStateError | Unavailable>
    /** Approves a pending payout, by the `Authority` around it where the amount is above the account's limit. */
    readonly approve: (
      id: string
    ) => Effect.Effect<StoredPayout, NotFoundError | InvalidStateError | ApprovalRequired | Unavailable>
    /** Moves a payout as the acquirer reports; `ignored` where that changes nothing: see `LateOutcomes`. */
    readonly report: (
      id: string,
      report: "completed" | "failed",
      facts: PayoutFacts,
      received?: ReceivedNotification
    ) => Effect.Effect<"applied" | "ignored", NotFoundError | Unavailable>
    /**
     * Fails a payout whose last request, that of claim `attempts`, was refused: where no request was accepted, and it was not
     * claimed since.
     */
    readonly refuse: (id: string, attempts: number, reason: string) => Effect.Effect<void, NotFoundError | Unavailable>
  }
>()("@pix-payments/server/Payouts") {
  static readonly layer = Layer.effect(
    Payouts,
    Effect.gen(function* () {
      const store = yield* PayoutStore
      const accounts = yield* Accounts
      const ids = yield* Ids

      const find = Effect.fnUntraced(function* (id: string) {
        const payout = isUuid(id) ? yield* store.find(id) : undefined
        return payout ?? (yield* new NotFoundError())
      })

      const accountOf = ({ accountId }: StoredPayout) =>
        Effect.catchTag(accounts.get(accountId), "NotFoundError", Effect.die)

      /** The payout after the change; `undefined` where `report` changes nothing. */
      const move = Effect.fn("Payouts.move")(function* (
        id: string,
        report: PayoutReport,
        facts: PayoutFacts,
        received?: ReceivedNotification
      ) {
        while (true) {
          const payout = yield* find(id)
          const change = decideChange(payout, report, facts, yield* Clock.currentTimeMillis, ids)
          if (change === undefined) return undefined
          if (yield* inTraceOf(change)(store.change({ ...change, received }))) return change.payout
          // A concurrent change won: decide again on the payout as it is now.
        }
      })

      return Payouts.of({
        get: (accountId, id) =>
          Effect.filterOrFail(
            find(id),
            (payout) => payout.accountId === accountId,
            () => new NotFoundError()
          ),

        find,
        listAll: store.listAll,
        sumAll: store.sumAll,
        listFor: store.listFor,

        cancel: Effect.fn("Payouts.cancel")(function* (id) {
          const moved = yield* move(id, "canceled", {})
          if (moved !== undefined) return moved
          return yield* new InvalidStateError({ status: (yield* find(id)).status })
        }),

        approve: Effect.fn("Payouts.approve")(function* (id) {
          const authority = yield* Authority
          while (true) {
            const payout = yield* find(id)
            const change = decideChange(payout, "approved", {}, yield* Clock.currentTimeMillis, ids)
            const account = yield* accountOf(payout)
            // PAY-22
            if (change === undefined || account.status !== "active") {
              return yield* new InvalidStateError({ status: payout.status })
            }
            if (yield* inTraceOf(change)(store.approve(change, authority))) return change.payout
            const now = yield* find(id)
            const { status } = yield* accountOf(payout)
            // A concurrent change of the payout or its account won: decide again.
            if (now.sequence !== payout.sequence || status !== "active" || authority.isExempt) continue
            return yield* new ApprovalRequired()
          }
        }),

        refuse: Effect.fn("Payouts.refuse")(function* (id, refusedAttempts, reason) {
          while (true) {
            const payout = yield* find(id)
            const change = decideChange(payout, "failed", { reason }, yield* Clock.currentTimeMillis, ids)
            if (change === undefined || (yield* inTraceOf(change)(store.change({ ...change, refusedAttempts })))) return
            // It was claimed or accepted since; after a concurrent change it is decided again.
            if ((yield* find(id)).sequence === payout.sequence) return
          }
        }),

        report: (id, report, facts, received) =>
          Effect.map(move(id, report, facts, received), (moved) => (moved === undefined ? "ignored" : "applied"))
      })
    })
  )
}

const inTraceOf = ({ payout: { status, trace } }: PayoutChange) => inTrace(trace, `payout ${status}`)
