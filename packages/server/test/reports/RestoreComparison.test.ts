/** The program that compares the books with the banks, after rows were lost as by a restore. */
import { assert, layer } from "@effect/vitest"
import { formatInstant } from "@pix-payments/domain/Instant"
import { txidFromId } from "@pix-payments/domain/Txid"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"
import { SqlClient } from "effect/sql/SqlClient"
import { startDouble } from "../support/Bank.ts"
import { created, retrieve } from "../support/ChargeRequests.ts"
import { sweepNow } from "../support/ConnectedBank.ts"
import { connectTo, fund } from "../support/Connections.ts"
import { forgotten } from "../support/Forgotten.ts"
import { assertLedgerHolds, operated, paidOut, payoutReaching, submittedPayout } from "../support/Money.ts"
import { idAtProvider } from "../support/Payouts.ts"
import { ran } from "../support/Process.ts"
import { secretsKey, stoppable } from "../support/StoppableService.ts"
import { newKey, TestService } from "../support/TestService.ts"

layer(Layer.empty, { excludeTestServices: true })("reconcile", (it) => {
  it.effect("OPR-224: heals what the books can have, and names the rest until somebody has acted", () =>
    Effect.gen(function* () {
      const bank = yield* startDouble({ profile: "efi", settings: { openingCents: 100_000 } })
      const { databaseUrl, sql, withService } = yield* stoppable({ acquirerTimeoutMs: 10_000 })
      const payoutKey = newKey()
      const before = yield* withService(
        Effect.gen(function* () {
          const { makeCaller } = yield* TestService
          const connection = yield* connectTo(bank)
          const { accountId, key } = yield* makeCaller()
          yield* fund(accountId, 10_000)
          yield* operated("PATCH", `/accounts/${accountId}`, { connection_id: connection.id })
          const [kept, lost] = [yield* created(key, { amount: 700 }), yield* created(key, { amount: 900 })]
          const payout = yield* paidOut(key, {}, payoutKey)
          yield* submittedPayout(key, payout.id)
          return { key, kept: kept.id, lost: lost.id, payout: payout.id, sentAs: yield* idAtProvider(payout.id) }
        })
      )
      const sinceMs = (yield* Clock.currentTimeMillis) - 3_600_000
      const paid = [before.kept, before.lost].map((id) =>
        Result.getOrThrow(bank.provider.receipts.payCob(txidFromId(id)))
      )
      yield* Effect.promise(() => bank.settle())
      for (const id of [before.lost, before.payout]) yield* Effect.provideService(forgotten(id), SqlClient, sql)

      const env = {
        DATABASE_URL: Redacted.value(databaseUrl),
        SECRETS_KEYS: secretsKey,
        OPERATOR_TOKEN: newKey()
      }
      const reconciled = ran("reconcile", env, "--since", formatInstant(sinceMs))
      const first = yield* reconciled
      assert.strictEqual(first.code, 1, first.written)
      assert.include(first.written, `healed: payment ${paid[0]!.endToEndId} of 7.00`)
      assert.include(first.written, `: charge ${before.kept} is paid`)
      assert.match(
        first.written,
        new RegExp(`open: payment ${paid[1]!.endToEndId} of 9\\.00 .* exception \\S+ \\(unknown_txid\\)`)
      )
      assert.match(
        first.written,
        new RegExp(`open: payout of 5\\.00 .* with the bank's id ${before.sentAs} is not in the books`)
      )
      assert.match(first.written, /^Open: 2\.$/m)

      // What it applied is not named again; what is not healed is.
      const second = yield* reconciled
      assert.strictEqual(second.code, 1, second.written)
      assert.notInclude(second.written, "payment")
      assert.match(second.written, /^open: payout of 5\.00 /m)

      yield* withService(
        Effect.gen(function* () {
          const { key } = before
          assert.strictEqual((yield* retrieve(key, before.kept)).body.status, "paid")
          const { id } = yield* paidOut(key, {}, payoutKey)
          yield* payoutReaching(key, id, "completed")
          yield* assertLedgerHolds
        })
      )
      const last = yield* reconciled
      assert.deepStrictEqual([last.code, last.written], [0, "The books have what the banks have.\n"])
      assert.lengthOf(bank.provider.payouts.list(ALWAYS, () => true, { page: 0, size: 10 }).items, 1)

      const wrong = yield* ran("reconcile", env, "--since", "yesterday")
      assert.strictEqual(wrong.code, 2)
      assert.match(wrong.written, /^Nothing was done\. Write: reconcile --since /)
      const off = yield* ran("reconcile", { ...env, OUTWARD: "off" }, "--since", formatInstant(sinceMs))
      assert.strictEqual(off.code, 2)
      assert.match(off.written, /Nothing was done: nobody is called: OUTWARD=off\./)
      const unset = yield* ran("reconcile", { ...env, ACQUIRER: "" }, "--since", formatInstant(sinceMs))
      assert.strictEqual(unset.code, 2)
      assert.include(unset.written, "ACQUIRER is not set")

      yield* Effect.promise(() => bank.close())
      const away = yield* reconciled
      assert.strictEqual(away.code, 1, away.written)
      assert.match(away.written, /^open: Bank: a list cannot be read: /m)
    })
  )

  it.effect("OPR-224: heals returns, disputes and their outcomes since then of payments of before", () =>
    Effect.gen(function* () {
      const bank = yield* startDouble({ profile: "efi", seed: 77 })
      const { infractions, receipts } = bank.provider
      const { databaseUrl, sql, withService } = yield* stoppable({ acquirerTimeoutMs: 10_000 })
      const before = yield* withService(
        Effect.gen(function* () {
          const { makeCaller } = yield* TestService
          const connection = yield* connectTo(bank)
          const { accountId, key } = yield* makeCaller()
          yield* operated("PATCH", `/accounts/${accountId}`, { connection_id: connection.id })
          const ids = []
          const paid = []
          for (let n = 0; n < 2; n += 1) {
            const { id } = yield* created(key, { amount: 700 })
            paid.push(Result.getOrThrow(receipts.payCob(txidFromId(id))))
            ids.push(id)
          }
          const contested = Result.getOrThrow(infractions.open(paid[1]!.endToEndId))
          yield* sweepNow({ connectionId: connection.id })
          return { key, ids, returned: paid[0]!, contested: contested.id }
        })
      )
      const statuses = Effect.map(sql<{ status: string }>`SELECT status FROM charges ORDER BY id`, (rows) =>
        rows.map(({ status }) => status)
      )
      assert.deepStrictEqual(yield* statuses, ["paid", "infraction"])
      const sinceMs = yield* Clock.currentTimeMillis
      Result.getOrThrow(receipts.takeBack(before.returned.endToEndId, 700))
      Result.getOrThrow(infractions.close(before.contested, "REJEITADA"))
      yield* Effect.promise(() => bank.settle())
      const env = { DATABASE_URL: Redacted.value(databaseUrl), SECRETS_KEYS: secretsKey, OPERATOR_TOKEN: newKey() }
      const reconciled = ran("reconcile", env, "--since", formatInstant(sinceMs))
      const first = yield* reconciled
      assert.strictEqual(first.code, 0, first.written)
      assert.include(first.written, "healed: Bank: returns that are in the books now: 1")
      assert.include(first.written, "healed: Bank: disputes and their outcomes that are in the books now: 1")
      assert.deepStrictEqual(yield* statuses, ["charged_back", "paid"])
      assert.deepStrictEqual((yield* reconciled).written, "The books have what the banks have.\n")
    })
  )
})

const ALWAYS = { fromMs: 0, toMs: Number.MAX_SAFE_INTEGER }
