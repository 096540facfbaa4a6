/**
 * Accounts and bank accounts with a day that should be closed and is not, whatever the reason: the metric, and the list for a person.
 *
 * Guarantee: a read is bounded by an index of what is open, by its limit and by the number of connections.
 *
 * Rules: OPR-264.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import * as BackgroundLoop from "../base/observability/BackgroundLoop.ts"
import { Metrics } from "../base/observability/Metrics.ts"
import { LimitedTo } from "../database/statements/Paging.ts"
import { statement, uuids, value } from "../database/statements/Statement.ts"
import { orUnavailable, type Unavailable } from "../database/Unavailable.ts"
import { dueConnections, lastEndedDay } from "./Closes.ts"

/** An owner, and its first day without a close. */
export interface OverdueClose {
  readonly owner_id: string
  readonly is_connection: boolean
  /** `yyyy-mm-dd`. */
  readonly day: string
}

export class OverdueCloses extends Context.Service<
  OverdueCloses,
  {
    /** Up to `limit` owners, the oldest day first; of the accounts that the operator is limited to. */
    readonly list: (limit: number) => Effect.Effect<ReadonlyArray<OverdueClose>, Unavailable>
  }
>()("@pix-payments/server/OverdueCloses") {
  static readonly layer = Layer.effect(
    OverdueCloses,
    Effect.gen(function* () {
      const sql = yield* SqlClient

      const list: OverdueCloses["Service"]["list"] = Effect.fnUntraced(function* (limit) {
        const accounts = yield* LimitedTo
        const through = yield* lastEndedDay(sql, OVERDUE_AFTER_MS)
        return yield* orUnavailable(
          sql.unsafe<OverdueClose>(
            ...(accounts === undefined ? findAll({ through, limit }) : findOf({ through, limit, accounts }))
          )
        )
      })

      return OverdueCloses.of({ list })
    })
  )
}

/** Sets the gauge. */
export const measure = Effect.gen(function* () {
  const { list } = yield* OverdueCloses
  const { gauges } = yield* Metrics
  gauges({ closes_overdue: (yield* list(MOST)).length })
})

/** The gauge is read in the background, so that a scrape waits for no query. */
export const loop = Layer.effectDiscard(
  Effect.forkScoped(BackgroundLoop.run("overdue closes", Effect.as(measure, 0), Effect.sleep("30 seconds")))
)

/** A night's closing has this long, and is repeated each minute. */
const OVERDUE_AFTER_MS = 3_600_000
const MOST = 10_000

const openAccounts = (through: string, limit: string, filter = "") => `
  SELECT owner_id, kind = 'unallocated' AS is_connection, open_day AS day FROM ledger_accounts
  WHERE open_day IS NOT NULL AND open_day <= ${through}::date ${filter} ORDER BY open_day, owner_id LIMIT ${limit}`

// Money of nobody is in the books of a connection, beside what its bank moved.
const findAll = statement(
  { through: value("text"), limit: value("integer") },
  ({ limit, through }) => `
  SELECT owner_id, bool_or(is_connection) AS is_connection, min(day)::text AS day
  FROM ((${openAccounts(through, limit)}) UNION ALL SELECT id, true, day FROM (${dueConnections(through)}) c) owners
  GROUP BY owner_id ORDER BY min(day), owner_id LIMIT ${limit}`
)

const findOf = statement(
  { through: value("text"), limit: value("integer"), accounts: uuids },
  ({ accounts, limit, through }) => `
  SELECT owner_id, is_connection, day::text AS day
  FROM (${openAccounts(through, limit, `AND owner_id = ANY (${accounts})`)}) owners ORDER BY day, owner_id`
)
