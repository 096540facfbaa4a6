/**
 * The ledger and the figures, for operators: entries, whether all of it adds up, and how much there is.
 */
import { type LedgerEntry, LedgerGroup } from "@pix-payments/api/operator/Ledger"
import { StatsGroup } from "@pix-payments/api/operator/Stats"
import { OperatorApi } from "@pix-payments/api/OperatorApi"
import type { Cents } from "@pix-payments/domain/Cents"
import { pageOf } from "@pix-payments/domain/List"
import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import * as Layer from "effect/Layer"
import type { LedgerKind } from "../../ledger/Ledger.ts"
import { LedgerReports, type TransferRow } from "../../ledger/LedgerReports.ts"
import { Statistics } from "../../operations/Statistics.ts"
import { serviceUnavailable, unknownCursor } from "../WireTranslation.ts"
import { pageFrom } from "./Requests.ts"

const ledgerLayer = HttpApiBuilder.group(
  OperatorApi,
  LedgerGroup.identifier,
  Effect.fn(function* (handlers) {
    const ledger = yield* LedgerReports

    return handlers
      .handle("entries", ({ query }) =>
        Effect.gen(function* () {
          const page = pageFrom(query)
          const rows = yield* ledger.entries({ accountId: query.account_id, resourceId: query.resource_id }, page)
          return pageOf(rows.map(toEntry), page.limit)
        }).pipe(Effect.catchTags({ UnknownCursor: unknownCursor, Unavailable: serviceUnavailable }))
      )
      .handle("verify", () =>
        ledger.verify.pipe(
          Effect.map((verified) => {
            const accounts = verified.map(({ accountId, computed, kept, kind }) => ({
              account: { account_id: accountId, name: kind },
              kept,
              computed
            }))
            const differences = accounts.filter(({ computed, kept }) => computed !== kept)
            return {
              object: "ledger_verification" as const,
              consistent: differences.length === 0,
              accounts,
              differences
            }
          }),
          Effect.catchTags({ Unavailable: serviceUnavailable })
        )
      )
  })
)

const statsLayer = HttpApiBuilder.group(
  OperatorApi,
  StatsGroup.identifier,
  Effect.fn(function* (handlers) {
    const stats = yield* Statistics

    return handlers.handle("retrieve", ({ query }) =>
      stats.read(query.account_id).pipe(Effect.catchTags({ Unavailable: serviceUnavailable }))
    )
  })
)

export const layer = Layer.mergeAll(ledgerLayer, statsLayer)

const toEntry = (row: TransferRow): LedgerEntry => ({
  id: row.id,
  object: "ledger_entry",
  reason: row.reason,
  resource_id: row.resource_id,
  from: endOf(row, row.debit),
  to: endOf(row, row.credit),
  // The column's CHECK holds what the brand says.
  amount: Number(row.amount) as Cents,
  created_at: row.created_at.toISOString()
})

const endOf = (row: TransferRow, kind: LedgerKind) => ({
  account_id: kind === "acquirer" || kind === "fees" ? null : row.account_id,
  name: kind
})
