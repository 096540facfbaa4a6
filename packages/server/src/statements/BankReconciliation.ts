/**
 * Compares a day of a bank account with the books: the bank's statement, the provider's lists, our resources, the ledger.
 *
 * Guarantees:
 * - What the bank has and the books have not is healed (`HealedLines.ts`). Nothing is changed in any other way: a day that is compared
 *   again finds the same.
 * - A comparison has at most `MOST` lines of each side, and one at a time in a process. The day is due again in an hour where more is to
 *   be looked up.
 *
 * Rules: OPR-277 to OPR-280.
 */
import type { DayFailure } from "@pix-payments/domain/Reconciliation"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import * as BackgroundLoop from "../base/observability/BackgroundLoop.ts"
import { Metrics } from "../base/observability/Metrics.ts"
import { startOf, TODAY } from "../database/statements/Days.ts"
import { statement, value } from "../database/statements/Statement.ts"
import { orUnavailable, type Unavailable } from "../database/Unavailable.ts"
import { BankBalances } from "./BankBalances.ts"
import { BooksOfDay } from "./BooksOfDay.ts"
import { type BookMovement, compare, dayAfter, DAYS_AROUND, type IdFacts, openIds } from "./FourLegs.ts"
import { type BankDay, BankDays } from "./BankDays.ts"
import { makeHealed } from "./HealedLines.ts"
import { type DueDay, ReconciliationDays } from "./ReconciliationDays.ts"
import { ReconciliationStore } from "./ReconciliationStore.ts"

export class BankReconciliation extends Context.Service<
  BankReconciliation,
  {
    /** Compares a day that is due; how many there were. */
    readonly compareDue: Effect.Effect<number, Unavailable>
    /** Makes the days due of the last week that are closed and were not compared since they, or days that they pair with, ended. */
    readonly requestEnded: Effect.Effect<void, Unavailable>
  }
>()("@pix-payments/server/BankReconciliation") {
  static readonly layer = Layer.effect(
    BankReconciliation,
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const days = yield* ReconciliationDays
      const store = yield* ReconciliationStore
      const bankDays = yield* BankDays
      const books = yield* BooksOfDay
      const balances = yield* BankBalances
      const healed = yield* makeHealed
      /** Bank accounts whose days were compared, the last one last. */
      let recent: ReadonlyArray<string> = []

      /** Entries, with what both sides have of any day under the ids of what is open: each counterpart is there with its own. */
      const compared = Effect.fnUntraced(function* (
        { bankAccount, day }: DueDay,
        connectionIds: ReadonlyArray<string>,
        bank: BankDay,
        around: ReadonlyArray<BookMovement>,
        foreign: ReadonlySet<string>
      ) {
        const { ofBooks, ofLines } = openIds(bank.lines, around)
        const others = yield* bankDays.named(bankAccount, ofBooks)
        const names = [...ofLines, ...others.flatMap(({ endToEndId }) => endToEndId ?? [])]
        const named = yield* books.named(connectionIds, names)
        const elsewhere = yield* bankDays.named(bankAccount, [...names, ...named.flatMap(({ ids }) => ids)])
        const ofDay = new Set(bank.lines.flatMap((line) => (line.day === day ? (line.endToEndId ?? []) : [])))
        const unsettled = yield* books.unsettled(
          connectionIds,
          ofLines.filter((id) => ofDay.has(id))
        )
        const facts: IdFacts = { unsettled, foreign }
        return compare({
          day,
          bank: once([...bank.lines, ...others, ...elsewhere]),
          books: once([...around, ...named]),
          facts,
          isLaterDayKnown: bank.isLaterDayKnown
        })
      })

      const compareDay = Effect.fnUntraced(function* (due: DueDay) {
        const isSoon = yield* balances.read(due)
        const failed = (reason: DayFailure) => days.failed(due, reason, isSoon)
        const bank = yield* bankDays.day(due.bankAccount, due.day, MOST)
        if (bank === undefined) return yield* failed(`the bank has more than ${MOST} lines around the day`)
        if (!bank.isKnown) return yield* failed("no statement of the bank has this day")
        const connectionIds = yield* bankDays.connectionsOf(due.bankAccount)
        const around = books.between(
          connectionIds,
          dayAfter(due.day, -DAYS_AROUND),
          dayAfter(due.day, DAYS_AROUND),
          MOST
        )
        const before = yield* around
        if (before === undefined) return yield* failed(`the books have more than ${MOST} movements around the day`)
        // Whose they are does not change: others have their turn to be looked up.
        const known = yield* store.otherKeys(due)
        const entries = yield* compared(due, connectionIds, bank, before, known)
        const { effects, foreign, lookedUpTo } = yield* healed(due, connectionIds, entries)
        const after = effects > 0 ? ((yield* around) ?? before) : before
        const isSame = effects === 0 && foreign.size === 0
        yield* store.done(
          due,
          bank,
          isSame ? entries : yield* compared(due, connectionIds, bank, after, new Set([...known, ...foreign])),
          { isSoon, lookedUpTo }
        )
      })

      return BankReconciliation.of({
        compareDue: Effect.gen(function* () {
          const claimed = yield* days.claim(recent)
          for (const due of claimed) {
            recent = [...recent.filter((each) => each !== due.bankAccount), due.bankAccount]
            yield* compareDay(due)
          }
          return claimed.length
        }),
        requestEnded: Effect.gen(function* () {
          const ended = yield* orUnavailable(sql.unsafe<{ id: string; day: string }>(...findEnded({ days: DAYS_BACK })))
          for (const { day, id } of ended) yield* days.request(id, day)
        })
      })
    })
  )
}

