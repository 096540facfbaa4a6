/** Receivers are stored once for the charges that have them, and every read shows them. */
import { assert, layer } from "@effect/vitest"
import { parseBrCode } from "@pix-payments/domain/BrCode"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Result from "effect/Result"
import { SqlClient } from "effect/sql/SqlClient"
import { makeReceivers } from "../../../src/payments/charges/Receivers.ts"
import type { Row } from "../../../src/database/statements/Column.ts"
import { created, listed, retrieve } from "../../support/ChargeRequests.ts"
import { TestService } from "../../support/TestService.ts"

const storedOf = (ids: ReadonlyArray<string>) =>
  Effect.flatMap(
    SqlClient,
    (sql) =>
      sql<{ receiver_id: string | null }>`SELECT receiver_id FROM charges WHERE id = ANY (${ids}::uuid[]) ORDER BY id`
  )

layer(TestService.layer())("Receivers of charges", (it) => {
  it.effect("CHG-5: are stored once for each account, also by creations at once, and are in every answer", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const sql = yield* SqlClient
      const [one, other] = [yield* makeCaller(), yield* makeCaller()]
      yield* sql`UPDATE accounts SET name = 'Café "Ção" \\ 😀' WHERE id = ${one.accountId}::uuid`
      yield* sql`UPDATE accounts SET name = 'Another' WHERE id = ${other.accountId}::uuid`
      const charges = yield* Effect.forEach(
        Array.from({ length: 40 }, (_, index) => (index % 2 === 0 ? one.key : other.key)),
        (key, index) => Effect.map(created(key, { amount: 1000 + index ** 4 }), (charge) => ({ key, charge })),
        { concurrency: "unbounded" }
      )
      const stored = yield* storedOf(charges.map(({ charge }) => charge.id))
      assert.strictEqual(stored.length, 40)
      const ids = [...new Set(stored.map(({ receiver_id }) => receiver_id))]
      assert.strictEqual(ids.length, 2)
      assert.lengthOf(yield* sql`SELECT FROM receivers WHERE id = ANY (${ids}::uuid[])`, 2)
      for (const { charge } of charges) {
        assert.strictEqual(Result.getOrThrow(parseBrCode(charge.pix.br_code ?? "")).amount, charge.amount)
      }
      for (const { charge, key } of charges) {
        assert.strictEqual(charge.receiver?.name, key === one.key ? 'Café "Ção" \\ 😀' : "Another")
        assert.deepStrictEqual((yield* retrieve(key, charge.id)).body, charge)
      }
      const { data } = yield* listed(one.key, "?limit=100")
      assert.deepStrictEqual(
        data,
        charges
          .flatMap(({ charge, key }) => (key === one.key ? [charge] : []))
          .toSorted((a, b) => (a.id < b.id ? 1 : -1))
      )
    })
  )

  it.effect("are read by a server that has read none, also once its memory is full", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      yield* sql`INSERT INTO receivers (id, receiver) SELECT lpad(to_hex(n), 32, '0')::uuid, json_build_object('name', n)
        FROM generate_series(1, 10200) AS n`
      const withReceivers = makeReceivers(sql)
      const rowsOf = (numbers: ReadonlyArray<number>) =>
        numbers.map((number) => ({
          id: String(number),
          receiver_id: `00000000-0000-0000-0000-${number.toString(16).padStart(12, "0")}`
        }))
      const assertRead = Effect.fnUntraced(function* (numbers: ReadonlyArray<number>) {
        const selected = yield* withReceivers(rowsOf(numbers))
        assert.deepStrictEqual(
          selected.map((row) => (row as Row)["receiver"]),
          numbers.map((name) => ({ name }))
        )
      })
      for (let first = 1; first < 10_200; first += 100) {
        yield* assertRead(Array.from({ length: 100 }, (_, index) => first + index))
        yield* assertRead([1, first, 1])
      }
      const without = { id: "1", receiver_id: null }
      assert.deepStrictEqual(yield* withReceivers([without]), [without])
      const lost = yield* Effect.exit(withReceivers(rowsOf([1, 20_000])))
      assert.isTrue(Exit.hasDies(lost))
    })
  )
})
