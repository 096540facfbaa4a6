/**
 * Exceptions in PostgreSQL: money, and claims on money, that fit no charge, with their transfers.
 *
 * Every write runs in a transaction that has locked the ledger accounts of the connection first, then the exception.
 */
import {
  type ExceptionAction,
  type ExceptionKind,
  type ExceptionStatus,
  exceptionStatuses,
  type ProviderOutcome
} from "@pix-payments/domain/AcquirerException"
import type { ExceptionRule } from "@pix-payments/domain/AcquirerConnection"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import type { Payer } from "../../providers/Acquirer.ts"
import type { UnknownCursor } from "../../base/Errors.ts"
import { Ids } from "../../base/Ids.ts"
import { IN_FORCE } from "../../providers/LateOutcomes.ts"
import { type Transfer, transfersUnderLock } from "../../ledger/Ledger.ts"
import { bigint, instant, json, nullable, type Row, text, uuid } from "../../database/statements/Column.ts"
import { type CreatedBetween, idsBetween, type List, type Page, readPage } from "../../database/statements/Paging.ts"
import { equalsUnindexed } from "../../database/statements/Condition.ts"
import { is, oneOf, oneOfIds } from "../../database/statements/Seek.ts"
import { CHANGED, statement, uuids, value } from "../../database/statements/Statement.ts"
import { type Stored, table } from "../../database/statements/Table.ts"
import { orUnavailable, type Unavailable } from "../../database/Unavailable.ts"

const exceptionTable = table({
  id: uuid(),
  connectionId: uuid(),
  kind: text<ExceptionKind>(),
  status: text<ExceptionStatus>(),
  /** Cents that arrived, were returned or are disputed. */
  amount: bigint(),
  /** What the charge asks for. */
  expectedAmount: nullable(bigint()),
  /** Cents of it in the connection's `unallocated`; below zero for a return of money that is not there. */
  unallocated: bigint(),
  endToEndId: nullable(text()),
  txid: nullable(text()),
  externalId: nullable(text()),
  pixKey: nullable(text()),
  payer: nullable(json<Payer>()),
  /** What arrived, where it cannot be read. */
  received: nullable(text()),
  occurredAtMs: instant("occurred_at"),
  chargeId: nullable(uuid()),
  accountId: nullable(uuid()),
  /** Of a contradictory outcome: what it contradicts. */
  payoutId: nullable(uuid()),
  /** A refund, or the order of an exception's return. */
  refundId: nullable(uuid()),
  providerOutcome: nullable(text<ProviderOutcome>()),
  /** How it was resolved; `return` of an open one: the provider is asked. */
  action: nullable(text<ExceptionAction>()),
  reason: nullable(text()),
  /** Why the last return failed, or why it cannot be read. */
  failureReason: nullable(text()),
  resolvedBy: nullable(text()),
  resolvedAtMs: nullable(instant("resolved_at")),
  createdAtMs: instant("created_at")
})

export interface StoredException extends Stored<typeof exceptionTable> {}

interface ExceptionFilters extends CreatedBetween {
  readonly kind?: ExceptionKind | undefined
  readonly status?: ExceptionStatus | undefined
}

