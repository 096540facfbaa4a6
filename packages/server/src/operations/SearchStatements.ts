/**
 * The statements of the search.
 *
 * Guarantees: each is one query that reads a bounded number of rows by an index, however many rows have the value. Rows of
 * other accounts than the operator's are not read past: an index by value begins with the value and the account.
 */
import type { SearchKind } from "@pix-payments/api/operator/Search"
import { part, type Statement, statement, value } from "../database/statements/Statement.ts"

/** `accounts` is an array as text; null for all. */
export interface Lookup {
  readonly value: string
  readonly accounts: string | null
}

export interface FoundRow {
  readonly kind: SearchKind
  readonly id: string
  readonly account_id: string | null
  readonly label: string | null
  /** Cents. */
  readonly amount: bigint | null
}

const PER_STATEMENT = 10
/** Accounts that have a value, of all accounts. */
const OWNERS = 20
const PER_OWNER = 5

interface Source {
  readonly from: string
  readonly label: string
  readonly amount?: string
  readonly account?: string
}

const sources: Readonly<Record<SearchKind, Source>> = {
  account: { from: "accounts t", label: "t.name", account: "t.id" },
  application: { from: "applications t", label: "t.name" },
  charge: { from: "charges t", label: "t.customer_name", amount: "t.amount" },
  delivery: { from: "deliveries t", label: "t.event" },
  dispute: { from: "disputes t", label: "t.reason", amount: "t.amount" },
  endpoint: {
    from: "webhook_endpoints t JOIN applications p ON p.id = t.application_id",
    label: "t.url",
    account: "p.account_id"
  },
  exception: { from: "acquirer_exceptions t", label: "t.kind", amount: "t.amount" },
  payout: { from: "payouts t", label: "t.recipient_name", amount: "t.amount" },
  refund: { from: "refunds t", label: "NULL", amount: "t.amount" },
  request: { from: "requests t", label: "t.route || ' ' || t.status" }
}

const accountOf = (kind: SearchKind): string => sources[kind].account ?? "t.account_id"

const columns = (kind: SearchKind): string =>
  `SELECT '${kind}' AS kind, t.id, ${accountOf(kind)} AS account_id, (${sources[kind].label})::text AS label,
    (${sources[kind].amount ?? "NULL"})::bigint AS amount`

const lookup = part(
  { value: value("text"), accounts: value("text") },
  ({ accounts, value: sought }) => ({ sought, accounts: `${accounts}::uuid[]` }),
  (each: Lookup) => each
)

type Bound = { readonly sought: string; readonly accounts: string }

/** Rows that a condition finds by an index that no other rows are in. */
const few = (kind: SearchKind, condition: (sought: string) => string) => (p: Bound) =>
  `(
  ${columns(kind)} FROM ${sources[kind].from}
  WHERE ${condition(p.sought)} AND (${p.accounts} IS NULL OR ${accountOf(kind)} = ANY (${p.accounts}))
  LIMIT ${PER_STATEMENT})`

const byId = (kind: SearchKind) => few(kind, (sought) => `t.id = ${sought}::uuid`)

/**
 * The newest rows with a value, some of each account. `index` is the whole index; as ranges of rows the conditions match no
 * other one.
 */
const many = (kind: SearchKind, index: readonly [value: string, account: string, ...rest: ReadonlyArray<string>]) => {
  const table = sources[kind].from
  const [column] = index
  const order = index.map((name) => `t.${name} DESC`).join(", ")
  const ownerAfter = (p: Bound, account: string) => `(
      SELECT t.account_id FROM ${table}
      WHERE (t.${column}, t.account_id) > (${p.sought}, ${account}) AND t.${column} <= ${p.sought}
      ORDER BY t.${column}, t.account_id LIMIT 1)`
  return (p: Bound) => `(
  WITH RECURSIVE owners(account_id, n) AS (
    SELECT ${ownerAfter(p, "'00000000-0000-0000-0000-000000000000'::uuid")}, 1 WHERE ${p.accounts} IS NULL
    UNION ALL
    SELECT ${ownerAfter(p, "o.account_id")}, o.n + 1 FROM owners o WHERE o.account_id IS NOT NULL AND o.n < ${OWNERS}
  )
  ${columns(kind)} FROM (
    SELECT account_id FROM owners WHERE account_id IS NOT NULL UNION SELECT unnest(${p.accounts})
  ) o CROSS JOIN LATERAL (
    SELECT * FROM ${table}
    WHERE (t.${column}, t.account_id) >= (${p.sought}, o.account_id)
      AND (t.${column}, t.account_id) <= (${p.sought}, o.account_id) AND t.${column} <= ${p.sought}
    ORDER BY ${order} LIMIT ${PER_OWNER}
  ) t
  ORDER BY t.id DESC LIMIT ${PER_STATEMENT})`
}

const all = (...selects: ReadonlyArray<(p: Bound) => string>): Statement<{ readonly lookup: Lookup }> =>
  statement({ lookup }, (p) => selects.map((select) => select(p.lookup)).join("\nUNION ALL "))

/** Accounts whose names and phones are compared, the newest. */
const ACCOUNTS = 5000

/** How many ids of one bank and minute are compared. */
const OF_A_MINUTE = 5000

/** Where a row is found by the id of a Pix or of its return: the table, and its columns of the row's id and of the bank's. */
type BankId = readonly [kind: SearchKind, table: string, id: string, column: string]

