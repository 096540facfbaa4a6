/**
 * A month of long ago, as an installation has it after more than a year: finished rows in every table with a retention, and
 * deliveries that are still due, in flight and paused.
 */
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { databaseTime, partitionsOf } from "../../../src/schema/partitions/Catalog.ts"
import { hasRetention, partitionedTables } from "../../../src/schema/partitions/PartitionedTables.ts"
import { boundOf, DAY_MS, periodAfter } from "../../../src/database/Period.ts"
import { copyRows } from "../../support/Copies.ts"
import { paidCharge } from "../../support/Money.ts"
import { eventually, receiver } from "../../support/Receiver.ts"
import { TestService } from "../../support/TestService.ts"
import { changed, registered, resend } from "../../support/Webhooks.ts"

export const retainedTables = partitionedTables.filter(hasRetention).map(({ name }) => name)

/** Older than every retention. */
const MONTHS_AGO = 16

const partitionOf = (table: string) => `${table}_old`

/** Makes a partition of that month for each table. Its first partition begins after it. */
export const makeOldMonth = Effect.gen(function* () {
  const sql = yield* SqlClient
  const now = yield* databaseTime
  const [from, before] = [periodAfter("month", now, -MONTHS_AGO), periodAfter("month", now, 1 - MONTHS_AGO)]
  for (const table of retainedTables) {
    const [first] = (yield* partitionsOf(table))!
    yield* sql.unsafe(`DO $$ BEGIN
      ALTER TABLE ${table} DETACH PARTITION ${first!.name};
      CREATE TABLE ${partitionOf(table)} PARTITION OF ${table} FOR VALUES FROM ('${boundOf(from)}') TO ('${boundOf(before)}');
      ALTER TABLE ${table} ATTACH PARTITION ${first!.name} FOR VALUES FROM ('${boundOf(before)}') TO ('${first!.before}');
    END $$`)
  }
  // Changes of before the first transaction are counted.
  yield* sql`UPDATE status_counts_position SET change_id = 'ffffffff-ffff-ffff-ffff-ffffffffffff' WHERE transaction_id = '0'`
  // Ids of that month; those of each kind have their own.
  yield* sql.unsafe(`CREATE FUNCTION drill_id(n integer, kind integer) RETURNS uuid LANGUAGE sql IMMUTABLE
    RETURN (lpad(to_hex(${from + DAY_MS} + n::bigint * ${STEP_MS} + kind), 12, '0') || '7000' || '8'
      || substr(md5(n || ' ' || kind), 1, 15))::uuid`)
  yield* sql.unsafe(`CREATE FUNCTION drill_delivery_id(n integer, kind integer) RETURNS uuid LANGUAGE sql IMMUTABLE
    RETURN (left(drill_id(n, kind)::text, 18) || '-8000-' || substr(md5(n::text), 1, 12))::uuid`)
})

/** Between two copies of a kind. A month has room for millions of them. */
const STEP_MS = 8

const copyDeliveries = Effect.fnUntraced(function* (id: string, count: number, kind: number) {
  yield* copyRows("changes", `id = (SELECT change_id FROM deliveries WHERE id = '${id}')`, count, {
    id: `drill_id(n, ${kind})`,
    transaction_id: "'0'"
  })
  yield* copyRows("deliveries", `id = '${id}'`, count, {
    id: `drill_delivery_id(n, ${kind})`,
    change_id: `drill_id(n, ${kind})`
  })
})

/**
 * Stores finished deliveries of that month, and open ones to three endpoints: one that fails, one that never answers, and one
 * that is paused.
 */
