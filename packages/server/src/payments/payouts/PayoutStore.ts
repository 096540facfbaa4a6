/**
 * Payouts in PostgreSQL: many in one statement and one commit, under one lock of each account's balance.
 *
 * Guarantees:
 * - A batch is decided on the cached terms of its accounts (`PayoutDecision`). The statement that stores it locks the
 *   balances and stores only payouts that they cover, whose terms and callers are current and whose keys are unused. Terms
 *   and callers are those at the statement's start.
 * - What that statement leaves out is decided again, with the balances locked before they are read. So nothing is refused,
 *   and no key is replayed, on cached data. A payout that is decided again may be overtaken by one of the same moment.
 * - A payout, its outbox row and its ledger transfers are one commit.
 * - A change is guarded by the transition table of `domain` and by the sequence it was decided on.
 *
 * Measured: see bench/RESULTS.md ("create payout"). On a hot account the row lock is held once for a batch instead of once
 * for each payout, and a batch takes one round trip instead of five (begin, lock, keys, store, commit).
 */
import { lowestIdAt } from "@pix-payments/domain/Uuid"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import { makeReadPage, type ReadPage } from "../../accounts/AccountPages.ts"
import { callersOf } from "../../accounts/CallerCache.ts"
import { keysOf } from "../../providers/AcquirerNotification.ts"
import { ApprovalRequired, type AuthorityOf } from "../../operators/approvals/Authority.ts"
import type { UnknownCursor } from "../../base/Errors.ts"
import { type ChangedRow, DeliverySignal } from "../../events/DeliverySignal.ts"
import { Ids } from "../../base/Ids.ts"
import { lockLedgerOf } from "../../ledger/Ledger.ts"
import { Settings } from "../../base/Settings.ts"
import * as Batching from "../../database/batching/Batching.ts"
import { LOCKED, type LockMode } from "../../database/statements/LockMode.ts"
import type { Row } from "../../database/statements/Column.ts"
import { type Page, readPage } from "../../database/statements/Paging.ts"
import { runToCompletion } from "../../database/RunToCompletion.ts"
import { orUnavailable, type Unavailable } from "../../database/Unavailable.ts"
import { creation, type PayoutChange } from "./PayoutDecision.ts"
import {
  decidePayouts,
  type Decision,
  intentOf,
  keyOf,
  type PayoutRequest,
  type PayoutTerms,
  scopeOf
} from "./PayoutCreation.ts"
import { type PayoutFilters, payoutList } from "./PayoutLists.ts"
import {
  changePayouts,
  changePayoutsByNotification,
  findDuplicates,
  findKnown,
  findPayouts,
  insertPayouts,
  payoutPages,
  readTerms,
  releasePayouts,
  type DuplicateRow,
  type TermsRow
} from "./PayoutStatements.ts"
import { payoutColumns, payoutTable, recipientKey, type StoredPayout } from "./PayoutTable.ts"
import { makeTermsCache, termsOf } from "./TermsCache.ts"

export class PayoutStore extends Context.Service<
  PayoutStore,
  {
    /** Decides a payout, and stores it where it is granted. */
    readonly create: (request: PayoutRequest) => Effect.Effect<Decision, Unavailable>
    /** Decides a payout of an operator, and stores it where it is granted and the operator is authorized. */
    readonly createOfOperator: (
      request: PayoutRequest,
      authority: AuthorityOf
    ) => Effect.Effect<Decision, ApprovalRequired | Unavailable>
    /** What `createOfOperator` would decide now. It stores nothing, and looks `guardSeconds` back for a duplicate. */
    readonly preview: (request: PayoutRequest, guardSeconds: number) => Effect.Effect<Decision, Unavailable>
    /** Stores a release where it is authorized; false where the payout, its account or the limit is not as decided on. */
    readonly release: (change: PayoutChange, authority: AuthorityOf) => Effect.Effect<boolean, Unavailable>
    /** Stores a change; false where the payout was changed since it was decided. */
    readonly change: (change: PayoutChange) => Effect.Effect<boolean, Unavailable>
    readonly find: (id: string) => Effect.Effect<StoredPayout | undefined, Unavailable>
    readonly findByKey: (
      scopeId: string,
      origin: StoredPayout["origin"],
      key: string
    ) => Effect.Effect<StoredPayout | undefined, Unavailable>
    /** A page of the payouts of a cached caller's account, whom the statement re-checks. */
    readonly listFor: ReadPage<StoredPayout>
    /** Newest first, at most `page.limit + 1`. `accountId` undefined: of every account. */
    readonly list: (
      accountId: string | undefined,
      filters: PayoutFilters,
      page: Page
    ) => Effect.Effect<ReadonlyArray<StoredPayout>, UnknownCursor | Unavailable>
  }
