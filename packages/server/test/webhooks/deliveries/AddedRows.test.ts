/** Counts are exact and never deadlock, whether their rows exist or not, and however many statements add to them at once. */
import * as PgClient from "@effect/sql-pg/PgClient"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import { bigint, integer } from "../../../src/database/statements/Column.ts"
import { rows, statement } from "../../../src/database/statements/Statement.ts"
import { addRows } from "../../../src/webhooks/deliveries/AddedRows.ts"
import { createDatabase } from "../../support/Postgres.ts"

const countsIn = (table: string) => ({
  table,
  key: ["a", "b"],
  columns: ["n"],
  add: (of: string, i: string) => `n = ${of}.n + ${i}.n`
})

/** As attempts are added to the health of endpoints and to the totals of accounts: rows of two tables, of which one may have fewer. */
const add = statement(
  { added: rows({ a: integer(), b: integer(), n: bigint() }) },
  ({ added }) => `
  WITH ${addRows("each", added, countsIn("counts"))},
  ${addRows("sum", `(SELECT a, 0 AS b, sum(n)::bigint AS n FROM ${added} s GROUP BY a)`, countsIn("sums"))}
  SELECT`
)

const ROUNDS = 200
const KEYS = 4

describe("Rows of counts", () => {
  for (const atOnce of [[1], [2], [3, 1, 2], [1, 1, 1, 4]]) {
    it.live(`are exact where statements add to ${atOnce.join(", ")} of them at once`, () =>
      Effect.gen(function* () {
        const url = yield* createDatabase()
        const layer = PgClient.layer({ url, maxConnections: 4 })
        const sql = Context.get(yield* Layer.build(Layer.fresh(layer)), SqlClient)
        for (const table of ["counts", "sums"]) {
          yield* sql.unsafe(`CREATE TABLE ${table} (a integer, b integer, n bigint NOT NULL, PRIMARY KEY (a, b))`)
        }
        const expected = new Map<string, number>()
        const inputs = Array.from({ length: ROUNDS }, (_, round) =>
          Array.from({ length: atOnce[round % atOnce.length]! }, (_, index) => {
            // In no order, and each once in a statement.
            const key = (round * 3 + index * (round % 2 === 0 ? 1 : KEYS - 1)) % KEYS
            const row = { a: key % 2, b: key >> 1, n: round }
            expected.set(`${row.a} ${row.b}`, (expected.get(`${row.a} ${row.b}`) ?? 0) + round)
            return row
          })
        )
        yield* Effect.forEach(inputs, (added) => sql.unsafe(...add({ added })), { concurrency: 4, discard: true })
        const stored = yield* sql<{ key: string; n: bigint }>`SELECT a || ' ' || b AS key, n FROM counts`
        assert.deepStrictEqual(new Map(stored.map(({ key, n }) => [key, Number(n)])), expected)
        assert.lengthOf(
          yield* sql`SELECT FROM (SELECT a, sum(n) AS n FROM counts GROUP BY a) c FULL JOIN sums s USING (a)
            WHERE c.n IS DISTINCT FROM s.n`,
          0
        )
      })
    )
  }
})
