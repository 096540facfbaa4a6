/**
 * Thirty days of an account with payments, second payments, partial returns, late MEDs, payouts that fail and corrections, closed
 * night by night, with skipped nights: whatever the seed, the books close, chain, and say the order behind each line of the bank.
 *
 * `BOOK_SEEDS=100` runs more histories, `BOOK_FIRST=101` begins later, `BOOK_SEED=42` repeats one. The bank account is one for all: a
 * run of a thousand is quicker in parts.
 */
import { assert, layer } from "@effect/vitest"
import type { BalanceTransaction, Close } from "@pix-payments/api/operator/Books"
import { SIMULATOR_CONNECTION } from "@pix-payments/domain/AcquirerConnection"
import { type Random, randomFrom } from "@pix-payments/psp-double/Random"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { spawnSync } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { create } from "../support/ChargeRequests.ts"
import { closeDays } from "../support/Closing.ts"
import { availableOf, failing, operated, payOut, type Verification } from "../support/Money.ts"
import { eventually } from "../support/Receiver.ts"
import { type Fields, newKey, TestService } from "../support/TestService.ts"

const one = process.env["BOOK_SEED"]
const seeds =
  one === undefined
    ? Array.from(
        { length: Number(process.env["BOOK_SEEDS"] ?? 3) },
        (_, index) => index + Number(process.env["BOOK_FIRST"] ?? 1)
      )
    : [Number(one)]

const DAYS = 30

const chosen = <A>(random: Random, of: ReadonlyArray<A>): A | undefined => of[Math.floor(random() * of.length)]

interface ListOf<A> {
  readonly data: ReadonlyArray<A>
  readonly has_more: boolean
}

interface Resource extends Fields {
  readonly id: string
}

/** One step of a history. What the state does not allow is refused, and changes nothing. */
const step = Effect.fnUntraced(function* (random: Random, key: string, accountId: string, made: Made) {
  const { operate } = yield* TestService
  const act = (path: string, body: Fields = {}) =>
    operate<Resource>("POST", `/operator/v1${path}`, { body, idempotencyKey: newKey() })
  const what = random()
  const cents = 100 + Math.floor(random() * 20_000)
  const paid = chosen(random, made.charges)
  if (what < 0.45 || paid === undefined) {
    const { body } = yield* create(key, { amount: cents, reference: `order-${made.charges.length}` })
    yield* act(`/simulator/charges/${body.id}/pay`)
    made.charges.push(body.id)
  } else if (what < 0.55) yield* act(`/charges/${paid}/refund`, { amount: Math.ceil(cents / 20) })
  else if (what < 0.6) yield* act(`/simulator/charges/${paid}/return`, { as: "refunded" })
  else if (what < 0.68) {
    const { body, status } = yield* act(`/simulator/charges/${paid}/infraction`, { reason: "fraude" })
    if (status === 201) made.disputes.push(body.id)
  } else if (what < 0.74) {
    const dispute = chosen(random, made.disputes)
    if (dispute !== undefined) yield* act(`/simulator/disputes/${dispute}/${random() < 0.5 ? "win" : "lose"}`)
  } else if (what < 0.8) yield* act(`/simulator/charges/${paid}/pay`)
  else if (what < 0.85) {
    const { body } = yield* operate<{ data: ReadonlyArray<Resource> }>("GET", "/operator/v1/exceptions?status=open")
    const action = random() < 0.5 ? { action: "return" } : { action: "accept", account_id: accountId }
    const exception = chosen(random, body.data)
    if (exception !== undefined) yield* act(`/exceptions/${exception.id}/resolve`, action)
  } else if (what < 0.95) yield* payOut(key, { amount: Math.ceil(cents / 4), ...(random() < 0.3 ? failing : {}) })
  else yield* act("/adjustments", { account_id: accountId, amount: random() < 0.5 ? cents : -cents, reason: "by hand" })
})

/** Nothing is under way at the institution. */
const settled = Effect.flatMap(SqlClient, (sql) =>
  eventually(
    sql`SELECT FROM payouts WHERE status IN ('pending', 'processing')
      UNION ALL SELECT FROM refunds WHERE status = 'processing'
      UNION ALL SELECT FROM acquirer_orders WHERE state = 'ordered'`,
    ({ length }) => length === 0
  )
)

interface Made {
  readonly charges: Array<string>
  readonly disputes: Array<string>
}