const bankIds: ReadonlyArray<BankId> = [
  ["charge", "charge_settlements", "charge_id", "end_to_end_id"],
  ["payout", "payouts", "id", "end_to_end_id"],
  ["exception", "acquirer_exceptions", "id", "end_to_end_id"],
  ["exception", "acquirer_exceptions", "id", "external_id"],
  ["exception", "exception_returns", "exception_id", "return_id"],
  ["dispute", "disputes", "id", "return_id"],
  ["refund", "refunds", "id", "provider_id"]
]

const ofBankId = ([kind, table, id, column]: BankId) =>
  few(
    kind,
    (sought) => `t.id = ANY (ARRAY(SELECT ${id} FROM ${table} WHERE ${column} = ${sought} LIMIT ${PER_STATEMENT}))`
  )

/**
 * Rows whose id at the bank is the one sought in another case, as people read it out and type it. Those of its bank and minute
 * are compared: they differ in the last eleven characters.
 */
const ofFoldedBankId = ([kind, table, id, column]: BankId) =>
  few(
    kind,
    (sought) => `t.id = ANY (ARRAY(
    SELECT s.${id} FROM (
      SELECT ${id}, ${column} FROM ${table}
      WHERE ${column} >= upper(left(${sought}, 21)) || '00000000000' AND ${column} <= upper(left(${sought}, 21)) || 'zzzzzzzzzzz'
      ORDER BY ${column} LIMIT ${OF_A_MINUTE}
    ) s WHERE lower(s.${column}) = lower(${sought}) LIMIT ${PER_STATEMENT}))`
  )

/** Of the newest accounts, those that a condition finds. */
const amongNewestAccounts = (condition: (sought: string) => string) => (p: Bound) =>
  `(
    ${columns("account")} FROM (SELECT * FROM accounts ORDER BY id DESC LIMIT ${ACCOUNTS}) t
    WHERE (${p.accounts} IS NULL OR t.id = ANY (${p.accounts})) AND ${condition(p.sought)}
    ORDER BY t.id DESC LIMIT ${PER_STATEMENT})`

/** How many times the digits of a short id have been used: each 50 days once, of two years. */
const SHORT_ID_PERIODS = 15

/** Rows whose id has these digits after the fourth: `shortIdOf` of the domain. */
const ofShortId = (kind: SearchKind) => (p: Bound) =>
  `(
  ${columns(kind)} FROM (
    SELECT lpad(to_hex(((extract(epoch FROM now()) * 1000)::bigint >> 32) - n), 4, '0') || left(${p.sought}, 4) || '-'
      || right(${p.sought}, 4) AS start
    FROM generate_series(0, ${SHORT_ID_PERIODS}) n
  ) period CROSS JOIN LATERAL (
    SELECT t.* FROM ${sources[kind].from} WHERE t.id >= (start || '-0000-0000-000000000000')::uuid
      AND t.id <= (start || '-ffff-ffff-ffffffffffff')::uuid
    ORDER BY t.id LIMIT ${PER_STATEMENT}
  ) t
  WHERE (${p.accounts} IS NULL OR ${accountOf(kind)} = ANY (${p.accounts})) LIMIT ${PER_STATEMENT})`

export const statements = {
  id: all(
    byId("charge"),
    byId("payout"),
    // Its id at the provider.
    few("payout", (sought) => `t.id = (SELECT resource_id FROM idempotency_keys WHERE digest = ${sought}::uuid)`),
    byId("refund"),
    byId("dispute"),
    byId("exception"),
    byId("delivery"),
    byId("account"),
    byId("application"),
    byId("endpoint"),
    // Its caller sent no request id.
    few("request", (sought) => `t.id = ${sought}::uuid AND t.request_id IS NULL`)
  ),
  txid: all(few("exception", (sought) => `t.txid = ${sought}`)),
  endToEndId: all(...bankIds.map(ofBankId)),
  reference: all(
    many("charge", ["reference", "account_id", "origin", "id"]),
    many("payout", ["reference", "account_id", "id"])
  ),
  foldedEndToEndId: all(...bankIds.map(ofFoldedBankId)),
  shortId: all(
    ofShortId("charge"),
    ofShortId("payout"),
    ofShortId("refund"),
    ofShortId("dispute"),
    ofShortId("exception")
  ),
  phone: all(
    // An account's phone is stored as it was written, with or without its country.
    amongNewestAccounts(
      (sought) => `regexp_replace(t.phone, '\\D', '', 'g') IN (substr(${sought}, 2), substr(${sought}, 4))`
    ),
    many("payout", ["pix_key", "account_id", "id"])
  ),
  accountName: all(
    amongNewestAccounts(
      (sought) => `NOT EXISTS (
      SELECT FROM unnest(search_words(ARRAY[${sought}])) AS asked(word) WHERE NOT EXISTS (
        SELECT FROM unnest(search_words(ARRAY[t.name, t.legal_name])) AS own(word) WHERE starts_with(own.word, asked.word)
      )
    ) AND cardinality(search_words(ARRAY[${sought}])) > 0`
    )
  ),
  requestId: all(few("request", (sought) => `t.request_id = ${sought}`)),
  document: all(
    few("account", (sought) => `t.document = ${sought}`),
    many("charge", ["customer_document", "account_id", "id"]),
    many("payout", ["recipient_document", "account_id", "id"]),
    many("payout", ["pix_key", "account_id", "id"])
  ),
  email: all(many("charge", ["customer_email", "account_id", "id"]), many("payout", ["pix_key", "account_id", "id"]))
}

export type SearchStatement = keyof typeof statements
