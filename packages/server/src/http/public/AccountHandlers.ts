/**
 * `GET /v1/account` and `GET /v1/balance`.
 */
import type { Account } from "@pix-payments/domain/Account"
import * as Effect from "effect/Effect"
import { type AccountRow, Accounts } from "../../accounts/Accounts.ts"
import { LedgerReports } from "../../ledger/LedgerReports.ts"
import type { PublicHandlers } from "./PublicHandlers.ts"

export const accountHandlers = Effect.gen(function* () {
  const accounts = yield* Accounts

  const handlers: PublicHandlers<"account"> = {
    retrieve: ({ caller }) =>
      accounts.get(caller.account.id).pipe(
        Effect.map((row) => ({ status: 200, body: toAccount(row) })),
        // The account of a valid key exists.
        Effect.catchTag("NotFoundError", Effect.die)
      )
  }
  return handlers
})

export const balanceHandlers = Effect.gen(function* () {
  const ledger = yield* LedgerReports

  const handlers: PublicHandlers<"balance"> = {
    retrieve: ({ caller }) =>
      Effect.map(ledger.balanceOf(caller.account.id), (balance) => ({ status: 200, body: balance }))
  }
  return handlers
})

/** The account resource of `/v1`. */
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
