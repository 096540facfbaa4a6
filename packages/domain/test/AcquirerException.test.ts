import { assert, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import {
  ExceptionAction,
  exceptionKinds,
  ExceptionKind,
  ExceptionStatus,
  ProviderOutcome
} from "../src/AcquirerException.ts"

it("BAL-11, BAL-13: each kind of exception is there once", () => {
  for (const kind of ["wrong_amount", "unknown_txid", "conflicting_settlement"]) {
    assert.isTrue(Schema.is(ExceptionKind)(kind), kind)
  }
  assert.isFalse(Schema.is(ExceptionKind)("dismiss"))
  assert.strictEqual(new Set(exceptionKinds).size, exceptionKinds.length)
})

it("BAL-12: an exception is resolved by `accept`, `return` or `dismiss`", () => {
  for (const action of ["accept", "return", "dismiss"]) assert.isTrue(Schema.is(ExceptionAction)(action))
  for (const action of ["hold", "refund", ""]) assert.isFalse(Schema.is(ExceptionAction)(action))
})

it("BAL-16: a bank says that a payout or return completed or failed, and nothing between", () => {
  for (const outcome of ["completed", "failed"]) assert.isTrue(Schema.is(ProviderOutcome)(outcome))
  assert.isFalse(Schema.is(ProviderOutcome)("processing"))
  for (const status of ["open", "resolved"]) assert.isTrue(Schema.is(ExceptionStatus)(status))
  assert.isFalse(Schema.is(ExceptionStatus)("failed"))
})
