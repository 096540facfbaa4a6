/** What a posting does to the ledger, of any rule and amount, alone and among others. */
import { assert, layer } from "@effect/vitest"
import { SIMULATOR_CONNECTION } from "@pix-payments/domain/AcquirerConnection"
import type { TransferReason } from "@pix-payments/domain/BalanceTransaction"
import { makeGenerator } from "@pix-payments/domain/Uuid"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { SqlClient } from "effect/sql/SqlClient"
import { randomFillSync } from "node:crypto"
import { CHANGED, statement, uuids } from "../../src/database/statements/Statement.ts"
import {
  type LedgerKind,
  lockLedgerOf,
  postingRules,
  shownKinds,
  type Transfer,
  transfer,
  transfersUnderLock
} from "../../src/ledger/Ledger.ts"
import { TestService } from "../support/TestService.ts"

const generate = makeGenerator((target) => randomFillSync(target))
const idsAt = (epochMs: number) => ({ next: () => generate(epochMs) })

const rules = (Object.keys(postingRules) as ReadonlyArray<TransferReason>).flatMap((reason) =>
  postingRules[reason].map((ends) => {
    const [debit, credit] = ends.split(">") as [LedgerKind, LedgerKind]
    return { reason, debit, credit }
  })
)

const Posting = Schema.Struct({
  rule: Schema.Literals(rules.map((_, index) => index)),
  owner: Schema.Literals([0, 1]),
  cents: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 1_000_000_000_000 })),
  isAtBank: Schema.Boolean
})

const post = statement(
  { resources: uuids, transfers: transfersUnderLock },
  ({ resources, transfers }) => `
  WITH ${CHANGED} AS (SELECT unnest(${resources}) AS id),
  ${transfers.insert(CHANGED)}
  SELECT FROM ${CHANGED}`
)

const findBalances = `SELECT owner_id || ' ' || kind AS name, balance FROM ledger_accounts`

const findAfter = statement(
  { resources: uuids },
  ({ resources }) => `
  SELECT debit_after, credit_after FROM ledger_transfers
  WHERE resource_id = ANY (${resources}) ORDER BY id`
)

layer(TestService.layer(), { excludeTestServices: true })("A posting", (it) => {
  it.effect.prop(
    "BAL-3, BAL-4: takes its amount from one ledger account, gives it to another one, and touches no third",
    [Schema.Array(Posting).check(Schema.isBetweenLength(1, 6))],
    ([postings]) =>
      Effect.gen(function* () {
        const { makeCaller } = yield* TestService
        const sql = yield* SqlClient
        const ids = idsAt(yield* Clock.currentTimeMillis)
        const accounts = [(yield* makeCaller()).accountId, (yield* makeCaller()).accountId]
        const balances = Effect.map(
          sql.unsafe<{ name: string; balance: bigint }>(findBalances),
          (rows) => new Map(rows.map(({ balance, name }) => [name, Number(balance)]))
        )

        const transfers = postings.flatMap(({ cents, isAtBank, owner, rule }): ReadonlyArray<Transfer> => {
          const { credit, debit, reason } = rules[rule]!
          const isOfConnection = debit === "unallocated" || credit === "unallocated"
          return transfer(ids, {
            accountId: isOfConnection ? SIMULATOR_CONNECTION : accounts[owner]!,
            debit,
            credit,
            amount: cents,
            resourceId: ids.next().id,
            connectionId: isAtBank ? SIMULATOR_CONNECTION : undefined,
            reason
          })
        })
        const resources = transfers.map(({ resource_id }) => resource_id)
        const before = yield* balances
        yield* sql.withTransaction(
          Effect.andThen(
            lockLedgerOf(sql, [...accounts, SIMULATOR_CONNECTION]),
            sql.unsafe(...post({ resources, transfers }))
          )
        )

        const expected = new Map(before)
        const after: Array<readonly [number | null, number | null]> = []
        for (const { account_id, amount, credit, debit } of transfers) {
          const add = (kind: LedgerKind, cents: number) => {
            const name = `${account_id} ${kind}`
            const balance = expected.get(name)! + cents
            expected.set(name, balance)
            return (shownKinds as ReadonlyArray<LedgerKind>).includes(kind) ? balance : null
          }
          after.push([add(debit, -amount), add(credit, amount)])
        }
        const found = yield* balances
        assert.deepStrictEqual(found, expected)
        assert.strictEqual(sumOf(found), sumOf(before))
        const stored = yield* sql.unsafe<{ debit_after: bigint | null; credit_after: bigint | null }>(
          ...findAfter({ resources })
        )
        assert.deepStrictEqual(
          stored.map(({ credit_after, debit_after }) => [centsOf(debit_after), centsOf(credit_after)]),
          after.map((ends) => [...ends])
        )
      }),
    { arbitrary: { runs: 60 } }
  )

  it.effect("BAL-3: that no rule has is a defect", () =>
    Effect.sync(() => {
      const ids = idsAt(0)
      const made = (reason: TransferReason, debit: LedgerKind, credit: LedgerKind) =>
        transfer(ids, { accountId: ids.next().id, debit, credit, amount: 1, resourceId: ids.next().id, reason })
      for (const { credit, debit, reason } of rules) assert.lengthOf(made(reason, debit, credit), 1)
      assert.throws(() => made("charge.paid", "available", "acquirer"), "no posting rule")
      assert.throws(() => made("payout.failed", "available", "payouts_in_transit"), "no posting rule")
    })
  )
})

const sumOf = (balances: ReadonlyMap<string, number>) => [...balances.values()].reduce((sum, cents) => sum + cents, 0)

const centsOf = (cents: bigint | null) => (cents === null ? null : Number(cents))
