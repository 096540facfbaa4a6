/**
 * Work on every partitioned table.
 *
 * Guarantees:
 * - A table whose work fails stops no other. The failure is that of the whole work, after the last table.
 * - A table whose steps never got their locks, or took too long, is no failure: it is logged, and waits for the next run.
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { LOCK_NOT_AVAILABLE, QUERY_CANCELED, sqlErrorIn, sqlStateOf } from "../../database/SqlState.ts"
import { type PartitionedTable, partitionedTables } from "./PartitionedTables.ts"

/** Results by table, without those that wait for the next run. */
export const forEachTable = <A, E, R>(work: (table: PartitionedTable) => Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const results: Array<A> = []
    const postponed: Array<string> = []
    const failures: Array<Cause.Cause<E>> = []
    for (const table of partitionedTables) {
      const exit = yield* Effect.exit(work(table))
      if (Exit.isSuccess(exit)) results.push(exit.value)
      else {
        const error = sqlErrorIn(exit.cause)
        const reason = postponing[(error && sqlStateOf(error)) ?? ""]
        if (reason === undefined) failures.push(exit.cause)
        else {
          postponed.push(table.name)
          yield* Effect.logWarning(`${table.name} waits for the next maintenance: ${reason}`)
        }
      }
    }
    if (failures.length > 0) return yield* Effect.failCause(failures.reduce(Cause.combine))
    return { results, postponed }
  })

const postponing: Readonly<Record<string, string>> = {
  [LOCK_NOT_AVAILABLE]: "its locks were not free. A transaction is open for long.",
  [QUERY_CANCELED]: "a step would have stopped its writers for too long. Many deliveries wait, or the database is slow."
}
