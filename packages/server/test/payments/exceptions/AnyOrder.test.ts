/**
 * Payments, returns and MEDs in random order and number, of several connections: no cent is lost or posted twice.
 * Its seeds are those of `EXCEPTION` (`support/Seeds.ts`).
 */
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import type { AcquirerNotification } from "../../../src/providers/AcquirerNotification.ts"
import { LedgerVerification } from "../../../src/ledger/LedgerVerification.ts"
import { created } from "../../support/ChargeRequests.ts"
import { movedTo, newConnection, newPix, notified, txidOf, unallocated } from "../../support/Exceptions.ts"
import { incompleteKeys } from "../../support/KeyTables.ts"
import { type Random, randomFrom } from "../../support/Model.ts"
import { assertRefundedAmounts, ledgerBalancesOf, operated } from "../../support/Money.ts"
import { TestService } from "../../support/TestService.ts"
import { seedsOf } from "../../support/Seeds.ts"

const seeds = seedsOf("EXCEPTION", 40)

const ASKED = 1000

/** A Pix that arrived, with what is reported of it. */
interface Pix {
  readonly endToEndId: string
  readonly amount: number
  readonly txid: string
  readonly connectionId: string
}

/** What happened once, and may be reported often, by any connection. */
interface Fact {
  readonly pix: Pix
  readonly kind: "payment" | "return" | "med"
  readonly amount: number
  readonly notification: AcquirerNotification
}

interface Report {
  readonly fact: Fact
  readonly connectionId: string
}

const pick = <A>(random: Random, from: ReadonlyArray<A>): A => from[Math.floor(random() * from.length)]!

const shuffled = <A>(random: Random, those: ReadonlyArray<A>): ReadonlyArray<A> =>
  those
    .map((each) => [random(), each] as const)
    .toSorted(([a], [b]) => a - b)
    .map(([, each]) => each)

const factsOf = (random: Random, pix: Pix): ReadonlyArray<Fact> => {
  const { amount, endToEndId } = pix
  const facts: Array<Fact> = [
    { pix, kind: "payment", amount, notification: { _tag: "charge.paid", txid: pix.txid, endToEndId, amount } }
  ]
  const reversals = Math.floor(random() * 4)
  for (let n = 0; n < reversals; n++) {
    const reversed = pick(random, [amount, 300, 400, 700, amount + 1])
    const about = {
      txid: pick(random, [pix.txid, ""]),
      endToEndId,
      amount: reversed,
      externalId: `${endToEndId}-${n}`
    }
    const notification: AcquirerNotification = pick(random, [
      { _tag: "charge.refunded", ...about },
      { _tag: "charge.refunded", ...about },
      { _tag: "charge.returned", as: "refunded", ...about },
      { _tag: "med.opened", reason: "fraud", ...about }
    ])
    facts.push({ pix, kind: notification._tag === "med.opened" ? "med" : "return", amount: reversed, notification })
  }
  return facts
}

