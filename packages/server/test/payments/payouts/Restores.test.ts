/** Payouts that a restore lost, and whose callers repeat them. */
import { assert, layer } from "@effect/vitest"
import * as doubles from "@pix-payments/psp-double/http/Profiles"
import type { PspDouble } from "@pix-payments/psp-double/PspDouble"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { startDouble } from "../../support/Bank.ts"
import { connectTo, fund, operatorCredentials } from "../../support/Connections.ts"
import { sweepNow } from "../../support/ConnectedBank.ts"
import { resolved } from "../../support/Exceptions.ts"
import { forgotten } from "../../support/Forgotten.ts"
import {
  assertLedgerHolds,
  operated,
  paidOut,
  payoutReaching,
  somePayout,
  submittedPayout
} from "../../support/Money.ts"
import { eventually } from "../../support/Receiver.ts"
import { newKey, TestService } from "../../support/TestService.ts"

const banks = [
  { profile: "efi", id: /^[0-9a-f]{32}$/ },
  { profile: "inter", id: /^[0-9a-f]{8}-[0-9a-f]{4}-[1-5][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/ }
] as const

layer(TestService.layer({ settings: { acquirerTimeoutMs: 10_000 } }), { excludeTestServices: true })(
  "A payout that a restore lost",
  (it) => {
    it.effect.each(banks)("PAY-6: is the same order at the bank when its caller repeats it ($profile)", (expected) =>
      Effect.gen(function* () {
        const bank = yield* paying(expected.profile)
        const key = newKey()
        const lost = yield* paidOut(bank.key, {}, key)
        yield* submittedPayout(bank.key, lost.id)
        yield* forgotten(lost.id)
        const repeated = yield* paidOut(bank.key, {}, key)
        assert.notStrictEqual(repeated.id, lost.id)
        yield* submittedPayout(bank.key, repeated.id)
        yield* Effect.promise(() => bank.double.settle())
        yield* asked(repeated.id)
        const completed = yield* payoutReaching(bank.key, repeated.id, "completed")
        const [sent, ...others] = sentBy(bank)
        assert.deepStrictEqual(others, [])
        assert.strictEqual(completed.end_to_end_id, sent?.endToEndId)
        assert.match(sent?.id ?? "", expected.id)
        const found = yield* operated<{ data: ReadonlyArray<{ id: string }> }>("GET", `/search?q=${sent?.id}`)
        assert.deepStrictEqual(
          found.data.map(({ id }) => id),
          [repeated.id]
        )
        assert.deepStrictEqual(bank.double.violations, [])
      })
    )

    it.effect.each([{ before: "left open" }, { before: "accepted" }, { before: "dismissed" }] as const)(
      "BAL-17, PAY-6: came back, which is booked once though its caller repeats it ($before by then)",
      ({ before }) =>
        Effect.gen(function* () {
          const sql = yield* SqlClient
          const bank = yield* paying("efi")
          const key = newKey()
          const lost = yield* paidOut(bank.key, {}, key)
          yield* submittedPayout(bank.key, lost.id)
          yield* Effect.promise(() => bank.double.settle())
          const [sent] = sentBy(bank)
          yield* sql`UPDATE payouts SET due_at = now() WHERE id = ${lost.id}::uuid AND status = 'processing'`
          yield* forgotten(lost.id)
          yield* Effect.fromResult(bank.double.provider.payouts.receiveReturn(sent!.id, 200))
          yield* sweepNow(bank)
          const exceptions = sql<
            Readonly<Record<"id" | "kind" | "status", string>> & Readonly<Record<string, unknown>>
          >`
            SELECT id, kind, amount::integer, unallocated::integer, payout_id, account_id, status FROM acquirer_exceptions
            WHERE connection_id = ${bank.connectionId}::uuid ORDER BY id`
          const [raised] = yield* exceptions
          assert.deepInclude(raised, { kind: "unidentified_payment", amount: 200, payout_id: null })
          if (before === "accepted") yield* resolved(raised!.id, { action: "accept", account_id: bank.accountId })
          if (before === "dismissed") yield* resolved(raised!.id, { action: "dismiss", reason: "unknown" })
          const { id } = yield* paidOut(bank.key, {}, key)
          yield* payoutReaching(bank.key, id, "completed")
          for (let times = 0; times < 2; times += 1) yield* sweepNow(bank)
          const isLeft = before !== "accepted"
          assert.deepStrictEqual(yield* exceptions, [
            {
              id: raised!.id,
              kind: "returned_payout",
              amount: 200,
              unallocated: isLeft ? 200 : 0,
              payout_id: id,
              account_id: bank.accountId,
              status: before === "left open" ? "open" : "resolved"
            }
          ])
          // What comes back later is another one.
          yield* Effect.fromResult(bank.double.provider.payouts.receiveReturn(sent!.id, 300))
          yield* sweepNow(bank)
          assert.lengthOf(yield* exceptions, 2)
          yield* assertLedgerHolds
        })
    )

    it.effect("PAY-6: is another order under another key, of another application or of an operator", () =>
      Effect.gen(function* () {
        const { makeApplication, makeKey, operate } = yield* TestService
        const bank = yield* paying("efi")
        const key = newKey()
        const { key: other } = yield* makeKey(yield* makeApplication(bank.accountId))
        const made = [yield* paidOut(bank.key, {}, key), yield* paidOut(bank.key), yield* paidOut(other, {}, key)]
        for (const headers of [{ "idempotency-key": key }, {}, {}]) {
          const path = `/operator/v1/accounts/${bank.accountId}/payouts`
          const answer = yield* operate("POST", path, {
            headers,
            body: { ...somePayout, method: "pix" }
          })
          assert.strictEqual(answer.status, 201, answer.text)
        }
        yield* eventually(
          Effect.sync(() => sentBy(bank)),
          ({ length }) => length === made.length + 3
        )
      })
    )

    it.effect("PAY-6, OPR-95: with another amount stays without an answer, and nothing more is sent", () =>
      Effect.gen(function* () {
        const bank = yield* paying("efi")
        const key = newKey()
        const lost = yield* paidOut(bank.key, {}, key)
        yield* submittedPayout(bank.key, lost.id)
        yield* forgotten(lost.id)
        const { id } = yield* paidOut(bank.key, { amount: somePayout.amount + 1 }, key)
        yield* Effect.promise(() => bank.double.settle())
        for (let request = 0; request < 3; request += 1) yield* asked(id)
        assert.strictEqual((yield* operated("GET", `/payouts/${id}`))["status"], "processing")
        assert.deepStrictEqual(
          sentBy(bank).map(({ cents }) => cents),
          [somePayout.amount]
        )
      })
    )
  }
)

interface Paying {
  readonly double: PspDouble
  readonly connectionId: string
  readonly accountId: string
  readonly key: string
}

/** An account with money, whose payouts go through a double. */
const paying = Effect.fnUntraced(function* (profile: (typeof banks)[number]["profile"]) {
  const { makeCaller } = yield* TestService
  const double = yield* startDouble({
    ...(profile === "efi" ? { profile } : { variant: doubles[profile] }),
    settings: { openingCents: 100_000 }
  })
  const credentials = { ...operatorCredentials(double), ...(profile === "inter" && { current_account: "1" }) }
  const connection = yield* connectTo(double, { profile, credentials })
  const { accountId, key } = yield* makeCaller()
  yield* fund(accountId, 10_000)
  yield* operated("PATCH", `/accounts/${accountId}`, { connection_id: connection.id })
  return { double, connectionId: connection.id, accountId, key } satisfies Paying
})

const ALWAYS = { fromMs: 0, toMs: Number.MAX_SAFE_INTEGER }

const sentBy = ({ double }: Paying) => double.provider.payouts.list(ALWAYS, () => true, { page: 0, size: 100 }).items

/** Makes the next request about a payout without an outcome due, and waits until it was made. */
const asked = Effect.fnUntraced(function* (id: string) {
  const sql = yield* SqlClient
  const attempts = Effect.map(
    sql<{ attempts: number }>`SELECT attempts FROM payouts WHERE id = ${id}::uuid AND status = 'processing'`,
    ([row]) => row?.attempts ?? Infinity
  )
  const before = yield* attempts
  yield* sql`UPDATE payouts SET due_at = now() WHERE id = ${id}::uuid AND status = 'processing'`
  yield* eventually(attempts, (now) => now > before || now === Infinity)
})