export class ExceptionStore extends Context.Service<
  ExceptionStore,
  {
    /** Stores an exception, or the next state of one, with its transfers. */
    readonly put: (exception: StoredException, transfers: ReadonlyArray<Transfer>) => Effect.Effect<void, SqlError>
    /** Stores the provider's id of a return, and gives the id that its transfers name as their source. */
    readonly putReturn: (
      exceptionId: string,
      returnId: string | undefined
    ) => Effect.Effect<string | undefined, SqlError>
    readonly lock: (id: string) => Effect.Effect<StoredException | undefined, SqlError>
    /** The exceptions that a payment is, or has beside its charge, locked, oldest first. */
    readonly lockPayments: (
      connectionId: string,
      endToEndId: string
    ) => Effect.Effect<ReadonlyArray<StoredException>, SqlError>
    /** The contradiction of a payout or order that is in force, locked. */
    readonly lockContradiction: (subjectId: string) => Effect.Effect<StoredException | undefined, SqlError>
    /** The same, not locked. */
    readonly findContradiction: (subjectId: string) => Effect.Effect<StoredException | undefined, SqlError>
    /** What providers say of payouts and orders where it contradicts the books. */
    readonly contradictions: (
      subjectIds: ReadonlyArray<string>
    ) => Effect.Effect<ReadonlyMap<string, ProviderOutcome>, Unavailable>
    /** An exception, in the caller's transaction. */
    readonly get: (id: string) => Effect.Effect<StoredException | undefined, SqlError>
    /** The account that alone uses a connection, which is not the default one. */
    readonly accountOf: (connectionId: string) => Effect.Effect<string | null, SqlError>
    readonly ruleOf: (connectionId: string) => Effect.Effect<ExceptionRule, SqlError>
    readonly find: (id: string) => Effect.Effect<StoredException | undefined, Unavailable>
    readonly list: (
      filters: ExceptionFilters,
      page: Page
    ) => Effect.Effect<ReadonlyArray<StoredException>, UnknownCursor | Unavailable>
    /** The number of open exceptions of each kind, and the cents in `unallocated` of all connections. */
    readonly totals: Effect.Effect<
      { readonly open: ReadonlyMap<ExceptionKind, number>; readonly unallocated: number },
      Unavailable
    >
  }
>()("@pix-payments/server/ExceptionStore") {
  static readonly layer = Layer.effect(
    ExceptionStore,
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const ids = yield* Ids
      const decoded = Effect.map((found: ReadonlyArray<Row>) => found.map(exceptionTable.decode))
      const first = Effect.map((found: ReadonlyArray<Row>) =>
        found[0] === undefined ? undefined : exceptionTable.decode(found[0])
      )

      return ExceptionStore.of({
        put: (exception, transfers) => Effect.asVoid(sql.unsafe(...putOne({ exceptions: [exception], transfers }))),
        putReturn: Effect.fnUntraced(function* (exceptionId, returnId) {
          if (returnId === undefined) return undefined
          const { id } = ids.next()
          yield* sql`INSERT INTO exception_returns (id, exception_id, return_id)
            VALUES (${id}::uuid, ${exceptionId}::uuid, ${returnId})`
          return id
        }),
        lock: (id) => first(sql.unsafe<Row>(...lockOne({ id }))),
        lockPayments: (connectionId, endToEndId) =>
          decoded(sql.unsafe<Row>(...lockPaymentsOf({ connectionId, endToEndId }))),
        lockContradiction: (subjectId) => first(sql.unsafe<Row>(...lockContradictionOf({ subjectId }))),
        findContradiction: (subjectId) => first(sql.unsafe<Row>(...findContradictionOf({ subjectId }))),
        contradictions: (subjectIds) =>
          subjectIds.length === 0
            ? Effect.succeed(new Map())
            : sql
                .unsafe<{ readonly id: string; readonly outcome: ProviderOutcome }>(
                  ...findContradictions({ subjectIds })
                )
                .pipe(
                  Effect.map((found) => new Map(found.map(({ id, outcome }) => [id, outcome]))),
                  orUnavailable
                ),
        get: (id) => first(sql.unsafe<Row>(...findOne({ id }))),
        accountOf: (connectionId) =>
          Effect.map(
            sql<{ id: string }>`
              SELECT id FROM accounts
              WHERE connection_id = ${connectionId}::uuid AND connection_id IS NOT NULL
                AND NOT EXISTS (SELECT FROM acquirer_connections WHERE id = ${connectionId}::uuid AND is_default)
              LIMIT 2`,
            ([row, other]) => (row === undefined || other !== undefined ? null : row.id)
          ),
        ruleOf: (connectionId) =>
          Effect.map(
            sql<{ exception_rule: ExceptionRule }>`
              SELECT exception_rule FROM acquirer_connections WHERE id = ${connectionId}::uuid`,
            ([row]) => row?.exception_rule ?? "hold"
          ),
        find: (id) => orUnavailable(first(sql.unsafe<Row>(...findOne({ id })))),
        list: (filters, page) =>
          readPage<Row>(
            {
              table: "acquirer_exceptions",
              columns,
              account: "account_id",
              ...indexPaths(filters),
              ...idsBetween(filters)
            },
            page
          ).pipe(decoded, Effect.provideService(SqlClient, sql), orUnavailable),
        totals: Effect.gen(function* () {
          const open = yield* sql<{ kind: ExceptionKind; count: bigint }>`
            SELECT kind, count(*) AS count FROM acquirer_exceptions WHERE status = 'open' GROUP BY kind`
          const [sum] = yield* sql<{ balance: string }>`
            SELECT coalesce(sum(l.balance), 0)::text AS balance FROM acquirer_connections c
            JOIN ledger_accounts l ON l.owner_id = c.id AND l.kind = 'unallocated'`
          return {
            open: new Map(open.map(({ count, kind }) => [kind, Number(count)])),
            unallocated: Number(sum?.balance ?? 0)
          }
        }).pipe(orUnavailable)
      })
    })
  )
}

