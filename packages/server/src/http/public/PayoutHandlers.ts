/**
 * The payout routes of `/v1`.
 */
import * as Effect from "effect/Effect"
import { NewPayouts } from "../../payments/payouts/creation/NewPayouts.ts"
import { toPayout } from "../../payments/payouts/PayoutResource.ts"
import { Payouts } from "../../payments/payouts/Payouts.ts"
import { created } from "../pipeline/Answer.ts"
import { filtersFrom, listAnswer, pageFrom } from "../pipeline/Lists.ts"
import type { PublicHandlers } from "./PublicHandlers.ts"
import {
  accountInactive,
  accountRestricted,
  insufficientBalance,
  limitExceeded,
  payoutNotFound,
  refusedAs,
  unknownCursor
} from "../pipeline/WireTranslation.ts"

export const payoutHandlers = Effect.gen(function* () {
  const payouts = yield* Payouts
  const newPayouts = yield* NewPayouts

  const handlers: PublicHandlers<"payouts"> = {
    create: {
      revalidating: ({ body, caller, idempotencyKey }) =>
        newPayouts.create(caller, idempotencyKey, body).pipe(
          Effect.map(({ payout, replayed }) => created(toPayout(payout), replayed)),
          Effect.catchTags({
            RequestRefused: refusedCreation,
            AccountInactiveError: accountInactive,
            AccountRestrictedError: accountRestricted,
            LimitExceededError: limitExceeded,
            InsufficientBalanceError: ({ available, needed }) =>
              insufficientBalance(caller.scopes.includes("balance:read") ? { needed, available } : { needed })
          })
        )
    },

    retrieve: ({ caller, params }) =>
      payouts.get(caller.account.id, params.id).pipe(
        Effect.map((payout) => ({ status: 200, body: toPayout(payout) })),
        Effect.catchTags({ NotFoundError: payoutNotFound })
      ),

    list: {
      revalidating: ({ caller, query }) => {
        const page = pageFrom(query)
        return payouts.listFor(caller, filtersFrom(query), page).pipe(
          Effect.map((rows) => listAnswer(rows, toPayout, page)),
          Effect.catchTags({ UnknownCursor: unknownCursor })
        )
      }
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
