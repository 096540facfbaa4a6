/**
 * The operator routes of the books.
 */
import { ValidationError } from "@pix-payments/api/WireErrors"
import type { BalanceTransactionType } from "@pix-payments/domain/BalanceTransaction"
import * as Effect from "effect/Effect"
import * as Pull from "effect/Pull"
import * as Stream from "effect/Stream"
import { Accounts } from "../../../accounts/Accounts.ts"
import { NotFoundError } from "../../../base/Errors.ts"
import { toClose, toTransaction } from "../../../ledger/BookResources.ts"
import { Closes } from "../../../ledger/Closes.ts"
import { LineDetails } from "../../../ledger/LineDetails.ts"
import { type BooksOf, Lines, type LinesOf } from "../../../ledger/Lines.ts"
import { csv } from "../../../ledger/statements/Csv.ts"
import type { Format } from "../../../ledger/statements/Format.ts"
import { chartOf, journal } from "../../../ledger/statements/Journal.ts"
import { jsonLines } from "../../../ledger/statements/JsonLines.ts"
import { monthlyPackage } from "../../../ledger/statements/MonthlyPackage.ts"
import { ofx1, ofx2 } from "../../../ledger/statements/Ofx.ts"
import { Statements } from "../../../ledger/statements/Statements.ts"
import { ConnectionStore } from "../../../providers/connections/ConnectionStore.ts"
import { answer } from "../../pipeline/Answer.ts"
import { listAnswer, pageFrom } from "../../pipeline/Lists.ts"
import { notFound, unknownCursor } from "../../pipeline/WireTranslation.ts"
import { knownId, type OperatorHandlers, shareOf } from "../OperatorHandlers.ts"

export const accountBooksHandlers = Effect.gen(function* () {
  const accounts = yield* Accounts
  const closes = yield* Closes
  const page = yield* pages
  const file = yield* files

  const handlers: OperatorHandlers<"accountBooks"> = {
    transactions: ({ params, query }) =>
      Effect.gen(function* () {
        const { id } = yield* accounts.get(yield* knownId(params))
        return yield* page({ accountId: id, balance: query.balance ?? "available" }, query)
      }).pipe(Effect.catchTags({ NotFoundError: notFound, UnknownCursor: unknownCursor })),
    closes: ({ params, query }) =>
      Effect.gen(function* () {
        const { id } = yield* accounts.get(yield* knownId(params))
        return listAnswer(yield* closes.list({ accountId: id }, pageFrom(query)), toClose, pageFrom(query))
      }).pipe(Effect.catchTags({ NotFoundError: notFound, UnknownCursor: unknownCursor })),
    statement: ({ caller, params, query }) =>
      Effect.gen(function* () {
        const { id, name } = yield* accounts.get(yield* knownId(params))
        return yield* file({ accountId: id }, { id, name }, query, shareOf(caller))
      }).pipe(Effect.catchTags({ NotFoundError: notFound }))
  }
  return handlers
})

export const connectionBooksHandlers = Effect.gen(function* () {
  const connections = yield* ConnectionStore
  const closes = yield* Closes
  const page = yield* pages
  const file = yield* files

  const handlers: OperatorHandlers<"connectionBooks"> = {
    transactions: ({ params, query }) =>
      Effect.gen(function* () {
        const { id } = yield* connections.get(yield* knownId(params))
        return yield* page({ connectionId: id }, query)
      }).pipe(Effect.catchTags({ NotFoundError: notFound, UnknownCursor: unknownCursor })),
    closes: ({ params, query }) =>
      Effect.gen(function* () {
        const { id } = yield* connections.get(yield* knownId(params))
        return listAnswer(yield* closes.list({ connectionId: id }, pageFrom(query)), toClose, pageFrom(query))
      }).pipe(Effect.catchTags({ NotFoundError: notFound, UnknownCursor: unknownCursor })),
    statement: ({ caller, params, query }) =>
      Effect.gen(function* () {
        const { id, name } = yield* connections.get(yield* knownId(params))
        return yield* file({ connectionId: id }, { id, name }, query, shareOf(caller))
      }).pipe(Effect.catchTags({ NotFoundError: notFound }))
  }
  return handlers
})

