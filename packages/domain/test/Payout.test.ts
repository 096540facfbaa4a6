import { assert, describe, it } from "@effect/vitest"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import {
  BankAccount,
  decodeCreatePayout,
  initialPayout,
  type PayoutReport,
  PayoutStatus,
  payoutTransition,
  payoutTransitions,
  recipientKeyOf
} from "../src/Payout.ts"

describe("the transitions of a payout", () => {
  it("PAY-4: are those of the contract", () => {
    const moves = payoutTransitions.flatMap(({ from, to }) => from.map((state) => `${state} to ${to}`))
    assert.sameMembers(moves, [
      "pending to processing",
      "pending to canceled",
      "processing to completed",
      "processing to failed"
    ])
  })

  it("PAY-4: a report changes the states that have a transition for it", () => {
    const changes = (report: PayoutReport) =>
      PayoutStatus.literals.flatMap((from) => {
        const to = payoutTransition(report, from)?.to
        return to === undefined ? [] : [`${from} to ${to}`]
      })
    assert.deepStrictEqual(changes("approved"), ["pending to processing"])
    assert.deepStrictEqual(changes("canceled"), ["pending to canceled"])
    assert.deepStrictEqual(changes("completed"), ["processing to completed"])
    assert.deepStrictEqual(changes("failed"), ["processing to failed"])
  })

  it("PAY-4: leave a finished payout as it is", () => {
    for (const { report } of payoutTransitions) {
      for (const status of ["completed", "failed", "canceled"] as const) {
        assert.isUndefined(payoutTransition(report, status))
      }
    }
  })

  it("PAY-3, EVT-12: begin with `processing` in automatic mode, else with `pending`", () => {
    assert.deepStrictEqual(initialPayout(true), { status: "processing", events: ["created", "processing"] })
    assert.deepStrictEqual(initialPayout(false), { status: "pending", events: ["created"] })
    assert.deepStrictEqual(payoutTransition("approved", "pending")?.events, ["processing"])
  })
})

it("PAY-23: a payout has five states", () => {
  assert.sameMembers([...PayoutStatus.literals], ["pending", "processing", "completed", "failed", "canceled"])
})

describe("The body of a payout", () => {
  const some = { amount: 1000, pix_key_type: "email", pix_key: "ana@example.com" }

  /** The code and the details of a refusal. */
  const refused = (more: object) => {
    const decoded = decodeCreatePayout({ ...some, ...more })
    return Result.isSuccess(decoded) ? "accepted" : [decoded.failure.code, decoded.failure.details]
  }

  it.each([
    ["cpf", "529.982.247-25"],
    ["cnpj", "12ABC34501DE35"],
    ["email", "Ana@Example.com"],
    ["phone", "+5511987654321"],
    ["random", "123e4567-e89b-42d3-a456-426614174000"]
  ] as const)("PAY-10: takes a key of its type: %s", (pix_key_type, pix_key) => {
    const body = { ...some, pix_key_type, pix_key }
    assert.deepStrictEqual(decodeCreatePayout(body), Result.succeed(body))
  })

  it("PAY-11: a key without the shape of its type is `VALIDATION_ERROR`", () => {
    for (const [pix_key_type, pix_key] of [
      ["cpf", "ana@example.com"],
      ["cpf", "11222333000181"],
      ["email", "ana"],
      ["phone", "11987654321"],
      ["random", "1"]
    ]) {
      assert.deepStrictEqual(refused({ pix_key_type, pix_key }), ["VALIDATION_ERROR", ["pix_key"]], pix_key)
    }
  })

  it("PAY-11: a key with wrong check digits is `INVALID_DOCUMENT`", () => {
    for (const [pix_key_type, pix_key] of [
      ["cpf", "529.982.247-26"],
      ["cnpj", "12ABC34501DE45"]
    ]) {
      assert.deepStrictEqual(refused({ pix_key_type, pix_key }), ["INVALID_DOCUMENT", ["pix_key"]], pix_key)
    }
  })

  it("PAY-13: wrong check digits of key and recipient are both listed", () => {
    const wrong = "52998224726"
    assert.deepStrictEqual(refused({ pix_key_type: "cpf", pix_key: wrong, recipient_document: wrong }), [
      "INVALID_DOCUMENT",
      ["recipient_document", "pix_key"]
    ])
  })

  it("PAY-10: a key of no type, or that is no text, is `VALIDATION_ERROR`", () => {
    assert.deepStrictEqual(refused({ pix_key_type: "evp" }), ["VALIDATION_ERROR", ["pix_key_type"]])
    assert.deepStrictEqual(refused({ pix_key: 7 }), ["VALIDATION_ERROR", ["pix_key"]])
    assert.deepStrictEqual(refused({ pix_key: "ana@example.com\u0000" }), ["VALIDATION_ERROR", ["pix_key"]])
    assert.deepStrictEqual(refused({ pix_key: undefined }), ["VALIDATION_ERROR", ["pix_key"]])
  })

  it("PAY-8: the amount is 500 to 999999999999", () => {
    for (const amount of [500, 999_999_999_999]) assert.strictEqual(refused({ amount }), "accepted")
    for (const amount of [499, 0, -500])
      assert.deepStrictEqual(refused({ amount }), ["AMOUNT_BELOW_MINIMUM", ["amount"]])
    for (const amount of [1_000_000_000_000, 500.5, "500"]) {
      assert.deepStrictEqual(refused({ amount }), ["VALIDATION_ERROR", ["amount"]])
    }
  })

  it("PAY-17: the method is `pix` or absent", () => {
    for (const method of ["pix", null]) assert.strictEqual(refused({ method }), "accepted")
    assert.deepStrictEqual(refused({ method: "ted" }), ["METHOD_NOT_SUPPORTED", ["method"]])
  })
})

