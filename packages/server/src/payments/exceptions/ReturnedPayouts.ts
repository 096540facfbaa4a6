/**
 * What payees' banks sent back of completed payouts: exceptions with the money, of the payout's account.
 *
 * Guarantees:
 * - one return is one exception, and all of a payout are never more than its amount. What the provider gave back because the payout
 *   failed after all (`ContradictoryOutcomes.ts`) is a part of that amount;
 * - the money is in `unallocated` until the exception is accepted. No rule but `accept` resolves it, and none where nothing but an
 *   amount says whose it is;
 * - what came back of a payout that a restore lost was raised as a payment of nobody: once the payout is known again, that exception
 *   is its, and nothing is booked twice.
 *
 * Every effect here runs in the caller's transaction. Rules: BAL-17, OPR-86.
 */
import { SIMULATOR_CONNECTION } from "@pix-payments/domain/AcquirerConnection"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import { Ids } from "../../base/Ids.ts"
import type { Unavailable } from "../../database/Unavailable.ts"
import { lockLedgerOf } from "../../ledger/Ledger.ts"
import { type AcquirerNotification, keysOf, type Outcome } from "../../providers/AcquirerNotification.ts"
import { IN_FORCE } from "../../providers/LateOutcomes.ts"
import { connectionOf, movement } from "./Exceptions.ts"
import { ExceptionResolution } from "./ExceptionResolution.ts"
import { ExceptionStore, type StoredException } from "./ExceptionStore.ts"

type Returned = Extract<AcquirerNotification, { readonly _tag: "payout.returned" }>

export class ReturnedPayouts extends Context.Service<
  ReturnedPayouts,
  {
    /** Raises what came back. Ignored of a payout that is not completed, and beyond its amount. */
    readonly raise: (returned: Returned) => Effect.Effect<Outcome, Unavailable | SqlError>
  }
>()("@pix-payments/server/ReturnedPayouts") {
  static readonly layer = Layer.effect(
    ReturnedPayouts,
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const ids = yield* Ids
      const store = yield* ExceptionStore
      const resolution = yield* ExceptionResolution

      const payoutOf = Effect.fnUntraced(function* ({ payoutId }: Returned) {
        const [row] = yield* sql<{ account_id: string; sent: bigint; connection_id: string | null }>`
          SELECT account_id, connection_id,
            -- Books that have it as failed may be contradicted.
            CASE WHEN status = 'completed' THEN amount ELSE coalesce((
              SELECT e.amount FROM acquirer_exceptions e
              WHERE e.payout_id = p.id AND e.provider_outcome = 'completed' AND ${sql.literal(IN_FORCE)}
            ), 0) END AS sent
          FROM payouts p WHERE id = ${payoutId}::uuid`
        return row
      })

      /** The exception that the same return is as a payment of nobody, made the payout's. */
      const nameNobodys = Effect.fnUntraced(function* ({ payoutId, ...fact }: Returned, accountId: string) {
        if (fact.externalId === undefined) return undefined
        const [key] = keysOf({ ...fact, _tag: "charge.paid", txid: "" })
        const [row] = yield* sql<{ id: string }>`
          UPDATE acquirer_exceptions e SET kind = 'returned_payout', payout_id = ${payoutId}::uuid,
            account_id = CASE WHEN action = 'accept' THEN account_id ELSE ${accountId}::uuid END
          FROM notification_keys k WHERE k.key = ${key ?? null}::text AND e.id = k.notification_id
          RETURNING e.id`
        return row?.id
      })

      return ReturnedPayouts.of({
        raise: Effect.fnUntraced(function* (returned) {
          const connectionId = connectionOf(returned)
          const known = yield* payoutOf(returned)
          if (known === undefined || (known.connection_id ?? SIMULATOR_CONNECTION) !== connectionId) return "unknown"
          // Two returns of one payout wait for each other here.
          yield* lockLedgerOf(sql, [connectionId, known.account_id])
          const payout = (yield* payoutOf(returned)) ?? known
          if (payout.sent === 0n) return "ignored"
          const nobodys = yield* nameNobodys(returned, payout.account_id)
          const applyRule = (id: string) => (returned.isByAmount === true ? Effect.void : resolution.applyRule(id))
          if (nobodys !== undefined) {
            yield* applyRule(nobodys)
            return "exception"
          }
          const [before] = yield* sql<{ amount: bigint }>`
            SELECT coalesce(sum(amount), 0)::bigint AS amount FROM acquirer_exceptions
            WHERE payout_id = ${returned.payoutId}::uuid AND (kind = 'returned_payout'
              OR (provider_outcome = 'failed' AND ${sql.literal(IN_FORCE)}))`
          const left = Number(payout.sent) - Number(before?.amount ?? 0n)
          const amount = Math.min(returned.amount, left)
          if (amount <= 0) return "ignored"
          const { id } = ids.next()
          const nowMs = yield* Clock.currentTimeMillis
          const exception: StoredException = {
            ...nothing,
            id,
            connectionId,
            kind: "returned_payout",
            status: "open",
            amount,
            unallocated: amount,
            externalId: returned.externalId ?? null,
            payoutId: returned.payoutId,
            accountId: payout.account_id,
            occurredAtMs: returned.atMs ?? nowMs,
            createdAtMs: nowMs
          }
          yield* store.put(exception, movement(ids, exception, "in", amount, "exception.received"))
          yield* applyRule(id)
          return "exception"
        })
      })
    })
  )
}

const nothing = {
  expectedAmount: null,
  // An outgoing Pix cannot be returned to its payer.
  endToEndId: null,
  txid: null,
  pixKey: null,
  payer: null,
  received: null,
  chargeId: null,
  refundId: null,
  providerOutcome: null,
  action: null,
  reason: null,
  failureReason: null,
  resolvedBy: null,
  resolvedAtMs: null
}
