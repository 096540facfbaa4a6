/**
 * The charge routes of `/v1`.
 */
import { parseInstant } from "@pix-payments/domain/Instant"
import { defaultLimit, pageOf } from "@pix-payments/domain/List"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { toCharge } from "../../charges/ChargeResource.ts"
import { Charges } from "../../charges/Charges.ts"
import type { PublicHandlers } from "./PublicHandlers.ts"
import { accountInactive, chargeNotFound, refusedAs, rejected, unknownCursor } from "../WireTranslation.ts"

export const chargeHandlers = Effect.gen(function* () {
  const charges = yield* Charges
  const clock = yield* Clock.Clock

  const handlers: PublicHandlers<"charges"> = {
    create: {
      revalidating: ({ body, caller, idempotencyKey, isCached }) =>
        charges.create(caller, idempotencyKey, body, isCached).pipe(
          Effect.map(({ charge, replayed }) => ({
            status: 201,
            body: toCharge(charge, clock.currentTimeMillisUnsafe()),
            ...(replayed ? { headers: { "idempotent-replayed": "true" } } : undefined)
          })),
          Effect.catchTags({
            RequestRefused: refusedCreation,
            AccountInactiveError: accountInactive,
            ChargeRejected: rejected
          })
        )
    },

    retrieve: {
      revalidating: ({ caller, isCached, params }) =>
        charges.get(caller, params.id, isCached).pipe(
          Effect.map((charge) => ({ status: 200, body: toCharge(charge, clock.currentTimeMillisUnsafe()) })),
          Effect.catchTags({ NotFoundError: chargeNotFound })
        )
    },

    list: ({ caller, query }) => {
      const limit = query.limit ?? defaultLimit
      const filters = {
        origin: "api" as const,
        status: query.status,
        method: query.method,
        createdAfterMs: query.created_after === undefined ? undefined : parseInstant(query.created_after),
        createdBeforeMs: query.created_before === undefined ? undefined : parseInstant(query.created_before)
      }
      return charges.list(caller.account.id, filters, { limit, startingAfter: query.starting_after }).pipe(
        Effect.map((rows) => {
          const now = clock.currentTimeMillisUnsafe()
          const shown = rows.map((charge) => toCharge(charge, now))
          return { status: 200, body: pageOf(shown, limit) }
        }),
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
