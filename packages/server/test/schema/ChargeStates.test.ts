/**
 * The states of charges: lists by status find every charge by them, and a payment changes no index of `charges`.
 *
 * The model of charges and the simulation check the states after each of their runs too.
 */
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { create, created, type ErrorBody, listed, retrieve, withCustomer } from "../support/ChargeRequests.ts"
import { wrongStates } from "../support/ChargeStates.ts"
import { operated, paidCharge, simulated } from "../support/Money.ts"
import { eventually, loopback } from "../support/Receiver.ts"
import { TestService } from "../support/TestService.ts"

const settings = { webhookAllowedNetworks: loopback, simulatorSettleMs: 0, acquirerTimeoutMs: 60_000 }

/** The indexes of `charges` and its partitions that the acquirer's answer or a payment would change. */
const changedIndexes = Effect.gen(function* () {
  const sql = yield* SqlClient
  const rows = yield* sql<{ name: string }>`
    SELECT DISTINCT d.objid::regclass::text AS name
    FROM pg_index x
    JOIN pg_depend d ON d.classid = 'pg_class'::regclass AND d.objid = x.indexrelid AND d.refobjid = x.indrelid
    JOIN pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid
    WHERE (x.indrelid = 'charges'::regclass OR x.indrelid IN (
        SELECT inhrelid FROM pg_inherits WHERE inhparent = 'charges'::regclass))
      AND a.attname IN ('status', 'br_code', 'end_to_end_id', 'receiver_id', 'paid_at', 'payer', 'failure_reason',
        'refunded_amount', 'sequence')
    ORDER BY 1`
  return rows.map(({ name }) => name)
})

const idsOf = (key: string, status: string) =>
  Effect.map(listed(key, `?status=${status}&limit=100`), ({ data }) => data.map(({ id }) => id))

const assertRight = Effect.gen(function* () {
  const sql = yield* SqlClient
  assert.deepStrictEqual(yield* sql.unsafe(wrongStates), [])
})

layer(TestService.layer({ settings }), { excludeTestServices: true })("States of charges", (it) => {
  it.effect("are in no index of charges", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* changedIndexes, [])
    })
  )

  it.effect("CHG-7, CHG-20: follow each transition, of the charges of the API", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const { key } = yield* makeCaller()
      const reached = (id: string, status: string) =>
        Effect.andThen(
          eventually(retrieve(key, id), ({ body }) => body.status === status),
          Effect.gen(function* () {
            assert.include(yield* idsOf(key, status), id, status)
            yield* assertRight
          })
        )
      const pending = yield* created(key, { expires_in: 60 })
      yield* reached(pending.id, "pending")
      const refused = yield* create(key, withCustomer({ email: "refuse@simulator.test" }))
      yield* reached((refused.body as unknown as ErrorBody).charge_id!, "failed")
      const canceled = yield* created(key)
      yield* operated("POST", `/charges/${canceled.id}/cancel`)
      yield* reached(canceled.id, "canceled")
      const { id } = yield* paidCharge(key)
      yield* reached(id, "paid")
      assert.notInclude(yield* idsOf(key, "pending"), id)
      const dispute = yield* simulated<{ id: string }>(`/charges/${id}/infraction`, { reason: "fraud" }, 201)
      yield* reached(id, "infraction")
      assert.notInclude(yield* idsOf(key, "paid"), id)
      yield* simulated(`/disputes/${dispute.id}/win`)
      yield* reached(id, "paid")
      assert.notInclude(yield* idsOf(key, "infraction"), id)
      yield* operated("POST", `/charges/${id}/refund`)
      yield* reached(id, "refunded")
      assert.notInclude(yield* idsOf(key, "paid"), id)
    })
  )
})
