/**
 * The payouts of `/v1`: from a request to the service and back.
 */
import { PaymentsApi, PayoutsGroup } from "@pix-payments/api/PaymentsApi"
import { CurrentCaller } from "@pix-payments/api/Security"
import { parseInstant } from "@pix-payments/domain/Instant"
import { defaultLimit, pageOf } from "@pix-payments/domain/List"
import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import { Payouts, toPayout } from "../payouts/Payouts.ts"
import { jsonBody, jsonResponse } from "./Json.ts"
import {
  accountInactive,
  accountRestricted,
  insufficientBalance,
  payoutNotFound,
  refusedAs,
  serviceUnavailable,
  unknownCursor
} from "./WireTranslation.ts"

export const layer = HttpApiBuilder.group(
  PaymentsApi,
  PayoutsGroup.identifier,
  Effect.fn(function* (handlers) {
    const payouts = yield* Payouts

    return handlers
      .handleRaw(
        "create",
        ({ headers, request }) =>
          Effect.gen(function* () {
            const caller = yield* CurrentCaller
            const body = yield* jsonBody(request)
            const { payout, replayed } = yield* payouts.create(caller, headers["idempotency-key"], body)
            return jsonResponse(toPayout(payout), 201, replayed ? { "idempotent-replayed": "true" } : undefined)
          }).pipe(
            Effect.catchTags({
              RequestRefused: refusedCreation,
              AccountInactiveError: accountInactive,
              AccountRestrictedError: accountRestricted,
              InsufficientBalanceError: insufficientBalance,
              Unavailable: serviceUnavailable
            })
          ),
        // A caller that hangs up does not undo what it asked for.
        { uninterruptible: true }
      )
      .handle("retrieve", ({ params }) =>
        Effect.gen(function* () {
          const { account } = yield* CurrentCaller
          return jsonResponse(toPayout(yield* payouts.get(account.id, params.id)), 200)
        }).pipe(Effect.catchTags({ NotFoundError: payoutNotFound, Unavailable: serviceUnavailable }))
      )
      .handle("list", ({ query }) =>
        Effect.gen(function* () {
          const { account } = yield* CurrentCaller
          const limit = query.limit ?? defaultLimit
          const read = yield* payouts.list(
            account.id,
            {
              status: query.status,
              method: query.method,
              createdAfterMs: query.created_after === undefined ? undefined : parseInstant(query.created_after),
              createdBeforeMs: query.created_before === undefined ? undefined : parseInstant(query.created_before)
            },
            { limit, startingAfter: query.starting_after }
          )
          return jsonResponse(pageOf(read.map(toPayout), limit), 200)
        }).pipe(Effect.catchTags({ UnknownCursor: unknownCursor, Unavailable: serviceUnavailable }))
      )
  })
)

const refusedCreation = refusedAs(
  "VALIDATION_ERROR",
  "METHOD_NOT_SUPPORTED",
  "AMOUNT_BELOW_MINIMUM",
  "INVALID_DOCUMENT",
  "INVALID_WEBHOOK_URL"
)
