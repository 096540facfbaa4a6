import { assert, describe, it } from "@effect/vitest"
import { PaymentsApi } from "../src/PaymentsApi.ts"
import { Authentication, RequestErrors } from "../src/Security.ts"
import { declaredIn } from "./support/Declared.ts"

const paymentsEndpoints = declaredIn(PaymentsApi)

/** API-13, KEY-6, IDEM-1. */
const contract = `
| POST | \`/v1/charges\` | \`charge:write\` | required |
| GET | \`/v1/charges/{id}\` | \`charge:read\` | no |
| GET | \`/v1/charges\` | \`charge:read\` | no |
| POST | \`/v1/payouts\` | \`payout:write\` | required |
| GET | \`/v1/payouts/{id}\` | \`payout:read\` | no |
| GET | \`/v1/payouts\` | \`payout:read\` | no |
| GET | \`/v1/balance\` | \`balance:read\` | no |
| GET | \`/v1/account\` | \`account:read\` | no |
| GET | \`/v1/webhooks\` | \`webhook:read\` | no |
| POST | \`/v1/webhooks\` | \`webhook:write\` | no |
| PATCH | \`/v1/webhooks/{id}\` | \`webhook:write\` | no |
| DELETE | \`/v1/webhooks/{id}\` | \`webhook:write\` | no |
| GET | \`/v1/webhooks/events\` | none | no |
`
  .trim()
  .split("\n")
  .map((line) => line.replaceAll("`", "").slice(2, -2).split(" | ").join(" "))

describe("PaymentsApi", () => {
  it("API-13, KEY-6: has the 13 operations of the contract, each with its scope and its idempotency", () => {
    const declared = paymentsEndpoints.map(
      ({ headers, path, scopes, verb }) =>
        `${verb} ${path} ${scopes.length === 0 ? "none" : scopes.join(" ")} ${headers.includes("idempotency-key") ? "required" : "no"}`
    )
    assert.strictEqual(declared.length, 13)
    assert.deepStrictEqual(declared.toSorted(), contract.toSorted())
  })

  it("KEY-1: requires a key for every operation", () => {
    for (const { middleware, name, path } of paymentsEndpoints) {
      assert.isTrue(middleware.has(Authentication) && middleware.has(RequestErrors), `${name} ${path}`)
    }
  })
})
