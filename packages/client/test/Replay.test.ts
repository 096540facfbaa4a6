import { assert, describe, it, vi, beforeEach, afterEach } from "vitest"
import { parseDocument } from "@pix-payments/domain/Document"
import { parsePixKey } from "@pix-payments/domain/PixKey"
import { vectors } from "../../domain/test/vectors.ts"
import {
  ApiError,
  type Charge,
  type CreateCharge,
  type CreatePayout,
  isCode,
  ReplayMismatchError
} from "../src/index.ts"
import { replayDifferences } from "../src/Replay.ts"
import { chargeOf, payoutOf, someCharge } from "./support/Samples.ts"
import { json, startStub } from "./support/Stub.ts"
import { clientOf, failureOf } from "./support/TestClient.ts"

const replay = { "idempotent-replayed": "true" }
const somePayout: CreatePayout = { amount: 50_000, pix_key_type: "email", pix_key: "ana@example.com" }

// Full jitter starts at 0, so no test waits.
beforeEach(() => {
  vi.spyOn(Math, "random").mockReturnValue(0)
})
afterEach(() => {
  vi.restoreAllMocks()
})

describe("IDEM-4: a replay with other params", () => {
  it("rejects with the names of the params that differ, and the stored resource", async () => {
    const stored = payoutOf({ amount: 5000 })
    await using stub = await startStub((response) => json(response, 201, stored, replay))
    const payouts = clientOf(stub.url).payouts
    const error = await failureOf(payouts.create(somePayout, { idempotencyKey: "refund-1001" }))
    assert.instanceOf(error, ReplayMismatchError)
    assert.deepStrictEqual(error.fields, ["amount"])
    assert.deepStrictEqual<unknown>(error.data, stored)
    assert.strictEqual(error.idempotencyKey, "refund-1001")
    assert.strictEqual(error.attempts, 1)
    assert.match(
      error.message,
      /^payouts\.create: the idempotencyKey was used before with other params \(amount\): use another$/
    )
    assert.strictEqual(stub.requests.length, 1, "it is not retried")
    const options = { idempotencyKey: "refund-1001", onReplayMismatch: "return" } as const
    assert.deepStrictEqual(await payouts.create(somePayout, options), stored)
  })

  it("is detected by every field that identifies the amount, the reference or a party", async () => {
    const charge = (fields: Partial<CreateCharge>): CreateCharge => ({ ...someCharge, reference: "order-1", ...fields })
    const stored = chargeOf({ reference: "order-1" })
    const { document, ...nobody } = someCharge.customer
    for (const [sent, fields] of [
      [charge({}), []],
      [charge({ customer: { ...nobody, document: "529 982 247 25" } }), []],
      [charge({ amount: 1 }), ["amount"]],
      [charge({ reference: undefined }), ["reference"]],
      [charge({ reference: "order-2" }), ["reference"]],
      [charge({ reference: "ORDER-1" }), ["reference"]],
      [charge({ amount: 1, customer: { ...nobody, document: "111.444.777-35" } }), ["amount", "customer.document"]]
    ] as const) {
      assert.deepStrictEqual(replayDifferences(sent, stored), fields, JSON.stringify(sent))
      // Fields that the response lacks are not compared.
      assert.deepStrictEqual(replayDifferences(sent, { object: "charge", id: "1" }), [])
    }
    assert.strictEqual(document, "529.982.247-25")
    const paid = payoutOf({
      recipient: { name: null, document: "12ABC34501DE35", pix_key_type: "cnpj", pix_key: "12ABC34501DE35" }
    })
    const payout = { amount: 500, pix_key_type: "cnpj", pix_key: "12.abc.345/01de-35" }
    for (const [sent, fields] of [
      [payout, []],
      [{ ...payout, recipient_document: null, reference: null }, []],
      [{ ...payout, recipient_document: "12.abc.345/01DE-35" }, []],
      [{ ...payout, recipient_document: "52998224725" }, ["recipient_document"]],
      [{ ...payout, pix_key: "11222333000181" }, ["pix_key"]],
      [{ ...payout, pix_key_type: "email", pix_key: "ana@example.com" }, ["pix_key_type", "pix_key"]]
    ] as const) {
      assert.deepStrictEqual(replayDifferences(sent, paid), fields, JSON.stringify(sent))
    }
    const without = payoutOf({})
    assert.deepStrictEqual(
      replayDifferences({ ...somePayout, amount: 500, recipient_document: "52998224725" }, without),
      ["recipient_document"]
    )
  })

  it("is not reported if documents and Pix keys differ only in spelling, as the domain normalises them", () => {
    for (const { input } of vectors.documents.valid) {
      const document = parseDocument(input)?.value ?? assert.fail(input)
      const stored = chargeOf({ customer: { name: "", email: "", document } })
      assert.deepStrictEqual(replayDifferences({ ...someCharge, customer: { document: input } }, stored), [], input)
    }
    for (const [type, key] of [
      ["cpf", "529.982.247-25"],
      ["cnpj", "12.abc.345/01de-35"],
      ["email", "Ana@Example.com"],
      ["phone", "+5511999998888"],
      ["random", "01890A5D-AC96-774B-BCCE-B302099A8057"]
    ] as const) {
      const parsed = parsePixKey(type, key)
      if (parsed._tag !== "Valid") return assert.fail(key)
      const recipient = { name: null, document: null, pix_key_type: type, pix_key: parsed.value }
      const sent = { amount: 500, pix_key_type: type, pix_key: key }
      assert.deepStrictEqual(replayDifferences(sent, payoutOf({ recipient })), [], key)
      assert.deepStrictEqual(replayDifferences({ ...sent, pix_key: `1${key}` }, payoutOf({ recipient })), ["pix_key"])
    }
  })
})

