/**
 * The operator routes of the books.
 */
import type { StatementAccount } from "@pix-payments/api/operator/Fields"
import type { Operator } from "@pix-payments/api/Security"
import { ValidationError } from "@pix-payments/api/WireErrors"
import type { BalanceTransactionType } from "@pix-payments/domain/BalanceTransaction"
import { personalDataFor } from "@pix-payments/domain/Operator"
import * as Effect from "effect/Effect"
import * as Pull from "effect/Pull"
import * as Stream from "effect/Stream"
import { Accounts } from "../../../accounts/Accounts.ts"
import { NotFoundError } from "../../../base/Errors.ts"
import { toClose, toOverdueClose, toTransaction } from "../../../ledger/BookResources.ts"
import { Closes } from "../../../ledger/Closes.ts"
import { LineDetails } from "../../../ledger/LineDetails.ts"
import { type BooksOf, Lines, type LinesOf } from "../../../ledger/Lines.ts"
import { OverdueCloses } from "../../../ledger/OverdueCloses.ts"
import { csv } from "../../../ledger/statements/Csv.ts"
import type { Format, StatementFacts } from "../../../ledger/statements/Format.ts"
import { chartOf, journal } from "../../../ledger/statements/Journal.ts"
import { jsonLines } from "../../../ledger/statements/JsonLines.ts"
import { monthlyPackage, reachOfMonth } from "../../../ledger/statements/MonthlyPackage.ts"
import { ofx1, ofx2 } from "../../../ledger/statements/Ofx.ts"
import { Statements } from "../../../ledger/statements/Statements.ts"
import { ConnectionStore } from "../../../providers/connections/ConnectionStore.ts"
import { answer } from "../../pipeline/Answer.ts"
import { listAnswer, pageFrom } from "../../pipeline/Lists.ts"
import { movedTo, notFound, unknownCursor } from "../../pipeline/WireTranslation.ts"
import { knownId, type OperatorHandlers, shareOf } from "../OperatorHandlers.ts"

export const accountBooksHandlers = Effect.gen(function* () {
  const here = yield* accountHere
  const closes = yield* Closes
  const page = yield* pages
  const file = yield* files

  const handlers: OperatorHandlers<"accountBooks"> = {
    transactions: ({ params, query }) =>
      Effect.gen(function* () {
        const { id } = yield* here(yield* knownId(params))
        return yield* Effect.tap(page({ accountId: id, balance: query.balance ?? "available" }, query), here(id))
      }).pipe(Effect.catchTags({ NotFoundError: notFound, UnknownCursor: unknownCursor })),
    closes: ({ params, query }) =>
      Effect.gen(function* () {
        const { id } = yield* here(yield* knownId(params))
        const found = yield* Effect.tap(closes.list({ accountId: id }, pageFrom(query)), here(id))
        return listAnswer(found, toClose, pageFrom(query))
      }).pipe(Effect.catchTags({ NotFoundError: notFound, UnknownCursor: unknownCursor })),
    statement: ({ caller, params, query }) =>
      Effect.gen(function* () {
        const account = yield* here(yield* knownId(params))
        return yield* file({ accountId: account.id }, account, query, caller, here(account.id))
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
        return yield* Effect.tap(page({ connectionId: id }, query), connections.get(id))
      }).pipe(Effect.catchTags({ NotFoundError: notFound, UnknownCursor: unknownCursor })),
    closes: ({ params, query }) =>
      Effect.gen(function* () {
        const { id } = yield* connections.get(yield* knownId(params))
        const found = yield* Effect.tap(closes.list({ connectionId: id }, pageFrom(query)), connections.get(id))
        return listAnswer(found, toClose, pageFrom(query))
      }).pipe(Effect.catchTags({ NotFoundError: notFound, UnknownCursor: unknownCursor })),
    statement: ({ caller, params, query }) =>
      Effect.gen(function* () {
        const connection = yield* connections.get(yield* knownId(params))
        return yield* file({ connectionId: connection.id }, connection, query, caller, connections.get(connection.id))
      }).pipe(Effect.catchTags({ NotFoundError: notFound }))
  }
  return handlers
})

