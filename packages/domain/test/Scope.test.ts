import { assert, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import { allScopes, Scope } from "../src/Scope.ts"

it("KEY-6: the scopes are those of the contract", () => {
  const scopes = ["charge:read", "charge:write", "payout:read", "payout:write"]
  const others = ["balance:read", "account:read", "webhook:read", "webhook:write"]
  assert.sameMembers([...allScopes], [...scopes, ...others])
  for (const scope of ["balance:write", "account:write", "charge", "charge:*", "CHARGE:READ", ""]) {
    assert.isFalse(Schema.is(Scope)(scope), scope)
  }
})