layer(TestService.layer({ settings: { acquirerTimeoutMs: 300, simulatorSettleMs: 0 } }), { excludeTestServices: true })(
  "Histories of the books",
  (it) => {
    const folder = mkdtempSync(join(tmpdir(), "histories-"))
    const hasPython = spawnSync("python3", ["--version"]).status === 0
    /** Days by which a history is ahead of the clock. A raised day stays, so that each begins after the one before it. */
    let ahead = 0

    /** All rows of a list, oldest first. */
    const everyRow = Effect.fnUntraced(function* <A extends { readonly id: string }>(path: string) {
      const rows: Array<A> = []
      for (let after: string | null = ""; after !== null;) {
        const cursor: string = after === "" ? "" : `&starting_after=${after}`
        const page: ListOf<A> = yield* operated<ListOf<A>>("GET", `${path}?limit=100${cursor}`)
        rows.push(...page.data)
        after = page.has_more ? page.data.at(-1)!.id : null
      }
      return rows.toReversed()
    })

    /** Opening plus lines is closing, day by day, and each close continues the one before it. */
    const assertChained = (closes: ReadonlyArray<Close>, lines: ReadonlyArray<BalanceTransaction>) => {
      for (const [index, close] of closes.entries()) {
        const ofDay = lines.filter(({ day }) => day === close.day)
        const net = ofDay.reduce((sum, line) => sum + line.net, 0)
        assert.strictEqual(close.opening, closes[index - 1]?.closing ?? 0)
        assert.strictEqual(close.closing, close.opening + net, close.day)
        assert.strictEqual(close.previous_hash, closes[index - 1]?.hash ?? null)
      }
      assert.strictEqual(
        closes.at(-1)?.closing ?? 0,
        lines.reduce((sum, { net }) => sum + net, 0)
      )
    }

    /** An export, recomputed by a program without our code. */
    const assertVerified = Effect.fnUntraced(function* (owner: string) {
      const { operate } = yield* TestService
      const query = "from=2020-01-01&to=2100-01-01&format=jsonl"
      const { text } = yield* operate("GET", `/operator/v1/${owner}/statement?${query}`)
      const file = join(folder, "books.jsonl")
      writeFileSync(file, text)
      const script = join(import.meta.dirname, "../../../../examples/verify-books.py")
      const { status, stderr, stdout } = spawnSync("python3", [script, file], { encoding: "utf8" })
      assert.strictEqual(status, 0, stdout + stderr)
    })

    it.effect.each(seeds)(
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
          yield* settled
          ahead += 2
          yield* closeDays(ahead)

          const lines = yield* everyRow<BalanceTransaction>(`/accounts/${accountId}/transactions`)
          let balance = 0
          for (const line of lines) {
            balance += line.net
            assert.strictEqual(line.balance_after, balance, line.id)
          }
          assert.strictEqual(balance, yield* availableOf(key))
          assertChained(yield* everyRow<Close>(`/accounts/${accountId}/closes`), lines)

          const bank = yield* everyRow<BalanceTransaction>(`/connections/${SIMULATOR_CONNECTION}/transactions`)
          assertChained(yield* everyRow<Close>(`/connections/${SIMULATOR_CONNECTION}/closes`), bank)
          assert.deepStrictEqual(
            bank
              .filter(({ end_to_end_id, source }) => source.id === "" || end_to_end_id === null)
              .map(({ type }) => type),
            [],
            "each line of the bank has its order and its end-to-end id"
          )
          const verified = yield* operated<Verification>("GET", "/ledger/verify?full=true")
          assert.deepStrictEqual([verified.differences, verified.states, verified.closes], [[], [], []])
          // What the bank has is what is owed to accounts, what is nobody's, and what was earned.
          const owed = verified.accounts.reduce(
            (sum, { account, kept }) => (account.name === "acquirer" ? sum : sum + kept),
            0
          )
          assert.strictEqual(
            bank.reduce((sum, { net }) => sum + net, 0),
            owed
          )
          if (hasPython) {
            yield* assertVerified(`accounts/${accountId}`)
            yield* assertVerified(`connections/${SIMULATOR_CONNECTION}`)
          }
        }).pipe(
          Effect.ensuring(Effect.sync(() => (seed === seeds.at(-1) ? rmSync(folder, { recursive: true }) : undefined)))
        ),
      120_000
    )
  }
)
