/**
 * Statement files and their lines in PostgreSQL.
 *
 * Guarantees:
 * - A bank account is all connections of a client. Its rows have the oldest one's id.
 * - A file is stored once, by its bytes; the same file again is answered as the first time.
 * - A line is stored once, whichever files have it (`StoredLines.ts`).
 * - A file of another bank or account number than the connection's `statement_account`, or, without one, than the files before it
 *   stores nothing.
 *
 * Rules: OPR-275, OPR-276.
 */
import { harmlessRemarks } from "@pix-payments/domain/BankStatement"
import { formatInstant } from "@pix-payments/domain/Instant"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import { createHash } from "node:crypto"
import { NotFoundError, type UnknownCursor } from "../base/Errors.ts"
import { Ids } from "../base/Ids.ts"
import { runToCompletion } from "../database/RunToCompletion.ts"
import { bigint, integer, nullable, text, uuid } from "../database/statements/Column.ts"
import { type Page, readPage } from "../database/statements/Paging.ts"
import { is } from "../database/statements/Seek.ts"
import { rows, statement, value } from "../database/statements/Statement.ts"
import { orUnavailable, type Unavailable } from "../database/Unavailable.ts"
import { ReconciliationDays } from "./ReconciliationDays.ts"
import { accountOf as accountOfText, type Statement, type UnreadLine } from "./StatementParts.ts"
import { hasIds, type StoredLine, unionOf } from "./StoredLines.ts"

export interface BankStatementRow {
  readonly id: string
  readonly connection_id: string
  readonly format: Statement["format"]
  readonly account: string | null
  readonly from_day: string | null
  readonly to_day: string | null
  readonly opening: bigint | null
  readonly closing: bigint | null
  readonly lines_read: number
  readonly lines_new: number
  readonly lines_unread: number
  readonly unread: ReadonlyArray<UnreadLine>
  readonly problems: ReadonlyArray<string>
  readonly created_at: Date
}

/** The file is of another account of the bank than those before it. */
export class OtherAccount extends Data.TaggedError("OtherAccount")<{ readonly account: string }> {}

export interface Imported {
  readonly row: BankStatementRow
  /** Whether the file was stored before. */
  readonly isKnown: boolean
}

export class BankStatementStore extends Context.Service<
  BankStatementStore,
  {
    /** The connection whose id the rows of its bank account have. */
    readonly accountOf: (connectionId: string) => Effect.Effect<string, NotFoundError | Unavailable>
    /** The same for the filter of a list, which an unknown connection leaves empty. */
    readonly accountOfFilter: (connectionId: string | undefined) => Effect.Effect<string | undefined, Unavailable>
    readonly put: (
      bankAccount: string,
      file: Uint8Array,
      statement: Statement
    ) => Effect.Effect<Imported, OtherAccount | Unavailable>
    readonly get: (id: string) => Effect.Effect<BankStatementRow, NotFoundError | Unavailable>
    readonly list: (
      bankAccount: string | undefined,
      page: Page
    ) => Effect.Effect<ReadonlyArray<BankStatementRow>, UnknownCursor | Unavailable>
  }
