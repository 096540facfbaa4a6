/** What a provider names a payout: where it names two the same, and where the name is lost. */
import { assert, layer } from "@effect/vitest"
import * as doubles from "@pix-payments/psp-double/http/Profiles"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import { startDouble } from "../../support/Bank.ts"
import { connectTo, fund, operatorCredentials } from "../../support/Connections.ts"
import { operated, paidOut, payoutReaching, retrievePayout, submittedPayout } from "../../support/Money.ts"
import { eventually } from "../../support/Receiver.ts"
import { TestService } from "../../support/TestService.ts"

layer(TestService.layer({ settings: { acquirerTimeoutMs: 10_000 } }), { excludeTestServices: true })(
  "The name that a provider gives a payout",
  (it) => {
    it.effect(
      "PAY-6: is of one payout: an answer with the name of another one is unclear, and the payout is sent again",
      () =>
        Effect.gen(function* () {
          const { double, dueNow, key, sent } = yield* payerAtInter
          const first = yield* paidOut(key)
          yield* submittedPayout(key, first.id)
          const { payouts } = double.provider
          const before = sent()[0]!
          // As a cache that does not look at the idempotency key.
          const honest = payouts.send
          let lies = 0
          Object.assign(payouts, { send: () => Result.succeed((lies++, before)) })
          const second = yield* paidOut(key)
          yield* eventually(
            Effect.sync(() => lies),
            (count) => count > 0
          )
          Object.assign(payouts, { send: honest })
          yield* Effect.promise(() => double.settle())
          yield* eventually(
            Effect.andThen(dueNow, retrievePayout(key, first.id)),
            ({ body }) => body.status === "completed"
          )
          yield* eventually(Effect.andThen(dueNow, Effect.sync(sent)), ({ length }) => length === 2)
          yield* Effect.promise(() => double.settle())
          yield* dueNow
          const completed = yield* payoutReaching(key, second.id, "completed")
          assert.notStrictEqual(completed.end_to_end_id, before.endToEndId)
        })
    )

    it.effect(
      "PAY-6: is lost with the first answer: a bank that refuses the repeated request may have paid the first",
      () =>
        Effect.gen(function* () {
          const { double, dueNow, key, sent } = yield* payerAtInter
          const { payouts } = double.provider
          const honest = payouts.send
          let requests = 0
          const denied: ReturnType<typeof honest> = Result.fail({ _tag: "PayoutDenied" })
          // As a bank that forgets its idempotency keys.
          const send: typeof honest = (id, order) => (requests++ === 0 ? honest(`forgotten ${id}`, order) : denied)
          Object.assign(payouts, { send })
          double.faults.once("dropped-after", { path: /banking/ })
          const { id } = yield* paidOut(key)
          yield* parked(id, dueNow)
          assert.isAbove(requests, 2)
          assert.strictEqual(sent().length, 1)
          assert.strictEqual((yield* retrievePayout(key, id)).body.status, "processing")
        })
    )

    it.effect("PAY-6: is not asked for until a person may settle the payout: nothing is sent after twenty hours", () =>
      Effect.gen(function* () {
        const { double, dueNow, key, sent } = yield* payerAtInter
        const sql = yield* SqlClient
        double.faults.always("dropped-after", { path: /banking/ })
        const { id } = yield* paidOut(key)
        yield* eventually(Effect.sync(sent), ({ length }) => length === 1)
        yield* sql`UPDATE payouts SET first_sent_at = now() - interval '21 hours' WHERE id = ${id}::uuid`
        yield* parked(id, dueNow)
        assert.strictEqual((yield* retrievePayout(key, id)).body.status, "processing")
      })
    )

    it.effect("PAY-6: is not waited for where no request has left: the first one that does is refused for good", () =>
      Effect.gen(function* () {
        const { double, key, sent } = yield* payerAtInter
        double.provider.payouts.describePayee("denied@example.com", { _tag: "Denied" })
        double.faults.once("too-many-requests", { path: /banking/ })
        const { id } = yield* paidOut(key, { pix_key: "denied@example.com" })
        yield* eventually(retrievePayout(key, id), ({ body }) => body.status === "failed")
        assert.lengthOf(sent(), 0)
      })
    )

    it.effect("PAY-6: is kept where a person settled the payout meanwhile, whose money does not move any more", () =>
      Effect.gen(function* () {
        const { double, key } = yield* payerAt("sicoob")
        const sql = yield* SqlClient
        const { payouts } = double.provider
        const begin = payouts.begin
        let begun = 0
        Object.assign(payouts, { begin: (payee: string) => (begun++, begin(payee)) })
        double.faults.once("slow", { path: /pagamentos$/ })
        const { id } = yield* paidOut(key)
        yield* eventually(
          Effect.sync(() => begun),
          (count) => count === 1
        )
        yield* sql`UPDATE payouts SET requested_at = now() - interval '25 hours' WHERE id = ${id}::uuid`
        yield* operated("POST", `/payouts/${id}/settle`, { outcome: "failed", reason: "it never left" })
        yield* eventually(
          sql`SELECT FROM payouts WHERE id = ${id}::uuid AND provider_reference IS NOT NULL`,
          ({ length }) => length > 0
        )
        // By then a confirmation of the first one would be there.
        yield* submittedPayout(key, (yield* paidOut(key)).id)
        const confirmed = double.exchanges.filter(({ path }) => path.endsWith("/confirmacao"))
        assert.lengthOf(confirmed, 1)
      })
    )
  }
)

/** Nothing more is asked of it. The service has a moment for each answer: a claim that is overtaken stores none. */
const parked = (id: string, dueNow: Effect.Effect<unknown, SqlError>) =>
  Effect.flatMap(SqlClient, (sql) =>
    eventually(
      dueNow.pipe(
        Effect.andThen(Effect.sleep("300 millis")),
        Effect.andThen(sql`SELECT FROM payouts WHERE id = ${id}::uuid AND due_at > now() + interval '1 year'`)
      ),
      ({ length }) => length > 0
    )
  )

const payerAt = Effect.fnUntraced(function* (profile: "inter" | "sicoob") {
  const sql = yield* SqlClient
  const { makeCaller } = yield* TestService
  const double = yield* startDouble({ variant: doubles[profile], settings: { openingCents: 100_000 } })
  const credentials = { ...operatorCredentials(double), ...(profile === "inter" && { current_account: "1" }) }
  const connection = yield* connectTo(double, { profile, credentials })
  const { accountId, key } = yield* makeCaller()
  yield* fund(accountId, 10_000)
  yield* operated("PATCH", `/accounts/${accountId}`, { connection_id: connection.id })
  return {
    double,
    key,
    dueNow: sql`UPDATE payouts SET due_at = now() WHERE account_id = ${accountId}::uuid AND status = 'processing'
      AND due_at BETWEEN now() AND now() + interval '1 day'`,
    sent: () => double.provider.payouts.list({ fromMs: 0, toMs: Infinity }, () => true, { page: 0, size: 10 }).items
  }
})

const payerAtInter = payerAt("inter")