export const openDeliveries = Effect.fnUntraced(function* (finished: number, open: number) {
  const sql = yield* SqlClient
  const { makeCaller } = yield* TestService
  const silent: Array<() => void> = []
  let isUp = false
  const taken: Array<string> = []
  const hooks = yield* receiver(({ body, path }, response) => {
    const take = () => {
      taken.push(body.id)
      response.writeHead(200).end()
    }
    if (isUp || path === "/") take()
    else if (path === "/failing") response.writeHead(503).end()
    else silent.push(take)
  })

  /** The delivery of a paid charge to a new endpoint, which is paused unless it is the working one. */
  const delivery = Effect.fnUntraced(function* (path: string) {
    const { key } = yield* makeCaller()
    const { id: endpointId } = yield* registered(key, { url: `${hooks.url}${path}`, events: ["charge.pix.paid"] })
    if (path !== "/") yield* changed(key, endpointId, { active: false })
    const charge = yield* paidCharge(key)
    const [made] = yield* eventually(
      sql<{ id: string }>`SELECT id FROM deliveries WHERE resource_id = ${charge.id}::uuid
        AND (status = 'delivered' OR paused_due_at IS NOT NULL)`,
      ({ length }) => length === 1
    )
    return { id: made!.id, resume: changed(key, endpointId, { active: true }) }
  })
  const working = yield* delivery("/")
  yield* resend(working.id)
  yield* eventually(
    sql`SELECT FROM delivery_attempts WHERE delivery_id = ${working.id}::uuid`,
    ({ length }) => length > 0
  )
  yield* eventually(
    sql`SELECT FROM deliveries WHERE id = ${working.id}::uuid AND status = 'delivered' AND attempts_made = 2`,
    ({ length }) => length === 1
  )
  yield* copyDeliveries(working.id, finished, 0)
  yield* copyRows("delivery_attempts", "true", finished, {
    id: "drill_id(n, 0)",
    delivery_id: "drill_delivery_id(n, 0)"
  })
  for (const table of ["requests", "notifications"]) {
    yield* eventually(sql.unsafe(`SELECT FROM ${table} LIMIT 1`), ({ length }) => length === 1)
    yield* copyRows(table, "true", finished, { id: "drill_id(n, 0)" })
  }

  const [failing, hanging, paused] = yield* Effect.forEach(["/failing", "/silent", "/paused"], delivery)
  for (const [index, { id }] of [failing!, hanging!, paused!].entries()) yield* copyDeliveries(id, open, 1 + index)
  yield* failing!.resume
  yield* hanging!.resume
  const attempted = sql`SELECT FROM deliveries WHERE url = ${`${hooks.url}/failing`} AND attempts_made = 0`
  yield* eventually(attempted, ({ length }) => length === 0)
  yield* eventually(
    Effect.sync(() => silent.length),
    (count) => count > 0
  )
  const bound = boundOf(periodAfter("month", yield* databaseTime, 1 - MONTHS_AGO))

  return {
    /** Those of the month that are open, by id. */
    open: sql<OpenDelivery>`
      SELECT id, CASE WHEN paused_due_at IS NOT NULL THEN 'paused' WHEN status = 'delivering' THEN 'in flight' ELSE 'due' END AS state
      FROM deliveries WHERE id < ${bound}::uuid AND status IN ('scheduled', 'delivering') ORDER BY id`,
    /** Lets all of them be delivered. Returns the ids that the receivers have taken, as often as they have. */
    finished: Effect.gen(function* () {
      isUp = true
      for (const take of silent) take()
      yield* paused!.resume
      yield* sql`UPDATE deliveries SET due_at = now() WHERE status = 'scheduled' AND due_at IS NOT NULL`
      const left = sql`SELECT FROM deliveries WHERE status IN ('scheduled', 'delivering')`
      yield* eventually(left, ({ length }) => length === 0)
      return taken
    })
  }
})

export interface OpenDelivery {
  readonly id: string
  readonly state: "due" | "in flight" | "paused"
}

/** Rows and bytes of the month in each table. */
export const sizesOfMonth = Effect.flatMap(SqlClient, (sql) =>
  Effect.forEach(retainedTables, (table) =>
    Effect.gen(function* () {
      yield* sql.unsafe(`ANALYZE ${partitionOf(table)}`)
      const [row] = yield* sql.unsafe<{ rows: number; bytes: number }>(`SELECT
        (SELECT count(*)::integer FROM ${partitionOf(table)}) AS rows,
        pg_total_relation_size('${partitionOf(table)}')::float8 AS bytes`)
      return { partition: partitionOf(table), ...row! }
    })
  )
)
