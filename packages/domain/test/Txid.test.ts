import { assert, describe, it } from "@effect/vitest"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { hasFormOfOurs, idFromTxid, Txid, txidFromId } from "../src/Txid.ts"

const accepts = (value: unknown): boolean => Result.isSuccess(Schema.decodeUnknownResult(Txid)(value))
const Uuid = Schema.String.check(Schema.isPattern(/^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/))

describe("Txid", () => {
  it("txid (cob/cobv/cobr): [a-zA-Z0-9]{26,35}", () => {
    for (const value of ["a".repeat(26), "Z9".repeat(17), "7".repeat(35)]) assert.isTrue(accepts(value), value)
    for (const value of ["", "a".repeat(25), "a".repeat(36), `${"a".repeat(26)}-`, "***", "é".repeat(26), 1]) {
      assert.isFalse(accepts(value), String(value))
    }
  })

  it("CHG-4, CHG-27: the txid of a charge is the 32 digits of its id", () => {
    assert.strictEqual(txidFromId("0198C0DE-1234-7abc-8def-0123456789AB"), "0198c0de12347abc8def0123456789ab")
    assert.throws(() => txidFromId("not a uuid"))
    assert.throws(() => txidFromId("0198c0de12347abc8def0123456789ab"))
  })

  it("a txid like ours is that of a UUID of version 7", () => {
    assert.isTrue(hasFormOfOurs("0198c0de12347abc8def0123456789ab"))
    assert.isTrue(hasFormOfOurs("0198C0DE12347ABCBDEF0123456789AB"))
    for (const txid of [
      "0198c0de12344abc8def0123456789ab",
      "0198c0de12347abc7def0123456789ab",
      "0198c0de12347abc8def0123456789a",
      "0198c0de-1234-7abc-8def-0123456789ab",
      ""
    ])
      assert.isFalse(hasFormOfOurs(txid), txid)
  })

  it("a foreign txid has no id", () => {
    for (const txid of ["a".repeat(26), "a".repeat(33), "g".repeat(32), "", "0198c0de-1234-7abc-8def-0123456789ab"]) {
      assert.isUndefined(idFromTxid(txid), txid)
    }
  })

  it("an upper-case txid has the same id", () => {
    assert.strictEqual(idFromTxid("0198C0DE12347ABC8DEF0123456789AB"), "0198c0de-1234-7abc-8def-0123456789ab")
  })

  it.prop("CHG-4: the txid determines the id", [Uuid], ([id]) => {
    const txid = txidFromId(id)
    assert.isTrue(accepts(txid))
    assert.strictEqual(idFromTxid(txid), id)
  })
})