>()("@pix-payments/server/BankStatementStore") {
  static readonly layer = Layer.effect(
    BankStatementStore,
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const ids = yield* Ids
      const days = yield* ReconciliationDays
      const write = runToCompletion(sql)
      const found = (where: string, parameters: ReadonlyArray<unknown>) =>
        sql.unsafe<BankStatementRow>(`SELECT ${columns} FROM bank_statements ${where}`, parameters)

      const isOther = Effect.fnUntraced(function* (bankAccount: string, { account, bank }: Statement) {
        const own = yield* sql.unsafe<{ bank: string | null; account: string | null }>(
          ...findStatementAccounts({ bankAccount })
        )
        const before =
          own.length > 0
            ? own.map(({ account, bank }) => ({ bank, account: account === null ? null : accountOfText(account) }))
            : yield* sql<{ bank: string | null; account: string | null }>`
              SELECT DISTINCT bank, account FROM bank_statements WHERE connection_id = ${bankAccount}::uuid LIMIT 10`
        const isLike = (row: (typeof before)[number]) =>
          (bank === null || row.bank === null || row.bank === bank) &&
          (account === null || row.account === null || isSameAccount(row.account, account))
        return before.length > 0 && !before.some(isLike)
      })

      const accountOf = (connectionId: string) =>
        Effect.flatMap(orUnavailable(sql.unsafe<{ id: string }>(...findBankAccount({ connectionId }))), ([row]) =>
          row === undefined ? Effect.fail(new NotFoundError()) : Effect.succeed(row.id)
        )

      return BankStatementStore.of({
        accountOf,
        accountOfFilter: (id) =>
          id === undefined
            ? Effect.undefined
            : Effect.catchTag(accountOf(id), "NotFoundError", () => Effect.succeed(id)),

        put: (bankAccount, file, read) =>
          write(
            sql.withTransaction(
              Effect.gen(function* () {
                // Two files of an account are stored one after the other.
                yield* sql`SELECT pg_advisory_xact_lock(hashtextextended(${`bank-statements ${bankAccount}`}, 0))`
                const digest = createHash("sha256").update(file).digest("hex")
                const [known] = yield* found("WHERE connection_id = $1::uuid AND digest = $2", [bankAccount, digest])
                if (known !== undefined) return { row: known, isKnown: true }
                if (yield* isOther(bankAccount, read)) return yield* new OtherAccount({ account: read.account ?? "" })
                const nowMs = yield* Clock.currentTimeMillis
                const { id } = ids.next()
                const keys = read.lines.map(({ amount, day }) => ({ day, amount }))
                const stored = yield* sql.unsafe<StoredRow>(...findStored({ bankAccount, keys }))
                const { added, named } = unionOf(stored.map(storedOf), read.lines)
                yield* sql`INSERT INTO bank_statements ${sql.insert({
                  id,
                  connection_id: bankAccount,
                  digest,
                  format: read.format,
                  bank: read.bank,
                  account: read.account,
                  from_day: read.from,
                  to_day: read.to,
                  opening_day: read.opening?.day ?? null,
                  opening: read.opening?.amount ?? null,
                  closing_day: read.closing?.day ?? null,
                  closing: read.closing?.amount ?? null,
                  has_ids: hasIds(read.lines),
                  lines_read: read.lines.length,
                  lines_new: added.length,
                  lines_unread: read.unread.length,
                  unread: JSON.stringify(lookedAtFirst(read.unread).slice(0, MOST_UNREAD)),
                  problems: JSON.stringify(read.problems.slice(0, MOST_UNREAD)),
                  created_at: formatInstant(nowMs)
                })}`
                yield* sql.unsafe(
                  ...insertLines({
                    bankAccount,
                    statementId: id,
                    lines: added.map((line) => ({ ...line, id: ids.next().id }))
                  })
                )
                yield* sql.unsafe(...nameLines({ statementId: id, lines: named }))
                yield* days.requestOf(id)
                const [row] = yield* found("WHERE id = $1::uuid", [id])
                return { row: row!, isKnown: false }
              })
            )
          ),

        get: (id) =>
          Effect.flatMap(orUnavailable(found("WHERE id = $1::uuid", [id])), ([row]) =>
            row === undefined ? Effect.fail(new NotFoundError()) : Effect.succeed(row)
          ),

        list: (bankAccount, page) =>
          orUnavailable(
            readPage<BankStatementRow>(
              {
                table: "bank_statements",
                columns,
                ...(bankAccount !== undefined && { paths: [{ columns: [is("connection_id", "uuid", bankAccount)] }] })
              },
              page
            ).pipe(Effect.provideService(SqlClient, sql))
          )
      })
    })
  )
}