export const closesHandlers = Effect.gen(function* () {
  const accounts = yield* Accounts
  const connections = yield* ConnectionStore
  const makePackage = yield* monthlyPackage

  /** The books that a query names: an account's or a connection's. */
  const ownerOf = Effect.fnUntraced(function* (accountIds: ReadonlyArray<string> | null, query: OwnerQuery) {
    const { account_id: accountId, connection_id: connectionId } = query
    if ((accountId === undefined) === (connectionId === undefined)) {
      return yield* new ValidationError({ details: ["account_id"] })
    }
    if (accountIds !== null && (accountId === undefined || !accountIds.includes(accountId.toLowerCase()))) {
      return yield* new NotFoundError()
    }
    if (accountId !== undefined) {
      const { id, name } = yield* accounts.get(accountId)
      return { of: { accountId: id }, kind: "account", id, name } as const
    }
    const { id, name } = yield* connections.get(connectionId!)
    return { of: { connectionId: id }, kind: "connection", id, name } as const
  })

  const handlers: OperatorHandlers<"closes"> = {
    package: ({ caller, params: { month }, query }) =>
      Effect.gen(function* () {
        if (!/^\d{4}-(?:0[1-9]|1[0-2])$/.test(month)) return yield* new NotFoundError()
        const { id, kind, name, of } = yield* ownerOf(caller.accountIds, query)
        const chart = query.chart === undefined ? {} : chartOf(query.chart)
        if (chart === undefined) return yield* new ValidationError({ details: ["chart"] })
        const fileName = `${kind}-${id}-${month}`
        return {
          status: 200,
          stream: {
            contentType: "application/zip",
            fileName: `${fileName}.zip`,
            owner: shareOf(caller),
            scope: `${kind} ${id}`,
            next: piecesOf(makePackage({ of, name, month, chart, fileName, bank: bankOf(id, {}) }))
          }
        }
      }).pipe(Effect.catchTags({ NotFoundError: notFound }))
  }
  return handlers
})

interface OwnerQuery {
  readonly account_id?: string
  readonly connection_id?: string
}

/** The pieces of a streamed body, of which the first one opens the stream. */
const piecesOf = <E>(stream: Stream.Stream<Uint8Array, E>) => {
  let pull: Pull.Pull<ReadonlyArray<Uint8Array>, E> | undefined
  return Effect.gen(function* () {
    pull ??= yield* Stream.toPull(stream)
    return Buffer.concat(yield* Pull.catchDone(pull, () => Effect.interrupt))
  })
}

/** The parameters of a list of lines. */
interface LinesQuery {
  readonly limit?: number
  readonly starting_after?: string
  readonly type?: BalanceTransactionType
  readonly from?: string
  readonly to?: string
  readonly amount_min?: number
  readonly amount_max?: number
}

const pages = Effect.gen(function* () {
  const lines = yield* Lines
  const details = yield* LineDetails
  return Effect.fnUntraced(function* (of: LinesOf, query: LinesQuery) {
    const filters = {
      type: query.type,
      from: query.from,
      to: query.to,
      amountMin: query.amount_min,
      amountMax: query.amount_max
    }
    const { lines: found, next } = yield* lines.page(of, filters, pageFrom(query))
    const behind = yield* details.of(found)
    return answer(200, {
      object: "list" as const,
      data: found.map((line, index) => toTransaction(of, line, behind[index]!)),
      has_more: next !== undefined,
      next: next ?? null
    })
  })
})

/** The parameters of an export. */
interface StatementQuery {
  readonly from: string
  readonly to: string
  readonly format: "csv" | "ofx" | "ofx1" | "journal" | "jsonl"
  readonly separator?: "," | ";" | "tab"
  readonly decimal?: "." | ","
  readonly bom?: "true" | "false"
  readonly bank?: string
  readonly branch?: string
  readonly number?: string
  readonly chart?: string
  readonly reveal?: "true" | "false"
}

/** An export, streamed. The guard has decided whether documents may be revealed. */
const files = Effect.map(
  Statements,
  (statements) =>
    (of: BooksOf, owner: { readonly id: string; readonly name: string }, query: StatementQuery, share: string) =>
      Effect.gen(function* () {
        const format = formatOf(query)
        const bad = [...(query.from > query.to ? ["to"] : []), ...(format === undefined ? ["chart"] : [])]
        if (format === undefined || bad.length > 0) return yield* new ValidationError({ details: bad })
        const next = statements.pieces({
          of,
          name: owner.name,
          from: query.from,
          to: query.to,
          format,
          bank: bankOf(owner.id, query),
          isClear: query.reveal === "true"
        })
        const kind = "accountId" in of ? "account" : "connection"
        return {
          status: 200,
          stream: {
            contentType: format.contentType,
            fileName: `${kind}-${owner.id}-${query.from}-${query.to}.${format.extension}`,
            owner: share,
            scope: `${kind} ${owner.id} ${query.reveal === "true"}`,
            next: Effect.filterOrElse(
              next,
              (piece) => piece !== undefined,
              () => Effect.interrupt
            )
          }
        }
      })
)

const bankOf = (id: string, { bank = "000", branch = "", number = id.slice(0, 22) }: Partial<StatementQuery>) => ({
  code: bank,
  branch,
  number
})

const formatOf = ({ bom, chart, decimal = ".", format, separator = "," }: StatementQuery): Format | undefined => {
  switch (format) {
    case "csv":
      return csv({ separator, decimal, bom: bom === "true" })
    case "ofx":
      return ofx2
    case "ofx1":
      return ofx1
    case "jsonl":
      return jsonLines
    case "journal": {
      const accounts = chart === undefined ? {} : chartOf(chart)
      return accounts === undefined ? undefined : journal(accounts, decimal)
    }
  }
}
