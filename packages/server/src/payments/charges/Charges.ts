/** Charges: read, and changed by what the acquirer notifies. `NewCharges.ts` creates them. */
import type { ChargeReport } from "@pix-payments/domain/Charge"
import { isUuid } from "@pix-payments/domain/Uuid"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Accounts } from "../../accounts/Accounts.ts"
import type { ReadPage } from "../../accounts/AccountPages.ts"
import { type Caller, refused } from "../../accounts/Caller.ts"
import { NotFoundError, type UnknownCursor } from "../../base/Errors.ts"
import { Ids } from "../../base/Ids.ts"
import type { Page, Sum, WalkedPage } from "../../database/statements/Paging.ts"
import { Unavailable } from "../../database/Unavailable.ts"
import type { ReceivedNotification } from "../../providers/NotificationStore.ts"
import { type ChargeChange, decideChange, type ReportFacts, transitionOf } from "./ChargeDecision.ts"
import { ChargeEmission } from "./ChargeEmission.ts"
import type { ChargeFilters } from "./ChargeLists.ts"
import type { ChargeWalkFilters } from "./ChargeWalks.ts"
import { ChargeStore } from "./ChargeStore.ts"
import type { ShownCharge, StoredCharge } from "./ChargeTable.ts"

export class Charges extends Context.Service<
  Charges,
  {
    /** A charge of the caller's account that was created through the API (CHG-19). */
    readonly get: (caller: Caller, id: string) => Effect.Effect<ShownCharge, NotFoundError | Unavailable>
    /** The charges of the caller's account that were created through the API (CHG-20). */
    readonly listFor: ReadPage<ShownCharge, Omit<ChargeFilters, "origin">>
    /** The charges of an account, or of all. */
    readonly listAll: (
      accountId: string | undefined,
      filters: ChargeWalkFilters,
      page: Page
    ) => Effect.Effect<WalkedPage<StoredCharge>, UnknownCursor | Unavailable>
    /** Their number and amount, as far as one request looks. */
    readonly sumAll: (accountId: string | undefined, filters: ChargeWalkFilters) => Effect.Effect<Sum, Unavailable>
    /** A charge of any account and origin. */
    readonly find: (id: string) => Effect.Effect<StoredCharge, NotFoundError | Unavailable>
    /**
     * Changes a charge as the acquirer notifies; `ignored` where the state does not allow it. A charge in `processing` is
     * emitted first. A payment that does not fit the charge, or that a return or MED of the charge overtook, is `overtaken`, and left
     * to `paymentOf`.
     */
    readonly report: (
      id: string,
      report: ChargeReport,
      facts: ReportFacts,
      received: ReceivedNotification,
      fits?: (charge: StoredCharge) => boolean
    ) => Effect.Effect<"applied" | "ignored" | "overtaken", NotFoundError | Unavailable>
    /** The change of a charge by its payment; `undefined` where its state does not allow it. */
    readonly paymentOf: (
      charge: StoredCharge,
      facts: ReportFacts
    ) => Effect.Effect<ChargeChange | undefined, Unavailable>
  }
>()("@pix-payments/server/Charges") {
  static readonly layer = Layer.effect(
    Charges,
    Effect.gen(function* () {
      const store = yield* ChargeStore
      const { emitAgain } = yield* ChargeEmission
      const accounts = yield* Accounts
      const ids = yield* Ids

      const releaseDelayMs = (accountId: string) =>
        accounts.get(accountId).pipe(
          Effect.map(({ release_delay }) => release_delay * 1000),
          Effect.catchTag("NotFoundError", Effect.die)
        )

      const changeBy = Effect.fnUntraced(function* (charge: StoredCharge, report: ChargeReport, facts: ReportFacts) {
        const nowMs = yield* Clock.currentTimeMillis
        // Only a payment needs the account's release delay.
        const isPayment = report === "paid" && transitionOf(charge, report, nowMs) !== undefined
        const delayMs = isPayment ? yield* releaseDelayMs(charge.accountId) : 0
        return decideChange(charge, report, facts, { ids, nowMs, releaseDelayMs: delayMs })
      })

      const report = Effect.fn("Charges.report")(function* (
        id: string,
        kind: ChargeReport,
        facts: ReportFacts,
        received: ReceivedNotification,
        fits: (charge: StoredCharge) => boolean = () => true
      ) {
        while (true) {
          let charge = yield* store.find(id)
          if (charge === undefined) return yield* new NotFoundError()
          if (!fits(charge)) return "overtaken" as const
          // A notification proves that the Pix was emitted, so the acquirer's answer to that comes first.
          if (charge.status === "processing") charge = yield* emitAgain(charge, false)
          if (charge.status === "processing") return yield* new Unavailable({ reason: "too-slow" })
          const change = yield* changeBy(charge, kind, facts)
          if (change === undefined) return "ignored" as const
          // False after a concurrent change: decide again on the charge as it is now.
          if (yield* store.change({ ...change, received })) return "applied" as const
        }
      })

      const find = Effect.fn("Charges.find")(function* (id: string) {
        const charge = isUuid(id) ? yield* store.find(id) : undefined
        return charge ?? (yield* new NotFoundError())
      })

      return Charges.of({
        get: (caller, id) =>
          isUuid(id)
            ? Effect.filterOrFail(
                store.findFor(caller, id),
                (charge): charge is ShownCharge => charge?.accountId === caller.account.id && charge.origin === "api",
                () => new NotFoundError()
              )
            : refused(caller, new NotFoundError()),

        listFor: store.listFor,

        listAll: store.listAll,

        sumAll: store.sumAll,

        find,

        report,

        paymentOf: (charge, facts) => changeBy(charge, "paid", facts)
      })
    })
  )
}
