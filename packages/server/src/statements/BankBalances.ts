/**
 * The balances that banks say by API, beside those of the books.
 *
 * Guarantees:
 * - The night after a day, the balance of each bank account at a provider that has one is read; and again each hour of the day after
 *   it while it cannot be read, or differs from the books by other cents than the reading before: what is on its way arrives.
 * - Only a balance in whole cents is one. Anything else, and no answer in time, is a problem that is named.
 *
 * Rules: OPR-281.
 */
import { profiles } from "@pix-payments/api-pix/Profiles"
import { SIMULATOR_CONNECTION } from "@pix-payments/domain/AcquirerConnection"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import { runToCompletion } from "../database/RunToCompletion.ts"
import { statement, texts, value } from "../database/statements/Statement.ts"
import { orUnavailable, type Unavailable } from "../database/Unavailable.ts"
import { lastEndedDay } from "../ledger/Closes.ts"
import { Statements } from "../ledger/statements/Statements.ts"
import { Acquirer } from "../providers/Acquirer.ts"
import { BankDays } from "./BankDays.ts"
import { type DueDay, ReconciliationDays } from "./ReconciliationDays.ts"

export class BankBalances extends Context.Service<
  BankBalances,
  {
    /** Makes the day that has ended due at the bank accounts whose balance was not read since. */
    readonly requestNightly: Effect.Effect<void, Unavailable>
    /** Reads the balance where the day is the last that has ended. True where it is to be read again. */
    readonly read: (due: DueDay) => Effect.Effect<boolean, Unavailable>
  }
>()("@pix-payments/server/BankBalances") {
  static readonly layer = Layer.effect(
    BankBalances,
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const acquirer = yield* Acquirer
      const bankDays = yield* BankDays
      const statements = yield* Statements
      const days = yield* ReconciliationDays
      const write = runToCompletion(sql)

      const booksOf = Effect.fnUntraced(function* (bankAccount: string) {
        let sum = 0
        for (const connectionId of yield* bankDays.connectionsOf(bankAccount))
          sum += yield* statements.balanceBefore({ connectionId }, "infinity")
        return sum
      })

      return BankBalances.of({
        requestNightly: Effect.gen(function* () {
          const day = yield* lastEndedDay(sql)
          const due = yield* orUnavailable(sql.unsafe<{ id: string }>(...findUnread({ day, having: HAVING })))
          for (const { id } of due) yield* days.request(id, day)
        }),

        read: Effect.fnUntraced(function* ({ bankAccount, day, id }) {
          if (bankAccount === SIMULATOR_CONNECTION || day !== (yield* lastEndedDay(sql))) return false
          const answer = yield* acquirer.providerFor(bankAccount).pipe(
            Effect.flatMap(({ balance = Effect.undefined }) => balance),
            Effect.result
          )
          if (answer._tag === "Success" && answer.success === undefined) return false
          const said =
            answer._tag === "Success"
              ? { bank: String(answer.success), books: String(yield* booksOf(bankAccount)), problem: null }
              : { bank: null, books: null, problem: answer.failure.reason }
          const [stored] = yield* write(sql.unsafe<{ again: boolean }>(...storeReading({ id, ...said })))
          return stored?.again ?? false
        })
      })
    })
  )
}

/** The profiles whose API has a balance. */
const HAVING = profiles.filter(({ balance }) => balance !== null).map(({ name }) => name)

/** A bank account is the oldest connection of its client. Of a new one the first whole day is the first. */
const findUnread = statement(
  { day: value("text"), having: texts },
  ({ day, having }) => `
  SELECT c.id FROM acquirer_connections c
  WHERE c.profile = ANY (${having}) AND c.created_at < ${day}::date + 1
    AND NOT EXISTS (
      SELECT FROM connection_keys own JOIN connection_keys other ON other.client = own.client
      WHERE own.connection_id = c.id AND other.connection_id < c.id)
    AND NOT EXISTS (
      SELECT FROM reconciliations r WHERE r.connection_id = c.id AND r.day = ${day}::date
        AND (r.balance_at IS NOT NULL OR r.status = 'requested'))
  LIMIT 1000`
)

/** The difference of the first reading has none before it. */
const storeReading = statement(
  { id: value("uuid"), bank: value("text"), books: value("text"), problem: value("text") },
  ({ bank, books, id, problem }) => `
  UPDATE reconciliations r SET balance = ${bank}::bigint, balance_books = ${books}::bigint, balance_problem = ${problem}, balance_at = now(),
    balance_before = before.difference
  FROM (SELECT ${id} AS id) this LEFT JOIN LATERAL (
    SELECT b.balance - b.balance_books AS difference FROM reconciliations d
    JOIN reconciliations b ON b.connection_id = d.connection_id AND b.day < d.day AND b.balance IS NOT NULL
    WHERE d.id = this.id
    ORDER BY b.connection_id DESC, b.day DESC LIMIT 1
  ) before ON true
  WHERE r.id = this.id
  RETURNING r.balance IS NULL OR r.balance - r.balance_books <> r.balance_before AS again`
)