describe("PAY-21: the bank account of a TED", () => {
  const some = { bank: "341", branch: "0001", account: "12345-6", account_type: "checking" }
  const isAccount = Schema.is(BankAccount)

  it("has a bank by its number or its ISPB, a branch and an account", () => {
    for (const more of [
      {},
      { bank: "60701190" },
      { bank: "A0701190" },
      { branch: "1" },
      { branch: "12345-X" },
      { account: "1X" },
      { account: "123456789012345678-9" }
    ]) {
      assert.isTrue(isAccount({ ...some, ...more }), JSON.stringify(more))
    }
    for (const more of [
      { bank: "34" },
      { bank: "3411" },
      { bank: "a0701190" },
      { branch: "" },
      { branch: "1234567" },
      { branch: "1-x" },
      { account: "X" },
      { account: "12.345" },
      { account: "1234567890123456789-0" },
      { account_type: "other" }
    ]) {
      assert.isFalse(isAccount({ ...some, ...more }), JSON.stringify(more))
    }
  })

  const keyOf = (bank: string | null, branch: string | null, account: string | null) =>
    recipientKeyOf({ pix_key: null, bank, branch, account })

  it("is one recipient however it is written", () => {
    const key = keyOf("001", "0012-3", "00100-X")
    for (const same of [keyOf("1", "123", "100X"), keyOf("001", "00123", "0100-X"), keyOf("001", "12-3", "0.100-X")]) {
      assert.strictEqual(same, key)
    }
  })

  it("is another recipient in another bank, branch or account", () => {
    const all = [
      keyOf("001", "0012-3", "00100-X"),
      keyOf("002", "0012-3", "00100-X"),
      keyOf("001", "0012-4", "00100-X"),
      keyOf("001", "0012-3", "00100-0"),
      keyOf("001", "0012-3", "0010-X"),
      keyOf("001", "102-3", "00100-X"),
      keyOf("001", null, "00100-X"),
      keyOf(null, "0012-3", "00100-X"),
      keyOf("001", "0012-3", null),
      keyOf("001", "1", "23100-X"),
      keyOf("A0000000", "0012-3", "00100-X")
    ]
    assert.strictEqual(new Set(all).size, all.length)
  })

  it("does not count where there is a Pix key", () => {
    const toKey = { pix_key: "ana@example.com", bank: null, branch: null, account: null }
    assert.strictEqual(recipientKeyOf(toKey), recipientKeyOf({ ...toKey, bank: "001", branch: "1", account: "2" }))
    assert.notStrictEqual(recipientKeyOf(toKey), recipientKeyOf({ ...toKey, pix_key: "bia@example.com" }))
  })
})
