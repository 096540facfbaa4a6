/**
 * How many attempts were made for each account on each day, and how many succeeded.
 *
 * Guarantees:
 * - The statement that stores an attempt adds it: each is counted once, and stays when retention removes it.
 * - Days of over a month ago are one row for each account, so the number of rows depends on the accounts alone.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import * as BackgroundLoop from "../../base/observability/BackgroundLoop.ts"
import { bigint, uuid } from "../../database/statements/Column.ts"
import { TODAY } from "../../database/statements/Days.ts"
import { runToCompletion } from "../../database/RunToCompletion.ts"
import { rows } from "../../database/statements/Statement.ts"
import { addRows } from "./AddedRows.ts"
import type { CompletedAttempt } from "./Delivery.ts"

/** The parameter of `addTotals`. */
export const totals = rows({ account_id: uuid(), attempts: bigint(), successes: bigint() })

/** CTEs that add attempts to today's row of each account. */
export const addTotals = (from: string): string =>
  addRows("totals", `(SELECT *, ${TODAY} AS date FROM ${from} t)`, {
    table: "delivery_totals",
    key: ["account_id", "date"],
    columns: ["attempts", "successes"],
    add: (of, i) => `attempts = ${of}.attempts + ${i}.attempts, successes = ${of}.successes + ${i}.successes`
  })

/** The totals of some attempts. */
export const totalsOf = (completed: ReadonlyArray<CompletedAttempt>): ReadonlyArray<Totals> => {
  const byAccount = new Map<string, Totals>()
  for (const { delivery, outcome } of completed) {
    const of = byAccount.get(delivery.accountId) ?? { account_id: delivery.accountId, attempts: 0, successes: 0 }
    byAccount.set(delivery.accountId, of)
    of.attempts += 1
    if (outcome.status === "delivered") of.successes += 1
  }
  return [...byAccount.values()]
}

/** The sums of the rows with this condition: `successes` of all days, and `recent_attempts` and `recent_successes`. */
export const readTotals = (condition: string): string => `
  SELECT coalesce(sum(successes), 0)::bigint AS successes,
    coalesce(sum(attempts) FILTER (WHERE ${IS_RECENT}), 0)::bigint AS recent_attempts,
    coalesce(sum(successes) FILTER (WHERE ${IS_RECENT}), 0)::bigint AS recent_successes
  FROM delivery_totals WHERE ${condition}`

/** Merges the days of over a month ago. */
export const mergeOldDays = Effect.flatMap(SqlClient, (sql) => runToCompletion(sql)(sql.unsafe(merge)))

/** Merges in the background. */
export const loop = Layer.effectDiscard(
  Effect.forkScoped(BackgroundLoop.run("delivery totals", Effect.as(mergeOldDays, 0), Effect.sleep("1 hour")))
)

export interface Totals {
  readonly account_id: string
  attempts: number
  successes: number
}

/** Today and the six days before. */
const IS_RECENT = `date > ${TODAY} - 7`

const merge = `
  WITH old AS (
    DELETE FROM delivery_totals WHERE date > '-infinity' AND date < ${TODAY} - 31
    RETURNING account_id, attempts, successes
  )
  INSERT INTO delivery_totals AS t (account_id, date, attempts, successes)
  SELECT account_id, '-infinity', sum(attempts)::bigint, sum(successes)::bigint FROM old
  GROUP BY account_id ORDER BY account_id
  ON CONFLICT (account_id, date) DO UPDATE SET attempts = t.attempts + excluded.attempts,
    successes = t.successes + excluded.successes`
