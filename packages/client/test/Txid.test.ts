import { assert, describe, it } from "@effect/vitest"
import { idFromTxid, txidFromId } from "@pix-payments/domain/Txid"
import { txidOf } from "../src/index.ts"
import { chargeOf } from "./support/Samples.ts"

describe("txidOf", () => {
  it("CHG-27: is the txid that the service gives to the acquirer", () => {
    const charge = chargeOf()
    assert.strictEqual(txidOf(charge), "01890a5dac96774bbcceb302099a8057")
    assert.strictEqual(txidOf(charge), txidFromId(charge.id))
    assert.strictEqual(idFromTxid(txidOf(charge)), charge.id)
  })
})