export const closesHandlers = Effect.gen(function* () {
  const here = yield* accountHere
  const connections = yield* ConnectionStore
  const overdue = yield* OverdueCloses
  const makePackage = yield* monthlyPackage
  const reachOf = yield* reachOfMonth

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
      const owner = yield* here(accountId)
      return { of: { accountId: owner.id }, kind: "account", owner, whole: here(owner.id) } as const
    }
    const owner = yield* connections.get(connectionId!)
    return { of: { connectionId: owner.id }, kind: "connection", owner, whole: connections.get(owner.id) } as const
  })

  const handlers: OperatorHandlers<"closes"> = {
    overdue: ({ query }) =>
      Effect.gen(function* () {
        const page = pageFrom(query)
        return listAnswer(yield* overdue.list(page.limit + 1), toOverdueClose, page)
      }),
    package: ({ caller, params: { month }, query }) =>
      Effect.gen(function* () {
        if (!/^\d{4}-(?:0[1-9]|1[0-2])$/.test(month)) return yield* new NotFoundError()
        const { kind, of, owner, whole } = yield* ownerOf(caller.accountIds, query)
        const chart = query.chart === undefined ? {} : chartOf(query.chart)
        if (chart === undefined) return yield* new ValidationError({ details: ["chart"] })
        const { name: monthName, until } = yield* reachOf(of, month)
        const fileName = `${kind}-${owner.id}-${monthName}`
        return {
          status: 200,
          stream: {
            contentType: "application/zip",
            fileName: `${fileName}.zip`,
            owner: shareOf(caller),
            scope: `${kind} ${owner.id}`,
            next: endedBy(
              whole,
              piecesOf(
                makePackage({
                  of,
                  name: owner.name,
                  month,
                  chart,
                  fileName,
                  until,
                  bank: bankOf(owner, seesClear(caller))
                })
              )
            )
          }
        }
      }).pipe(Effect.catchTags({ NotFoundError: notFound }))
  }
  return handlers
})

/**
 * An account whose books are here. One that moves to another cell leaves none, which would be taken for all that there is: it is looked at
 * after a read too.
 */
const accountHere = Effect.map(Accounts, (accounts) =>
  Effect.fnUntraced(function* (id: string) {
    const account = yield* accounts.get(id)
    if (account.moved_to !== null) return yield* movedTo(account.moved_to)
    return account
  })
)

/** After the last piece, `whole` fails where the owner has moved meanwhile, so that the stream is cut. */
const endedBy = <A, E, R, E2>(whole: Effect.Effect<unknown, E2>, next: Effect.Effect<A | undefined, E, R>) =>
  Effect.tap(next, (piece) => (piece === undefined ? whole : Effect.void))

interface OwnerQuery {
  readonly account_id?: string
  readonly connection_id?: string
}

/** The pieces of a stream, of which the first one opens it; undefined after the last one. */
const piecesOf = <E>(stream: Stream.Stream<Uint8Array, E>) => {
  let pull: Pull.Pull<ReadonlyArray<Uint8Array>, E> | undefined
  return Effect.gen(function* () {
    pull ??= yield* Stream.toPull(stream)
    return yield* Pull.catchDone(Effect.map(pull, Buffer.concat), () => Effect.undefined)
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
  readonly chart?: string
  readonly reveal?: "true" | "false"
}

/** An export, streamed. The guard has decided whether documents may be revealed. */
const files = Effect.map(
  Effect.all([Statements, Closes]),
  ([statements, closes]) =>
    (of: BooksOf, owner: Owner, query: StatementQuery, caller: Operator, whole: Effect.Effect<unknown, unknown>) =>
      Effect.gen(function* () {
        const format = formatOf(query)
        const bad = [...(query.from > query.to ? ["to"] : []), ...(format === undefined ? ["chart"] : [])]
        if (format === undefined || bad.length > 0) return yield* new ValidationError({ details: bad })
        const isClear = query.reveal === "true"
        const { until } = yield* closes.reach(of, query.from, query.to)
        const next = statements.pieces({
          of,
          name: owner.name,
          from: query.from,
          to: query.to,
          until,
          format,
          bank: bankOf(owner, isClear || seesClear(caller)),
          isClear
        })
        const kind = "accountId" in of ? "account" : "connection"
        return {
          status: 200,
          stream: {
            contentType: format.contentType,
            fileName: `${kind}-${owner.id}-${query.from}-${until}.${format.extension}`,
            owner: shareOf(caller),
            scope: `${kind} ${owner.id} ${isClear}`,
            next: endedBy(whole, next)
          }
        }
      })
)

/** Whose statement it is. */
interface Owner {
  readonly id: string
  readonly name: string
  readonly statement_account: StatementAccount | null
}

/** Who does not see the number of a bank account gets the id, as where there is none. */
const bankOf = ({ id, statement_account }: Owner, seesNumber: boolean): StatementFacts["bank"] => ({
  code: statement_account?.bank ?? "000",
  branch: statement_account?.branch ?? "",
  number: (seesNumber ? statement_account?.number : undefined) ?? id.slice(0, 22)
})

const seesClear = ({ role }: Operator): boolean => personalDataFor[role] === "clear"

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
      return accounts === undefined ? undefined : journal(accounts, { decimal, bom: bom === "true" })
    }
  }
}
