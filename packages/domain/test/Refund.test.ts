import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import { Refund, RefundNature, RefundOrigin, RefundStatus } from "../src/Refund.ts"

describe("A refund", () => {
  const isRefund = Schema.is(Refund)
  const some = {
    id: "0199a1b2-0000-7000-8000-000000000001",
    object: "refund",
    charge_id: "0199a1b2-0000-7000-8000-000000000002",
    account_id: "0199a1b2-0000-7000-8000-000000000003",
    origin: "operator",
    status: "processing",
    amount: 100,
    currency: "BRL",
    description: null,
    nature: null,
    failure_reason: null,
    provider_outcome: null,
    created_at: "2026-11-21T12:00:00.000Z",
    completed_at: null
  }

  it("is shown with all of its fields", () => {
    assert.isTrue(isRefund(some))
    assert.isTrue(
      isRefund({ ...some, nature: "dispute", provider_outcome: "completed", completed_at: some.created_at })
    )
    for (const name of Object.keys(some)) {
      const { [name]: _left, ...others } = some as Record<string, unknown>
      assert.isFalse(isRefund(others), name)
    }
  })

  it("API-1: has a whole number of cents", () => {
    for (const amount of [-1, 0.5, "100", null]) assert.isFalse(isRefund({ ...some, amount }), String(amount))
  })

  it("API-12: may have a value that a later release adds", () => {
    for (const name of ["origin", "status", "nature", "provider_outcome"]) {
      assert.isTrue(isRefund({ ...some, [name]: "later" }), name)
      assert.isFalse(isRefund({ ...some, [name]: 1 }), name)
    }
  })

  it("is stored with known values alone", () => {
    for (const status of ["processing", "completed", "failed"]) assert.isTrue(Schema.is(RefundStatus)(status))
    for (const origin of ["operator", "provider"]) assert.isTrue(Schema.is(RefundOrigin)(origin))
    for (const nature of ["original", "withdrawal", "dispute"]) assert.isTrue(Schema.is(RefundNature)(nature))
    for (const schema of [RefundStatus, RefundOrigin, RefundNature]) assert.isFalse(Schema.is(schema)("later"))
  })
})
