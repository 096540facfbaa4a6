/** Payouts that wait for submission, and what a statement over them reads. */
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { Accounts } from "../../src/accounts/Accounts.ts"
import { Ids } from "../../src/base/Ids.ts"
import { somePayout } from "./Money.ts"

/** Payouts of an account that wait for submission. */
export const payoutBacklog = Effect.fnUntraced(function* (count: number, dueAgoS: number, payouts_paused = false) {
  const sql = yield* SqlClient
  const accounts = yield* Accounts
  const { id } = yield* accounts.create({
    name: "Loja",
    legal_name: "Loja Ltda",
    phone: "+5511999998888",
    document: "11222333000181",
    document_type: "cnpj"
  })
  yield* accounts.update(id, { payouts_paused })
  const first = (yield* Ids).next().id
  // The sessions' own limit of a statement is for calls.
  yield* sql`SELECT set_config('statement_timeout', '0', true)`.pipe(
    Effect.andThen(sql`
    INSERT INTO payouts (id, account_id, origin, status, method, amount, fee, pix_key_type, pix_key, created_at, sequence,
      due_at)
    SELECT CASE WHEN n = 1 THEN ${first}::uuid ELSE uuidv7() END, ${id}::uuid, 'dashboard', 'processing', 'pix', 500, 0,
      'email', ${somePayout.pix_key}, now(), 1, now() - ${dueAgoS}::integer * interval '1 second' + n * interval '1 microsecond'
    FROM generate_series(1, ${count}::integer) AS n`),
    sql.withTransaction
  )
  return id
})

/** A step of a plan that was executed. */
export interface PlanNode {
  readonly "Actual Rows": number
  readonly "Actual Loops": number
  readonly "Rows Removed by Filter"?: number
  readonly Plans?: ReadonlyArray<PlanNode>
}

/** The most rows that any step read. */
export const mostRows = (node: PlanNode): number =>
  Math.max(
    node["Actual Rows"] * node["Actual Loops"] + (node["Rows Removed by Filter"] ?? 0),
    ...(node.Plans ?? []).map(mostRows)
  )
