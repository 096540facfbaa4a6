/** Reads what the decision of new payouts depends on: terms and balances, known idempotency keys, recent duplicates. */
import { lowestIdAt } from "@pix-payments/domain/Uuid"
import * as Effect from "effect/Effect"
import type { SqlClient } from "effect/sql/SqlClient"
import type { SettingsShape } from "../../../base/Settings.ts"
import type { Row } from "../../../database/statements/Column.ts"
import { payoutTable, recipientKey } from "../PayoutTable.ts"
import { type DuplicateRow, findDuplicates, findKnown, readTerms, type TermsRow } from "./NewPayoutStatements.ts"
import { intentOf, keyOf, type PayoutRequest, type PayoutTerms, scopeOf } from "./PayoutCreation.ts"
import { termsOf } from "./TermsCache.ts"

/** The terms of accounts by their id, and the proof of callers. */
export const termsOfAccounts = (sql: SqlClient, acquirer: SettingsShape["acquirer"], accounts: ReadonlyArray<string>) =>
  Effect.map(sql.unsafe<TermsRow>(...readTerms({ accounts })), (rows) => ({
    accounts: new Map(rows.map((row) => [row.id, termsOf(row, acquirer)])),
    proof: rows[0]
  }))

/** The payouts that have the idempotency keys of the requests, by `keyOf`. */
export const knownKeys = Effect.fnUntraced(function* (sql: SqlClient, requests: ReadonlyArray<PayoutRequest>) {
  const keys = requests.flatMap(({ requested: { accountId, applicationId, idempotencyKey, origin } }) =>
    idempotencyKey === null ? [] : [{ scopeId: scopeOf({ accountId, applicationId }), origin, idempotencyKey }]
  )
  const rows = keys.length === 0 ? [] : yield* sql.unsafe<Row>(...findKnown({ keys }))
  return new Map(
    rows.map(payoutTable.decode).flatMap((payout) => {
      const key = keyOf(payout)
      return key === undefined ? [] : [[key, payout] as const]
    })
  )
})

/** The id of the latest payout of each intent, for accounts with a duplicate guard. */
export const recentDuplicates = Effect.fnUntraced(function* (
  sql: SqlClient,
  requests: ReadonlyArray<PayoutRequest>,
  accounts: ReadonlyMap<string, PayoutTerms>
) {
  const asked = requests.flatMap(({ requested }) => {
    const windowSeconds = accounts.get(requested.accountId)?.duplicateWindowSeconds ?? 0
    if (windowSeconds === 0) return []
    const { accountId: account_id, amount, createdAtMs } = requested
    return [{ account_id, ...recipientKey(requested), amount, since: lowestIdAt(createdAtMs - windowSeconds * 1000) }]
  })
  const rows = asked.length === 0 ? [] : yield* sql.unsafe<DuplicateRow>(...findDuplicates({ intents: asked }))
  return new Map(
    rows.map(({ account_id, amount, id, pix_key, pix_key_type }) => [
      intentOf({ accountId: account_id, pix_key_type, pix_key, amount: Number(amount) }),
      id
    ])
  )
})
