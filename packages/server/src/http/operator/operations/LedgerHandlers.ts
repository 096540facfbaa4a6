/**
 * The operator routes of the ledger and of statistics.
 */
import type { LedgerEntry } from "@pix-payments/api/operator/Ledger"
import type { Cents } from "@pix-payments/domain/Cents"
import type { statsQuery } from "@pix-payments/api/operator/Stats"
import { ValidationError } from "@pix-payments/api/WireErrors"
import { formatInstant } from "@pix-payments/domain/Instant"
import * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import { DAY_MS } from "../../../database/Period.ts"
import { MAX_DAYS } from "../../../operations/HourlyVolumes.ts"
import type { BrokenClose } from "../../../ledger/ChainCheck.ts"
import type { LedgerKind } from "../../../ledger/Ledger.ts"
import { LedgerReports, type TransferRow } from "../../../ledger/LedgerReports.ts"
import { LedgerVerification, type Verified } from "../../../ledger/LedgerVerification.ts"
import { Statistics } from "../../../operations/Statistics.ts"
import { unknownCursor } from "../../pipeline/WireTranslation.ts"
import { answer } from "../../pipeline/Answer.ts"
import { createdBetween, listAnswer, pageFrom } from "../../pipeline/Lists.ts"
import type { OperatorHandlers } from "../OperatorHandlers.ts"

export const ledgerHandlers = Effect.gen(function* () {
  const ledger = yield* LedgerReports
  const verification = yield* LedgerVerification

  const handlers: OperatorHandlers<"ledger"> = {
    entries: ({ query }) =>
      Effect.gen(function* () {
        const page = pageFrom(query)
        const filters = { accountId: query.account_id, resourceId: query.resource_id, ...createdBetween(query) }
        const rows = yield* ledger.entries(filters, page)
        return listAnswer(rows, toLedgerEntry, page)
      }).pipe(Effect.catchTags({ UnknownCursor: unknownCursor })),
    verify: ({ query }) =>
      verification.verify(query.full === "true" ? "full" : "since-close").pipe(
        Effect.map((verified) => {
          const accounts = verified.accounts.map(toLedgerBalance)
          const differences = accounts.filter(({ computed, kept }) => computed !== kept)
          const states = verified.states.map(toLedgerBalance)
          const closes = verified.closes.map(toBrokenClose)
          return answer(200, {
            object: "ledger_verification" as const,
            consistent: differences.length + states.length + closes.length === 0,
            accounts,
            differences,
            states,
            closes
          })
        })
      )
  }
  return handlers
})

export const statsHandlers = Effect.gen(function* () {
  const stats = yield* Statistics

  const handlers: OperatorHandlers<"stats"> = {
    retrieve: ({ query }) =>
      Effect.gen(function* () {
        return answer(200, yield* stats.read(query.account_id, yield* rangeOf(query)))
      })
  }
  return handlers
})

/** The days that are asked for; too many, or such that do not exist, are refused. */
const rangeOf = Effect.fnUntraced(function* (query: Schema.Struct<typeof statsQuery>["Type"]) {
  const { from, interval = "day", to = from } = query
  if (from === undefined || to === undefined) {
    return to === undefined ? undefined : yield* new ValidationError({ details: ["from"] })
  }
  const [first, last] = [Date.parse(from), Date.parse(to)]
  if (!existsDay(from)) return yield* new ValidationError({ details: ["from"] })
  if (!existsDay(to) || last < first || last - first >= MAX_DAYS[interval] * DAY_MS) {
    return yield* new ValidationError({ details: ["to"] })
  }
  return { from, to, interval }
})

/** February has no 30th. */
const existsDay = (day: string): boolean =>
  Number.isFinite(Date.parse(day)) && formatInstant(Date.parse(day)).startsWith(day)

const toLedgerBalance = ({ computed, kept, kind, ownerId }: Verified) => ({
  account: { account_id: ownerId, name: kind },
  kept,
  computed
})

const toBrokenClose = ({ book, day, ownerId, problem }: BrokenClose) => ({
  account_id: book === "ledger" ? ownerId : null,
  connection_id: book === "bank" ? ownerId : null,
  day,
  problem
})

/** The ledger entry of `/operator/v1`. */
export const toLedgerEntry = (row: TransferRow): LedgerEntry => ({
  id: row.id,
  object: "ledger_entry",
  reason: row.reason,
  resource_id: row.resource_id,
  from: endOf(row, row.debit),
  to: endOf(row, row.credit),
  // The column has a CHECK for it.
  amount: Number(row.amount) as Cents,
  created_at: row.created_at.toISOString()
})

const endOf = (row: TransferRow, kind: LedgerKind) => ({
  account_id: kind === "acquirer" || kind === "fees" ? null : row.account_id,
  name: kind
})
