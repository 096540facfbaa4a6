/**
 * The check of closes against the transfers that they are of.
 *
 * Guarantees (OPR-256):
 * - A close is named where its transfers, its sums, its hash or the hash of the close before it are not as they were when it was
 *   stored, and a day whose transfers have no close although a later day has one, or although the account has no open day.
 * - It reads the closes of the newest closed day and all closes of suspects, with their transfers; or all closes with all of theirs.
 * - The first `MOST` are named. Memory is that of one owner's closes and of one slice of transfers.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import { TODAY } from "../database/statements/Days.ts"
import { statement, uuids, value } from "../database/statements/Statement.ts"
import { orUnavailable, type Unavailable } from "../database/Unavailable.ts"
import { Closes } from "./Closes.ts"
import { afterClose, bookOf, closedDayOf, type CloseRow, columns, startAfter } from "./CloseRow.ts"
import { type Book, hashOf } from "./DayDigest.ts"
import type { BooksOf } from "./Lines.ts"

/** A day that is not as it was closed, or an open day that lacks transfers. */
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
    /** Days that are not as they were closed: of all days, or of the newest closed day and all days of these owners. */
    readonly check: (extent: "full" | ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<BrokenClose>, Unavailable>
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
        const gaps = new Set<string>()
        let previous = before
        for (const row of stored) {
          const problem = problemOf(row, previous)
          if (problem !== undefined) name(row.day, problem)
          if (row.last_position - (previous?.last_position ?? 0n) !== row.lines) gaps.add(row.day)
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
            // An entry was gone when the day was closed: positions have no gap (OPR-251).
            else if (!isNamed && gaps.has(row.day)) name(row.day, "transfers")
            return startAfter(row)
          })
        )
        // Their transfers are gone.
        for (const day of known.keys()) name(day, "transfers")
        return broken
      })

      const ownersBy = (text: string, parameters?: ReadonlyArray<unknown>) =>
        orUnavailable(sql.unsafe<{ owner_id: string; book: Book; since: string; through: string }>(text, parameters))

      return ChainCheck.of({
        check: Effect.fnUntraced(function* (extent) {
          const owners =
            extent === "full"
              ? yield* ownersBy(everyOwner)
              : [
                  ...(yield* ownersBy(...ofOwners({ ownerIds: extent }))),
                  ...(yield* ownersBy(...ofNewestDayBeside({ ownerIds: extent })))
                ]
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
const owners = (condition: string) => `
  SELECT owner_id, 'ledger' AS book, '-infinity' AS since, (coalesce(min(open_day), ${TODAY}) - 1)::text AS through
  FROM ledger_accounts WHERE kind IN ('available', 'unallocated') AND ${condition} GROUP BY owner_id
  UNION ALL
  SELECT owner_id, book, '-infinity', max(day)::text FROM closes WHERE book = 'bank' AND ${condition} GROUP BY owner_id, book
  ORDER BY owner_id, book`

const everyOwner = owners("true")

const ofOwners = statement({ ownerIds: uuids }, ({ ownerIds }) => owners(`owner_id = ANY (${ownerIds})`))

const ofNewestDayBeside = statement(
  { ownerIds: uuids },
  ({ ownerIds }) => `
  SELECT owner_id, book, day::text AS since, day::text AS through FROM closes
  WHERE day = (SELECT max(day) FROM closes) AND owner_id <> ALL (${ownerIds}) ORDER BY owner_id, book`
)

const closesSince = statement(
  { ownerId: value("uuid"), book: value("text"), since: value("text") },
  ({ book, ownerId, since }) => `
  SELECT ${columns} FROM closes WHERE owner_id = ${ownerId} AND book = ${book} AND day >= ${since}::date
  ORDER BY owner_id, book, closes.day`
)
