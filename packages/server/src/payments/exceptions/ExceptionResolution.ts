/**
 * How exceptions are resolved: by an operator, or by the rule of their connection.
 *
 * Guarantees:
 * - of several resolutions of one exception at the same time, one is done, and the others are refused;
 * - the money of an accepted exception reaches the account in the commit that resolves it (`Acceptance.ts`).
 *
 * Rules: BAL-11, BAL-12, OPR-80 to OPR-89.
 */
import { isUuid } from "@pix-payments/domain/Uuid"
import { SIMULATOR_CONNECTION } from "@pix-payments/domain/AcquirerConnection"
import { hasFormOfOurs } from "@pix-payments/domain/Txid"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import { ChargeStore } from "../charges/ChargeStore.ts"
import { InvalidStateError, NotFoundError, RequestRefused } from "../../base/Errors.ts"
import { type ApprovalRequired, authorize } from "../../operators/approvals/Authority.ts"
import { lockLedgerOf } from "../../ledger/Ledger.ts"
import { runToCompletion } from "../../database/RunToCompletion.ts"
import type { Unavailable } from "../../database/Unavailable.ts"
import type { Leased } from "../../providers/OrderStore.ts"
import { Acceptance, type AcceptFor, isAcceptable, type Recipient } from "./Acceptance.ts"
import { resolution } from "./Exceptions.ts"
import { ExceptionReturns, type ExceptionReturn } from "./ExceptionReturns.ts"
import { ExceptionStore, type StoredException } from "./ExceptionStore.ts"

/** What an operator decides. */
export type Decision =
  | { readonly action: "return"; readonly reason: string | null }
  | ({
      readonly action: "accept"
      readonly reason: string | null
    } & AcceptFor)
  | { readonly action: "dismiss"; readonly reason: string }

export class ExceptionResolution extends Context.Service<
  ExceptionResolution,
  {
    /** Resolves an open exception. `audited` runs in the transaction of the decision. */
    readonly resolve: <E = never, R = never>(
      id: string,
      decision: Decision,
      by: string,
      audited?: Effect.Effect<void, SqlError | E, R>
    ) => Effect.Effect<
      StoredException,
      NotFoundError | InvalidStateError | RequestRefused | ApprovalRequired | Unavailable | E,
      R
    >
    /** Applies the rule of its connection to a new exception, in the transaction that raises it. */
    readonly applyRule: (id: string) => Effect.Effect<void, SqlError | Unavailable>
    readonly find: (id: string) => Effect.Effect<StoredException, NotFoundError | Unavailable>
  }
>()("@pix-payments/server/ExceptionResolution") {
  static readonly layer = Layer.effect(
    ExceptionResolution,
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const store = yield* ExceptionStore
      const returns = yield* ExceptionReturns
      const chargeStore = yield* ChargeStore
      const acceptance = yield* Acceptance

      const find = Effect.fnUntraced(function* (id: string) {
        const exception = isUuid(id) ? yield* store.find(id) : undefined
        return exception ?? (yield* new NotFoundError())
      })

      /** In a transaction. Returns the order of a return. */
      const decide = Effect.fnUntraced(function* (
        known: StoredException,
        decision: Decision,
        accepting: Recipient | undefined,
        by: string
      ) {
        const accountIds = accepting === undefined ? [] : [accepting.accountId]
        const locked = yield* lockLedgerOf(sql, [known.connectionId, ...accountIds])
        // It has moved to another cell.
        if (!accountIds.every((id) => locked.has(id))) return yield* new NotFoundError()
        const charge = accepting?.charge && (yield* chargeStore.lock(accepting.charge.id))
        const exception = (yield* store.lock(known.id)) ?? known
        const refused = new InvalidStateError({ status: exception.status })
        // An open exception with an action waits for the provider.
        if (exception.status !== "open" || exception.action !== null) return yield* refused
        switch (decision.action) {
          case "dismiss": {
            const nowMs = yield* Clock.currentTimeMillis
            yield* store.put({ ...exception, ...resolution("dismiss", by, nowMs), reason: decision.reason }, [])
            return undefined
          }
          case "accept": {
            if (accepting === undefined || !isAcceptable(exception)) return yield* refused
            if (!accepting.isNamed) yield* authorize(sql, "exception.accept", exception.id)
            const acceptable = yield* acceptance.acceptable(exception, decision.amount)
            if (acceptable === undefined) return yield* refused
            yield* acceptance.accept(acceptable, { ...accepting, charge }, by, decision.reason)
            return undefined
          }
          case "return":
            return yield* orderReturn(exception, by, decision.reason, "at once")
        }
      })

      const orderReturn = Effect.fnUntraced(function* (
        exception: StoredException,
        by: string,
        reason: string | null,
        asks: Parameters<typeof returns.order>[1]
      ) {
        const order = yield* returns.order(exception, asks)
        yield* store.put({ ...exception, action: "return", resolvedBy: by, reason, failureReason: null }, [])
        return order
      })

      return ExceptionResolution.of({
        find,

        resolve: Effect.fn("ExceptionResolution.resolve")(function* (id, decision, by, audited = Effect.void) {
          const known = yield* find(id)
          const accepting = decision.action === "accept" ? yield* acceptance.recipientOf(known, decision) : undefined
          const order: Leased<ExceptionReturn> | undefined = yield* Effect.tap(
            decide(known, decision, accepting, by),
            () => audited
          ).pipe(sql.withTransaction, runToCompletion(sql))
          if (order !== undefined) yield* returns.execute(order)
          return yield* find(id)
        }),

        applyRule: Effect.fnUntraced(function* (id) {
          const exception = yield* store.lock(id)
          if (exception === undefined || exception.status !== "open" || exception.unallocated <= 0) return
          if (isOfNobody(exception)) return
          switch (yield* store.ruleOf(exception.connectionId)) {
            case "hold":
              return
            case "accept": {
              const charge = exception.chargeId === null ? undefined : yield* chargeStore.lock(exception.chargeId)
              const { accountId, kind } = exception
              if (kind === "returned_payout" && accountId !== null)
                yield* acceptance.accept(exception, { accountId, charge: undefined }, RULE, null)
              else if (charge !== undefined) yield* acceptance.accept(exception, { ...charge, charge }, RULE, null)
              return
            }
            case "return":
              if (exception.endToEndId !== null && !isOfAnotherInstallation(exception))
                yield* Effect.orDie(orderReturn(exception, RULE, null, "in the background"))
          }
        })
      })
    })
  )
}

/** Which connection of its client it is of, no mark of it says. The simulator has no key. */
const isOfNobody = ({ chargeId, connectionId, payoutId, pixKey }: StoredException): boolean =>
  pixKey === null && chargeId === null && payoutId === null && connectionId !== SIMULATOR_CONNECTION

/** Another installation may have its charge, or this one had it before it was restored. */
const isOfAnotherInstallation = ({ kind, txid }: StoredException): boolean =>
  kind === "unknown_txid" && txid !== null && hasFormOfOurs(txid)

/** Who decides for a connection whose rule is not `hold`. */
const RULE = "rule"
