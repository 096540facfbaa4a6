import { assert, describe, it } from "@effect/vitest"
import { includesRole } from "@pix-payments/domain/Operator"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { decodeCreateAccount, decodeUpdateAccount } from "../src/operator/Accounts.ts"
import { chargesQuery, decodeCreateCheckoutCharge } from "../src/operator/Charges.ts"
import { deliveriesQuery } from "../src/operator/Deliveries.ts"
import { decodeTextBody } from "../src/operator/Disputes.ts"
import { decodeCreateApiKey } from "../src/operator/Keys.ts"
import { requestsQuery } from "../src/operator/Logs.ts"
import { optionalIdempotencyKey } from "../src/operator/OptionalIdempotencyKey.ts"
import { decodeCreateDashboardPayout } from "../src/operator/Payouts.ts"
import { decodeSimulatePay } from "../src/operator/Simulator.ts"
import { OperatorApi } from "../src/OperatorApi.ts"
import { Authentication, OperatorAuthentication, RequestErrors } from "../src/Security.ts"
import { declaredIn } from "./support/Declared.ts"

const operatorEndpoints = declaredIn(OperatorApi)

/** All but the sign-ins, which give a session. */
const guarded = operatorEndpoints.filter(({ group }) => group !== "signIn")

/** The operations of the operator interface, by group. */
const operatorContract = {
  signIn: [
    "POST /session create",
    "POST /session/token exchange",
    "GET /session/oidc startOidc",
    "GET /session/oidc/callback finishOidc"
  ],
  session: ["GET /session retrieve", "DELETE /session end", "POST /session/link link", "POST /session/code code"],
  sessions: ["GET /sessions list", "POST /sessions/{id}/end end"],
  search: ["GET /search find"],
  payers: ["POST /payers/export export", "POST /payers/anonymise anonymise"],
  installation: [
    "GET /installation retrieve",
    "PATCH /installation update",
    "POST /installation/confirm-outward confirmOutward"
  ],
  operators: [
    "POST /operators create",
    "GET /operators list",
    "GET /operators/{id} retrieve",
    "PATCH /operators/{id} update"
  ],
  alertChannels: [
    "POST /alert-channels create",
    "GET /alert-channels list",
    "GET /alert-channels/{id} retrieve",
    "PATCH /alert-channels/{id} update",
    "DELETE /alert-channels/{id} delete",
    "POST /alert-channels/{id}/test test"
  ],
  operatorTokens: [
    "POST /operators/{id}/tokens create",
    "GET /operators/{id}/tokens list",
    "POST /tokens/{id}/revoke revoke"
  ],
  accounts: [
    "POST /accounts create",
    "GET /accounts list",
    "GET /accounts/{id} retrieve",
    "PATCH /accounts/{id} update",
    "POST /accounts/{id}/move move"
  ],
  applications: [
    "POST /accounts/{id}/applications create",
    "GET /accounts/{id}/applications list",
    "GET /applications/{id} retrieve",
    "PATCH /applications/{id} update"
  ],
  keys: [
    "POST /applications/{id}/keys create",
    "GET /applications/{id}/keys list",
    "GET /keys/{id} retrieve",
    "PATCH /keys/{id} update",
    "POST /keys/{id}/revoke revoke"
  ],
  connections: ["GET /connections list", "GET /connections/{id} retrieve"],
  connectionActions: [
    "POST /connections create",
    "PATCH /connections/{id} update",
    "POST /connections/{id}/check check",
    "POST /connections/{id}/register-webhook registerWebhook"
  ],
  charges: [
    "GET /charges list",
    "GET /charges/summary summary",
    "GET /charges/export export",
    "GET /charges/{id} retrieve"
  ],
  chargeActions: ["POST /charges/{id}/cancel cancel", "POST /charges/{id}/refund refund"],
  checkoutCharges: ["POST /applications/{id}/checkout-charges create"],
  refunds: [
    "GET /refunds list",
    "GET /refunds/summary summary",
    "GET /refunds/export export",
    "GET /refunds/{id} retrieve"
  ],
  refundActions: ["POST /refunds/{id}/settle settle"],
  receipts: [
    "GET /charges/{id}/receipt charge",
    "GET /payouts/{id}/receipt payout",
    "GET /refunds/{id}/receipt refund"
  ],
  payouts: [
    "GET /payouts list",
    "GET /payouts/summary summary",
    "GET /payouts/export export",
    "GET /payouts/{id} retrieve"
  ],
  payoutActions: [
    "POST /accounts/{id}/payouts create",
    "POST /payouts/{id}/approve approve",
    "POST /payouts/{id}/cancel cancel",
    "POST /payouts/{id}/settle settle"
  ],
  approvals: ["GET /approvals list", "GET /approvals/{id} retrieve"],
  approvalActions: ["POST /approvals/{id}/approve approve", "POST /approvals/{id}/reject reject"],
  events: ["GET /events/stream stream", "GET /events list"],
  disputes: [
    "GET /disputes list",
    "GET /disputes/summary summary",
    "GET /disputes/export export",
    "GET /disputes/{id} retrieve"
  ],
  exceptions: ["GET /exceptions list", "GET /exceptions/{id} retrieve"],
  exceptionActions: [
    "POST /exceptions/{id}/resolve resolve",
    "POST /exceptions/{id}/refund refund",
    "POST /exceptions/{id}/settle settle"
  ],
  disputeFiles: ["GET /dispute-files/{id} retrieve"],
  disputeActions: ["POST /disputes/{id}/defense defense", "POST /disputes/{id}/messages message"],
  bankStatements: ["POST /bank-statements import", "GET /bank-statements list", "GET /bank-statements/{id} retrieve"],
  reconciliations: [
    "POST /reconciliations request",
    "GET /reconciliations list",
    "GET /reconciliations/{id} retrieve",
    "GET /reconciliations/{id}/lines lines",
    "POST /reconciliations/{id}/explain explain"
  ],
  deliveries: [
    "GET /deliveries list",
    "GET /deliveries/summary summary",
    "GET /deliveries/export export",
    "GET /deliveries/{id} retrieve"
  ],
  deliveryActions: ["POST /deliveries/{id}/resend resend", "POST /deliveries/resend resendFailed"],
  webhookEndpoints: ["GET /webhooks listAll", "GET /applications/{id}/webhooks list", "GET /webhooks/{id} retrieve"],
  webhookEndpointActions: ["PATCH /webhooks/{id} update", "POST /webhooks/{id}/test test"],
  outboxFailures: ["GET /outbox-failures list"],
  outboxFailureActions: ["POST /outbox-failures/{id}/retry retry"],
  requests: ["GET /requests list", "GET /requests/summary summary", "GET /requests/export export"],
  audit: ["GET /audit list", "GET /audit/{id} retrieve", "GET /audit/export export"],
  timelines: ["GET /charges/{id}/timeline charge", "GET /payouts/{id}/timeline payout"],
  accountBooks: [
    "GET /accounts/{id}/transactions transactions",
    "GET /accounts/{id}/closes closes",
    "GET /accounts/{id}/statement statement"
  ],
  connectionBooks: [
    "GET /connections/{id}/transactions transactions",
    "GET /connections/{id}/closes closes",
    "GET /connections/{id}/statement statement"
  ],
  closes: ["GET /closes/overdue overdue", "GET /closes/{month}/package package"],
  adjustments: ["POST /adjustments create"],
  ledger: ["GET /ledger/entries entries", "GET /ledger/verify verify"],
  stats: ["GET /stats retrieve"],
  waiting: ["GET /waiting retrieve"],
  simulatorCharges: ["POST /simulator/charges/{id}/pay pay", "POST /simulator/charges/{id}/fail fail"],
  simulatorReturns: [
    "POST /simulator/charges/{id}/refund refund",
    "POST /simulator/charges/{id}/infraction infraction",
    "POST /simulator/charges/{id}/return return"
  ],
  simulatorDisputes: [
    "POST /simulator/disputes/{id}/message message",
    "POST /simulator/disputes/{id}/win win",
    "POST /simulator/disputes/{id}/lose lose"
  ],
  simulatorRefunds: ["POST /simulator/refunds/{id}/complete complete", "POST /simulator/refunds/{id}/fail fail"],
  simulatorPayouts: ["POST /simulator/payouts/{id}/complete complete", "POST /simulator/payouts/{id}/fail fail"]
}

