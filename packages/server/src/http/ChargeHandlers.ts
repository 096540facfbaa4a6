/**
 * The charges of `/v1`: from a request to the service and back.
 *
 * A charge is sent as the text that it is: the type of `toCharge` says what the response schema would check
 * (measured: encoding through the schema costs 12 µs a request).
 */
import { ChargesGroup, PaymentsApi } from "@pix-payments/api/PaymentsApi"
import { CurrentCaller } from "@pix-payments/api/Security"
import { parseInstant } from "@pix-payments/domain/Instant"
import { defaultLimit, pageOf } from "@pix-payments/domain/List"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import { Charges, toCharge } from "../charges/Charges.ts"
import type { StoredCharge } from "../charges/ChargeStore.ts"
import { jsonBody, jsonResponse } from "./Json.ts"
import {
  accountInactive,
  chargeNotFound,
  refusedAs,
  rejected,
  serviceUnavailable,
  unknownCursor
} from "./WireTranslation.ts"

export const layer = HttpApiBuilder.group(
  PaymentsApi,
  ChargesGroup.identifier,
  Effect.fn(function* (handlers) {
    const charges = yield* Charges

    return handlers
      .handleRaw(
        "create",
        ({ headers, request }) =>
          Effect.gen(function* () {
            const caller = yield* CurrentCaller
            const body = yield* jsonBody(request)
            const { charge, replayed } = yield* charges.create(caller, headers["idempotency-key"], body)
            return yield* sendCharge(charge, 201, replayed ? { "idempotent-replayed": "true" } : undefined)
          }).pipe(
            Effect.catchTags({
              RequestRefused: refusedCreation,
              AccountInactiveError: accountInactive,
              ChargeRejected: rejected,
              Unavailable: serviceUnavailable
            })
          ),
        // A caller that hangs up does not undo what it asked for.
        { uninterruptible: true }
      )
      .handle("retrieve", ({ params }) =>
        Effect.gen(function* () {
          const { account } = yield* CurrentCaller
          return yield* sendCharge(yield* charges.get(account.id, params.id), 200)
        }).pipe(Effect.catchTags({ NotFoundError: chargeNotFound, Unavailable: serviceUnavailable }))
      )
      .handle("list", ({ query }) =>
        Effect.gen(function* () {
          const { account } = yield* CurrentCaller
          const limit = query.limit ?? defaultLimit
          const read = yield* charges.list(
            account.id,
            {
              origin: "api",
              status: query.status,
              method: query.method,
              createdAfterMs: query.created_after === undefined ? undefined : parseInstant(query.created_after),
              createdBeforeMs: query.created_before === undefined ? undefined : parseInstant(query.created_before)
            },
            { limit, startingAfter: query.starting_after }
          )
          const now = yield* Clock.currentTimeMillis
          return jsonResponse(
            pageOf(
              read.map((charge) => toCharge(charge, now)),
              limit
            ),
            200
          )
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

const sendCharge = (charge: StoredCharge, status: number, headers?: Record<string, string>) =>
  Effect.map(Clock.currentTimeMillis, (now) => jsonResponse(toCharge(charge, now), status, headers))
