/**
 * How long PostgreSQL takes to find due deliveries: EXPLAIN ANALYZE of the statements that our delivery queue sends.
 */
import { NIL_UUID } from "@pix-payments/domain/Uuid"
import { Metrics } from "@pix-payments/server/base/observability/Metrics"
import { now } from "@pix-payments/server/webhooks/queue/DeliveryClaims"
import { DeliveryQueue } from "@pix-payments/server/webhooks/queue/DeliveryQueue"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import type { Client } from "pg"
import { insertDue } from "./DeliveryRows.ts"
import { BenchError } from "./Processes.ts"

export interface Statement {
  readonly statement: string
  readonly parameters: ReadonlyArray<unknown>
}

/** The look in the order of due times and the sweep over all destinations, captured from a queue without database. */
export const lookStatements = Effect.gen(function* () {
  const captured: Array<Statement> = []
  const recorder = {
    unsafe: (statement: string, parameters: ReadonlyArray<unknown>) => {
      captured.push({ statement, parameters })
      return Effect.succeed([])
    }
  }
  const layer = Layer.provide(
    DeliveryQueue.layer,
    Layer.merge(Layer.succeed(SqlClient, recorder as unknown as SqlClient), Metrics.layer)
  )
  const context = yield* Layer.build(layer)
  const queue = Context.get(context, DeliveryQueue)
  // The recorder returns no rows, which the queue rejects.
  yield* Effect.exit(
    queue.look("first", {
      from: { ...now, dueAt: "-infinity" },
      isOfAllTime: false,
      backlogged: [],
      perDestination: 50
    })
  )
  yield* Effect.exit(queue.sweep("first", { afterAccount: NIL_UUID, resumed: [] }))
  const [look, sweep] = captured
  return look !== undefined && sweep !== undefined
    ? { look, sweep }
    : yield* new BenchError({ message: "the delivery queue does not look for deliveries" })
}).pipe(Effect.scoped)

/** Execution times in milliseconds of five executions with `count` deliveries due. All changes are rolled back. */
export const lookDurations = async (
  database: Client,
  { parameters, statement }: Statement,
  url: string,
  count: number
): Promise<ReadonlyArray<number>> => {
  // The planner settings of our server's connections.
  await database.query("SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off")
  await database.query("BEGIN")
  await insertDue(database, url, count, "-1 second")
  await database.query("ANALYZE deliveries")
  const durations: Array<number> = []
  for (let round = 0; round < 6; round++) {
    const { rows } = await database.query<{ "QUERY PLAN": ReadonlyArray<{ "Execution Time": number }> }>(
      `EXPLAIN (ANALYZE, FORMAT JSON) ${statement}`,
      [...parameters]
    )
    // The first execution fills the caches.
    if (round > 0) durations.push(rows[0]?.["QUERY PLAN"][0]?.["Execution Time"] ?? Number.NaN)
  }
  await database.query("ROLLBACK")
  await database.query("VACUUM (ANALYZE) deliveries")
  return durations
}
