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

/** Accounts whose names are compared, the newest. */
const ACCOUNTS = 5000

/** How many end-to-end ids of one bank and minute are compared. */
const OF_A_MINUTE = 5000

/** Rows whose end-to-end id is the one sought in another case: those of its bank and minute are compared. */
const foldedIn = (table: string, id: string, sought: string): string => `
    SELECT s.${id} FROM (
      SELECT ${id}, end_to_end_id FROM ${table}
      WHERE end_to_end_id >= upper(left(${sought}, 21)) || '00000000000' AND end_to_end_id <= upper(left(${sought}, 21)) || 'zzzzzzzzzzz'
      ORDER BY end_to_end_id LIMIT ${OF_A_MINUTE}
    ) s WHERE lower(s.end_to_end_id) = lower(${sought})`

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
  endToEndId: all(
    few(
      "charge",
      (sought) => `t.id = ANY (ARRAY(SELECT charge_id FROM charge_settlements WHERE end_to_end_id = ${sought}))`
    ),
    few("payout", (sought) => `t.end_to_end_id = ${sought}`),
    few("exception", (sought) => `t.end_to_end_id = ${sought}`)
  ),
  reference: all(
    many("charge", ["reference", "account_id", "origin", "id"]),
    many("payout", ["reference", "account_id", "id"])
  ),
  // Ids of one bank and minute differ in their last eleven characters, and some are read out or typed in another case.
  foldedEndToEndId: all(
    few("charge", (sought) => `t.id = ANY (ARRAY(${foldedIn("charge_settlements", "charge_id", sought)}))`),
    few("payout", (sought) => `t.id = ANY (ARRAY(${foldedIn("payouts", "id", sought)}))`)
  ),
  shortId: all(
    ofShortId("charge"),
    ofShortId("payout"),
    ofShortId("refund"),
    ofShortId("dispute"),
    ofShortId("exception")
  ),
  phone: all(many("payout", ["pix_key", "account_id", "id"])),
  accountName: all(
    (p) => `(
    ${columns("account")} FROM (SELECT * FROM accounts ORDER BY id DESC LIMIT ${ACCOUNTS}) t
    WHERE (${p.accounts} IS NULL OR t.id = ANY (${p.accounts})) AND NOT EXISTS (
      SELECT FROM unnest(search_words(ARRAY[${p.sought}])) AS asked(word) WHERE NOT EXISTS (
        SELECT FROM unnest(search_words(ARRAY[t.name, t.legal_name])) AS own(word) WHERE starts_with(own.word, asked.word)
      )
    ) AND cardinality(search_words(ARRAY[${p.sought}])) > 0
    ORDER BY t.id DESC LIMIT ${PER_STATEMENT})`
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
