/** The payers of charges that nobody paid are erased after their time, by the maintenance, while the service runs. */
import { assert, layer } from "@effect/vitest"
import type { Charge } from "@pix-payments/domain/Charge"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { SqlClient } from "effect/sql/SqlClient"
import * as Maintenance from "../../src/schema/partitions/Maintenance.ts"
import { create, created, someCustomer } from "../support/ChargeRequests.ts"
import { ahead, DAY_MS } from "../support/DatabaseTime.ts"
import { operated, paidCharge } from "../support/Money.ts"
import { eventually } from "../support/Receiver.ts"
import { newKey, TestService } from "../support/TestService.ts"

/** A run of the maintenance so many days from now; returns how many charges it changed. */
const runAfter = (days: number) =>
  Effect.map(ahead(days * DAY_MS, Maintenance.expirePayers), (erased) => Option.getOrThrow(erased))

const entries = Effect.flatMap(TestService, ({ operate }) =>
  Effect.map(
    operate<{ data: ReadonlyArray<{ after: unknown; resource_id: string; operator: string }> }>(
      "GET",
      "/operator/v1/audit?action=payers.expire"
    ),
    ({ body }) => body.data.map(({ after, operator, resource_id }) => [operator, after, resource_id])
  )
)

layer(TestService.layer(), { excludeTestServices: true })("The retention of payers", (it) => {
  it.effect("OPR-339: erases who did not pay, once, keeps who paid, and waits for who still can", () =>
    Effect.gen(function* () {
      const { call, makeCaller, operate } = yield* TestService
      const sql = yield* SqlClient
      const { key } = yield* makeCaller()
      const customer = { ...someCustomer, email: `${newKey()}@example.com`, phone: "+5511987650000" }
      const idempotencyKey = newKey()
      const fields = { customer, description: `for ${customer.email}` }
      const expired = yield* created(key, fields, idempotencyKey)
      const canceled = yield* created(key, fields)
      yield* operated("POST", `/charges/${canceled.id}/cancel`)
      const paid = yield* paidCharge(key, 1000, fields)
      const open = yield* created(key, fields)
      yield* sql`UPDATE charges SET expires_at = now() + interval '3 years' WHERE id = ${open.id}::uuid`
      const later = yield* created(key, fields)
      const wordsOf = (id: string) =>
        sql`SELECT 1 FROM charge_words WHERE charge_id = ${id}::uuid AND left(word, 1) <> '$'`
      yield* eventually(wordsOf(expired.id), (words) => words.length > 0)
      const emailOf = (id: string) =>
        Effect.map(call<Charge>("GET", `/v1/charges/${id}`, { key }), ({ body }) => body.customer?.email ?? null)

      assert.strictEqual(yield* runAfter(395), 0)
      assert.deepStrictEqual(yield* entries, [])

      assert.strictEqual(yield* runAfter(397), 2)
      assert.deepStrictEqual(yield* entries, [["maintenance", { anonymised: 2 }, paid.id]])
      assert.deepStrictEqual(yield* Effect.forEach([expired, canceled, paid, open, later], ({ id }) => emailOf(id)), [
        null,
        null,
        customer.email,
        customer.email,
        customer.email
      ])
      assert.strictEqual(yield* runAfter(397), 0)
      assert.lengthOf(yield* entries, 1)

      yield* sql`UPDATE charges SET expires_at = now() WHERE id = ${open.id}::uuid`
      // No run reads again what one has read.
      yield* sql`UPDATE charges SET customer_name = 'Read again' WHERE id = ${expired.id}::uuid`
      assert.strictEqual(yield* runAfter(397), 2)
      const [read] = yield* sql<{ name: string }>`
        SELECT customer_name AS name FROM charges WHERE id = ${expired.id}::uuid`
      assert.strictEqual(read?.name, "Read again")
      yield* sql`UPDATE charges SET customer_name = NULL WHERE id = ${expired.id}::uuid`
      assert.deepStrictEqual(yield* Effect.forEach([paid, open, later], ({ id }) => emailOf(id)), [
        customer.email,
        null,
        null
      ])

      const repeated = yield* create(key, fields, idempotencyKey)
      assert.deepStrictEqual(
        [repeated.body.id, repeated.body.customer, repeated.body.description, repeated.body.amount],
        [expired.id, null, null, expired.amount]
      )
      for (const path of [`charges/${expired.id}`, "events?limit=100", `search?q=${customer.email}`]) {
        const { status, text } = yield* operate("GET", `/operator/v1/${path}`)
        assert.strictEqual(status, 200, text)
        const own = text.split(/(?="id":")/).filter((part) => part.includes(expired.id))
        for (const part of own) assert.notInclude(part, customer.email)
      }
      assert.deepStrictEqual(yield* wordsOf(expired.id), [])
    })
  )

  it.effect(
    "OPR-339: goes on where the last run ended, in commits of a thousand charges, while tenants create charges",
    () =>
      Effect.gen(function* () {
        const { makeCaller } = yield* TestService
        const sql = yield* SqlClient
        const { accountId, key } = yield* makeCaller()
        const { id } = yield* created(key)
        yield* sql`
        INSERT INTO charges (id, account_id, application_id, origin, method, amount, customer_name, customer_email,
          customer_document, created_at, sequence, status, expires_at)
        SELECT uuidv7(), account_id, application_id, origin, method, amount, customer_name, customer_email,
          customer_document, created_at, sequence, CASE WHEN n % 5 = 0 THEN 'paid' ELSE 'failed' END, expires_at
        FROM charges, generate_series(1, 3500) AS n WHERE id = ${id}::uuid`
        const [erased] = yield* Effect.all(
          [runAfter(397), Effect.forEach(Array.from({ length: 20 }), () => created(key), { concurrency: 4 })],
          { concurrency: 2 }
        )
        assert.isAtLeast(erased, 2800)
        yield* runAfter(397)
        const left = yield* sql<{ status: string; count: number }>`
        SELECT status, count(*)::integer AS count FROM charges
        WHERE account_id = ${accountId}::uuid AND customer_name IS NOT NULL AND status IN ('paid', 'failed')
        GROUP BY status`
        assert.deepStrictEqual(left, [{ status: "paid", count: 700 }])
      })
  )
})
