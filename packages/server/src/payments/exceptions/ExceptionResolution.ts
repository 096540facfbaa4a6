/**
 * How exceptions are resolved: by an operator, or by the rule of their connection.
 *
 * Guarantees:
 * - of several resolutions of one exception at the same time, one is done, and the others are refused;
 * - the money of an accepted exception reaches the account in the commit that resolves it, with the payment of its charge
 *   if it is one (BAL-12). What waited for that payment is applied in that commit (`Reversals.ts`). For another charge than
 *   the payment names, it needs the `Authority` around it (OPR-112).
 *
 * Rules: BAL-11, BAL-12, OPR-80 to OPR-89.
 */
import { isUuid } from "@pix-payments/domain/Uuid"
import { chargeStatusAt } from "@pix-payments/domain/Charge"
import { SIMULATOR_CONNECTION } from "@pix-payments/domain/AcquirerConnection"
import { hasFormOfOurs } from "@pix-payments/domain/Txid"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import { Charges } from "../charges/Charges.ts"
import type { StoredCharge } from "../charges/ChargeTable.ts"
import { ChargeStore } from "../charges/ChargeStore.ts"
import { passSettlement } from "../charges/Settlements.ts"
import { InvalidStateError, NotFoundError, RequestRefused } from "../../base/Errors.ts"
import { ApprovalRequired, Authority, isAuthorized } from "../../operators/approvals/Authority.ts"
import { Ids } from "../../base/Ids.ts"
import { lockLedgerOf, transfer } from "../../ledger/Ledger.ts"
import { runToCompletion } from "../../database/RunToCompletion.ts"
import type { Unavailable } from "../../database/Unavailable.ts"
import type { Leased } from "../../providers/OrderStore.ts"
import { acceptance } from "./ContradictoryOutcomes.ts"
import { isThrough, movement, resolution } from "./Exceptions.ts"
import { ExceptionReturns, type ExceptionReturn } from "./ExceptionReturns.ts"
import { ExceptionStore, type StoredException } from "./ExceptionStore.ts"
import { Reversals } from "./Reversals.ts"

/** What an operator decides. */
export type Decision =
  | { readonly action: "return"; readonly reason: string | null }
  | { readonly action: "accept"; readonly chargeId: string | null; readonly reason: string | null }
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
    /** The charge that `accept` is for, and whether the payment names it: another one needs the `Authority` around it. */
    readonly acceptanceOf: (
      exception: StoredException,
      chargeId: string | null
    ) => Effect.Effect<{ readonly charge: StoredCharge; readonly isNamed: boolean }, RequestRefused | Unavailable>
    /** Applies the rule of its connection to a new exception, in the transaction that raises it. */
    readonly applyRule: (id: string) => Effect.Effect<void, SqlError | Unavailable>
    readonly find: (id: string) => Effect.Effect<StoredException, NotFoundError | Unavailable>
  }
