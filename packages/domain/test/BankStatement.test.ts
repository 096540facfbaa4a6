import { assert, it } from "@effect/vitest"
import { harmlessRemarks, statementRemarks } from "../src/BankStatement.ts"

it("OPR-273: nobody has to look at a balance among the lines, or at a line that moves nothing", () => {
  const harmless = statementRemarks.filter((remark) => harmlessRemarks.has(remark))
  assert.strictEqual(harmless.length, harmlessRemarks.size)
  assert.isTrue(harmlessRemarks.has("it is a balance, not a movement"))
  for (const remark of statementRemarks.filter((each) => /cannot be read|repeats|sign/.test(each))) {
    assert.isFalse(harmlessRemarks.has(remark), remark)
  }
})

it("each remark is said in one way", () => {
  assert.strictEqual(new Set(statementRemarks).size, statementRemarks.length)
})