describe("OperatorApi", () => {
  it("has these operations, in their groups", () => {
    const groups = Object.groupBy(operatorEndpoints, ({ group }) => group)
    const declared = Object.entries(groups).map(([group, endpoints = []]) => [
      group,
      endpoints.map(({ name, path, verb }) => `${verb} ${path.replace(/^\/operator\/v1/, "")} ${name}`)
    ])
    assert.deepStrictEqual(Object.fromEntries(declared), operatorContract)
    assert.isTrue(operatorEndpoints.every(({ path }) => path.startsWith("/operator/v1/")))
  })

  it("requires a token or session for every operation but the sign-in, and never a key", () => {
    for (const { group, middleware, name } of guarded) {
      assert.isTrue(middleware.has(OperatorAuthentication) && middleware.has(RequestErrors), `${group}.${name}`)
      assert.isFalse(middleware.has(Authentication), `${group}.${name}`)
    }
  })

  it("OPR-38, OPR-39: every operation declares its roles, and how it is limited to accounts", () => {
    for (const { access, group, name, path } of guarded) {
      assert.isDefined(access, `${group}.${name} needs .annotate(Access, …) of operator/Access.ts`)
      assert.isNotEmpty(access.roles, `${group}.${name}`)
      if (access.accounts === "resource") assert.include(path, "{id}", `${group}.${name}`)
    }
  })

  it("OPR-38: an operation that changes something is not for viewers", () => {
    const changing = guarded.filter(({ verb }) => verb !== "GET")
    assert.isAbove(changing.length, 20)
    for (const { access, group, name } of changing) {
      assert.isTrue(access?.accounts === "own" || !includesRole("viewer", access?.roles ?? []), `${group}.${name}`)
    }
  })

  it("OPR-202: accepts an idempotency key for what orders money", () => {
    const keyed = operatorEndpoints.filter(({ headers }) => headers.includes("idempotency-key"))
    assert.deepStrictEqual(
      keyed.map(({ group, name }) => `${group}.${name}`),
      [
        "chargeActions.refund",
        "checkoutCharges.create",
        "refundActions.settle",
        "payoutActions.create",
        "payoutActions.settle",
        "exceptionActions.resolve",
        "exceptionActions.refund",
        "exceptionActions.settle",
        "adjustments.create"
      ]
    )
    const decode = Schema.decodeResult(Schema.Struct(optionalIdempotencyKey))
    const read = (headers: { readonly "idempotency-key"?: string }) =>
      Result.getOrElse(decode(headers), () => "refused")
    assert.deepStrictEqual(read({}), {})
    assert.deepStrictEqual(read({ "idempotency-key": "" }), {})
    assert.deepStrictEqual(read({ "idempotency-key": "order-0001" }), { "idempotency-key": "order-0001" })
    assert.strictEqual(read({ "idempotency-key": "seven77" }), "refused")
    assert.strictEqual(read({ "idempotency-key": "with a space" }), "refused")
  })
})