>()("@pix-payments/server/ExceptionResolution") {
  static readonly layer = Layer.effect(
    ExceptionResolution,
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const ids = yield* Ids
      const store = yield* ExceptionStore
      const returns = yield* ExceptionReturns
      const charges = yield* Charges
      const chargeStore = yield* ChargeStore
      const reversals = yield* Reversals

      const find = Effect.fnUntraced(function* (id: string) {
        const exception = isUuid(id) ? yield* store.find(id) : undefined
        return exception ?? (yield* new NotFoundError())
      })

      /** The payment of a charge by an exception; `undefined` where it does not pay it. */
      const paymentOf = Effect.fnUntraced(function* (charge: StoredCharge, exception: StoredException) {
        const status = chargeStatusAt(charge.status, charge.expiresAtMs, yield* Clock.currentTimeMillis)
        if (status !== "pending" && status !== "expired") return undefined
        if (exception.amount !== charge.amount || exception.unallocated !== charge.amount) return undefined
        const facts = { endToEndId: exception.endToEndId ?? undefined, paidAtMs: exception.occurredAtMs }
        return yield* charges.paymentOf(charge, facts)
      })

      /** Credits `available`; the exception, its charge and their ledger accounts are locked. */
      const accept = Effect.fnUntraced(function* (
        exception: StoredException,
        charge: StoredCharge,
        by: string,
        reason: string | null
      ) {
        const payment = yield* paymentOf(charge, exception)
        const credit = {
          accountId: charge.accountId,
          debit: "acquirer",
          credit: "available",
          amount: exception.unallocated
        } as const
        const leaves = movement(ids, exception, "out", exception.unallocated, "exception.accepted")
        const accepted: StoredException = {
          ...exception,
          ...resolution("accept", by, yield* Clock.currentTimeMillis),
          chargeId: charge.id,
          accountId: charge.accountId,
          unallocated: 0,
          reason
        }
        if (payment === undefined) {
          yield* store.put(accepted, [
            ...leaves,
            ...transfer(ids, { ...credit, resourceId: exception.id, reason: "exception.accepted" })
          ])
          return
        }
        yield* store.put(accepted, leaves)
        const { connectionId, endToEndId } = exception
        if (endToEndId !== null) yield* passSettlement(sql, { connectionId, endToEndId }, exception.id, charge.id)
        const paid = chargeStore.changeInTransaction({
          ...payment,
          transfers: transfer(ids, { ...credit, resourceId: charge.id, reason: "charge.paid" }),
          releaseInMs: undefined
        })
        yield* reversals.withEarly({ connectionId, endToEndId: endToEndId ?? undefined, chargeId: charge.id }, paid)
      })

      const chargeFor = Effect.fnUntraced(function* (exception: StoredException, chargeId: string | null) {
        const refused = new RequestRefused({ code: "VALIDATION_ERROR", details: ["charge_id"] })
        const charge = yield* Effect.catchTag(charges.find(chargeId ?? exception.chargeId ?? ""), "NotFoundError", () =>
          Effect.fail(refused)
        )
        return isThrough(exception.connectionId, charge) ? charge : yield* refused
      })

      /** The charge that `accept` is for; none of a contradictory outcome, whose account is that of what it contradicts. */
      const acceptingFor = Effect.fnUntraced(function* (exception: StoredException, chargeId: string | null) {
        if (exception.kind !== "contradictory_outcome") return yield* chargeFor(exception, chargeId)
        if (chargeId === null || chargeId === exception.chargeId) return undefined
        return yield* new RequestRefused({ code: "VALIDATION_ERROR", details: ["charge_id"] })
      })

      /** Whether the money may go to another charge than the payment names (OPR-112). */
      const mayAcceptFor = Effect.fnUntraced(function* ({ id }: StoredException) {
        const [row] = yield* sql<{ may: boolean }>`
          SELECT ${isAuthorized(sql, yield* Authority, "exception.accept", `'${id}'::uuid`)} AS may`
        return row?.may === true
      })

      /** In a transaction. Returns the order of a return. */
      const decide = Effect.fnUntraced(function* (
        known: StoredException,
        decision: Decision,
        accepting: StoredCharge | undefined,
        by: string
      ) {
        const accountId = accepting?.accountId ?? known.accountId
        yield* lockLedgerOf(sql, [known.connectionId, ...(accountId === null ? [] : [accountId])])
        const charge = accepting === undefined ? undefined : yield* chargeStore.lock(accepting.id)
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
          case "accept":
            if (exception.kind === "contradictory_outcome") {
              if (exception.accountId === null) return yield* refused
              const owned = { ...exception, accountId: exception.accountId }
              yield* store.put(...acceptance(ids, owned, by, decision.reason, yield* Clock.currentTimeMillis))
              return undefined
            }
            if (exception.unallocated <= 0 || charge === undefined) return yield* refused
            if (charge.id !== exception.chargeId && !(yield* mayAcceptFor(exception)))
              return yield* new ApprovalRequired()
            yield* accept(exception, charge, by, decision.reason)
            return undefined
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

        acceptanceOf: (exception, chargeId) =>
          Effect.map(chargeFor(exception, chargeId), (charge) => ({
            charge,
            isNamed: charge.id === exception.chargeId
          })),

        resolve: Effect.fn("ExceptionResolution.resolve")(function* (id, decision, by, audited = Effect.void) {
          const known = yield* find(id)
          const accepting = decision.action === "accept" ? yield* acceptingFor(known, decision.chargeId) : undefined
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
              if (charge !== undefined) yield* accept(exception, charge, RULE, null)
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
const isOfNobody = ({ chargeId, connectionId, pixKey }: StoredException): boolean =>
  pixKey === null && chargeId === null && connectionId !== SIMULATOR_CONNECTION

/** Another installation may have its charge, or this one had it before it was restored. */
const isOfAnotherInstallation = ({ kind, txid }: StoredException): boolean =>
  kind === "unknown_txid" && txid !== null && hasFormOfOurs(txid)

/** Who decides for a connection whose rule is not `hold`. */
const RULE = "rule"