const columns = exceptionTable.columns()

/** Exceptions are few, so that a second filter needs no index. */
const indexPaths = (filters: ExceptionFilters): Partial<List> => {
  const { kind, status } = filters
  const statusIs = status === undefined ? oneOf("status", exceptionStatuses) : is("status", "text", status)
  const pathsOf: List["pathsOf"] = (ids) => [
    { columns: [oneOfIds("account_id", ids), statusIs], predicate: "account_id IS NOT NULL" }
  ]
  if (kind === undefined) return status === undefined ? { pathsOf } : { paths: [{ columns: [statusIs] }], pathsOf }
  return {
    paths: [{ columns: [is("kind", "text", kind)] }],
    pathsOf,
    filters: [
      equalsUnindexed("kind", "text", kind),
      ...(status === undefined ? [] : [equalsUnindexed("status", "text", status)])
    ]
  }
}

const putOne = statement(
  { exceptions: exceptionTable.rows(exceptionTable.fields), transfers: transfersUnderLock },
  (p) => `
  WITH ${CHANGED} AS (
    INSERT INTO acquirer_exceptions (${columns})
    SELECT ${columns} FROM ${p.exceptions} AS e
    ON CONFLICT (id) DO UPDATE SET status = excluded.status, amount = excluded.amount, unallocated = excluded.unallocated,
      charge_id = excluded.charge_id, account_id = excluded.account_id, action = excluded.action,
      reason = excluded.reason, failure_reason = excluded.failure_reason, resolved_by = excluded.resolved_by,
      resolved_at = excluded.resolved_at
    RETURNING id
  ),
  ${p.transfers.insert(CHANGED)}
  SELECT id FROM ${CHANGED}`
)

const select = `SELECT ${columns} FROM acquirer_exceptions`

const findOne = statement({ id: value("uuid") }, ({ id }) => `${select} WHERE id = ${id}`)

const lockContradictionOf = statement(
  { subjectId: value("uuid") },
  ({ subjectId }) => `${select} WHERE coalesce(payout_id, refund_id) = ${subjectId} AND ${IN_FORCE} FOR UPDATE`
)

const findContradictionOf = statement(
  { subjectId: value("uuid") },
  ({ subjectId }) => `${select} WHERE coalesce(payout_id, refund_id) = ${subjectId} AND ${IN_FORCE}`
)

const findContradictions = statement(
  { subjectIds: uuids },
  ({ subjectIds }) => `
  SELECT coalesce(payout_id, refund_id) AS id, provider_outcome AS outcome FROM acquirer_exceptions
  WHERE coalesce(payout_id, refund_id) = ANY (${subjectIds}) AND ${IN_FORCE}`
)

const lockOne = statement({ id: value("uuid") }, ({ id }) => `${select} WHERE id = ${id} FOR UPDATE`)

const lockPaymentsOf = statement(
  { connectionId: value("uuid"), endToEndId: value("text") },
  (p) => `${select}
  WHERE end_to_end_id = ${p.endToEndId} AND connection_id = ${p.connectionId}
    AND kind NOT IN ('unmatched_return', 'unmatched_dispute')
  ORDER BY id FOR UPDATE`
)
