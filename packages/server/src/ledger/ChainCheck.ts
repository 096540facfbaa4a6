/**
 * The check of closes against the transfers that they are of.
 *
 * Guarantees (OPR-256):
 * - A close is named where its transfers, its sums, its hash or the hash of the close before it are not as they were when it was
 *   stored, and a day whose transfers have no close although a later day has one, or although the account has no open day.
 * - It reads the closes of the newest closed day with their transfers, or all closes with all of theirs.
 * - The first `MOST` are named. Memory is that of one owner's closes and of one slice of transfers.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import { TODAY } from "../database/statements/Days.ts"
import { statement, value } from "../database/statements/Statement.ts"
import { orUnavailable, type Unavailable } from "../database/Unavailable.ts"
import { Closes } from "./Closes.ts"
import { afterClose, bookOf, closedDayOf, type CloseRow, columns, startAfter } from "./CloseRow.ts"
import { type Book, hashOf } from "./DayDigest.ts"
import type { BooksOf } from "./Lines.ts"

/** A day that is not as it was closed. */
export interface BrokenClose {
  readonly ownerId: string
  readonly book: Book
  readonly day: string
  /** Its transfers have changed, its own row, or the chain to the one before it; or it is not there. */
  readonly problem: "transfers" | "close" | "chain" | "missing"
}

export class ChainCheck extends Context.Service<
  ChainCheck,
  {
    /** Days that are not as they were closed: of the newest closed day, or of all days. */
    readonly check: (extent: "newest" | "full") => Effect.Effect<ReadonlyArray<BrokenClose>, Unavailable>
  }
>()("@pix-payments/server/ChainCheck") {
  static readonly layer = Layer.effect(
    ChainCheck,
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const closes = yield* Closes

      const checkOwner = Effect.fnUntraced(function* (of: BooksOf, ownerId: string, since: string, through: string) {
        const book = bookOf(of)
        const stored = yield* orUnavailable(sql.unsafe<CloseRow>(...closesSince({ ownerId, book, since })))
        const before = yield* closes.last(of, since)
        const broken: Array<BrokenClose> = []
        const name = (day: string, problem: BrokenClose["problem"]) => broken.push({ ownerId, book, day, problem })
        const known = new Map(stored.map((row) => [row.day, row]))
        let previous = before
        for (const row of stored) {
          const problem = problemOf(row, previous)
          if (problem !== undefined) name(row.day, problem)
          previous = row
        }
        const last = stored.at(-1)?.day ?? ""
        yield* closes.days(of, afterClose(of, before), last > through ? last : through, (computed) =>
          Effect.sync(() => {
            const row = known.get(computed.day)
            known.delete(computed.day)
            if (row === undefined) {
              name(computed.day, "missing")
              return computed
            }
            const isNamed = broken.some(({ day }) => day === row.day)
            if (!isNamed && computed.hash !== row.hash)
              name(row.day, computed.linesHash === row.lines_hash ? "close" : "transfers")
            return startAfter(row)
          })
        )
        // Their transfers are gone.
        for (const day of known.keys()) name(day, "transfers")
        return broken
      })

      return ChainCheck.of({
        check: Effect.fnUntraced(function* (extent) {
          const owners = yield* orUnavailable(
            sql.unsafe<{ owner_id: string; book: Book; since: string; through: string }>(
              extent === "full" ? everyOwner : ownersOfNewestDay
            )
          )
          const broken: Array<BrokenClose> = []
          for (const { book, owner_id: id, since, through } of owners) {
            if (broken.length >= MOST) break
            const of = book === "ledger" ? { accountId: id } : { connectionId: id }
            broken.push(...(yield* checkOwner(of, id, since, through)))
          }
          return broken.slice(0, MOST)
        })
      })
    })
  )
}

const MOST = 100

const problemOf = (row: CloseRow, previous: CloseRow | undefined): BrokenClose["problem"] | undefined => {
  const closed = closedDayOf(row)
  if (hashOf(row.book, row.owner_id, closed) !== row.hash) return "close"
  const isChained =
    row.previous_hash === (previous?.hash ?? null) && row.opening === (previous === undefined ? 0n : previous.closing)
  return isChained ? undefined : "chain"
}

/** Up to the day before an owner's open day. A bank account's day is closed again where its close is gone. */
const everyOwner = `
  SELECT owner_id, 'ledger' AS book, '-infinity' AS since, (coalesce(min(open_day), ${TODAY}) - 1)::text AS through
  FROM ledger_accounts WHERE kind IN ('available', 'unallocated') GROUP BY owner_id
  UNION ALL
  SELECT owner_id, book, '-infinity', max(day)::text FROM closes WHERE book = 'bank' GROUP BY owner_id, book
  ORDER BY owner_id, book`

const ownersOfNewestDay = `
  SELECT owner_id, book, day::text AS since, day::text AS through FROM closes WHERE day = (SELECT max(day) FROM closes) ORDER BY owner_id, book`

const closesSince = statement(
  { ownerId: value("uuid"), book: value("text"), since: value("text") },
  ({ book, ownerId, since }) => `
  SELECT ${columns} FROM closes WHERE owner_id = ${ownerId} AND book = ${book} AND day >= ${since}::date
  ORDER BY owner_id, book, closes.day`
)