/** Compares what is due. Each night the days that have ended are, at a bank with and without statements. */
export const loop = Layer.effectDiscard(
  Effect.gen(function* () {
    const { compareDue, requestEnded } = yield* BankReconciliation
    const { requestNightly } = yield* BankBalances
    const nightly = Effect.as(Effect.andThen(requestEnded, requestNightly), 0)
    yield* Effect.forkScoped(BackgroundLoop.run("nightly reconciliations", nightly, Effect.sleep("1 minute")))
    yield* Effect.forkScoped(BackgroundLoop.run("reconciliations", compareDue, Effect.sleep("1 second")))
  })
)

/** The gauges of unmatched lines and of statements that do not come. They are read in the background, so that a scrape waits for no query. */
export const metricsLoop = Layer.effectDiscard(
  Effect.gen(function* () {
    const { unmatched } = yield* ReconciliationStore
    const { missingSeconds } = yield* BankDays
    const metrics = yield* Metrics
    const round = Effect.map(unmatched, ({ cents, lines, oldestSeconds }) => {
      metrics.gauges({
        bank_reconciliation_unmatched_lines: lines,
        bank_reconciliation_unmatched_cents: cents,
        bank_reconciliation_oldest_unmatched_seconds: oldestSeconds
      })
      return 0
    })
    const statements = Effect.map(missingSeconds, (seconds) => {
      metrics.gauges({ bank_statement_missing_seconds: seconds })
      return 0
    })
    yield* Effect.forkScoped(BackgroundLoop.run("metrics of reconciliations", round, Effect.sleep("30 seconds")))
    yield* Effect.forkScoped(BackgroundLoop.run("metrics of statements", statements, Effect.sleep("5 minutes")))
  })
)

/** Lines of the bank, and movements of the books, of the day and the days around it. */
export const MOST = 250_000

/** After a week without the service, a person asks for the days before. */
const DAYS_BACK = 7

/**
 * A day with `timing` depends on the days after it, until these have ended. A bank account is the oldest connection of its client. The
 * simulator has no bank behind it.
 */
const findEnded = statement(
  { days: value("integer") },
  ({ days }) => `
  SELECT DISTINCT account.id, closed.day::text AS day
  FROM acquirer_connections c
  CROSS JOIN LATERAL (
    SELECT day FROM closes WHERE owner_id = c.id AND book = 'bank' AND day >= ${TODAY} - ${days} AND day < ${TODAY}
  ) closed
  CROSS JOIN LATERAL (
    SELECT coalesce((
      SELECT other.connection_id FROM connection_keys own JOIN connection_keys other ON other.client = own.client
      WHERE own.connection_id = c.id ORDER BY other.connection_id LIMIT 1), c.id) AS id
  ) account
  WHERE c.profile IS NOT NULL AND NOT EXISTS (
    SELECT FROM reconciliations r WHERE r.connection_id = account.id AND r.day = closed.day
      AND (r.status = 'requested' OR r.done_at >= ${startOf(`(CASE WHEN r.states -> 'timing' IS NULL THEN closed.day + 1
        ELSE least(closed.day + 1 + ${DAYS_AROUND}, ${TODAY}) END)`)}))
  LIMIT 1000`
)

const once = <A extends { readonly id: string }>(sides: ReadonlyArray<A>): ReadonlyArray<A> => [
  ...new Map(sides.map((side) => [side.id, side])).values()
]
