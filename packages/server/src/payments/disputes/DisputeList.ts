/**
 * The list of disputes, newest first, or by deadline those that are not decided.
 *
 * Guarantee: disputes of one payer are those of at most `MOST_OF_PAYER` charges with the customer of its charge, found without showing
 * who it is.
 *
 * Rules: OPR-290, OPR-380.
 */
import { DisputeStatus } from "@pix-payments/domain/Dispute"
import { formatInstant } from "@pix-payments/domain/Instant"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { UnknownCursor } from "../../base/Errors.ts"
import type { Row } from "../../database/statements/Column.ts"
import {
  type CreatedBetween,
  idsBetween,
  LimitedTo,
  type List,
  type Page,
  readSum,
  readWalked,
  type Walkable,
  type WalkedPage
} from "../../database/statements/Paging.ts"
import { between, equalsUnindexed } from "../../database/statements/Condition.ts"
import { HIGHEST, is, LOWEST, oneOf, oneOfIds } from "../../database/statements/Seek.ts"
import { statement, value } from "../../database/statements/Statement.ts"
import { disputeTable } from "./DisputeTable.ts"

export interface DisputeFilters extends CreatedBetween {
  readonly chargeId?: string | undefined
  /** A dispute: those of other charges of its payer. */
  readonly samePayerAs?: string | undefined
  readonly status?: DisputeStatus | undefined
  readonly amountMin?: number | undefined
  readonly amountMax?: number | undefined
  readonly deadlineBeforeMs?: number | undefined
  readonly byDeadline?: boolean | undefined
}

/** Reads a page. */
export const readDisputes = Effect.fnUntraced(function* (filters: DisputeFilters, page: Page) {
  const charges = yield* chargesOf(filters)
  if (filters.byDeadline !== true && filters.deadlineBeforeMs === undefined) {
    return yield* readWalked<Row>(disputeList(columns, filters, charges), page)
  }
  const rows = yield* readByDeadline(filters, charges, page)
  const shown = rows.slice(0, page.limit)
  const next = rows.length > page.limit ? String(shown.at(-1)!["id"]) : undefined
  return { rows: shown, next, lookedAt: shown.length } satisfies WalkedPage<Row>
})

/** Counts and sums them. */
export const readSumOfDisputes = Effect.fnUntraced(function* (filters: DisputeFilters) {
  return yield* readSum(disputeList("disputes.id", filters, yield* chargesOf(filters)))
})

/** The charges that the filters name; undefined for all. */
const chargesOf = Effect.fnUntraced(function* ({ chargeId, samePayerAs }: DisputeFilters) {
  const named = chargeId === undefined ? undefined : [chargeId.toLowerCase()]
  if (samePayerAs === undefined) return named
  const sql = yield* SqlClient
  const accounts = accountsText(yield* LimitedTo)
  const [payer] = yield* sql.unsafe<{ readonly document: string | null }>(...findPayer({ id: samePayerAs, accounts }))
  if (payer === undefined || payer.document === null) return []
  const found = yield* sql.unsafe<{ readonly id: string }>(...findChargesOf({ document: payer.document }))
  const ids = found.map(({ id }) => id)
  return named === undefined ? ids : ids.filter((id) => named.includes(id))
})

type Charges = ReadonlyArray<string> | undefined

const columns = disputeTable.columns("disputes")

/** The list; a filter by amount or deadline is checked on the rows of a walk. */
const disputeList = (columns: string, filters: DisputeFilters, charges: Charges): Walkable => {
  const { amountMax, amountMin, deadlineBeforeMs, samePayerAs, status } = filters
  const statusIs = status === undefined ? oneOf("status", DisputeStatus.literals) : is("status", "text", status)
  const ofCharges = charges === undefined ? undefined : [{ columns: [isOfCharges(charges)] }]
  const ofStatus = status === undefined ? undefined : [{ columns: [statusIs] }]
  const statusAmong = status === undefined ? [] : [equalsUnindexed("status", "text", status)]
  const others: List["filters"] =
    samePayerAs === undefined ? [] : [(bind) => `disputes.id IS DISTINCT FROM ${bind(samePayerAs)}::uuid`]
  const pathsOf = (ids: ReadonlyArray<string>) => [{ columns: [oneOfIds("account_id", ids), statusIs] }]
  return {
    table: "disputes",
    columns,
    account: "account_id",
    ...idsBetween(filters),
    // A charge has few disputes, so that a further filter on them needs no index.
    paths: ofCharges ?? ofStatus,
    filters: ofCharges === undefined ? others : [...others, ...statusAmong],
    pathsOf: ofCharges === undefined ? pathsOf : undefined,
    isServed: amountMin === undefined && amountMax === undefined && deadlineBeforeMs === undefined,
    counted: { state: () => "status", amount: "amount" },
    walk: {
      paths: ofCharges ?? ofStatus,
      conditions: [
        ...others,
        ...statusAmong,
        ...between("amount", "bigint", [amountMin, amountMax], true),
        ...(deadlineBeforeMs === undefined ? [] : [isUndecided]),
        ...between(
          "defense_deadline_at",
          "timestamptz",
          [undefined, deadlineBeforeMs === undefined ? undefined : formatInstant(deadlineBeforeMs)],
          false
        )
      ]
    },
    walkOf: ofCharges === undefined ? pathsOf : undefined
  }
}

