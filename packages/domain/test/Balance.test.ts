import { assert, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import { Balance } from "../src/Balance.ts"

const isBalance = Schema.is(Balance)
const some = { object: "balance", currency: "BRL", available: 100, pending: 50, total: 150 }

it("BAL-1: a balance has `object`, `currency`, `available`, `pending` and `total`", () => {
  assert.isTrue(isBalance(some))
  for (const name of Object.keys(some)) {
    const { [name]: _left, ...others } = some as Record<string, unknown>
    assert.isFalse(isBalance(others), name)
  }
})

it("BAL-5: it may be below zero", () => {
  assert.isTrue(isBalance({ ...some, available: -100, total: -50 }))
})

it("API-1: it is a whole number of cents", () => {
  for (const name of ["available", "pending", "total"]) {
    for (const value of [0.5, "100", null]) assert.isFalse(isBalance({ ...some, [name]: value }), `${name}: ${value}`)
  }
})