>()("@pix-payments/server/PayoutStore") {
  static readonly layer = Layer.effect(
    PayoutStore,
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const signal = yield* DeliverySignal
      const ids = yield* Ids
      const { acquirer } = yield* Settings
      const cache = makeTermsCache()

      const signalAfterCommit = (written: ReadonlyArray<WrittenRow>) =>
        sql.afterCommit(Effect.sync(() => signal.afterCommit(written.filter(isChanged))))

      const read = Effect.fnUntraced(function* (accountIds: ReadonlyArray<string>, callers: CallersOf["callers"]) {
        const rows = yield* sql.unsafe<TermsRow>(...readTerms({ accounts: accountIds, callers }))
        const accounts = new Map(rows.map((row) => [row.id, termsOf(row, acquirer)]))
        cache.keep(accounts)
        return { accounts, current: new Set(rows[0]?.live) }
      })

      /** Stores what the cached terms grant. A payout that the statement leaves out is `OPEN`. */
      const decideCached = Effect.fnUntraced(function* (requests: ReadonlyArray<PayoutRequest>, lockMode: LockMode) {
        const missing = cache.outdated(requests)
        if (missing.length > 0) yield* read(missing, [])
        // With a duplicate guard, a payout has to see those of other processes.
        const unguarded = requests.filter(({ requested }) => !cache.isGuarded(requested.accountId))
        const callers = callersOf(unguarded, ({ cachedCaller }) => cachedCaller)
        const { availableCents, granted } = decidePayouts(unguarded, {
          isCurrent: () => true,
          accounts: cache.accounts,
          known: new Map(),
          duplicates: new Map()
        })
        cache.spend(availableCents)
        const written =
          granted.length === 0
            ? []
            : yield* sql.unsafe<WrittenRow>(
                ...insertPayouts(
                  granted.map(({ payout, request }) => ({ payout, caller: callers.numberOf(request) })),
                  granted.map(({ events, payout }) => creation(payout, events, ids)),
                  [...new Map(granted.map(({ payout, terms }) => [payout.accountId, terms]))],
                  callers.callers,
                  lockMode
                )
              )
        // A batch that is wholly decided under the lock queues there behind the batch before it.
        if (granted.length === 0) yield* Effect.yieldNow
        yield* signalAfterCommit(written)
        const stored = new Set(written.map(({ id }) => id))
        const passedBy = new Set(written.map(({ passed_by }) => passed_by))
        const payouts = new Map(granted.map(({ payout, request }) => [request, payout]))
        return requests.map((request): Decision | typeof OPEN | typeof LOCKED => {
          const payout = payouts.get(request)
          if (payout !== undefined && stored.has(payout.id)) return { _tag: "Created", payout }
          return payout !== undefined && passedBy.has(payout.accountId) ? LOCKED : OPEN
        })
      })

      /** Decides with the balances locked before terms, keys and duplicates are read. */
      const decideLocked = (
        asked: ReadonlyArray<PayoutRequest>,
        lockMode: LockMode,
        authority?: AuthorityOf
      ): Effect.Effect<ReadonlyArray<Decision | typeof LOCKED>, SqlError | ApprovalRequired> =>
        sql.withTransaction(
          Effect.gen(function* () {
            const locked = yield* lockLedgerOf(sql, accountIdsOf(asked), lockMode)
            const requests = asked.filter(({ requested }) => locked.has(requested.accountId))
            if (requests.length === 0) return asked.map((): typeof LOCKED => LOCKED)
            const callers = callersOf(requests, ({ cachedCaller }) => cachedCaller)
            const { accounts, current } = yield* read(accountIdsOf(requests), callers.callers)
            const { availableCents, decisions, granted } = decidePayouts(requests, {
              isCurrent: (request) => {
                const caller = callers.numberOf(request)
                return caller === undefined || current.has(caller)
              },
              accounts,
              known: yield* knownKeys(requests),
              duplicates: yield* recentDuplicates(requests, accounts)
            })
            cache.spend(availableCents)
            if (granted.length > 0) {
              const written = yield* sql.unsafe<WrittenRow>(
                ...insertPayouts(
                  granted.map(({ payout }) => ({ payout })),
                  granted.map(({ events, payout }) => creation(payout, events, ids)),
                  [...new Set(granted.map(({ payout }) => payout.accountId))].map((id) => [id, undefined]),
                  [],
                  "wait",
                  authority
                )
              )
              if (authority !== undefined && written.length === 0) return yield* new ApprovalRequired()
              if (written.filter(isChanged).length !== granted.length) {
                return yield* Effect.die(new Error("payouts are not stored as they were decided under the lock"))
              }
              yield* signalAfterCommit(written)
            }
            const decided = new Map(requests.map((request, index) => [request, decisions[index]!]))
            return asked.map((request) => decided.get(request) ?? LOCKED)
          })
        )

      const knownKeys = Effect.fnUntraced(function* (requests: ReadonlyArray<PayoutRequest>) {
        const keys = requests.flatMap(({ requested: { accountId, applicationId, idempotencyKey, origin } }) =>
          idempotencyKey === null ? [] : [{ scopeId: scopeOf({ accountId, applicationId }), origin, idempotencyKey }]
        )
        const rows = keys.length === 0 ? [] : yield* sql.unsafe<Row>(...findKnown({ keys }))
        return new Map(
          rows.map(payoutTable.decode).flatMap((payout) => {
            const key = keyOf(payout)
            return key === undefined ? [] : [[key, payout] as const]
          })
        )
      })

      /** The latest payout of each intent, for accounts with a duplicate guard. */
      const recentDuplicates = Effect.fnUntraced(function* (
        requests: ReadonlyArray<PayoutRequest>,
        accounts: ReadonlyMap<string, PayoutTerms>
      ) {
        const asked = requests.flatMap(({ requested }) => {
          const windowSeconds = accounts.get(requested.accountId)?.duplicateWindowSeconds ?? 0
          return windowSeconds === 0
            ? []
            : [
                {
                  account_id: requested.accountId,
                  ...recipientKey(requested),
                  amount: requested.amount,
                  since: lowestIdAt(requested.createdAtMs - windowSeconds * 1000)
                }
              ]
        })
        const rows = asked.length === 0 ? [] : yield* sql.unsafe<DuplicateRow>(...findDuplicates(asked))
        return new Map(
          rows.map(({ account_id, amount, id, pix_key, pix_key_type }) => [
            intentOf({ accountId: account_id, pix_key_type, pix_key, amount: Number(amount) }),
            id
          ])
        )
      })

      const first = yield* Batching.make<PayoutRequest, Decision | typeof OPEN>({
        maxBatch: 200,
        writes: sql,
        accountOf: ({ requested }) => requested.accountId,
        run: decideCached
      })
      const underLock = yield* Batching.make<PayoutRequest, Decision>({
        maxBatch: 200,
        writes: sql,
        accountOf: ({ requested }) => requested.accountId,
        run: (requests, lockMode) => Effect.catchTag(decideLocked(requests, lockMode), "ApprovalRequired", Effect.die)
      })

      // Changes that move money wait for it, and delay none that move none.
      const changeWith = Batching.make<PayoutChange, boolean>({
        maxBatch: 200,
        writes: sql,
        accountOf: ({ payout }) => payout.accountId,
        run: Batching.firstOfEach(
          ({ payout }) => payout.id,
          ({ payout }) => payout.accountId,
          (changes, lockMode) => Effect.tap(sql.unsafe<WrittenRow>(...changeMany(changes, lockMode)), signalAfterCommit)
        )
      })
      const changeState = yield* changeWith
      const moveMoney = yield* changeWith

      const find = yield* Batching.make<string, StoredPayout | undefined>({
        maxBatch: 500,
        run: (payoutIds) =>
          Effect.map(sql.unsafe<Row>(...findPayouts({ ids: payoutIds })), (rows) => {
            const byId = new Map(rows.map(payoutTable.decode).map((payout) => [payout.id, payout]))
            return payoutIds.map((id) => byId.get(id))
          })
      })

      return PayoutStore.of({
        create: (request) =>
          Effect.filterOrElse(
            first(request),
            (decision): decision is Decision => decision !== OPEN,
            () => underLock(request)
          ),
        createOfOperator: (request, authority) =>
          runToCompletion(sql)(
            Effect.map(decideLocked([request], "wait", authority), ([decision]) => {
              if (decision === undefined || decision === LOCKED)
                throw new Error("the payout of an operator is not decided")
              return decision
            })
          ),
        preview: (request, guardSeconds) =>
          Effect.gen(function* () {
            const { accounts } = yield* read([request.requested.accountId], [])
            const guarded = new Map(
              [...accounts].map(([id, terms]) => [
                id,
                { ...terms, duplicateWindowSeconds: Math.max(terms.duplicateWindowSeconds, guardSeconds) }
              ])
            )
            const { decisions } = decidePayouts([request], {
              isCurrent: () => true,
              accounts: guarded,
              known: yield* knownKeys([request]),
              duplicates: yield* recentDuplicates([request], guarded)
            })
            return decisions[0]!
          }).pipe(orUnavailable),
        release: (change, authority) =>
          runToCompletion(sql)(
            Effect.map(
              Effect.tap(
                sql.unsafe<WrittenRow>(
                  ...releasePayouts({
                    payouts: [change.payout],
                    outbox: [change.outbox],
                    transfers: change.transfers,
                    authority
                  })
                ),
                signalAfterCommit
              ),
              (written) => written.some(isChanged)
            )
          ),
        change: (change) => (change.transfers.length === 0 ? changeState(change) : moveMoney(change)),
        find: (id) => find(id.toLowerCase()),
        findByKey: (scopeId, origin, idempotencyKey) =>
          sql.unsafe<Row>(...findKnown({ keys: [{ scopeId, origin, idempotencyKey }] })).pipe(
            Effect.map(([row]) => (row === undefined ? undefined : payoutTable.decode(row))),
            orUnavailable
          ),
        listFor: yield* makeReadPage(sql, payoutPages),
        list: (accountId, filters, page) =>
          readPage<Row>(payoutList(payoutColumns, accountId, filters), page).pipe(
            Effect.map((rows) => rows.map(payoutTable.decode)),
            Effect.provideService(SqlClient, sql),
            orUnavailable
          )
      })
    })
  )
}

