/**
 * New payouts in PostgreSQL: many in one statement and one commit, under one lock of each account's balance.
 *
 * Guarantees:
 * - A batch is decided on the cached terms of its accounts (`PayoutCreation`). The statement that stores it locks the
 *   balances and stores only payouts that they cover, whose terms and callers are current and whose keys are unused. Terms
 *   and callers are those at the statement's start.
 * - What that statement leaves out is decided again, with the balances locked before they are read. So nothing is refused,
 *   and no key is replayed, on cached data. A payout that is decided again may be overtaken by one of the same moment.
 * - A payout that a limit concerns is decided with the balances locked, and counted in the commit that stores it.
 * - A payout, its outbox row and its ledger transfers are one commit.
 *
 * Measured: see bench/RESULTS.md ("create payout"). On a hot account the row lock is held once for a batch instead of once
 * for each payout, and a batch takes one round trip instead of five (begin, lock, keys, store, commit).
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import { isCurrent } from "../../../accounts/Caller.ts"
import { Ids } from "../../../base/Ids.ts"
import { Settings, type SettingsShape } from "../../../base/Settings.ts"
import * as Batching from "../../../database/batching/Batching.ts"
import type { Row } from "../../../database/statements/Column.ts"
import { LOCKED, type LockMode } from "../../../database/statements/LockMode.ts"
import { runToCompletion, sendAwaited } from "../../../database/RunToCompletion.ts"
import { orUnavailable, type Unavailable } from "../../../database/Unavailable.ts"
import { DeliverySignal } from "../../../events/DeliverySignal.ts"
import { lockLedgerOf } from "../../../ledger/Ledger.ts"
import { ApprovalRequired, type AuthorityOf } from "../../../operators/approvals/Authority.ts"
import { isChanged, type WrittenRow } from "../PayoutStatements.ts"
import { payoutTable, type StoredPayout } from "../PayoutTable.ts"
import { knownKeys, recentDuplicates, termsOfAccounts } from "./CreationFacts.ts"
import { findKnown, insertPayouts } from "./NewPayoutStatements.ts"
import { creationOf, decidePayouts, type Decision, type PayoutRequest } from "./PayoutCreation.ts"
import { payoutLimits, storeUse } from "./PayoutLimits.ts"
import { makeTermsCache } from "./TermsCache.ts"

export class NewPayoutStore extends Context.Service<
  NewPayoutStore,
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
    readonly findByKey: (
      scopeId: string,
      origin: StoredPayout["origin"],
      key: string
    ) => Effect.Effect<StoredPayout | undefined, Unavailable>
  }
>()("@pix-payments/server/NewPayoutStore") {
  static readonly layer = Layer.effect(
    NewPayoutStore,
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const signal = yield* DeliverySignal
      const shared: Shared = {
        sql,
        ids: yield* Ids,
        acquirer: (yield* Settings).acquirer,
        cache: makeTermsCache(),
        signalAfterCommit: (written) =>
          sql.afterCommit(Effect.sync(() => signal.afterCommit(written.filter(isChanged))))
      }

      const first = yield* Batching.make<PayoutRequest, Decision | typeof OPEN>({
        maxBatch: 200,
        writes: sql,
        accountOf: ({ requested }) => requested.accountId,
        run: (requests, lockMode) => decideCached(shared, requests, lockMode)
      })
      const underLock = yield* Batching.make<PayoutRequest, Decision>({
        maxBatch: 200,
        writes: sql,
        accountOf: ({ requested }) => requested.accountId,
        run: (requests, lockMode) =>
          Effect.catchTag(decideLocked(shared, requests, lockMode), "ApprovalRequired", Effect.die)
      })

      return NewPayoutStore.of({
        create: (request) =>
          Effect.filterOrElse(
            first(request),
            (decision): decision is Decision => decision !== OPEN,
            () => underLock(request)
          ),
        createOfOperator: (request, authority) =>
          runToCompletion(sql)(
            Effect.map(decideLocked(shared, [request], "wait", authority), ([decision]) => {
              if (decision === undefined || decision === LOCKED)
                throw new Error("the payout of an operator is not decided")
              return decision
            })
          ),
        preview: (request, guardSeconds) => orUnavailable(preview(shared, request, guardSeconds)),
        findByKey: (scopeId, origin, idempotencyKey) =>
          sql.unsafe<Row>(...findKnown({ keys: [{ scopeId, origin, idempotencyKey }] })).pipe(
            Effect.map(([row]) => (row === undefined ? undefined : payoutTable.decode(row))),
            orUnavailable
          )
      })
    })
  )
}

interface Shared {
  readonly sql: SqlClient
  readonly ids: Ids["Service"]
  readonly acquirer: SettingsShape["acquirer"]
  readonly cache: ReturnType<typeof makeTermsCache>
  readonly signalAfterCommit: (written: ReadonlyArray<WrittenRow>) => Effect.Effect<void>
}

/** Not decided on cached data. */
const OPEN = "open" as const

