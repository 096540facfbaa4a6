/** Which operator tokens a start refuses. The start itself: startup/Start.test.ts. */
import { assert, describe, it } from "@effect/vitest"
import { randomBytes, randomUUID } from "node:crypto"
import { weaknessOf } from "../../src/base/TokenStrength.ts"
import { OPERATOR_TOKEN } from "../support/Load.ts"

describe("an operator token", () => {
  it("from a generator is accepted", () => {
    for (let i = 0; i < 2000; i++) {
      for (const token of [
        randomBytes(24).toString("base64url"),
        randomBytes(32).toString("base64"),
        randomBytes(16).toString("hex"),
        randomUUID()
      ]) {
        assert.isUndefined(weaknessOf(token), token)
      }
    }
    assert.isUndefined(weaknessOf(OPERATOR_TOKEN), "a sentence of several words is long enough")
  })

  it("OPR-4: that is short, repeated, a run or a placeholder is refused with the reason", () => {
    const refused: ReadonlyArray<readonly [string, RegExp]> = [
      ["x", /at least 20 characters/],
      [randomBytes(9).toString("base64"), /at least 20 characters/],
      ["a".repeat(64), /too easy to guess/],
      ["admin".repeat(8), /too easy to guess/],
      ["password1234password1234", /too easy to guess/],
      ["abcdefghijklmnopqrstuvwxyz0123456789", /too easy to guess/],
      ["98765432109876543210987654321", /too easy to guess/],
      ["2026-11-21-2026-11-21-2026", /too easy to guess/],
      ["change-me-before-going-live", /placeholder/],
      ["<your-operator-token-goes-here>", /placeholder/],
      [` ${randomUUID()}`, /printable ASCII/],
      [`${randomUUID()}\n`, /printable ASCII/],
      ["açaí-com-granola-e-banana-prata-7", /printable ASCII/]
    ]
    for (const [token, reason] of refused) {
      const weakness = weaknessOf(token) ?? "accepted"
      assert.match(weakness, reason, token)
      assert.notInclude(weakness, token.slice(0, 12), "the token itself is not in the reason")
    }
  })
})
