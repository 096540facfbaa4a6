import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import { LimitChanges, Limits, loosenedLimits, noLimits, withChanges } from "../src/Limits.ts"

const isLimits = Schema.is(Limits)
const isChange = Schema.is(LimitChanges)

const email = "ana@example.com"
const cpf = "52998224725"
const phone = "+5511987654321"

/** Different texts that are keys. */
const keys = (count: number): ReadonlyArray<string> => Array.from({ length: count }, (_, at) => `a${at}@example.com`)

describe("OPR-330: limits", () => {
  it("are all there, each a number or null", () => {
    assert.isTrue(isLimits(noLimits))
    for (const name of Object.keys(noLimits)) {
      const { [name]: _left, ...others } = noLimits as unknown as Record<string, unknown>
      assert.isFalse(isLimits(others), name)
    }
  })

  it("of a change may be absent", () => {
    assert.isTrue(isChange({}))
    assert.isTrue(isChange({ payouts_per_day: null }))
    assert.isFalse(isChange({ payouts_per_day: undefined }))
  })

  it.each([
    ["requests_per_minute", 1, 1_000_000],
    ["payouts_per_hour", 0, 1_000_000],
    ["payouts_per_day", 0, 1_000_000],
    ["payout_cents_per_day", 0, 999_999_999_999]
  ] as const)("%s is a whole number from %d to %d", (name, minimum, maximum) => {
    for (const value of [minimum, minimum + 1, maximum, null]) assert.isTrue(isChange({ [name]: value }), String(value))
    for (const value of [minimum - 1, maximum + 1, minimum + 0.5, Number.NaN, "5"]) {
      assert.isFalse(isChange({ [name]: value }), String(value))
    }
  })

  it("OPR-334: recipients are 1 to 1000 Pix keys", () => {
    for (const recipients of [null, [email], [cpf, phone, "529.982.247-25"], keys(1000)]) {
      assert.isTrue(isChange({ recipients }))
    }
    for (const recipients of [[], keys(1001), ["ana"], [email, ""], ["52998224726"], [null], email]) {
      assert.isFalse(isChange({ recipients }))
    }
  })

  it("OPR-334: the document of the interface has recipients as text of any form", () => {
    const { recipients } = Schema.toJsonSchemaDocument(LimitChanges).definitions["LimitChanges"]!["properties"] as {
      readonly recipients: { readonly anyOf: ReadonlyArray<object> }
    }
    assert.deepInclude(recipients.anyOf[0], { items: { type: "string" }, maxItems: 1000 })
  })
})

describe("OPR-330: a change", () => {
  const before: Limits = {
    requests_per_minute: 60,
    payouts_per_hour: 5,
    payouts_per_day: 20,
    payout_cents_per_day: 100_000,
    recipients: [email]
  }

  it("keeps what it does not name", () => {
    assert.deepStrictEqual(withChanges(before, {}), before)
    assert.deepStrictEqual(withChanges(before, { payouts_per_day: 7 }), { ...before, payouts_per_day: 7 })
    assert.deepStrictEqual(withChanges(noLimits, {}), noLimits)
  })

  it("removes a limit with null", () => {
    assert.deepStrictEqual(withChanges(before, { payouts_per_hour: null }), { ...before, payouts_per_hour: null })
    assert.deepStrictEqual(withChanges(before, { recipients: null }), { ...before, recipients: null })
  })

  it("OPR-334: has recipients in the form of DICT, each once, in one order", () => {
    const sent = ["529.982.247-25", "Ana@Example.com", phone, cpf, email]
    const { recipients } = withChanges(before, { recipients: sent })
    assert.deepStrictEqual(recipients, [phone, cpf, email])
    assert.deepStrictEqual(withChanges(before, { recipients: sent.toReversed() }).recipients, recipients)
    assert.strictEqual(sent.length, 5)
  })

  it("keeps a recipient that is no key any more", () => {
    assert.deepStrictEqual(withChanges({ ...before, recipients: ["no key"] }, {}).recipients, ["no key"])
  })
})

describe("OPR-331: a limit is loosened", () => {
  const numbers = ["requests_per_minute", "payouts_per_hour", "payouts_per_day", "payout_cents_per_day"] as const
  const loosened = (name: keyof Limits, from: unknown, to: unknown) =>
    loosenedLimits({ ...noLimits, [name]: from }, { ...noLimits, [name]: to })

  it.each(numbers)("that is raised or removed, and not one that is lowered or new: %s", (name) => {
    for (const [from, to] of [
      [5, 6],
      [0, 1],
      [5, null],
      [0, null]
    ] as const)
      assert.deepStrictEqual(loosened(name, from, to), [name], `${from} to ${to}`)
    for (const [from, to] of [
      [5, 5],
      [5, 4],
      [1, 0],
      [null, 5],
      [null, null]
    ] as const)
      assert.deepStrictEqual(loosened(name, from, to), [], `${from} to ${to}`)
  })

  it("that has a new recipient, or that is removed", () => {
    for (const [from, to] of [
      [[email], [email, cpf]],
      [[email], [cpf]],
      [
        [email, cpf],
        [email, phone]
      ],
      [[email], null]
    ] as const)
      assert.deepStrictEqual(loosened("recipients", from, to), ["recipients"], `${from} to ${to}`)
    for (const [from, to] of [
      [[email], [email]],
      [[email, cpf], [cpf]],
      [
        [email, cpf],
        [cpf, email]
      ],
      [null, [email]],
      [null, null]
    ] as const)
      assert.deepStrictEqual(loosened("recipients", from, to), [], `${from} to ${to}`)
  })

  it("beside others that are not", () => {
    const before = { ...noLimits, requests_per_minute: 10, payouts_per_day: 10, payout_cents_per_day: 10 }
    const after = { ...noLimits, requests_per_minute: 11, payouts_per_day: 9, recipients: [email] }
    assert.sameMembers([...loosenedLimits(before, after)], ["requests_per_minute", "payout_cents_per_day"])
  })
})
