/**
 * Thirty days of an account with payments, second payments, partial returns, late MEDs, payouts that fail and corrections, closed
 * night by night, with skipped nights: whatever the seed, the books close, chain, and say the order behind each line of the bank.
 *
 * `BOOK_HISTORIES=100` runs more histories, `BOOK_FIRST=101` begins later, `BOOK_SEED=42` repeats one. The bank account is one for all: a
 * run of a thousand is quicker in parts.
 */
import { assert, layer } from "@effect/vitest"
import type { BalanceTransaction, Close } from "@pix-payments/api/operator/Books"
import { SIMULATOR_CONNECTION } from "@pix-payments/domain/AcquirerConnection"
import { type Random, randomFrom } from "@pix-payments/psp-double/Random"
import * as Effect from "effect/Effect"
import { create } from "../support/ChargeRequests.ts"
import { DAYS, order, resolveOne, underWay } from "../support/BookHistory.ts"
import { closeDays } from "../support/Closing.ts"
import {
  assertChained,
  assertJoined,
  assertOwed,
  assertRecomputed,
  assertRunning,
  chosen,
  everyRow
} from "../support/BookFacts.ts"
import { availableOf, failing, payOut } from "../support/Money.ts"
import { eventually } from "../support/Receiver.ts"
import { seedsOf } from "../support/Seeds.ts"
import { TestService } from "../support/TestService.ts"

/** One step of a history. What the state does not allow is refused, and changes nothing. */
const step = Effect.fnUntraced(function* (random: Random, key: string, accountId: string, made: Made) {
  const what = random()
  const cents = 100 + Math.floor(random() * 20_000)
  const paid = chosen(random, made.charges)
  if (what < 0.45 || paid === undefined) {
    const { body } = yield* create(key, { amount: cents, reference: `order-${made.charges.length}` })
    yield* order(`/simulator/charges/${body.id}/pay`)
    made.charges.push(body.id)
  } else if (what < 0.55) yield* order(`/charges/${paid}/refund`, { amount: Math.ceil(cents / 20) })
  else if (what < 0.6) yield* order(`/simulator/charges/${paid}/return`, { as: "refunded" })
  else if (what < 0.68) {
    const { body, status } = yield* order(`/simulator/charges/${paid}/infraction`, { reason: "fraude" })
    if (status === 201) made.disputes.push(body.id)
  } else if (what < 0.74) {
    const dispute = chosen(random, made.disputes)
    if (dispute !== undefined) yield* order(`/simulator/disputes/${dispute}/${random() < 0.5 ? "win" : "lose"}`)
  } else if (what < 0.8) yield* order(`/simulator/charges/${paid}/pay`)
  else if (what < 0.85) yield* resolveOne(random, accountId)
  else if (what < 0.95) yield* payOut(key, { amount: Math.ceil(cents / 4), ...(random() < 0.3 ? failing : {}) })
  else
    yield* order("/adjustments", { account_id: accountId, amount: random() < 0.5 ? cents : -cents, reason: "by hand" })
})

interface Made {
  readonly charges: Array<string>
  readonly disputes: Array<string>
}

layer(TestService.layer({ settings: { acquirerTimeoutMs: 300, simulatorSettleMs: 0 } }), { excludeTestServices: true })(
  "Histories of the books",
  (it) => {
    /** Days by which a history is ahead of the clock. A raised day stays, so that each begins after the one before it. */
    let ahead = 0

    it.effect.each([...seedsOf("BOOK", 3)])(
      "OPR-251, OPR-254, OPR-255, OPR-256: seed %d",
      (seed) =>
        Effect.gen(function* () {
          const { makeCaller } = yield* TestService
          const random = randomFrom(seed)
          const { accountId, key } = yield* makeCaller({ account: { payout_fee: { fixed: 30, basis_points: 50 } } })
          const made: Made = { charges: [], disputes: [] }
          for (let day = 0; day < DAYS; day++) {
            for (let steps = Math.floor(random() * 5); steps > 0; steps--) yield* step(random, key, accountId, made)
            ahead += 1
            // Some nights nothing runs.
            if (random() < 0.8) yield* closeDays(ahead)
          }
          yield* eventually(underWay, ({ length }) => length === 0)
          ahead += 2
          yield* closeDays(ahead)

          const lines = yield* everyRow<BalanceTransaction>(`/accounts/${accountId}/transactions`)
          assert.strictEqual(assertRunning(lines), yield* availableOf(key))
          assertChained(yield* everyRow<Close>(`/accounts/${accountId}/closes`), lines)

          const bank = yield* everyRow<BalanceTransaction>(`/connections/${SIMULATOR_CONNECTION}/transactions`)
          assertChained(yield* everyRow<Close>(`/connections/${SIMULATOR_CONNECTION}/closes`), bank)
          assertJoined(bank)
          yield* assertOwed(bank.reduce((sum, { net }) => sum + net, 0))
          yield* assertRecomputed(`accounts/${accountId}`)
          yield* assertRecomputed(`connections/${SIMULATOR_CONNECTION}`)
        }),
      600_000
    )
  }
)
