/** Receivers are stored once for the charges that have them, and every read shows them as before. */
import { assert, describe, it, layer } from "@effect/vitest"
import { buildBrCode, parseBrCode } from "@pix-payments/domain/BrCode"
import { joinBrCode } from "@pix-payments/domain/BrCodeTemplate"
import { txidFromId } from "@pix-payments/domain/Txid"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Result from "effect/Result"
import { SqlClient } from "effect/sql/SqlClient"
import { makeReceiverColumns, makeReceivers } from "../../../src/payments/charges/Receivers.ts"
import type { Row } from "../../../src/database/statements/Column.ts"
import { created, listed, retrieve } from "../../support/ChargeRequests.ts"
import { TestService } from "../../support/TestService.ts"
import { upgradedServices } from "../../support/UpgradedDatabase.ts"

interface StoredColumns {
  readonly id: string
  readonly br_code: string | null
  readonly receiver: object | null
  readonly receiver_id: string | null
}

const storedOf = (ids: ReadonlyArray<string>) =>
  Effect.flatMap(
    SqlClient,
    (sql) =>
      sql<StoredColumns>`SELECT id, br_code, receiver, receiver_id FROM charges WHERE id = ANY (${ids}::uuid[]) ORDER BY id`
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
      assert.isTrue(stored.every(({ receiver }) => receiver === null))
      const ids = [...new Set(stored.map(({ receiver_id }) => receiver_id))]
      assert.strictEqual(ids.length, 2)
      const receivers = yield* sql<{ template: string }>`
        SELECT br_code_template AS template FROM receivers WHERE id = ANY (${ids}::uuid[])`
      assert.strictEqual(receivers.length, 2)
      for (const { template } of receivers) assert.match(template, /^000201.*\{id\}.*\{amount\}.*6304$/)
      for (const { br_code, id } of stored) assert.strictEqual(br_code, txidFromId(id))
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
          receiver: null,
          receiver_id: `00000000-0000-0000-0000-${number.toString(16).padStart(12, "0")}`
        }))
      const assertRead = Effect.fnUntraced(function* (numbers: ReadonlyArray<number>) {
        const selected = yield* withReceivers(rowsOf(numbers))
        assert.deepStrictEqual(
          selected.map(({ receiver }) => receiver),
          numbers.map((name) => ({ name })) as never
        )
      })
      for (let first = 1; first < 10_200; first += 100) {
        yield* assertRead(Array.from({ length: 100 }, (_, index) => first + index))
        yield* assertRead([1, first, 1])
      }
      const template = "{id}, {amount}, "
      yield* sql`INSERT INTO receivers VALUES ('00000000-0000-0000-0000-0000000fffff', '{}', ${template})`
      const split = { ...rowsOf([1_048_575])[0]!, br_code: "x", amount: 150n } as Row
      assert.deepInclude((yield* withReceivers([split]))[0]!, { receiver: {}, br_code: joinBrCode(template, "x", 150) })
      const inRow = { id: "1", receiver: { name: "in the row" }, receiver_id: null }
      assert.deepStrictEqual(yield* withReceivers([inRow]), [inRow])
      const lost = yield* Effect.exit(withReceivers(rowsOf([1, 20_000])))
      assert.isTrue(Exit.hasDies(lost))
    })
  )
})

describe("Columns of a charge", () => {
  const columnsOf = makeReceiverColumns({ storesReceiversOnce: true, splitsBrCodes: true })
  const codeOf = (host: string) =>
    Result.getOrThrow(
      buildBrCode({
        payloadUrl: `https://${host}/qr/0123456789abcdef`,
        amount: 100,
        merchantName: "Loja",
        merchantCity: "BRASILIA",
        singleUse: true
      })
    )
  const stored = (name: string, brCode: string) =>
    columnsOf({ amount: 100, brCode, receiver: { name, document: "11222333000181" } as never })

  it("have the whole BR code once its receiver has eight templates, which it goes on to use", () => {
    const codes = Array.from({ length: 12 }, (_, number) => codeOf(`bank${number}.example`))
    const all = codes.map((code) => stored("Loja", code))
    assert.deepStrictEqual(
      all.map(({ brCode }) => brCode),
      codes.map((code, number) => (number < 8 ? "0123456789abcdef" : code))
    )
    assert.strictEqual(new Set(all.map(({ receiverId }) => receiverId)).size, 9)
    assert.strictEqual(stored("Loja", codes[3]!).receiverId, all[3]!.receiverId)
    assert.strictEqual(stored("Another", codes[11]!).brCode, "0123456789abcdef")
  })

  it("have the whole BR code without a receiver", () => {
    const brCode = codeOf("bank.example")
    assert.deepStrictEqual(columnsOf({ amount: 100, brCode, receiver: null }), {
      brCode,
      receiver: null,
      receiverId: null,
      stored: undefined
    })
  })
})

describe("Receivers of an installation that an earlier release may serve", () => {
  it.live("CHG-5: are stored in each charge until an operator ends the upgrade; both are read afterwards", () =>
    Effect.gen(function* () {
      const { endUpgrade, start } = yield* upgradedServices()
      const createOne = Effect.gen(function* () {
        const { makeCaller } = yield* TestService
        const { key } = yield* makeCaller()
        const charge = yield* created(key)
        assert.deepStrictEqual((yield* retrieve(key, charge.id)).body, charge)
        assert.isNotNull(charge.receiver)
        const [stored] = yield* storedOf([charge.id])
        return { key, charge, receiver: charge.receiver, stored }
      })
      const before = yield* createOne.pipe(Effect.provide(yield* start))
      assert.deepStrictEqual([before.stored?.receiver, before.stored?.receiver_id], [before.receiver, null])
      assert.strictEqual(before.stored?.br_code, before.charge.pix.br_code)
      yield* endUpgrade
      const next = yield* start
      const after = yield* createOne.pipe(Effect.provide(next))
      const again = yield* retrieve(before.key, before.charge.id).pipe(Effect.provide(next))
      assert.deepStrictEqual(again.body, before.charge)
      assert.isNull(after.stored?.receiver)
      assert.strictEqual(after.stored?.br_code, txidFromId(after.charge.id))
      assert.isString(after.stored?.receiver_id)
    }).pipe(Effect.scoped)
  )
})