/** Of a file, the lines that its row names: those that may be movements first. */
export const MOST_UNREAD = 100

const lookedAtFirst = (unread: ReadonlyArray<UnreadLine>) =>
  unread.toSorted((a, b) => Number(harmlessRemarks.has(a.reason)) - Number(harmlessRemarks.has(b.reason)))

/**
 * Not every form of a file has the check digit at the end of the number, and OFX of some banks has the branch before it (without its
 * leading zeros): a number is the same as another one that ends in it.
 */
const isSameAccount = (a: string, b: string): boolean => endsIn(a, b) || endsIn(b, a)

const endsIn = (long: string, short: string): boolean =>
  [[long, short] as const, [long.slice(0, -1), short] as const, [long, short.slice(0, -1)] as const].some(
    ([text, number]) => text === number || (number.length >= SHORTEST_NUMBER && text.endsWith(number))
  )

const SHORTEST_NUMBER = 5

interface StoredRow extends Omit<StoredLine, "amount"> {
  readonly amount: bigint
}

const storedOf = (row: StoredRow): StoredLine => ({ ...row, amount: Number(row.amount) })

const columns = `id, connection_id, format, account, from_day::text AS from_day, to_day::text AS to_day, opening, closing, lines_read,
  lines_new, lines_unread, unread, problems, created_at`

const findBankAccount = statement(
  { connectionId: value("uuid") },
  ({ connectionId }) => `
  SELECT c.id FROM acquirer_connections c
  WHERE c.id = ${connectionId} OR c.id IN (
    SELECT other.connection_id FROM connection_keys own JOIN connection_keys other ON other.client = own.client
    WHERE own.connection_id = ${connectionId})
  ORDER BY c.id LIMIT 1`
)

const findStatementAccounts = statement(
  { bankAccount: value("uuid") },
  ({ bankAccount }) => `
  SELECT c.statement_account ->> 'bank' AS bank, c.statement_account ->> 'number' AS account FROM acquirer_connections c
  WHERE c.statement_account IS NOT NULL AND (c.id = ${bankAccount} OR c.id IN (
    SELECT other.connection_id FROM connection_keys own JOIN connection_keys other ON other.client = own.client
    WHERE own.connection_id = ${bankAccount}))`
)

const findStored = statement(
  { bankAccount: value("uuid"), keys: rows({ day: text(), amount: bigint() }) },
  ({ bankAccount, keys }) => `
  SELECT l.id, l.day::text AS day, l.amount, l.end_to_end_id AS "endToEndId", l.description, s.has_ids AS "hasIds"
  FROM (SELECT DISTINCT day::date AS day, amount FROM ${keys} AS k) k
  JOIN bank_statement_lines l ON l.connection_id = ${bankAccount} AND l.day = k.day AND l.amount = k.amount
  JOIN bank_statements s ON s.id = l.statement_id
  ORDER BY l.id`
)

const fileLine = {
  id: uuid(),
  line: integer(),
  endToEndId: nullable(text()),
  bankId: nullable(text()),
  description: text()
}

const insertLines = statement(
  {
    bankAccount: value("uuid"),
    statementId: value("uuid"),
    lines: rows({ ...fileLine, day: text(), amount: bigint() })
  },
  ({ bankAccount, lines, statementId }) => `
  INSERT INTO bank_statement_lines (id, connection_id, statement_id, line, day, amount, end_to_end_id, bank_id, description)
  SELECT id, ${bankAccount}, ${statementId}, line, day::date, amount, end_to_end_id, bank_id, description FROM ${lines} AS l`
)

const nameLines = statement(
  { statementId: value("uuid"), lines: rows(fileLine) },
  ({ lines, statementId }) => `
  UPDATE bank_statement_lines own SET statement_id = ${statementId}, line = l.line, end_to_end_id = l.end_to_end_id,
    bank_id = l.bank_id, description = l.description
  FROM ${lines} AS l WHERE own.id = l.id`
)
