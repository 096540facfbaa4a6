/** Gauges of work that waits, in `/metrics`. */
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { waiting } from "../../src/operations/WorkGauges.ts"
import { operated } from "../support/Money.ts"
import { overdueRefund } from "../support/Overdue.ts"
import { eventually } from "../support/Receiver.ts"
import { TestService } from "../support/TestService.ts"

const HOUR_S = 60 * 60

layer(TestService.layer(), { excludeTestServices: true })("Gauges of work", (it) => {
  it.effect("OPR-314: the age of the oldest order without an outcome, read by an index", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const { operate } = yield* TestService
      const age = Effect.map(operate("GET", "/metrics"), ({ text }) =>
        Number(/^pix_payments_acquirer_orders_oldest_seconds (\S+)/m.exec(text)?.[1])
      )
      const read = Effect.map(sql.unsafe<{ kind: string; seconds: number | null }>(waiting), (rows) =>
        rows.filter(({ kind }) => kind === "orders").map(({ seconds }) => seconds)
      )
      assert.deepStrictEqual(yield* read, [null])
      const id = yield* overdueRefund
      // A younger one, and one that has ended.
      yield* sql`INSERT INTO acquirer_orders (id, kind, amount, pending, state, created_at)
        VALUES (uuidv7(), 'cancel', 0, 0, 'ordered', now()),
          (uuidv7(), 'cancel', 0, 0, 'done', now() - interval '50 hours')`
      assert.closeTo(yield* eventually(age, (seconds) => seconds > HOUR_S), 25 * HOUR_S, HOUR_S)
      yield* operated("POST", `/refunds/${id}/settle`, { outcome: "failed", reason: "The bank has no such return." })
      const [left] = yield* read
      assert.isBelow(left!, HOUR_S)
      const plan = yield* sql.withTransaction(
        Effect.andThen(sql`SET LOCAL enable_seqscan = off`, sql.unsafe(`EXPLAIN ${waiting}`))
      )
      assert.include(JSON.stringify(plan), "using acquirer_orders_oldest")
    })
  )
})
