/** What a provider names a payout, where it names two the same. */
import { assert, layer } from "@effect/vitest"
import * as doubles from "@pix-payments/psp-double/http/Profiles"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import { SqlClient } from "effect/sql/SqlClient"
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
          const sql = yield* SqlClient
          const { makeCaller } = yield* TestService
          const double = yield* startDouble({ variant: doubles.inter, settings: { openingCents: 100_000 } })
          const credentials = { ...operatorCredentials(double), current_account: "1" }
          const connection = yield* connectTo(double, { profile: "inter", credentials })
          const { accountId, key } = yield* makeCaller()
          yield* fund(accountId, 10_000)
          yield* operated("PATCH", `/accounts/${accountId}`, { connection_id: connection.id })
          const first = yield* paidOut(key)
          yield* submittedPayout(key, first.id)
          const { payouts } = double.provider
          const sent = () => payouts.list({ fromMs: 0, toMs: Infinity }, () => true, { page: 0, size: 10 }).items
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
          const dueNow = sql`UPDATE payouts SET due_at = now() WHERE account_id = ${accountId}::uuid AND status = 'processing' AND due_at > now()`
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
  }
)
