/** Payouts as their providers know them. */
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { orderIdOf } from "../../src/payments/payouts/PayoutTable.ts"
import { providerIdOf } from "../../src/providers/Acquirer.ts"

/** The id under which a payout is ordered. */
export const orderIdOfPayout = Effect.fnUntraced(function* (id: string) {
  const sql = yield* SqlClient
  const [row] = yield* sql<{ order_id: string }>`
    SELECT ${sql.literal(orderIdOf("p"))} AS order_id FROM payouts p WHERE id = ${id}::uuid`
  return row?.order_id ?? ""
})

/** The same, as providers are told it. */
export const idAtProvider = (id: string) => Effect.map(orderIdOfPayout(id), providerIdOf)
