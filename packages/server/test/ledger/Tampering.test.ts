/** Rows of closed days that the tables' owner alters: whatever the column, verification names the day. */
import { assert, layer } from "@effect/vitest"
import { SIMULATOR_CONNECTION } from "@pix-payments/domain/AcquirerConnection"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { type CloseRow, closedDayOf, columns } from "../../src/ledger/CloseRow.ts"
import { hashOf } from "../../src/ledger/DayDigest.ts"
import { closeDays, tampered } from "../support/Closing.ts"
import { operated, paidCharge, type Verification } from "../support/Money.ts"
import { type Fields, newKey, TestService } from "../support/TestService.ts"

const settings = { acquirerTimeoutMs: 300, simulatorSettleMs: 0 }

const OTHER = "01a1fd37-d21e-717f-8451-d23f26a8797f"

/** Another value of each column. A new column needs a line. */
const altered: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  ledger_transfers: {
    id: `'${OTHER}'`,
    account_id: `'${OTHER}'`,
    resource_id: `'${OTHER}'`,
    connection_id: `CASE WHEN connection_id IS NULL THEN '${SIMULATOR_CONNECTION}'::uuid END`,
    position: "position + 100",
    amount: "amount + 1",
    created_at: "created_at + interval '1 ms'",
    debit_after: "coalesce(debit_after, 0) + 1",
    credit_after: "coalesce(credit_after, 0) + 1",
    fee: "coalesce(fee, 0) + 1",
    source_id: `'${OTHER}'`,
    day: "day - 1",
    debit: "'pending'",
    credit: "'blocked'",
    // Of the same type.
    reason: "CASE reason WHEN 'charge.refunded' THEN 'charge.refund_ordered' ELSE 'charge.refunded' END"
  },
  adjustments: {
    id: `'${OTHER}'`,
    account_id: `'${OTHER}'`,
    amount: "amount + 1",
    reason: "'another'",
    created_at: "created_at + interval '1 ms'"
  }
}

layer(TestService.layer({ settings }), { excludeTestServices: true })("Tampering", (it) => {
  it.effect("OPR-256, OPR-263: each column of each row that a close is made of, and its removal", () =>
    Effect.gen(function* () {
      const { makeCaller, operate } = yield* TestService
      const sql = yield* SqlClient
      const { accountId, key } = yield* makeCaller()
      const charge = yield* paidCharge(key, 2000)
      const refund = yield* operate<Fields & { id: string }>("POST", `/operator/v1/charges/${charge.id}/refund`, {
        body: { amount: 500 },
        idempotencyKey: newKey()
      })
      assert.strictEqual(refund.status, 200, refund.text)
      const adjustment = yield* operate<{ id: string }>("POST", "/operator/v1/adjustments", {
        body: { account_id: accountId, amount: 250, reason: "a fee was charged twice" },
        idempotencyKey: newKey()
      })
      assert.strictEqual(adjustment.status, 201, adjustment.text)
      yield* closeDays(1)

      const named = Effect.map(operated<Verification>("GET", "/ledger/verify?full=true"), ({ closes }) =>
        closes.map(({ account_id, problem }) => [account_id ?? "bank", problem])
      )
      assert.deepStrictEqual(yield* named, [])
      const unnamed: Array<string> = []
      for (const [table, columns] of Object.entries(altered)) {
        const names = yield* sql<{ name: string }>`
          SELECT column_name AS name FROM information_schema.columns WHERE table_name = ${table} ORDER BY name`
        assert.deepStrictEqual(
          Object.keys(columns).toSorted(),
          names.map(({ name }) => name)
        )
        const rows = yield* sql<{ id: string; row: string }>`
          SELECT id, to_jsonb(t)::text AS row FROM ${sql(table)} t WHERE account_id = ${accountId}::uuid`
        assert.isAbove(rows.length, 0)
        for (const { id, row } of rows) {
          const changes = Object.entries(columns).map(([name, value]) => [
            `${table}.${name}`,
            `UPDATE ${table} SET ${name} = ${value} WHERE id = '${id}'`
          ])
          for (const [what, text] of [...changes, [table, `DELETE FROM ${table} WHERE id = '${id}'`]]) {
            yield* tampered(text!)
            if ((yield* named).length === 0) unnamed.push(`${what} ${row}`)
            yield* tampered(`DELETE FROM ${table} WHERE id IN ('${id}', '${OTHER}')`)
            yield* tampered(`INSERT INTO ${table} SELECT * FROM jsonb_populate_record(NULL::${table}, '${row}')`)
          }
        }
      }
      assert.deepStrictEqual(unnamed, [])
      assert.deepStrictEqual(yield* named, [])
    })
  )

  it.effect("OPR-256: a close whose sums are others, also with their hash, and the newest one that is gone", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const sql = yield* SqlClient
      const { accountId, key } = yield* makeCaller()
      yield* paidCharge(key, 2000)
      // Of a day that has ended.
      yield* tampered(`UPDATE ledger_transfers SET day = day - 2 WHERE account_id = '${accountId}'`)
      yield* tampered(
        `UPDATE ledger_accounts SET day = day - 2, open_day = open_day - 2 WHERE owner_id = '${accountId}'`
      )
      yield* closeDays(0)
      const named = Effect.map(operated<Verification>("GET", "/ledger/verify?full=true"), ({ closes }) =>
        closes.filter(({ account_id }) => account_id === accountId).map(({ problem }) => problem)
      )
      assert.deepStrictEqual(yield* named, [])
      const [row] = yield* sql.unsafe<CloseRow>(`SELECT ${columns} FROM closes WHERE owner_id = '${accountId}'`)
      const closed = closedDayOf(row!)
      for (const changes of [
        { credits: closed.credits + 100, debits: closed.debits + 100 },
        { fees: closed.fees + 7 },
        { lastPosition: closed.lastPosition + 1 },
        { balances: { ...closed.balances, pending: 1 } }
      ]) {
        const { balances, credits, debits, fees, lastPosition } = { ...closed, ...changes }
        const hash = hashOf("ledger", accountId, { ...closed, ...changes })
        yield* tampered(`UPDATE closes SET credits = ${credits}, debits = ${debits}, fees = ${fees},
          last_position = ${lastPosition}, balances = '${JSON.stringify(balances)}', hash = '${hash}'
          WHERE owner_id = '${accountId}'`)
        assert.deepStrictEqual(yield* named, ["close"], JSON.stringify(changes))
      }
      yield* tampered(`DELETE FROM closes WHERE owner_id = '${accountId}'`)
      assert.deepStrictEqual(yield* named, ["missing"])
    })
  )
})