describe("CHG-3, IDEM-6: a charge that the acquirer rejected", () => {
  const failed = chargeOf({
    status: "failed",
    failure_reason: "The payer is blocked.",
    pix: { br_code: null, end_to_end_id: null }
  })

  /** Drops the first response, then answers with a replay. */
  const startLossyService = (data: Charge) =>
    startStub((response, _, count) => (count === 1 ? void response.destroy() : json(response, 201, data, replay)))

  it("rejects the call with ACQUIRER_REJECTED after the client's own retry", async () => {
    await using direct = await startStub((response) =>
      json(response, 422, { code: "ACQUIRER_REJECTED", message: "The payer is blocked.", charge_id: failed.id })
    )
    await using flaky = await startLossyService(failed)
    for (const { url } of [direct, flaky]) {
      const error = await failureOf(clientOf(url).charges.create(someCharge))
      if (!isCode(error, "ACQUIRER_REJECTED")) return assert.fail(String(error))
      assert.strictEqual(error.charge_id, failed.id)
      assert.strictEqual(error.status, 422)
      assert.strictEqual(error.name, "InvalidRequestError")
      assert.include(error.message, "ACQUIRER_REJECTED: The payer is blocked. (422")
    }
    assert.strictEqual(flaky.requests.length, 2)
  })

  it("is returned as a failed charge if the application repeats the key", async () => {
    await using stub = await startStub((response) => json(response, 201, failed, replay))
    assert.deepStrictEqual(await clientOf(stub.url).charges.create(someCharge), failed)
    // After a 429 nothing was processed: the replayed charge existed before this call.
    await using limited = await startStub((response, _, count) =>
      count === 1 ? json(response, 429, { code: "RATE_LIMITED", message: "" }) : json(response, 201, failed, replay)
    )
    assert.deepStrictEqual(await clientOf(limited.url).charges.create(someCharge), failed)
  })

  it("is returned as it is if it failed later, or did not fail", async () => {
    for (const data of [chargeOf({ status: "failed" }), chargeOf({ status: "paid" })]) {
      await using flaky = await startLossyService(data)
      assert.deepStrictEqual(await clientOf(flaky.url).charges.create(someCharge), data)
    }
    await using flaky = await startLossyService(chargeOf({ ...failed, amount: 1 }))
    assert.instanceOf(await failureOf(clientOf(flaky.url).charges.create(someCharge)), ReplayMismatchError)
    await using another = await startLossyService(failed)
    assert.instanceOf(await failureOf(clientOf(another.url).charges.create(someCharge)), ApiError)
  })
})