layer(TestService.layer({ settings: { acquirerTimeoutMs: 300, simulatorSettleMs: 0 } }), {
  excludeTestServices: true
})("Reports of providers in any order", (it) => {
  it.effect.each(seeds)(
    "BAL-11, CHG-8, CHG-9: what arrived is credited, unallocated or returned, once (seed %d)",
    (seed) =>
      Effect.gen(function* () {
        const random = randomFrom(seed)
        const { makeCaller } = yield* TestService
        const sql = yield* SqlClient
        const { accountId, key } = yield* makeCaller(
          random() < 0.3 ? { account: { release_delay: 86_400 } } : undefined
        )
        const connections = [yield* newConnection(), yield* newConnection()]
        const charges = yield* Effect.forEach([0, 1, 2, 3], (n) =>
          Effect.gen(function* () {
            const { id } = yield* created(key, { amount: ASKED })
            if (n === 2) yield* operated("POST", `/charges/${id}/cancel`)
            yield* movedTo(connections[n === 3 ? 1 : 0]!, id)
            return id
          })
        )
        const all = Array.from({ length: 4 + Math.floor(random() * 5) }, (): Pix => ({
          endToEndId: newPix(),
          amount: pick(random, [ASKED, ASKED, ASKED, 999, 1500]),
          txid: pick(random, [...charges, ...charges].map(txidOf).concat("", "x".repeat(26))),
          connectionId: pick(random, [...connections, connections[0]!])
        }))
        const facts = all.flatMap((pix) => factsOf(random, pix))
        const reports = facts.flatMap((fact): ReadonlyArray<Report> => {
          const own = { fact, connectionId: fact.pix.connectionId }
          const foreign = { fact, connectionId: connections.find((id) => id !== fact.pix.connectionId)! }
          return [own, ...(random() < 0.5 ? [own] : []), ...(random() < 0.25 ? [foreign] : [])]
        })
        // The outcomes that moved money or wait to, of each fact at each connection.
        const effects = new Map<string, number>()
        const waiting = [...shuffled(random, reports)]
        while (waiting.length > 0) {
          const burst = waiting.splice(0, pick(random, [1, 1, 2, 4, 8]))
          yield* Effect.forEach(
            burst,
            ({ connectionId, fact }) =>
              Effect.map(notified({ ...fact.notification, connectionId }), (outcome) => {
                const name = `${facts.indexOf(fact)} ${connectionId}`
                const isEffect = outcome === "applied" || outcome === "exception"
                effects.set(name, (effects.get(name) ?? 0) + (isEffect ? 1 : 0))
              }),
            { concurrency: "unbounded", discard: true }
          )
        }
        const effectsOf = (fact: Fact, connectionId: string) =>
          effects.get(`${facts.indexOf(fact)} ${connectionId}`) ?? 0

        // A settlement is of its connection: each one has its own effect of a fact that it reports, in whatever order.
        const nameOf = ({ fact, connectionId }: Report) => `${fact.pix.endToEndId} ${connectionId}`
        const reported = [
          ...new Map(reports.map((each) => [`${facts.indexOf(each.fact)} ${each.connectionId}`, each])).values()
        ]
        const settled = yield* sql<{ name: string }>`
          SELECT concat_ws(' ', end_to_end_id, connection_id) AS name FROM charges
          WHERE account_id = ${accountId}::uuid AND end_to_end_id IS NOT NULL
          UNION ALL
          SELECT concat_ws(' ', end_to_end_id, connection_id) FROM acquirer_exceptions
          WHERE connection_id = ANY (string_to_array(${connections.join()}, ',')::uuid[])
            AND kind NOT IN ('unmatched_return', 'unmatched_dispute')`
        assert.deepStrictEqual(
          settled.map(({ name }) => name).toSorted(),
          reported
            .filter(({ fact }) => fact.kind === "payment")
            .map(nameOf)
            .toSorted()
        )
        let [arrived, returned] = [0, 0]
        for (const each of reported) {
          const { connectionId, fact } = each
          const count = effectsOf(fact, connectionId)
          if (fact.kind === "med") assert.isAtMost(count, 1, `effects of a MED of ${nameOf(each)}`)
          else assert.strictEqual(count, 1, `effects of a ${fact.kind} of ${nameOf(each)}`)
          if (fact.kind === "payment") arrived += fact.amount
          if (fact.kind === "return") returned += fact.amount
        }
        assert.deepStrictEqual(yield* sql.unsafe(incompleteKeys), [])

        const balances = yield* ledgerBalancesOf(accountId)
        const credited =
          balances["available"]! + balances["pending"]! + balances["blocked"]! + balances["returns_in_transit"]!
        const left = yield* Effect.forEach(connections, (connectionId) => unallocated(connectionId))
        assert.strictEqual(credited + left[0]! + left[1]! + returned, arrived)
        const explained = yield* Effect.forEach(connections, (connectionId) =>
          Effect.map(
            sql<{ sum: bigint }>`SELECT coalesce(sum(unallocated), 0)::bigint AS sum FROM acquirer_exceptions
              WHERE connection_id = ${connectionId}::uuid`,
            ([row]) => Number(row?.sum)
          )
        )
        assert.deepStrictEqual(explained, left)
        yield* assertRefundedAmounts
        const verified = yield* LedgerVerification.use(({ verify }) => verify("full"))
        assert.deepStrictEqual(
          [...verified.accounts.filter(({ computed, kept }) => computed !== kept), ...verified.states],
          []
        )
      })
  )
})
