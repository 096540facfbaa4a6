/**
 * Charges in PostgreSQL, many in one statement and one commit.
 *
 * Guarantees:
 * - a row of `idempotency_keys` claims the idempotency key: of two calls with one key, one inserts and the other gets that
 *   charge (IDEM-5);
 * - a row of `charge_settlements` claims the end-to-end id of a payment, so that no settlement is credited twice
 *   (`Settlements.ts`);
 * - a change is guarded by the transition table and by the sequence on which it was decided; its outbox entry, ledger
 *   transfers and notification are in the same commit;
 * - a new charge has a recovery, so that it is found if the acquirer's answer never arrives (CHG-4, `NewRecoveries.ts`).
 *
 * Measured: bench/RESULTS.md ("create charge"). At 64 connections one statement for a batch costs PostgreSQL a fifth or less of one
 * for each charge.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import { makeReadPage, type ReadPage } from "../../accounts/AccountPages.ts"
import { type Caller, claimOf, isCurrent, type Proof, staleCaller } from "../../accounts/Caller.ts"
import type { UnknownCursor } from "../../base/Errors.ts"
import { DeliverySignal } from "../../events/DeliverySignal.ts"
import { Ids } from "../../base/Ids.ts"
import { inTrace } from "../../base/observability/Tracing.ts"
import { lockLedgerOf } from "../../ledger/Ledger.ts"
import * as Batching from "../../database/batching/Batching.ts"
import type { Row } from "../../database/statements/Column.ts"
import {
  type Page,
  readPage,
  readSum,
  readWalked,
  type Sum,
  type WalkedPage
} from "../../database/statements/Paging.ts"
import { orUnavailable, type Unavailable } from "../../database/Unavailable.ts"
import type { ChargeChange } from "./ChargeDecision.ts"
import { type ChargeFilters, chargeList } from "./ChargeLists.ts"
import { chargeWalk, type ChargeWalkFilters } from "./ChargeWalks.ts"
import {
  changeMany,
  chargePages,
  findAccount,
  findByIds,
  findOneByKey,
  findShown,
  insertMany,
  type InsertedRow,
  isChanged,
  isUnpaid,
  lockOne,
  type ShownRow,
  type WrittenRow
} from "./ChargeStatements.ts"
import { chargeTable, type ShownCharge, shownChargeTable, type StoredCharge } from "./ChargeTable.ts"
import { recoveriesOf } from "./NewRecoveries.ts"
import { makeReceivers } from "./Receivers.ts"

export class ChargeStore extends Context.Service<
  ChargeStore,
  {
    /** Stores a new charge, or gives the existing one of its idempotency key. Only charges of the API have a caller. */
    readonly insert: (
      charge: StoredCharge,
      recoverInMs: number,
      caller: Caller | undefined
    ) => Effect.Effect<Insertion, Unavailable>
    /** Applies a change; false when the charge has changed since it was decided. */
    readonly change: (change: ChargeChange) => Effect.Effect<boolean, Unavailable>
    /** The same in the caller's transaction, which has locked the charge, and claimed the settlement that pays it. */
    readonly changeInTransaction: (change: ChargeChange) => Effect.Effect<void, SqlError>
    /** Locks the ledger of a charge's account, then the charge, for the caller's transaction. */
    readonly lock: (id: string) => Effect.Effect<StoredCharge | undefined, SqlError>
    readonly find: (id: string) => Effect.Effect<StoredCharge | undefined, Unavailable>
    /** The same for a caller. */
    readonly findFor: (caller: Caller, id: string) => Effect.Effect<ShownCharge | undefined, Unavailable>
    readonly findByKey: (
      applicationId: string,
      origin: "api" | "checkout",
      key: string
    ) => Effect.Effect<StoredCharge | undefined, Unavailable>
    /** A page of the charges of the caller's account that were created through the API. */
    readonly listFor: ReadPage<ShownCharge, Omit<ChargeFilters, "origin">>
    /** The same for charges of every origin. Without `accountId`: of all accounts. */
    readonly listAll: (
      accountId: string | undefined,
      filters: ChargeWalkFilters,
      page: Page
    ) => Effect.Effect<WalkedPage<StoredCharge>, UnknownCursor | Unavailable>
    /** Their number and amount, as far as one request looks. */
    readonly sumAll: (accountId: string | undefined, filters: ChargeWalkFilters) => Effect.Effect<Sum, Unavailable>
  }
>()("@pix-payments/server/ChargeStore") {
  static readonly layer = Layer.effect(
    ChargeStore,
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const withReceivers = makeReceivers(sql)
      const select = selector(sql, withReceivers)

      return ChargeStore.of({
        insert: yield* insertions(select),
        ...(yield* changes),
        ...(yield* lookups(select)),
        ...(yield* lists(withReceivers))
      })
    })
  )
}

