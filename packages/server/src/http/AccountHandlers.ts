/**
 * `GET /v1/account` and `GET /v1/balance`.
 */
import { AccountGroup, BalanceGroup, PaymentsApi } from "@pix-payments/api/PaymentsApi"
import { CurrentCaller } from "@pix-payments/api/Security"
import type { Account } from "@pix-payments/domain/Account"
import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import * as Layer from "effect/Layer"
import { type AccountRow, Accounts } from "../accounts/Accounts.ts"
import { LedgerReports } from "../ledger/LedgerReports.ts"
import { serviceUnavailable } from "./WireTranslation.ts"

const accountLayer = HttpApiBuilder.group(
  PaymentsApi,
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

const balanceLayer = HttpApiBuilder.group(
  PaymentsApi,
  BalanceGroup.identifier,
  Effect.fn(function* (handlers) {
    const ledger = yield* LedgerReports

    return handlers.handle("retrieve", () =>
      Effect.gen(function* () {
        const { account } = yield* CurrentCaller
        return yield* ledger.balanceOf(account.id)
      }).pipe(Effect.catchTags({ Unavailable: serviceUnavailable }))
    )
  })
)

export const layer = Layer.mergeAll(accountLayer, balanceLayer)

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
