/**
 * A list as a file of comma-separated values, as spreadsheets in Brazil open it: semicolons, decimal commas, CRLF, a byte order
 * mark.
 *
 * Guarantees:
 * - A page is read once the one before it has left, and the file has at most `MAX_CSV_ROWS` rows. Its last line says how many, and
 *   from where to go on; a file without it is incomplete.
 * - No cell is a formula. Personal data is masked as in the list. A stream ends when its operator may see something else.
 * - Times are those of the installation's zone, as spreadsheets read them: a sale of 22:15 is of that day.
 *
 * Rules: OPR-292.
 */
import { MAX_CSV_ROWS } from "@pix-payments/api/operator/Fields"
import type { Operator } from "@pix-payments/api/Security"
import { formatReais } from "@pix-payments/domain/Cents"
import { personalDataFor } from "@pix-payments/domain/Operator"
import { maskOf } from "@pix-payments/domain/PersonalData"
import type * as Schema from "effect/Schema"
import * as Effect from "effect/Effect"
import { Accounts } from "../../accounts/Accounts.ts"
import { localTimeIn } from "../../base/LocalTime.ts"
import { LimitedTo, type Page, type WalkedPage } from "../../database/statements/Paging.ts"
import type { Unavailable } from "../../database/Unavailable.ts"
import { Installation } from "../../operators/Installation.ts"
import { shareOf } from "./OperatorHandlers.ts"

type Cell = string | number | null | undefined

interface Csv<Row, Item, E> {
  readonly caller: Operator
  /** The columns, by what an item has in them. Beside `account_id` is a column `account` with its name. */
  readonly columns: Readonly<Record<string, (item: Item) => Cell>>
  /** The schema of items, whose annotations mask them. */
  readonly schema: Schema.Constraint
  readonly read: (page: Page) => Effect.Effect<WalkedPage<Row>, E>
  readonly toItem: (row: Row) => Item
}

/** Makes the answer: the rows of a list, a page at a time. */
export const csvAnswers = Effect.gen(function* () {
  const { get } = yield* Installation
  const { namesOf } = yield* Accounts
  return Effect.fnUntraced(function* <Row, Item, E>(csv: Csv<Row, Item, E>) {
    const { caller } = csv
    const limit = yield* LimitedTo
    const lines = linesOf(csv, localTimeIn((yield* get).timezone), namesOf)
    return {
      status: 200,
      stream: {
        contentType: "text/csv; charset=utf-8",
        owner: shareOf(caller),
        scope: `${caller.role} ${caller.accountIds?.join(" ") ?? "all"}`,
        next: Effect.suspend(lines).pipe(Effect.provideService(LimitedTo, limit))
      }
    }
  })
})

const PAGE = 100

/** The pieces of the file, one a call; undefined after its last line. */
const linesOf = <Row, Item, E>(
  { caller, columns, read, schema, toItem }: Csv<Row, Item, E>,
  localTime: (instant: string) => string,
  namesOf: (accountIds: ReadonlyArray<string>) => Effect.Effect<ReadonlyMap<string, string>, Unavailable>
) => {
  const mask = personalDataFor[caller.role] === "clear" ? undefined : maskOf(schema)
  const shown = (item: Item): Item => (mask === undefined ? item : (mask(item) as Item))
  const accountOf = (item: Item): string => String(columns["account_id"]?.(item))
  const names = Object.keys(columns).flatMap((name) => (name === "account_id" ? [name, "account"] : [name]))
  let startingAfter: string | undefined
  let count = 0
  let isDone = false
  let isFirst = true
  const piece = Effect.gen(function* () {
    const { next, rows } = yield* read({ limit: Math.min(PAGE, MAX_CSV_ROWS - count), startingAfter })
    const items = rows.map((row) => shown(toItem(row)))
    const accounts = names.includes("account") ? yield* namesOf([...new Set(items.map(accountOf))]) : undefined
    count += rows.length
    startingAfter = next
    isDone = next === undefined || count >= MAX_CSV_ROWS
    const head = isFirst ? [`\uFEFF${names.join(";")}`] : []
    isFirst = false
    const lines = items.map((item) =>
      names
        .map((name) => {
          const value = name === "account" ? accounts?.get(accountOf(item)) : columns[name]?.(item)
          return cellOf(name.endsWith("_at") && typeof value === "string" ? localTime(value) : value)
        })
        .join(";")
    )
    const end = isDone ? [next === undefined ? `# ${count}` : `# ${count}; starting_after=${next}`] : []
    return [...head, ...lines, ...end].map((line) => `${line}\r\n`).join("")
  })
  return (): Effect.Effect<string | undefined, E | Unavailable> => (isDone ? Effect.undefined : piece)
}

/** An amount with a decimal comma. */
export const reaisOf = (cents: number): string => formatReais(cents).replace(".", ",")

/** A text that a spreadsheet would calculate begins with an apostrophe. */
export const cellOf = (value: Cell): string => {
  if (value === null || value === undefined) return ""
  if (typeof value === "number") return String(value)
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value
  return /[";\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