export interface Insertion {
  /** The charge of the idempotency key, where there was one. */
  readonly existing: StoredCharge | undefined
  /** False where the connection of the new charge is paused. */
  readonly mayEmit: boolean
}

type Store = ChargeStore["Service"]
type WithReceivers = ReturnType<typeof makeReceivers>
type Select = ReturnType<typeof selector>

/** Selects charges with their receivers. */
const selector =
  (sql: SqlClient, withReceivers: WithReceivers) =>
  <R extends Row>([text, parameters]: [string, ReadonlyArray<unknown>]) =>
    Effect.flatMap(sql.unsafe<R>(text, parameters), withReceivers)

const findByKey = (select: Select, key: Pick<StoredCharge, "applicationId" | "origin" | "idempotencyKey">) =>
  Effect.map(select<Row>(findOneByKey(key)), ([row]) => (row === undefined ? undefined : chargeTable.decode(row)))

const insertions = Effect.fnUntraced(function* (select: Select) {
  const sql = yield* SqlClient
  const ids = yield* Ids

  const insert = yield* Batching.make<NewCharge, Outcome>({
    maxBatch: 200,
    writes: sql,
    accountOf: ({ charge }) => charge.accountId,
    run: (charges) =>
      Effect.gen(function* () {
        const recoveries = recoveriesOf(
          ids,
          charges.map(({ charge }) => charge.id),
          Math.max(...charges.map(({ recoverInMs }) => recoverInMs))
        )
        const rows = yield* sql.unsafe<InsertedRow>(
          ...insertMany({
            charges: inKeyOrder(charges).map(({ caller, charge }) => ({ ...charge, ...claimOf(caller) })),
            recoveries
          })
        )
        const proof = rows.find((row) => row.generation !== null)
        const fresh = new Map(rows.map(({ id, is_paused }) => [id, is_paused]))
        return yield* Effect.forEach(charges, ({ caller, charge }): Effect.Effect<Outcome, SqlError> => {
          const isPaused = fresh.get(charge.id)
          if (isPaused !== undefined) {
            return Effect.succeed(Effect.succeed({ existing: undefined, mayEmit: !isPaused }))
          }
          if (caller !== undefined && !isCurrent(caller, proof)) return Effect.succeed(staleCaller)
          return Effect.map(findByKey(select, charge), (existing) => Effect.succeed({ existing, mayEmit: false }))
        })
      })
  })

  const insertion: Store["insert"] = (charge, recoverInMs, caller) =>
    Effect.flatten(insert({ charge, recoverInMs, caller }))
  return insertion
})

const changes = Effect.gen(function* () {
  const sql = yield* SqlClient
  const signal = yield* DeliverySignal

  // Two queues: changes that wait for ledger locks delay no other ones.
  const changeWith = Batching.make<ChargeChange, boolean>({
    maxBatch: 200,
    writes: sql,
    accountOf: ({ charge }) => charge.accountId,
    run: Batching.firstOfEach(
      ({ charge }) => charge.id,
      ({ charge }) => charge.accountId,
      (changes, lockMode) =>
        Effect.tap(sql.unsafe<WrittenRow>(...changeMany(changes, lockMode)), (written) =>
          sql.afterCommit(Effect.sync(() => signal.afterCommit(written.filter(isChanged))))
        )
    )
  })
  const changeUnpaid = yield* changeWith
  const changePaid = yield* changeWith

  const changing: Pick<Store, "change" | "changeInTransaction"> = {
    change: (change) => inTraceOf(change)(isUnpaid(change) ? changeUnpaid(change) : changePaid(change)),

    changeInTransaction: (change) =>
      Effect.gen(function* () {
        const done = (yield* sql.unsafe<WrittenRow>(...changeMany([change], "wait", true))).filter(isChanged)
        if (done.length !== 1) {
          return yield* Effect.die(new Error(`charge ${change.charge.id} has changed while it was locked`))
        }
        yield* sql.afterCommit(Effect.sync(() => signal.afterCommit(done)))
      }).pipe(inTraceOf(change))
  }
  return changing
})

const inTraceOf = ({ charge: { status, trace } }: ChargeChange) => inTrace(trace, `charge ${status}`)