const isOfCharges = (charges: ReadonlyArray<string>) =>
  charges.length === 1 ? is("charge_id", "uuid", charges[0]) : oneOfIds("charge_id", charges)

const isUndecided = () => "status || '' IN ('open', 'under_review')"

/** A page of those that are not decided, the first to end first. They are few. */
const readByDeadline = Effect.fnUntraced(function* (filters: DisputeFilters, charges: Charges, page: Page) {
  const sql = yield* SqlClient
  const accounts = accountsText(yield* LimitedTo)
  const { before = HIGHEST, from = LOWEST } = idsBetween(filters)
  const { startingAfter = null } = page
  if (startingAfter !== null) {
    const [known] = yield* sql.unsafe(...findOpen({ id: startingAfter, accounts }))
    if (known === undefined) return yield* new UnknownCursor()
  }
  return yield* sql.unsafe<Row>(
    ...findByDeadline({
      accounts,
      charges: charges === undefined ? null : `{${charges.join(",")}}`,
      other: filters.samePayerAs ?? null,
      status: filters.status ?? null,
      from,
      before,
      amountMin: filters.amountMin ?? 0,
      amountMax: filters.amountMax ?? Number.MAX_SAFE_INTEGER,
      deadline: filters.deadlineBeforeMs === undefined ? "infinity" : formatInstant(filters.deadlineBeforeMs),
      after: startingAfter,
      count: page.limit + 1
    })
  )
})

const accountsText = (limit: ReadonlyArray<string> | undefined): string | null =>
  limit === undefined ? null : `{${limit.join(",")}}`

const isWithin = (accounts: string, column = "account_id") =>
  `(${accounts}::uuid[] IS NULL OR ${column} = ANY (${accounts}::uuid[]))`

const findOpen = statement(
  { id: value("uuid"), accounts: value("text") },
  (p) => `SELECT id FROM disputes WHERE id = ${p.id} AND ${isWithin(p.accounts)} AND defense_deadline_at IS NOT NULL`
)

const findByDeadline = statement(
  {
    accounts: value("text"),
    charges: value("text"),
    other: value("uuid"),
    status: value("text"),
    from: value("uuid"),
    before: value("uuid"),
    amountMin: value("bigint"),
    amountMax: value("bigint"),
    deadline: value("text"),
    after: value("uuid"),
    count: value("integer")
  },
  (p) => `SELECT ${columns} FROM disputes
  WHERE status IN ('open', 'under_review') AND (defense_deadline_at, id) > (
      coalesce((SELECT a.defense_deadline_at FROM disputes a WHERE a.id = ${p.after}), '-infinity'), coalesce(${p.after}, '${LOWEST}'))
    AND defense_deadline_at < ${p.deadline}::timestamptz AND ${isWithin(p.accounts)}
    AND (${p.charges}::uuid[] IS NULL OR ${p.charges}::uuid[] @> ARRAY[charge_id])
    AND (${p.other} IS NULL OR id IS DISTINCT FROM ${p.other})
    AND (${p.status} IS NULL OR status IS NOT DISTINCT FROM ${p.status})
    AND (amount >= ${p.amountMin}) IS TRUE AND (amount <= ${p.amountMax}) IS TRUE
    AND (id >= ${p.from}) IS TRUE AND (id < ${p.before}) IS TRUE
  ORDER BY defense_deadline_at, disputes.id LIMIT ${p.count}`
)

/** How many charges of a payer are looked at. */
const MOST_OF_PAYER = 1000

const findPayer = statement(
  { id: value("uuid"), accounts: value("text") },
  (p) => `SELECT (SELECT c.customer_document FROM charges c WHERE c.id = d.charge_id) AS document FROM disputes d
  WHERE d.id = ${p.id} AND ${isWithin(p.accounts, "d.account_id")}`
)

const findChargesOf = statement(
  { document: value("text") },
  (p) => `SELECT id FROM charges WHERE customer_document = ${p.document} AND customer_document IS NOT NULL
  LIMIT ${MOST_OF_PAYER}`
)
