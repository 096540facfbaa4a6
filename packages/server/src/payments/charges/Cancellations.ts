/**
 * Operators' cancellations of charges that are not paid, sent to the provider (CHG-7).
 *
 * Guarantees:
 * - an order is stored before the provider is asked, outside of transactions. Of two orders of one charge at the same
 *   time one is stored, the other is refused;
 * - an unclear answer is not a refusal: the order is repeated under its id until the answer is final, by any process. Nor is
 *   the refusal of a repeated request, while the request before it may still arrive.
 *
 * Rules: CHG-7, OPR-20.
 */
import { chargeStatusAt, chargeTransition } from "@pix-payments/domain/Charge"
import { txidFromId } from "@pix-payments/domain/Txid"
import { isUuid } from "@pix-payments/domain/Uuid"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import { InvalidStateError, NotFoundError } from "../../base/Errors.ts"
import { Ids } from "../../base/Ids.ts"
import { Settings } from "../../base/Settings.ts"
import { runToCompletion } from "../../database/RunToCompletion.ts"
import { Unavailable } from "../../database/Unavailable.ts"
import { Acquirer } from "../../providers/Acquirer.ts"
import * as OrderLoop from "../../providers/OrderLoop.ts"
import { type ChargeOrder, type Leased, OrderStore } from "../../providers/OrderStore.ts"
import { LockedCharges } from "./LockedCharges.ts"
import { ChargeStore } from "./ChargeStore.ts"
import type { StoredCharge } from "./ChargeTable.ts"

export class Cancellations extends Context.Service<
  Cancellations,
  {
    /** Cancels a `pending` charge. `audited` runs in the transaction of the order. */
    readonly cancel: <R = never>(
      id: string,
      audited?: Effect.Effect<void, SqlError, R>
    ) => Effect.Effect<StoredCharge, NotFoundError | InvalidStateError | Unavailable, R>
    /** Asks the provider again. `RefundOrders` claims the orders that are due. */
    readonly repeat: (order: Leased<ChargeOrder>) => Effect.Effect<void, Unavailable>
  }
>()("@pix-payments/server/Cancellations") {
  static readonly layer = Layer.effect(
    Cancellations,
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const acquirer = yield* Acquirer
      const charges = yield* ChargeStore
      const orders = yield* OrderStore
      const money = yield* LockedCharges
      const ids = yield* Ids
      const { acquirerTimeoutMs } = yield* Settings
      const leaseMs = acquirerTimeoutMs + OrderLoop.LEASE_MARGIN_MS

      const order = Effect.fnUntraced(function* (id: string) {
        const locked = isUuid(id) ? yield* money.lock(id) : undefined
        if (locked === undefined) return yield* new NotFoundError()
        const { accountId, connectionId, endToEndId, expiresAtMs, id: chargeId, status: stored } = locked.charge
        const status = chargeStatusAt(stored, expiresAtMs, yield* Clock.currentTimeMillis)
        if (chargeTransition("canceled", status) === undefined || locked.order !== undefined) {
          return yield* new InvalidStateError({ status })
        }
        const order = { id: ids.next().id, kind: "cancel", chargeId, accountId, connectionId, endToEndId } as const
        return yield* orders.insert(order, leaseMs)
      })

      /** Commits the provider's final answer. False where the order is open still: another process has asked again. */
      const finish = Effect.fnUntraced(
        function* ({ attempts, chargeId, id }: ChargeOrder, state: "done" | "refused") {
          const locked = yield* money.lock(chargeId)
          if (locked?.order?.id !== id) return true
          if (state === "done") yield* money.move(locked, CANCELED)
          return yield* orders.finish({ id, attempts }, state)
        },
        sql.withTransaction,
        runToCompletion(sql)
      )

      /** Asks the provider and commits its final answer; another one leaves the order open. Gives whether it has ended. */
      const execute = Effect.fnUntraced(function* (order: Leased<ChargeOrder>) {
        const { chargeId, connectionId, id } = order
        const asked = acquirer.providerFor(connectionId).pipe(
          Effect.flatMap((provider) => provider.cancel({ id, txid: txidFromId(chargeId) })),
          Effect.as("done" as const)
        )
        const answer = yield* OrderLoop.answerTo(order, asked)
        if (answer !== undefined) return yield* finish(order, answer === "done" ? "done" : "refused")
        yield* orders.askAgain(order)
        return false
      })

      return Cancellations.of({
        cancel: Effect.fn("Cancellations.cancel")(function* (id, audited = Effect.void) {
          const ordered = yield* Effect.tap(order(id), () => audited).pipe(sql.withTransaction, runToCompletion(sql))
          if (!(yield* execute(ordered))) return yield* new Unavailable({ reason: "too-slow" })
          const charge = yield* charges.find(ordered.chargeId)
          if (charge?.status === "canceled") return charge
          return yield* new InvalidStateError({ status: charge?.status ?? "canceled" })
        }),

        repeat: (order) => Effect.asVoid(execute(order))
      })
    })
  )
}

const CANCELED = { report: "canceled", movements: [] } as const
