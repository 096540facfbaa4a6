/**
 * `GET /v1/account`.
 */
import { AccountGroup } from "@pix-payments/api/PaymentsApi"
import { CurrentCaller } from "@pix-payments/api/Security"
import type { Account } from "@pix-payments/domain/Account"
import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import { type AccountRow, Accounts } from "../accounts/Accounts.ts"
import { ServedApi } from "./ServedApi.ts"
import { serviceUnavailable } from "./WireTranslation.ts"

export const layer = HttpApiBuilder.group(
  ServedApi,
  AccountGroup.identifier,
  Effect.fn(function* (handlers) {
    const accounts = yield* Accounts

    return handlers.handle("retrieve", () =>
      Effect.gen(function* () {
        const caller = yield* CurrentCaller
        return toAccount(yield* accounts.get(caller.account.id))
      }).pipe(
        // The key's account is there as long as the key is.
        Effect.catchTags({ NotFoundError: Effect.die, Unavailable: serviceUnavailable })
      )
    )
  })
)

/** An account as `/v1` shows it. */
export const toAccount = (row: AccountRow): Account => ({
  id: row.id,
  object: "account",
  name: row.name,
  legal_name: row.legal_name,
  document: row.document,
  document_type: row.document_type,
  phone: row.phone,
  status: row.status,
  onboarding_status: row.onboarding_status,
  auto_payout_enabled: row.auto_payout_enabled,
  created_at: row.created_at.toISOString()
})