/** Not decided on cached data. */
const OPEN = "open" as const

type CallersOf = ReturnType<typeof callersOf<PayoutRequest>>

/** A stored payout, or an account whose balance was locked by somebody else. */
type WrittenRow = Omit<ChangedRow, "id"> & Batching.Written

const isChanged = (row: WrittenRow): row is WrittenRow & ChangedRow => row.id !== null

const accountIdsOf = (requests: ReadonlyArray<PayoutRequest>): ReadonlyArray<string> => [
  ...new Set(requests.map(({ requested }) => requested.accountId))
]

const changeMany = (unordered: ReadonlyArray<PayoutChange>, lockMode: LockMode) => {
  // Rows are locked in the order of their ids, so that two processes never wait for each other.
  const changes = unordered.toSorted((one, other) => (one.payout.id < other.payout.id ? -1 : 1))
  const received = changes.flatMap(({ payout, received: notification }) =>
    notification === undefined
      ? []
      : [{ resourceId: payout.id, received: notification, keys: keysOf(notification.notification) }]
  )
  const changed = {
    payouts: changes.map(({ payout }) => payout),
    outbox: changes.map(({ outbox }) => outbox),
    transfers: changes.flatMap(({ transfers }) => transfers)
  }
  return received.length === 0
    ? changePayouts[lockMode](changed)
    : changePayoutsByNotification[lockMode]({ ...changed, notifications: received })
}
