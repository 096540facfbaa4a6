/**
 * The payout routes of `/v1`.
 */
import { parseInstant } from "@pix-payments/domain/Instant"
import { defaultLimit, pageOf } from "@pix-payments/domain/List"
import * as Effect from "effect/Effect"
import { toPayout } from "../../payouts/PayoutResource.ts"
import { Payouts } from "../../payouts/Payouts.ts"
import type { PublicHandlers } from "./PublicHandlers.ts"
import {
  accountInactive,
  accountRestricted,
  insufficientBalance,
  payoutNotFound,
  refusedAs,
  unknownCursor
} from "../WireTranslation.ts"

export const payoutHandlers = Effect.gen(function* () {
  const payouts = yield* Payouts

  const handlers: PublicHandlers<"payouts"> = {
    create: {
      revalidating: ({ body, caller, idempotencyKey, isCached }) =>
        payouts.create(caller, idempotencyKey, body, isCached).pipe(
          Effect.map(({ payout, replayed }) => ({
            status: 201,
            body: toPayout(payout),
            ...(replayed ? { headers: { "idempotent-replayed": "true" } } : undefined)
          })),
          Effect.catchTags({
            RequestRefused: refusedCreation,
            AccountInactiveError: accountInactive,
            AccountRestrictedError: accountRestricted,
            InsufficientBalanceError: insufficientBalance
          })
        )
    },

    retrieve: ({ caller, params }) =>
      payouts.get(caller.account.id, params.id).pipe(
        Effect.map((payout) => ({ status: 200, body: toPayout(payout) })),
        Effect.catchTags({ NotFoundError: payoutNotFound })
      ),

    list: ({ caller, query }) => {
      const limit = query.limit ?? defaultLimit
      const filters = {
        status: query.status,
        method: query.method,
        createdAfterMs: query.created_after === undefined ? undefined : parseInstant(query.created_after),
        createdBeforeMs: query.created_before === undefined ? undefined : parseInstant(query.created_before)
      }
      return payouts.list(caller.account.id, filters, { limit, startingAfter: query.starting_after }).pipe(
        Effect.map((rows) => ({ status: 200, body: pageOf(rows.map(toPayout), limit) })),
        Effect.catchTags({ UnknownCursor: unknownCursor })
      )
    }
  }
  return handlers
})

const refusedCreation = refusedAs(
  "VALIDATION_ERROR",
  "METHOD_NOT_SUPPORTED",
  "AMOUNT_BELOW_MINIMUM",
  "INVALID_DOCUMENT",
  "INVALID_WEBHOOK_URL"
)
