/** Exceptions for operators who are limited to accounts. */
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { assertRefused, created } from "../../support/ChargeRequests.ts"
import { type Exception, exceptionOf, newConnection, notified, paymentOf } from "../../support/Exceptions.ts"
import { assertLedgerHolds, ledgerBalancesOf } from "../../support/Money.ts"
import { makeOperator } from "../../support/Operators.ts"
import { type Call, TestService } from "../../support/TestService.ts"

const listed = (call: Call, filter = "") =>
  Effect.map(
    call<{ data: ReadonlyArray<Exception> }>("GET", `/operator/v1/exceptions?limit=100${filter}`),
    ({ body, status, text }) => {
      assert.strictEqual(status, 200, text)
      return body.data.map(({ id }) => id)
    }
  )

layer(TestService.layer({ settings: { acquirerTimeoutMs: 5000 } }), { excludeTestServices: true })(
  "Exceptions for an operator with one account",
  (it) => {
    const world = Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const callers = [yield* makeCaller(), yield* makeCaller()] as const
      const charges = [
        yield* created(callers[0].key, { amount: 1000 }),
        yield* created(callers[1].key, { amount: 1000 })
      ]
      const raise = Effect.fnUntraced(function* (payment: ReturnType<typeof paymentOf>) {
        assert.strictEqual(yield* notified(payment), "exception")
        return (yield* exceptionOf(payment.endToEndId)).id
      })
      const wrong = [
        yield* raise(paymentOf(charges[0]!.id, { amount: 700 })),
        yield* raise(paymentOf(charges[1]!.id, { amount: 800 }))
      ] as const
      return { callers, charges, raise, wrong }
    })

    it.effect("OPR-39, OPR-80: sees and resolves those of the account, by role, and no others", () =>
      Effect.gen(function* () {
        const { callers, charges, wrong } = yield* world
        const { call } = yield* makeOperator("operator", [callers[0].accountId])
        const viewer = yield* makeOperator("viewer", [callers[0].accountId])
        const filters = ["", "&status=open", "&kind=wrong_amount", "&kind=wrong_amount&status=open"]
        for (const filter of filters) assert.deepStrictEqual(yield* listed(call, filter), [wrong[0]], filter)
        assert.deepStrictEqual(yield* listed(call, "&status=resolved"), [])
        assert.deepStrictEqual(yield* listed(call, "&kind=late_payment"), [])
        const resolve = (id: string, by: Call, body: unknown) =>
          by("POST", `/operator/v1/exceptions/${id}/resolve`, { body })
        const accept = { action: "accept" }
        assertRefused(yield* call("GET", `/operator/v1/exceptions/${wrong[1]}`), "NOT_FOUND")
        assertRefused(yield* resolve(wrong[1], call, accept), "NOT_FOUND")
        assertRefused(yield* resolve(wrong[0], viewer.call, accept), "FORBIDDEN")
        assert.strictEqual((yield* viewer.call("GET", `/operator/v1/exceptions/${wrong[0]}`)).status, 200)
        // The money of an exception goes to no account that the operator does not see.
        const stolen = { ...accept, charge_id: charges[1]!.id }
        assertRefused(yield* resolve(wrong[0], call, stolen), "VALIDATION_ERROR", ["charge_id"])
        assert.deepInclude(yield* ledgerBalancesOf(callers[1].accountId), { available: 0 })
        const accepted = yield* resolve(wrong[0], call, accept)
        assert.strictEqual(accepted.status, 200, accepted.text)
        assert.deepInclude(yield* ledgerBalancesOf(callers[0].accountId), { available: 700 })
        yield* assertLedgerHolds
      })
    )

    it.effect("OPR-39, OPR-80: one without a charge is of the account that alone uses its connection", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient
        const { callers, raise } = yield* world
        const [own, shared] = [yield* newConnection(), yield* newConnection()]
        const { makeCaller } = yield* TestService
        const third = yield* makeCaller()
        const use = (accountId: string, connectionId: string) =>
          sql`UPDATE accounts SET connection_id = ${connectionId}::uuid WHERE id = ${accountId}::uuid`
        yield* use(callers[0].accountId, own)
        yield* use(callers[1].accountId, shared)
        yield* use(third.accountId, shared)
        const arrive = (connectionId: string) => raise({ ...paymentOf(""), amount: 500, connectionId })
        const ofOwn = yield* arrive(own)
        const ofShared = yield* arrive(shared)
        const { call } = yield* makeOperator("operator", [callers[0].accountId])
        const other = yield* makeOperator("operator", [callers[1].accountId])
        assert.include(yield* listed(call), ofOwn)
        for (const by of [call, other.call]) {
          assert.notInclude(yield* listed(by), ofShared)
          assertRefused(yield* by("GET", `/operator/v1/exceptions/${ofShared}`), "NOT_FOUND")
        }
        assertRefused(yield* other.call("GET", `/operator/v1/exceptions/${ofOwn}`), "NOT_FOUND")
        // The default connection is that of every account without one.
        yield* sql`UPDATE acquirer_connections SET is_default = true WHERE id = ${own}::uuid`
        assert.notInclude(yield* listed(call), yield* arrive(own))
        yield* sql`UPDATE acquirer_connections SET is_default = false WHERE id = ${own}::uuid`
      })
    )
  }
)
