/**
 * Statements of accounts and bank accounts, made a piece at a time.
 *
 * Guarantees (OPR-258):
 * - Memory is that of `LINES_OF_A_PIECE` lines, however many the statement has.
 * - It has each line of its days once, in the order of the books. Lines that are stored meanwhile are in it or after it.
 * - A text statement that was cut off has no end: the last line of JSON Lines, and the closing tags of OFX.
 */
import { maskDocument } from "@pix-payments/domain/PersonalData"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import { localTimeIn } from "../../base/LocalTime.ts"
import { statement, value } from "../../database/statements/Statement.ts"
import { orUnavailable, type Unavailable } from "../../database/Unavailable.ts"
import { toClose, toTransaction } from "../BookResources.ts"
import { bookOf } from "../CloseRow.ts"
import { Closes } from "../Closes.ts"
import { movedBy } from "../DayDigest.ts"
import { LineDetails } from "../LineDetails.ts"
import { type BooksOf, Lines, type LinesOf, type Movement, placeAfter, startOf } from "../Lines.ts"
import type { Format, StatementFacts, StatementLine } from "./Format.ts"

/** Which statement. Days are inclusive; `until` is the last one that it names as its own, which is not to come. */
export interface StatementOf {
  readonly of: BooksOf
  readonly name: string
  readonly from: string
  readonly to: string
  readonly until: string
  readonly format: Format
  readonly bank: StatementFacts["bank"]
  /** Documents are not masked. */
  readonly isClear: boolean
}

export class Statements extends Context.Service<
  Statements,
  {
    /** Makes the next piece each time that it runs; `undefined` at the end. */
    readonly pieces: (which: StatementOf) => Effect.Effect<Uint8Array | undefined, Unavailable>
    /** Cents before a day: those of the last close before it, and of the lines since. */
    readonly balanceBefore: (of: BooksOf, day: string) => Effect.Effect<number, Unavailable>
  }
>()("@pix-payments/server/Statements") {
  static readonly layer = Layer.effect(
    Statements,
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const lines = yield* Lines
      const details = yield* LineDetails
      const closes = yield* Closes

      const balanceBefore: Statements["Service"]["balanceBefore"] = Effect.fnUntraced(function* (of, day) {
        const last = yield* closes.last(of, day)
        const since = {
          owner: "accountId" in of ? of.accountId : of.connectionId,
          after: last?.day ?? "-infinity",
          day
        }
        const [row] = yield* orUnavailable(
          sql.unsafe<{ moved: bigint }>(...(bookOf(of) === "bank" ? bankMoved(since) : accountMoved(since)))
        )
        return Number(last?.closing ?? 0n) + Number(row?.moved ?? 0n)
      })

      const factsOf = Effect.fnUntraced(function* ({ bank, from, name, of, until }: StatementOf) {
        const [row] = yield* orUnavailable(sql<{ timezone: string }>`SELECT timezone FROM installation_settings`)
        return {
          book: "accountId" in of ? "account" : "connection",
          ownerId: "accountId" in of ? of.accountId : of.connectionId,
          name,
          from,
          to: until,
          bank,
          timezone: row!.timezone,
          opening: yield* balanceBefore(of, from),
          madeAtMs: yield* Clock.currentTimeMillis
        } satisfies StatementFacts
      })

      const linesOf = Effect.fnUntraced(function* (
        which: StatementOf,
        { timezone }: StatementFacts,
        read: ReadonlyArray<Movement>,
        balance: number
      ) {
        const localTime = localTimeIn(timezone)
        const side: LinesOf = "accountId" in which.of ? { ...which.of, balance: "available" } : which.of
        const shown = read.filter(
          ({ credit, debit }) =>
            which.format.isComplete || !("balance" in side) || [credit, debit].includes("available")
        )
        const behind = yield* details.of(shown)
        let sum = balance
        const made = shown.map((movement, index): StatementLine => {
          sum += movedBy(bookOf(which.of), movement).net
          const detail = behind[index]!
          const transaction = toTransaction(side, movement, which.isClear ? detail : masked(detail))
          return { transaction, movement, at: localTime(transaction.created_at), balance: sum }
        })
        return { made, sum }
      })

      return Statements.of({
        balanceBefore,
        pieces: (which) => {
          const { format, from, of, to } = which
          const encode = format.encode ?? ((text: string) => new TextEncoder().encode(text))
          let facts: StatementFacts | undefined
          let place = startOf(of, from)
          let balance = 0
          let count = 0
          let isDone = false
          return Effect.suspend(() =>
            Effect.gen(function* () {
              if (isDone) return undefined
              let text = ""
              if (facts === undefined) {
                facts = yield* factsOf(which)
                balance = facts.opening
                text = format.begin(facts)
              }
              const read = yield* lines.after(of, place, to, LINES_OF_A_PIECE)
              const { made, sum } = yield* linesOf(which, facts, read, balance)
              balance = sum
              count += made.length
              text += made.map(format.line).join("")
              if (read.length === LINES_OF_A_PIECE) place = placeAfter(of, read.at(-1)!)
              else {
                isDone = true
                const ended = format.isComplete ? yield* closes.between(of, from, to) : []
                text += format.end({ lines: count, closing: balance, closes: ended.map(toClose) }, facts)
              }
              return encode(text)
            })
          )
        }
      })
    })
  )
}

const LINES_OF_A_PIECE = 500

const masked = <
  Detail extends { readonly counterparty: { readonly name: string | null; readonly document: string | null } | null }
>(
  detail: Detail
): Detail =>
  detail.counterparty === null || detail.counterparty.document === null
    ? detail
    : {
        ...detail,
        counterparty: { ...detail.counterparty, document: maskDocument(detail.counterparty.document) }
      }

const since = { owner: value("uuid"), after: value("text"), day: value("text") }

const accountMoved = statement(
  since,
  ({ after, day, owner }) => `
  SELECT coalesce(sum(CASE 'available' WHEN credit THEN amount WHEN debit THEN -amount ELSE 0 END), 0)::bigint AS moved
  FROM ledger_transfers
  WHERE position > 0 AND (account_id, day) > (${owner}, ${after}::date) AND (account_id, day) < (${owner}, ${day}::date)`
)

const bankMoved = statement(
  since,
  ({ after, day, owner }) => `
  SELECT coalesce(sum(CASE 'acquirer' WHEN debit THEN amount WHEN credit THEN -amount ELSE 0 END), 0)::bigint AS moved
  FROM ledger_transfers
  WHERE connection_id IS NOT NULL AND (connection_id, day) > (${owner}, ${after}::date)
    AND (connection_id, day) < (${owner}, ${day}::date)`
)