/** Stores what the cached terms grant. A payout that the statement leaves out is `OPEN`. */
const decideCached = Effect.fnUntraced(function* (
  { acquirer, cache, ids, signalAfterCommit, sql }: Shared,
  requests: ReadonlyArray<PayoutRequest>,
  lockMode: LockMode
) {
  const missing = cache.outdated(requests)
  if (missing.length > 0) cache.keep((yield* termsOfAccounts(sql, acquirer, missing)).accounts)
  const unguarded = requests.filter((request) => !cache.isGuarded(request))
  const { availableCents, granted } = decidePayouts(unguarded, {
    isCurrent: cache.isOfCaller,
    accounts: cache.accounts,
    known: new Map(),
    duplicates: new Map(),
    limits: new Map()
  })
  cache.spend(availableCents)
  const written =
    granted.length === 0
      ? []
      : yield* sendAwaited(sql)(
          sql.unsafe<WrittenRow>(
            ...insertPayouts(
              granted.map(({ payout, request: { caller }, terms }) => ({ payout, cached: { caller, terms } })),
              granted.map((each) => creationOf(each, ids)),
              lockMode
            )
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
  shared: Shared,
  asked: ReadonlyArray<PayoutRequest>,
  lockMode: LockMode,
  authority?: AuthorityOf
): Effect.Effect<ReadonlyArray<Decision | typeof LOCKED>, SqlError | ApprovalRequired> =>
  shared.sql.withTransaction(
    Effect.gen(function* () {
      const { acquirer, cache, ids, signalAfterCommit, sql } = shared
      const locked = yield* lockLedgerOf(sql, accountIdsOf(asked), lockMode)
      const requests = asked.filter(({ requested }) => locked.has(requested.accountId))
      if (requests.length === 0) return asked.map((): typeof LOCKED => LOCKED)
      const { accounts, proof } = yield* termsOfAccounts(sql, acquirer, accountIdsOf(requests))
      cache.keep(accounts)
      const { availableCents, decisions, granted, limits } = decidePayouts(requests, {
        isCurrent: ({ caller }) => caller === undefined || isCurrent(caller, proof),
        accounts,
        known: yield* knownKeys(sql, requests),
        duplicates: yield* recentDuplicates(sql, requests, accounts),
        limits: yield* payoutLimits(sql, requests, accounts)
      })
      cache.spend(availableCents)
      if (granted.length > 0) {
        const written = yield* sql.unsafe<WrittenRow>(
          ...insertPayouts(
            granted.map(({ payout }) => ({ payout })),
            granted.map((each) => creationOf(each, ids)),
            "wait",
            authority
          )
        )
        if (authority !== undefined && written.length === 0) return yield* new ApprovalRequired()
        if (written.filter(isChanged).length !== granted.length) {
          return yield* Effect.die(new Error("payouts are not stored as they were decided under the lock"))
        }
        yield* storeUse(sql, limits)
        yield* signalAfterCommit(written)
      }
      const decided = new Map(requests.map((request, index) => [request, decisions[index]!]))
      return asked.map((request) => decided.get(request) ?? LOCKED)
    })
  )

const preview = Effect.fnUntraced(function* (
  { acquirer, cache, sql }: Shared,
  request: PayoutRequest,
  guardSeconds: number
) {
  const { accounts } = yield* termsOfAccounts(sql, acquirer, accountIdsOf([request]))
  cache.keep(accounts)
  const guarded = new Map(
    [...accounts].map(([id, terms]) => [
      id,
      { ...terms, duplicateWindowSeconds: Math.max(terms.duplicateWindowSeconds, guardSeconds) }
    ])
  )
  const { decisions } = decidePayouts([request], {
    isCurrent: () => true,
    accounts: guarded,
    known: yield* knownKeys(sql, [request]),
    duplicates: yield* recentDuplicates(sql, [request], guarded),
    limits: yield* payoutLimits(sql, [request], guarded)
  })
  return decisions[0]!
})

const accountIdsOf = (requests: ReadonlyArray<PayoutRequest>): ReadonlyArray<string> => [
  ...new Set(requests.map(({ requested }) => requested.accountId))
]
