/** The list of charges in `processing`: each one once, whatever says that it waits, and at the cost of a page (CHG-20, PAG-1). */
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import { created, listed } from "../../support/ChargeRequests.ts"
import { makeExplainer, makeRecorder } from "../../support/Plans.ts"
import { asService } from "../../support/Postgres.ts"
import { TestService } from "../../support/TestService.ts"

// Nothing is due in the time of a test.
const settings = { simulatorSettleMs: 0, acquirerTimeoutMs: 600_000 }

const recorder = makeRecorder()

/** Charges of an account, created `seconds` ago and before. Returns their ids, newest first. */
const insertCharges = Effect.fnUntraced(function* (accountId: string, { isAnswered, many, secondsAgo }: ChargesBefore) {
  const sql = yield* SqlClient
  const inserted = yield* sql<{ id: string }>`
    INSERT INTO charges (id, account_id, application_id, origin, status, method, amount, created_at, sequence)
    SELECT uuidv7(-${secondsAgo} * interval '1 second' - n * interval '10 milliseconds'), ${accountId}::uuid, uuidv7(), 'api',
      ${isAnswered ? "pending" : "processing"}::text, 'pix', 100, now(), 1
    FROM generate_series(1, ${many}) AS n RETURNING id`
  return inserted
    .map(({ id }) => id)
    .toSorted()
    .toReversed()
})

interface ChargesBefore {
  readonly isAnswered: boolean
  readonly many: number
  readonly secondsAgo: number
}

const waiting = (secondsAgo: number, many = 1): ChargesBefore => ({ isAnswered: false, many, secondsAgo })

/** Recoveries of single charges. */
const recover = Effect.fnUntraced(function* (accountId: string, ids: ReadonlyArray<string>) {
  const sql = yield* SqlClient
  yield* sql`INSERT INTO charge_recoveries (due_at, id, charge_ids, account_id)
    SELECT now() + interval '1 hour', id, ARRAY[id], ${accountId}::uuid
    FROM unnest(string_to_array(${ids.join(",")}, ',')::uuid[]) AS c(id)`
})

/** All pages of the list. */
const allProcessing = Effect.fnUntraced(function* (key: string, limit: number) {
  const ids: Array<string> = []
  for (;;) {
    const after = ids.length === 0 ? "" : `&starting_after=${ids.at(-1)}`
    const { data, has_more } = yield* listed(key, `?status=processing&limit=${limit}${after}`)
    ids.push(...data.map(({ id }) => id))
    if (!has_more) return ids
  }
})

const service = TestService.layer({ settings }).pipe(Layer.provide(recorder.layer))

layer(service, { excludeTestServices: true })("Charges in processing", (it) => {
  it.effect("CHG-20: are each listed once, newest first", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const sql = yield* SqlClient
      const { accountId, key } = yield* makeCaller()
      const other = yield* makeCaller()
      const inBatch = [(yield* created(key)).id, (yield* created(key)).id].toReversed()
      yield* sql`UPDATE charges SET status = 'processing', sequence = 1
        WHERE id = ANY (string_to_array(${inBatch.join(",")}, ',')::uuid[])`
      yield* created(key)
      yield* created(other.key)
      yield* recover(accountId, inBatch.slice(1))

      const inLists = yield* insertCharges(accountId, waiting(60, 3))
      const ofOther = yield* insertCharges(other.accountId, waiting(70))
      const answered = yield* insertCharges(accountId, { ...waiting(80), isAnswered: true })
      // A list that was split in part, or listed twice.
      for (const listed of [
        [...inLists, ...ofOther],
        [inLists[0]!, ...answered]
      ]) {
        yield* sql`INSERT INTO charge_recoveries (due_at, id, charge_ids)
          VALUES (now() + interval '1 hour', uuidv7(), string_to_array(${listed.join(",")}, ',')::uuid[])`
      }
      yield* recover(accountId, inLists.slice(2))

      const alone = yield* insertCharges(accountId, waiting(90, 3))
      yield* recover(accountId, [...alone, ...(yield* insertCharges(accountId, { ...waiting(95), isAnswered: true }))])
      yield* recover(other.accountId, yield* insertCharges(other.accountId, waiting(95)))

      const ofCheckout = yield* insertCharges(accountId, waiting(100, 2))
      yield* sql`UPDATE charges SET origin = 'checkout' WHERE id = ANY (string_to_array(${ofCheckout.join(",")}, ',')::uuid[])`
      yield* recover(accountId, ofCheckout.slice(1))
      yield* sql`INSERT INTO charge_recoveries (due_at, id, charge_ids)
        VALUES (now() + interval '1 hour', uuidv7(), ARRAY[${ofCheckout[0]!}::uuid])`

      const expected = [...inBatch, ...inLists, ...alone]
      for (const limit of [1, 2, 20]) assert.deepStrictEqual(yield* allProcessing(key, limit), expected, `${limit}`)
    })
  )

  it.effect("PAG-1: are read as a page, with a backlog of the account and of another one", () =>
    Effect.gen(function* () {
      const { databaseUrl, makeCaller } = yield* TestService
      const sql = yield* SqlClient
      const callers = [yield* makeCaller(), yield* makeCaller()]
      for (const [index, { accountId, key }] of callers.entries()) {
        yield* created(key)
        yield* insertCharges(accountId, { ...waiting(3600, 20_000), isAnswered: true })
        yield* recover(accountId, yield* insertCharges(accountId, waiting(7200, index === 0 ? 10 : 20_000)))
      }
      const { explain } = yield* makeExplainer(asService(databaseUrl), recorder.settings())
      const { key: few } = callers[0]!
      const { key: many } = callers[1]!
      const [cursor] = (yield* listed(many, "?status=processing&limit=20")).data.slice(-1)
      for (const analyze of ["SELECT 1", "ANALYZE charges, charge_recoveries"]) {
        yield* sql.unsafe(analyze)
        for (const [key, query] of [
          [few, ""],
          [many, ""],
          [many, `&starting_after=${cursor!.id}`],
          [few, "&method=pix"]
        ] as const) {
          recorder.take()
          yield* listed(key, `?status=processing&limit=20${query}`)
          const sent = recorder.take().filter(({ text }) => /charge_recoveries[^]*AS found ORDER BY id DESC/.test(text))
          assert.lengthOf(sent, 1)
          const { pages, rows } = yield* explain(sent[0]!)
          assert.isBelow(Math.max(pages, rows), 1000, `${analyze} ${query}`)
        }
      }
    })
  )
})
