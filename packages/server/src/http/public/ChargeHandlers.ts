/**
 * The charge routes of `/v1`.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { toCharge } from "../../payments/charges/ChargeResource.ts"
import { Charges } from "../../payments/charges/Charges.ts"
import { NewCharges } from "../../payments/charges/NewCharges.ts"
import { created } from "../pipeline/Answer.ts"
import { filtersFrom, listAnswer, pageFrom } from "../pipeline/Lists.ts"
import type { PublicHandlers } from "./PublicHandlers.ts"
import { accountInactive, chargeNotFound, refusedAs, rejected, unknownCursor } from "../pipeline/WireTranslation.ts"

export const chargeHandlers = Effect.gen(function* () {
  const charges = yield* Charges
  const newCharges = yield* NewCharges
  const clock = yield* Clock.Clock

  const handlers: PublicHandlers<"charges"> = {
    create: {
      revalidating: ({ body, caller, idempotencyKey }) =>
        newCharges.create(caller, idempotencyKey, body).pipe(
          Effect.map(({ charge, replayed }) => created(toCharge(charge, clock.currentTimeMillisUnsafe()), replayed)),
          Effect.catchTags({
            RequestRefused: refusedCreation,
            AccountInactiveError: accountInactive,
            ChargeRejected: rejected
          })
        )
    },

    retrieve: {
      revalidating: ({ caller, params }) =>
        charges.get(caller, params.id).pipe(
          Effect.map((charge) => ({ status: 200, body: toCharge(charge, clock.currentTimeMillisUnsafe()) })),
          Effect.catchTags({ NotFoundError: chargeNotFound })
        )
    },

    list: {
      revalidating: ({ caller, query }) => {
        const page = pageFrom(query)
        return charges.listFor(caller, filtersFrom(query), page).pipe(
          Effect.map((rows) => {
            const now = clock.currentTimeMillisUnsafe()
            return listAnswer(rows, (charge) => toCharge(charge, now), page)
          }),
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