/** Single charges. */
const lookups = Effect.fnUntraced(function* (select: Select) {
  const sql = yield* SqlClient

  const findMany = (ids: ReadonlyArray<string>) =>
    Effect.map(
      select<Row>(findByIds({ ids })),
      (found) => new Map(found.map(chargeTable.decode).map((charge) => [charge.id, charge]))
    )

  const find = yield* Batching.make<string, StoredCharge | undefined>({
    maxBatch: 500,
    run: (ids) => Effect.map(findMany(ids), (byId) => ids.map((id) => byId.get(id)))
  })

  const findFor = yield* Batching.make<Asked, Effect.Effect<ShownCharge | undefined, Unavailable>>({
    maxBatch: 500,
    run: (asked) =>
      Effect.map(select<ShownRow>(findShown({ ids: asked.map(({ id }) => id) })), (found) => {
        let proof: Proof | undefined
        const byId = new Map<string, ShownCharge>()
        for (const row of found) {
          if (row.generation !== null) proof = row
          else byId.set(row.id, shownChargeTable.decode(row))
        }
        return asked.map(({ caller, id }) => (isCurrent(caller, proof) ? Effect.succeed(byId.get(id)) : staleCaller))
      })
  })

  const found: Pick<Store, "find" | "findFor" | "findByKey" | "lock"> = {
    find: (id) => find(id.toLowerCase()),
    findFor: (caller, id) => Effect.flatten(findFor({ caller, id: id.toLowerCase() })),
    findByKey: (applicationId, origin, idempotencyKey) =>
      orUnavailable(findByKey(select, { applicationId, origin, idempotencyKey })),

    lock: Effect.fnUntraced(function* (id) {
      const [charge] = yield* sql.unsafe<{ readonly account_id: string }>(...findAccount({ id }))
      if (charge === undefined) return undefined
      yield* lockLedgerOf(sql, [charge.account_id])
      const [row] = yield* select<Row>(lockOne({ id }))
      return row === undefined ? undefined : chargeTable.decode(row)
    })
  }
  return found
})

const lists = Effect.fnUntraced(function* (withReceivers: WithReceivers) {
  const sql = yield* SqlClient

  const pageOf = <A>(
    { columns, decode }: { readonly columns: () => string; readonly decode: (row: Row) => A },
    accountId: string | undefined,
    filters: ChargeFilters,
    page: Page
  ) =>
    Clock.currentTimeMillis.pipe(
      Effect.flatMap((now) => readPage<Row>(chargeList(columns(), accountId, filters, now), page)),
      Effect.flatMap(withReceivers),
      Effect.map((found) => found.map(decode)),
      Effect.provideService(SqlClient, sql),
      orUnavailable
    )

  const listed: Pick<Store, "listFor" | "listAll" | "sumAll"> = {
    listFor: yield* makeReadPage(
      sql,
      chargePages,
      (accountId, filters: Omit<ChargeFilters, "origin">, page) =>
        pageOf(shownChargeTable, accountId, { ...filters, origin: "api" }, page),
      withReceivers
    ),

    listAll: (accountId, filters, page) =>
      Clock.currentTimeMillis.pipe(
        Effect.flatMap((now) =>
          readWalked<Row>(chargeWalk(chargeTable.columns("charges"), accountId, filters, now), page)
        ),
        Effect.flatMap((found) =>
          Effect.map(withReceivers(found.rows), (rows) => ({ ...found, rows: rows.map(chargeTable.decode) }))
        ),
        Effect.provideService(SqlClient, sql),
        orUnavailable
      ),

    sumAll: (accountId, filters) =>
      Clock.currentTimeMillis.pipe(
        Effect.flatMap((now) => readSum(chargeWalk("charges.id", accountId, filters, now))),
        Effect.catchTag("UnknownCursor", Effect.die),
        Effect.provideService(SqlClient, sql),
        orUnavailable
      )
  }
  return listed
})

interface NewCharge {
  readonly charge: StoredCharge
  readonly recoverInMs: number
  readonly caller: Caller | undefined
}

type Outcome = Effect.Effect<Insertion, Unavailable>

interface Asked {
  readonly caller: Caller
  readonly id: string
}

/**
 * In one order everywhere, so that two processes never deadlock: an insert waits for another one of the same key that is
 * not committed. Of equal keys the first stays the first.
 */
const inKeyOrder = (charges: ReadonlyArray<NewCharge>): ReadonlyArray<NewCharge> => {
  if (charges.length === 1) return charges
  const keyOf = ({ charge }: NewCharge) => `${charge.applicationId} ${charge.origin} ${charge.idempotencyKey ?? ""}`
  return charges
    .map((each) => ({ each, key: keyOf(each) }))
    .toSorted((one, other) => (one.key < other.key ? -1 : one.key > other.key ? 1 : 0))
    .map(({ each }) => each)
}
