/** Which partitions statements open that name rows by their ids, and how they find the rows in them. */
import { assert, describe, it } from "@effect/vitest"
import * as PgClient from "@effect/sql-pg/PgClient"
import { lowestIdAt } from "@pix-payments/domain/Uuid"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import { text, uuid } from "../../../src/database/statements/Column.ts"
import { oneOfIds, updatesOf } from "../../../src/database/statements/PrunedIds.ts"
import { rows, statement } from "../../../src/database/statements/Statement.ts"
import { createDatabase } from "../../support/Postgres.ts"

const read = statement({ ids: oneOfIds }, ({ ids }) => `SELECT id FROM things WHERE ${ids("id")}`)

const write = statement(
  { changes: updatesOf(rows({ id: uuid(), value: text() })) },
  ({ changes }) => `
  UPDATE things t SET value = i.value FROM ${changes.rows} AS i WHERE ${changes.isRow("t", "i")} RETURNING t.id`
)

const PARTITIONS = 12

/** The lowest id of the partition `n`. */
const lowest = (n: number) => lowestIdAt(Date.UTC(2026, 3 * n))
const idsIn = (n: number) => Array.from({ length: 20 }, (_, index) => lowestIdAt(Date.UTC(2026, 3 * n, 2, index)))

/** A table, in twelve partitions of a quarter each or whole, and the planner settings of the service. */
const things = Effect.fnUntraced(function* (isPartitioned: boolean) {
  const url = yield* createDatabase()
  const built = yield* Layer.build(Layer.fresh(PgClient.layer({ url, maxConnections: 1 })))
  const sql = Context.get(built, SqlClient)
  // Few rows to a page, as in `charges`: the planner takes a range of ids for cheap.
  yield* sql.unsafe(
    `CREATE TABLE things (id uuid PRIMARY KEY, value text) ${isPartitioned ? "PARTITION BY RANGE (id)" : "WITH (fillfactor = 10)"}`
  )
  const partitions = isPartitioned ? PARTITIONS : 0
  for (let n = 0; n < partitions; n++) {
    yield* sql.unsafe(
      `CREATE TABLE things_${n} PARTITION OF things FOR VALUES FROM ('${lowest(n)}') TO ('${lowest(n + 1)}')`
    )
  }
  for (const name of ["enable_seqscan", "enable_hashjoin", "enable_mergejoin"]) yield* sql.unsafe(`SET ${name} = off`)
  yield* sql`SET plan_cache_mode = force_generic_plan`
  yield* sql.unsafe(`PREPARE reading AS ${read.text}`)
  yield* sql.unsafe(`PREPARE writing AS ${write.text}`)
  const explained = Effect.fnUntraced(function* (name: string, values: ReadonlyArray<string>) {
    const plan = yield* sql.unsafe<{ readonly "QUERY PLAN": string }>(
      `EXPLAIN (ANALYZE, TIMING OFF, COSTS OFF) EXECUTE ${name}(${values.map((each) => `'${each}'`).join(", ")})`
    )
    const lines = plan.map((row) => row["QUERY PLAN"].trim())
    const removed = lines.find((line) => line.startsWith("Subplans Removed: "))
    return { lines, opened: PARTITIONS - Number(removed?.slice("Subplans Removed: ".length) ?? 0) }
  })
  return {
    sql,
    reading: (ids: ReadonlyArray<string>) => explained("reading", [`{${ids.join(",")}}`, String(read({ ids })[1][1])]),
    writing: (ids: ReadonlyArray<string>) => {
      const [, parameters] = write({ changes: ids.map((id) => ({ id, value: "new" })) })
      const [count, oldest] = parameters.slice(2)
      const values = [ids, ids.map(() => "new")].map((each) => `{${each.join(",")}}`)
      return explained("writing", [...values, String(count), String(oldest)])
    }
  }
})

describe("Rows by their ids", () => {
  it.live("open no partition from before the oldest, in a plan that was made for all ids", () =>
    Effect.gen(function* () {
      const { reading, sql, writing } = yield* things(true)
      for (const n of [0, 10, 11]) {
        const ids = [...idsIn(n), ...idsIn(11)]
        yield* sql`INSERT INTO things (id) SELECT unnest(${ids}::uuid[]) ON CONFLICT DO NOTHING`
        assert.strictEqual((yield* reading(ids)).opened, PARTITIONS - n)
        assert.strictEqual((yield* writing(ids.toReversed())).opened, PARTITIONS - n)
      }
    }).pipe(Effect.scoped)
  )

  it.live.each([true, false])(
    "are found by one look-up each, also by a plan that was made while the table was empty (partitioned: %s)",
    (isPartitioned) =>
      Effect.gen(function* () {
        const { reading, sql, writing } = yield* things(isPartitioned)
        yield* writing(idsIn(0))
        yield* reading(idsIn(0))
        const ids = [...idsIn(0), ...idsIn(11)]
        const others = Array.from({ length: 1000 }, (_, index) => lowestIdAt(Date.UTC(2026, 6, 1, 0, index)))
        yield* sql`INSERT INTO things (id) SELECT unnest(${[...ids, ...others]}::uuid[])`
        for (const { lines } of [yield* writing(ids), yield* reading(ids)]) {
          const plan = lines.join("\n")
          assert.notMatch(plan, /Materialize/, plan)
          const most = Math.max(...lines.map((line) => Number(/rows=([\d.]+) loops/.exec(line)?.[1] ?? 0)))
          // Twice: the rows were updated.
          assert.isAtMost(most, 2 * ids.length, plan)
        }
        const [written] = yield* sql`SELECT count(*)::integer AS count FROM things WHERE value = 'new'`
        assert.deepStrictEqual(written, { count: ids.length })
      }).pipe(Effect.scoped)
  )
})