describe("requests of operators", () => {
  const refusal = <A>(result: Result.Result<A, { readonly code: string; readonly details: unknown }>) =>
    Result.isFailure(result) ? [result.failure.code, result.failure.details] : "accepted"

  const customer = { name: "Ana", email: "ana@example.com", document: "529.982.247-25" }
  const payout = { amount: 500, pix_key_type: "email", pix_key: "ana@example.com" }
  const account = { name: "Loja", legal_name: "Loja Ltda", document: "11.222.333/0001-81", phone: "+5511999999999" }

  it("lets the checkout create boleto and card charges, under the rules of /v1", () => {
    for (const method of ["pix", "boleto", "card", null]) {
      assert.strictEqual(refusal(decodeCreateCheckoutCharge({ amount: 100, customer, method })), "accepted")
    }
    assert.deepStrictEqual(refusal(decodeCreateCheckoutCharge({ amount: 100, customer, method: "ted" })), [
      "VALIDATION_ERROR",
      ["method"]
    ])
    assert.deepStrictEqual(refusal(decodeCreateCheckoutCharge({ amount: 99, customer, method: "card" })), [
      "AMOUNT_BELOW_MINIMUM",
      ["amount"]
    ])
    assert.deepStrictEqual(refusal(decodeCreateCheckoutCharge({ amount: 100 })), [
      "VALIDATION_ERROR",
      ["customer.name", "customer.email", "customer.document"]
    ])
  })

  it("lets operators request TED payouts, under the rules of /v1", () => {
    for (const method of ["pix", null]) {
      assert.strictEqual(refusal(decodeCreateDashboardPayout({ ...payout, method })), "accepted")
    }
    const account = { bank: "341", branch: "0001", account: "12345-6", account_type: "savings" }
    const ted = { amount: 500, method: "ted" }
    assert.strictEqual(refusal(decodeCreateDashboardPayout({ ...ted, ...account })), "accepted")
    assert.strictEqual(refusal(decodeCreateDashboardPayout({ ...ted, ...account, bank: "1234567A" })), "accepted")
    // A Pix key is no destination of a TED.
    assert.deepStrictEqual(refusal(decodeCreateDashboardPayout({ ...payout, method: "ted" })), [
      "VALIDATION_ERROR",
      ["bank", "branch", "account", "account_type"]
    ])
    const wrong = { bank: "1", branch: "x", account: "", account_type: "gold" }
    assert.deepStrictEqual(refusal(decodeCreateDashboardPayout({ ...ted, ...wrong })), [
      "VALIDATION_ERROR",
      ["bank", "branch", "account", "account_type"]
    ])
    assert.deepStrictEqual(refusal(decodeCreateDashboardPayout({ ...payout, method: "card" })), [
      "VALIDATION_ERROR",
      ["method"]
    ])
    assert.deepStrictEqual(refusal(decodeCreateDashboardPayout({ ...payout, amount: 499 })), [
      "AMOUNT_BELOW_MINIMUM",
      ["amount"]
    ])
    assert.deepStrictEqual(refusal(decodeCreateDashboardPayout({ ...payout, pix_key: "nobody" })), [
      "VALIDATION_ERROR",
      ["pix_key"]
    ])
    assert.deepStrictEqual(
      refusal(decodeCreateDashboardPayout({ ...payout, pix_key_type: "cpf", pix_key: "52998224724" })),
      ["INVALID_DOCUMENT", ["pix_key"]]
    )
    assert.deepStrictEqual(refusal(decodeCreateDashboardPayout({ amount: 500, method: "card" })), [
      "VALIDATION_ERROR",
      ["pix_key_type", "pix_key", "method"]
    ])
  })

  it("opens accounts and changes anything but their document", () => {
    const opened = decodeCreateAccount({
      ...account,
      payout_fee: { fixed: 100, basis_points: 50 },
      release_delay: null
    })
    assert.isTrue(Result.isSuccess(opened) && opened.success.document === "11222333000181")
    assert.deepStrictEqual(refusal(decodeCreateAccount({ ...account, document: "11222333000180" })), [
      "INVALID_DOCUMENT",
      ["document"]
    ])
    assert.deepStrictEqual(
      refusal(
        decodeCreateAccount({
          ...account,
          name: "",
          phone: "9".repeat(33),
          status: "asleep",
          payout_fee: { fixed: -1, basis_points: 10_001 },
          default_expires_in: 59
        })
      ),
      [
        "VALIDATION_ERROR",
        ["name", "phone", "status", "payout_fee.fixed", "payout_fee.basis_points", "default_expires_in"]
      ]
    )
    const changed = decodeUpdateAccount({ document: "52998224725", name: "Nova" })
    assert.deepStrictEqual(Result.getOrUndefined(changed), { name: "Nova" })
    assert.deepStrictEqual(refusal(decodeUpdateAccount({ name: null })), ["VALIDATION_ERROR", ["name"]])
  })

  it("creates keys with at least one known scope", () => {
    assert.strictEqual(refusal(decodeCreateApiKey({ name: "k", scopes: ["charge:read"] })), "accepted")
    assert.deepStrictEqual(refusal(decodeCreateApiKey({ name: "k", scopes: [] })), ["VALIDATION_ERROR", ["scopes"]])
    assert.deepStrictEqual(
      refusal(decodeCreateApiKey({ name: "k", scopes: ["charge:read", "charge:delete"], expires_at: "tomorrow" })),
      ["VALIDATION_ERROR", ["scopes.1", "expires_at"]]
    )
  })

  it("limits texts, and accepts a simulated payment without a body", () => {
    assert.strictEqual(refusal(decodeTextBody({ text: "a".repeat(4000) })), "accepted")
    assert.deepStrictEqual(refusal(decodeTextBody({ text: "a".repeat(4001) })), ["VALIDATION_ERROR", ["text"]])
    assert.deepStrictEqual(refusal(decodeTextBody({ text: "" })), ["VALIDATION_ERROR", ["text"]])
    assert.strictEqual(refusal(decodeSimulatePay(undefined)), "accepted")
    assert.deepStrictEqual(refusal(decodeSimulatePay({ end_to_end_id: "E1" })), ["VALIDATION_ERROR", ["end_to_end_id"]])
    assert.deepStrictEqual(refusal(decodeSimulatePay([])), ["VALIDATION_ERROR", undefined])
  })

  it("refuses unknown values of a filter", () => {
    const reads = (schema: Schema.ConstraintDecoder<unknown>, query: unknown) =>
      Result.isSuccess(Schema.decodeUnknownResult(schema)(query))
    const deliveries = Schema.toCodecStringTree(Schema.Struct(deliveriesQuery))
    const charges = Schema.toCodecStringTree(Schema.Struct(chargesQuery))
    const requests = Schema.toCodecStringTree(Schema.Struct(requestsQuery))
    assert.isTrue(reads(deliveries, {}))
    assert.isTrue(reads(deliveries, { status: "failed", event: "charge.pix.paid", limit: "100" }))
    assert.isFalse(reads(deliveries, { status: "lost" }))
    assert.isFalse(reads(deliveries, { event: "charge.paid" }))
    assert.isFalse(reads(deliveries, { limit: "101" }))
    assert.isTrue(reads(charges, { origin: "checkout", reference: "order 1" }))
    assert.isFalse(reads(charges, { origin: "mail" }))
    assert.isFalse(reads(charges, { account_id: "1" }))
    assert.isFalse(reads(charges, { reference: "nul\u0000" }))
    assert.isTrue(reads(requests, { status: "404", route: "POST /v1/charges" }))
    assert.isTrue(reads(requests, { status: "4xx" }))
    assert.isFalse(reads(requests, { status: "40x" }))
    assert.isFalse(reads(requests, { status: "600" }))
  })
})
