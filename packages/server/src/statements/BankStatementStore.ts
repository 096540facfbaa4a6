/**
 * Statement files and their lines in PostgreSQL.
 *
 * Guarantees:
 * - A bank account is all connections of a client. Its rows have the oldest one's id.
 * - A file is stored once, by its bytes; the same file again is answered as the first time.
 * - A line is stored once, whichever files have it: it is known by its day, amount and end-to-end id, and by how many of these the
 *   day has. So two equal fees are two lines, also where one file has the morning and another the day.
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
import { accountOf as accountOfText, type Statement, type StatementLine, type UnreadLine } from "./StatementParts.ts"

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
                  lines_read: read.lines.length,
                  lines_new: 0,
                  lines_unread: read.unread.length,
                  unread: JSON.stringify(lookedAtFirst(read.unread).slice(0, MOST_UNREAD)),
                  problems: JSON.stringify(read.problems.slice(0, MOST_UNREAD)),
                  created_at: formatInstant(nowMs)
                })}`
                const [count] = yield* sql.unsafe<{ count: number }>(
                  ...insertLines({
                    bankAccount,
                    statementId: id,
                    lines: numbered(read.lines).map((line) => ({ ...line, id: ids.next().id }))
                  })
                )
                yield* days.requestOf(id)
                yield* sql`UPDATE bank_statements SET lines_new = ${count?.count ?? 0} WHERE id = ${id}::uuid`
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

/** Each line with its number among the equal ones of its day. */
export const numbered = (lines: ReadonlyArray<StatementLine>) => {
  const counts = new Map<string, number>()
  return lines.map((line) => {
    const key = `${line.day} ${line.amount} ${line.endToEndId ?? ""}`
    const occurrence = counts.get(key) ?? 0
    counts.set(key, occurrence + 1)
    return { ...line, occurrence }
  })
}

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

const insertLines = statement(
  {
    bankAccount: value("uuid"),
    statementId: value("uuid"),
    lines: rows({
      id: uuid(),
      line: integer(),
      day: text(),
      amount: bigint(),
      occurrence: integer(),
      endToEndId: nullable(text()),
      bankId: nullable(text()),
      description: text()
    })
  },
  ({ bankAccount, lines, statementId }) => `
  WITH inserted AS (
    INSERT INTO bank_statement_lines (id, connection_id, statement_id, line, day, amount, occurrence, end_to_end_id, bank_id, description)
    SELECT id, ${bankAccount}, ${statementId}, line, day::date, amount, occurrence, end_to_end_id, bank_id, description FROM ${lines} AS l
    ON CONFLICT DO NOTHING
    RETURNING id
  )
  SELECT count(*)::integer AS count FROM inserted`
)
