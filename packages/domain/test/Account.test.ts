import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import { Account, AccountStatus, OnboardingStatus } from "../src/Account.ts"
import { maskOf } from "../src/PersonalData.ts"

describe("An account", () => {
  const shop = {
    id: "0199a1b2-0000-7000-8000-000000000001",
    object: "account",
    name: "Shop",
    legal_name: "Shop Ltda",
    document: "11222333000181",
    document_type: "cnpj",
    phone: "+5511987654321",
    status: "active",
    onboarding_status: "completed",
    auto_payout_enabled: true,
    created_at: "2026-11-21T12:00:00.000Z"
  }
  const isAccount = Schema.is(Account)

  it("ACC-1: is shown with all of its fields", () => {
    assert.isTrue(isAccount(shop))
    for (const name of Object.keys(shop)) {
      const { [name]: _left, ...others } = shop as Record<string, unknown>
      assert.isFalse(isAccount(others), name)
    }
  })

  it("API-12: may be in a state that a later release adds", () => {
    assert.isTrue(isAccount({ ...shop, status: "later", onboarding_status: "later", document_type: "later" }))
    assert.isFalse(isAccount({ ...shop, status: null }))
  })

  it("ACC-2: is set to the states of the contract alone", () => {
    for (const status of ["active", "inactive"]) assert.isTrue(Schema.is(AccountStatus)(status))
    for (const status of ["pending", "in_review", "completed", "rejected"]) {
      assert.isTrue(Schema.is(OnboardingStatus)(status))
      assert.isFalse(Schema.is(AccountStatus)(status))
    }
    for (const status of ["later", "active"]) assert.isFalse(Schema.is(OnboardingStatus)(status))
  })

  it("OPR-48: has its document and its phone masked", () => {
    assert.deepStrictEqual(maskOf(Account)?.(shop), {
      ...shop,
      document: "***223330*****",
      phone: "+*********4321"
    })
  })
})
