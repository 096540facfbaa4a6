/** Questions before money of exceptions moves, and before orders are settled by hand. */
import { assert, layer } from "@effect/vitest"
import { exceptionOf, notified, paymentOf } from "@pix-payments/server/test/Exceptions"
import { operated, paidCharge } from "@pix-payments/server/test/Money"
import { overduePayoutOf, overdueRefundOf, overdueReturn } from "@pix-payments/server/test/Overdue"
import { TestService } from "@pix-payments/server/test/TestService"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { pix } from "./support/Pix.ts"

layer(TestService.layer(), { excludeTestServices: true })("pix asks", (it) => {
  /** The question of a command that nobody can answer. */
  const questionOf = Effect.fnUntraced(function* (...args: ReadonlyArray<string>) {
    const { operatorToken, operatorUrl } = yield* TestService
    const { code, err, out } = yield* pix(args, { env: { PIX_URL: operatorUrl, PIX_TOKEN: operatorToken } })
    assert.deepStrictEqual([code, out], [2, ""])
    const [question, ...rest] = err.split("\n")
    assert.deepStrictEqual(rest, ["Nobody can answer here: add --yes to do it.", ""])
    return question
  })

  const someAccount = Effect.gen(function* () {
    const { makeCaller } = yield* TestService
    const { accountId, key } = yield* makeCaller({ account: { name: "Padaria" } })
    return { account: `Padaria (${accountId})`, accountId, key }
  })

  it.effect("CLI-8: an exception is returned or accepted: how much is left of it, for which account and charge", () =>
    Effect.gen(function* () {
      const { account, key } = yield* someAccount
      const other = yield* someAccount
      const { id: chargeId } = yield* paidCharge(key, 1000)
      const payment = paymentOf(chargeId, { amount: 900, payer: { name: "Ana Souza", document: null } })
      yield* notified(payment)
      // A part went back.
      yield* notified({
        _tag: "charge.refunded",
        txid: "",
        endToEndId: payment.endToEndId!,
        externalId: "D1",
        amount: 200
      })
      const { id } = yield* exceptionOf(payment.endToEndId)
      const resolve = (...args: ReadonlyArray<string>) => questionOf("exceptions", "resolve", id, ...args)
      const seven = "R$ 7,00 (seven reais)"
      assert.strictEqual(yield* resolve("--action", "return"), `Return ${seven} to Ana Souza?`)
      assert.strictEqual(
        yield* resolve("--action", "accept"),
        `Accept ${seven} for account ${account}, charge ${chargeId}?`
      )
      assert.strictEqual(
        yield* resolve("--action", "accept", "--account", other.accountId),
        `Accept ${seven} for account ${other.account}?`
      )
    })
  )

  it.effect("CLI-8, OPR-391: a move to another cell says what it stops", () =>
    Effect.gen(function* () {
      const { account, accountId } = yield* someAccount
      assert.strictEqual(
        yield* questionOf("accounts", "move", accountId, "--target", "b"),
        `Freeze account ${account}? Its requests are 503 until it lives in the cell b.`
      )
    })
  )

  it.effect("CLI-8, OPR-232: an entry that could not be read is accepted with the amount that is given", () =>
    Effect.gen(function* () {
      const { account, accountId } = yield* someAccount
      const sql = yield* SqlClient
      const [row] = yield* sql<{ id: string }>`INSERT INTO acquirer_exceptions
        (id, connection_id, kind, status, amount, unallocated, occurred_at, created_at)
        SELECT uuidv7(), id, 'unreadable', 'open', 0, 0, now(), now() FROM acquirer_connections LIMIT 1 RETURNING id`
      const to = ["--action", "accept", "--account", accountId, "--amount", "1250"]
      assert.strictEqual(
        yield* questionOf("exceptions", "resolve", row!.id, ...to),
        `Accept R$ 12,50 (twelve reais and fifty centavos) for account ${account}?`
      )
    })
  )

  it.effect("CLI-8, OPR-350: a settlement names the amount, the account and where the money goes", () =>
    Effect.gen(function* () {
      const settle = (what: string, id: string) =>
        questionOf(what, "settle", id, "--outcome", "failed", "--reason", "the bank says so")
      const payout = yield* overduePayoutOf
      const nameOf = (accountId: string) =>
        Effect.map(operated("GET", `/accounts/${accountId}`), ({ name }) => `${name} (${accountId})`)
      const end = "as failed, without the bank's answer?"
      assert.strictEqual(
        yield* settle("payouts", payout.id),
        `Settle the payout of R$ 50,00 (fifty reais) from account ${yield* nameOf(payout.accountId)} ` +
          `to hold@simulator.test ${end}`
      )
      const refund = yield* overdueRefundOf()
      assert.strictEqual(
        yield* settle("refunds", refund.id),
        `Settle the refund of R$ 10,00 (ten reais) of charge ${refund.chargeId}, ` +
          `account ${yield* nameOf(refund.accountId)}, ${end}`
      )
      assert.strictEqual(
        yield* settle("exceptions", yield* overdueReturn),
        `Settle the return to the payer, of R$ 30,00 (thirty reais) that arrived, ${end}`
      )
    })
  )
})
