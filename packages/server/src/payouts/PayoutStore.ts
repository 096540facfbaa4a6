/**
 * Payouts in PostgreSQL: decided in batches, under one lock of an account's balance for all of its payouts.
 *
 * Guarantees:
 * - the payouts of an account are decided in the order in which they came, each with its own answer: two can never
 *   spend the same cent, and one that is too large does not keep a smaller one behind it from being done. One that is
 *   decided a second time may be overtaken by another that was under way at the same time;
 * - a batch is decided on the accounts' terms as they are remembered, and the statement that stores it locks the
 *   balances and stores only what they cover, on terms that hold, for callers who are as remembered, under keys that are
 *   unused. What is not stored then is decided again with the balances locked from the reading on: nothing is refused,
 *   and no key replayed, on what is remembered. Terms and callers are those of the moment at which the statement began;
 * - the money leaves `available` in the statement that stores the payout;
 * - a change is guarded by the transition table of `domain` and by the sequence it was decided on.
 *
 * Measured: see bench/RESULTS.md ("create payout"); on a hot account the row lock is held once for a batch instead
 * of once for each payout, and a batch takes one round trip instead of five (begin, lock, keys, store, commit).
 */
import type { Caller } from "@pix-payments/api/Security"
import { payoutFee } from "@pix-payments/domain/Cents"
import {
  type BankAccount,
  initialPayout,
  type PayoutMethod,
  type PayoutStatus,
  payoutTransitions
} from "@pix-payments/domain/Payout"
import type { PixKeyType } from "@pix-payments/domain/PixKey"
import { lowestIdAt } from "@pix-payments/domain/Uuid"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import { callersOf, currentCallersCte } from "../accounts/CallerCache.ts"
import { type ReceivedNotification, notificationCtes, notificationParameters } from "../acquirer/NotificationStore.ts"
import type { UnknownCursor } from "../Errors.ts"
import { type ChangedRow, DeliverySignal } from "../events/DeliverySignal.ts"
import { OUTBOX_ROWS, OUTBOX_WIDTH, type OutboxEntry, outboxCtes, outboxParameters } from "../events/Outbox.ts"
import {
  isCovered,
  isLocked,
  ledgerLockCtes,
  lockLedgerOf,
  PASSED_BY,
  type Transfer,
  transferCtes,
  transferParameters,
  TRANSFERS_WIDTH
} from "../ledger/Ledger.ts"
import * as Batching from "../sql/Batching.ts"
import { claimMany, FIRST_ACCOUNT, handedRows, noteHandOvers, rescheduleParked } from "./PayoutClaims.ts"
import { type Page, readPage } from "../sql/Paging.ts"
import { runToCompletion } from "../sql/Patience.ts"
import { recordset } from "../sql/Recordset.ts"
import { orUnavailable, type Unavailable } from "../sql/Unavailable.ts"
import { type PayoutFilters, payoutList } from "./PayoutLists.ts"

export interface StoredPayout {
  readonly id: string
  readonly accountId: string
  readonly applicationId: string | null
  readonly origin: "api" | "dashboard"
  readonly idempotencyKey: string | null
  readonly status: PayoutStatus
  readonly method: PayoutMethod
  readonly amount: number
  readonly fee: number
  readonly description: string | null
  readonly reference: string | null
  readonly recipientName: string | null
  readonly recipientDocument: string | null
  /** The Pix key of the recipient; null for a TED. */
  readonly pixKeyType: PixKeyType | null
  readonly pixKey: string | null
  /** The account that a TED goes to; null for a Pix. */
  readonly bankAccount: BankAccount | null
  readonly webhookUrl: string | null
  readonly sealedWebhookSecret: string | null
  readonly endToEndId: string | null
  readonly failureReason: string | null
  readonly duplicateOf: string | null
  readonly processedAtMs: number | null
  readonly createdAtMs: number
  readonly sequence: number
}

/** What is asked for; status, fee and the twin are decided under the lock. */
export type RequestedPayout = Omit<StoredPayout, "status" | "fee" | "duplicateOf">

export type Decision =
  | { readonly _tag: "Created" | "Replayed"; readonly payout: StoredPayout }
  | { readonly _tag: "AccountInactive" | "AccountRestricted" | "InsufficientBalance" | "StaleCaller" }

export interface NewPayout {
  readonly requested: RequestedPayout
  /** Who asks, while nobody has confirmed it: decided only where they are as remembered. */
  readonly remembered: Caller | undefined
  /** What is told and moved once the payout is decided. */
  readonly consequences: (
    payout: StoredPayout,
    events: ReadonlyArray<string>
  ) => { readonly outbox: OutboxEntry; readonly transfers: ReadonlyArray<Transfer> }
}

/** A change decided on a payout as it was at `sequence - 1`. */
export interface PayoutChange {
  readonly payout: StoredPayout
  readonly outbox: OutboxEntry
  readonly transfers: ReadonlyArray<Transfer>
  /** The report that it is made by, recorded with it. */
  readonly received?: ReceivedNotification | undefined
}

/** A payout that this process may hand to the acquirer, or ask it about. */
export interface PayoutSubmission {
  readonly payout: StoredPayout
  /** How often it was handed over or asked for before. */
  readonly handOvers: number
}

export class PayoutStore extends Context.Service<
  PayoutStore,
  {
    readonly create: (payout: NewPayout) => Effect.Effect<Decision, Unavailable>
    /** Does a change; false when the payout has moved on since it was decided. */
    readonly change: (change: PayoutChange) => Effect.Effect<boolean, Unavailable>
    readonly find: (id: string) => Effect.Effect<StoredPayout | undefined, Unavailable>
    readonly findByKey: (
      scopeId: string,
      origin: StoredPayout["origin"],
      key: string
    ) => Effect.Effect<StoredPayout | undefined, Unavailable>
    /** Newest first, `page.limit + 1` at the most. `accountId` undefined: of every account. */
    readonly list: (
      accountId: string | undefined,
      filters: PayoutFilters,
      page: Page
    ) => Effect.Effect<ReadonlyArray<StoredPayout>, UnknownCursor | Unavailable>
    /**
     * Takes up to `limit` payouts in `processing` whose turn it is, each for `leaseMs`; how many it parked instead, for
     * their accounts may send nothing new.
     */
    readonly claim: (
      limit: number,
      leaseMs: number
    ) => Effect.Effect<{ readonly due: ReadonlyArray<PayoutSubmission>; readonly parked: number }, Unavailable>
    /** Reschedules parked payouts of accounts that may send again; how many. */
    readonly rescheduleParked: Effect.Effect<number, Unavailable>
    /** Notes that the acquirer has a payout, and when to ask for its outcome. */
    readonly handedOver: (handed: {
      readonly id: string
      readonly processedAtMs: number | null
      readonly askAgainInMs: number
    }) => Effect.Effect<void, Unavailable>
  }
>()("@pix-payments/server/PayoutStore") {
  static readonly layer = Layer.effect(
    PayoutStore,
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const signal = yield* DeliverySignal
      let afterAccount = FIRST_ACCOUNT

      /** Accounts as they were read last, less what their payouts here have cost since. */
      const rememberedAccounts = new Map<string, Account>()
      const read = Effect.fnUntraced(function* (accountIds: ReadonlyArray<string>, callers: ReadonlyArray<unknown>) {
        const rows = yield* sql.unsafe<AccountRow>(readAccounts, [accountIds.join(","), ...callers])
        const accounts = new Map(rows.map((row) => [row.id, accountOf(row)]))
        if (rememberedAccounts.size > MOST_REMEMBERED) rememberedAccounts.clear()
        for (const [id, account] of accounts) rememberedAccounts.set(id, { ...account })
        return { accounts, live: new Set(rows[0]?.live) }
      })

      /** Accounts that are not remembered, or that had less by then than is asked of them now: money has come since. */
      const toRead = (members: ReadonlyArray<NewPayout>): ReadonlyArray<string> => {
        const asked = new Map<string, number>()
        for (const { requested } of members) {
          asked.set(requested.accountId, (asked.get(requested.accountId) ?? 0) + requested.amount)
        }
        return [...asked].flatMap(([id, amount]) => {
          const account = rememberedAccounts.get(id)
          return account === undefined || (account.payout_duplicate_window === 0 && account.available < amount)
            ? [id]
            : []
        })
      }

      /** Stores what is allowed for all that is remembered, where that holds and the balance covers it. */
      const decideRemembered = Effect.fnUntraced(function* (members: ReadonlyArray<NewPayout>, how: Batching.How) {
        const missing = toRead(members)
        if (missing.length > 0) yield* read(missing, nobody)
        // Of two twins at once, in two processes, the second has to see the first.
        const isGuarded = ({ requested }: NewPayout) =>
          (rememberedAccounts.get(requested.accountId)?.payout_duplicate_window ?? 0) > 0
        const unguarded = members.filter((member) => !isGuarded(member))
        const callers = callersOf(unguarded, ({ remembered }) => remembered)
        const { written } = decide(unguarded, () => true, rememberedAccounts, new Map(), new Map())
        const answered = yield* store(written, how, callers)
        const stored = answered.filter(isChanged)
        const passedBy = new Set(answered.map(({ passed_by }) => passed_by))
        // What is all to be decided under the lock gets there behind the batch before it.
        if (written.length === 0) yield* Effect.yieldNow
        yield* sql.afterCommit(Effect.sync(() => signal.afterCommit(stored)))
        const ids = new Set(stored.map(({ id }) => id))
        const created = new Map(written.map(({ member, payout }) => [member, payout]))
        return members.map((member): Decision | typeof OPEN | typeof Batching.LOCKED => {
          const payout = created.get(member)
          if (payout !== undefined && ids.has(payout.id)) return { _tag: "Created", payout }
          return payout !== undefined && passedBy.has(payout.accountId) ? Batching.LOCKED : OPEN
        })
      })

      /** Decides all with known keys and twins, and with the accounts' balances locked from the reading on. */
      const decideLocked = (
        asked: ReadonlyArray<NewPayout>,
        how: Batching.How
      ): Effect.Effect<ReadonlyArray<Decision | typeof Batching.LOCKED>, SqlError> =>
        sql.withTransaction(
          Effect.gen(function* () {
            const locked = yield* lockLedgerOf(sql, accountIdsOf(asked), whenHeld(how))
            const members = asked.filter(({ requested }) => locked.has(requested.accountId))
            if (members.length === 0) return asked.map((): typeof Batching.LOCKED => Batching.LOCKED)
            const callers = callersOf(members, ({ remembered }) => remembered)
            const { accounts, live } = yield* read(accountIdsOf(members), callers.parameters)
            const isLive = (member: NewPayout) => {
              const caller = callers.numberOf(member)
              return caller === undefined || live.has(caller)
            }
            const known = yield* knownKeys(members)
            const twins = yield* recentTwins(members, accounts)
            const { decisions, written } = decide(members, isLive, accounts, known, twins)
            for (const [id, { available }] of accounts) {
              const hint = rememberedAccounts.get(id)
              if (hint !== undefined) hint.available = Math.min(hint.available, available)
            }
            const stored = (yield* store(written, "alone")).filter(isChanged)
            if (stored.length !== written.length) {
              return yield* Effect.die(new Error("payouts are not stored as they were decided under the lock"))
            }
            yield* sql.afterCommit(Effect.sync(() => signal.afterCommit(stored)))
            const decided = new Map(members.map((member, index) => [member, decisions[index]!]))
            return asked.map((member) => decided.get(member) ?? Batching.LOCKED)
          })
        )

      /**
       * Stores payouts with their consequences: those whose account covers what all of its own here cost. With the
       * callers of what is only remembered: those whose account has the terms that they were granted on, and whose
       * caller is as remembered.
       */
      const store = (
        written: ReadonlyArray<Granted>,
        how: Batching.How,
        remembered?: CallersOf
      ): Effect.Effect<ReadonlyArray<WrittenRow>, SqlError> =>
        written.length === 0
          ? Effect.succeed([])
          : sql.unsafe<WrittenRow>(insertMany[how], [
              ...newRows.parameters(
                written.map(({ member, payout }) => ({ ...toRow(payout), caller: remembered?.numberOf(member) }))
              ),
              ...outboxParameters(written.map(({ outbox }) => outbox)),
              ...transferParameters(written.flatMap(({ transfers }) => transfers)),
              ...termsRows.parameters(termsOf(written, remembered !== undefined)),
              ...(remembered?.parameters ?? nobody)
            ])

      const knownKeys = Effect.fnUntraced(function* (members: ReadonlyArray<NewPayout>) {
        const keys = members.flatMap(({ requested }) =>
          requested.idempotencyKey === null
            ? []
            : [{ scope_id: scopeOf(requested), origin: requested.origin, idempotency_key: requested.idempotencyKey }]
        )
        const rows = keys.length === 0 ? [] : yield* sql.unsafe<PayoutRow>(findKnown, keyRows.parameters(keys))
        const known = new Map<string, StoredPayout>()
        for (const row of rows) {
          const stored = toStored(row)
          const key = keyOf(stored)
          if (key !== undefined) known.set(key, stored)
        }
        return known
      })

      /** The latest payout of each intent, where an account's guard asks for it. */
      const recentTwins = Effect.fnUntraced(function* (
        members: ReadonlyArray<NewPayout>,
        accounts: ReadonlyMap<string, Account>
      ) {
        const asked = members.flatMap(({ requested }) => {
          const window = accounts.get(requested.accountId)?.payout_duplicate_window ?? 0
          return window === 0
            ? []
            : [
                {
                  account_id: requested.accountId,
                  ...storedKeyOf(requested),
                  amount: requested.amount,
                  since: lowestIdAt(requested.createdAtMs - window * 1000)
                }
              ]
        })
        const rows = asked.length === 0 ? [] : yield* sql.unsafe<TwinRow>(findTwins, [JSON.stringify(asked)])
        return new Map(
          rows.map((row) => [
            intentOf({
              accountId: row.account_id,
              pix_key_type: row.pix_key_type,
              pix_key: row.pix_key,
              amount: Number(row.amount)
            }),
            row.id
          ])
        )
      })

      const first = yield* Batching.make<NewPayout, Decision | typeof OPEN>({
        maxBatch: 200,
        writes: sql,
        accountOf: ({ requested }) => requested.accountId,
        run: decideRemembered
      })
      const underLock = yield* Batching.make<NewPayout, Decision>({
        maxBatch: 200,
        writes: sql,
        accountOf: ({ requested }) => requested.accountId,
        run: decideLocked
      })
      const create = (payout: NewPayout) =>
        Effect.filterOrElse(
          first(payout),
          (decision): decision is Decision => decision !== OPEN,
          () => underLock(payout)
        )

      // What moves money waits for it, and holds up nothing that moves none.
      const changeWith = Batching.make<PayoutChange, boolean>({
        maxBatch: 200,
        writes: sql,
        accountOf: ({ payout }) => payout.accountId,
        run: Batching.firstOfEach(
          ({ payout }) => payout.id,
          ({ payout }) => payout.accountId,
          (changes, how) =>
            Effect.tap(sql.unsafe<WrittenRow>(...changeMany(changes, how)), (written) =>
              sql.afterCommit(Effect.sync(() => signal.afterCommit(written.filter(isChanged))))
            )
        )
      })
      const changeState = yield* changeWith
      const moveMoney = yield* changeWith

      const find = yield* Batching.make<string, StoredPayout | undefined>({
        maxBatch: 500,
        run: (ids) =>
          Effect.map(
            sql.unsafe<PayoutRow>(`${selectPayout} WHERE id = ANY (string_to_array($1, ',')::uuid[])`, [ids.join(",")]),
            (rows) => {
              const byId = new Map(rows.map((row) => [row.id, toStored(row)]))
              return ids.map((id) => byId.get(id))
            }
          )
      })

      const handedOver = yield* Batching.make<Parameters<PayoutStore["Service"]["handedOver"]>[0], void>({
        maxBatch: 500,
        writes: sql,
        run: (all) =>
          Effect.as(
            sql.unsafe(
              noteHandOvers,
              handedRows.parameters(
                all.map(({ askAgainInMs, id, processedAtMs }) => ({
                  id,
                  processed_at: processedAtMs,
                  delay_ms: askAgainInMs
                }))
              )
            ),
            all.map(() => undefined)
          )
      })

      return PayoutStore.of({
        create,
        change: (change) => (change.transfers.length === 0 ? changeState(change) : moveMoney(change)),
        find: (id) => find(id.toLowerCase()),
        findByKey: (scopeId, origin, key) =>
          sql
            .unsafe<PayoutRow>(findKnown, keyRows.parameters([{ scope_id: scopeId, origin, idempotency_key: key }]))
            .pipe(
              Effect.map(([row]) => (row === undefined ? undefined : toStored(row))),
              orUnavailable
            ),
        list: (accountId, filters, page) =>
          readPage<PayoutRow>(payoutList(payoutColumns, accountId, filters), page).pipe(
            Effect.map((rows) => rows.map(toStored)),
            Effect.provideService(SqlClient, sql),
            orUnavailable
          ),
        claim: (limit, leaseMs) =>
          sql.unsafe<ClaimRow>(claimPayouts, [limit, leaseMs, afterAccount]).pipe(
            Effect.map((rows) => {
              afterAccount = rows[0]?.next_account ?? FIRST_ACCOUNT
              const claimed = rows.filter((row): row is ClaimRow & PayoutRow => row.id !== null)
              return {
                due: claimed.map((row) => ({ payout: toStored(row), handOvers: row.hand_overs - 1 })),
                parked: Number(rows[0]?.parked ?? 0n)
              }
            }),
            runToCompletion(sql)
          ),
        rescheduleParked: Effect.map(runToCompletion(sql)(sql.unsafe(rescheduleParked)), ({ length }) => length),
        handedOver
      })
    })
  )
}

/** To be decided under the lock. */
const OPEN = "open" as const

const MOST_REMEMBERED = 10_000

/** What an account's payouts are decided on. */
interface Terms {
  readonly status: string
  readonly onboarding_status: string
  readonly auto_payout_enabled: boolean
  readonly payout_fee_fixed: bigint
  readonly payout_fee_basis_points: number
  readonly payout_duplicate_window: number
}

interface Account extends Terms {
  /** In cents; less by each payout that is granted. */
  available: number
}

const accountOf = (row: AccountRow): Account => ({
  status: row.status,
  onboarding_status: row.onboarding_status,
  auto_payout_enabled: row.auto_payout_enabled,
  payout_fee_fixed: row.payout_fee_fixed,
  payout_fee_basis_points: row.payout_fee_basis_points,
  payout_duplicate_window: row.payout_duplicate_window,
  available: Number(row.available)
})

/** A payout that was granted, and what is stored with it. */
interface Granted extends PayoutChange {
  readonly member: NewPayout
  readonly account: Account
}

type CallersOf = ReturnType<typeof callersOf<NewPayout>>

interface AccountRow extends Terms {
  readonly id: string
  readonly available: bigint
  readonly live: ReadonlyArray<number>
}

interface TwinRow {
  readonly id: string
  readonly account_id: string
  readonly pix_key_type: PixKeyType
  readonly pix_key: string
  readonly amount: bigint
}

interface PayoutRow {
  readonly id: string
  readonly account_id: string
  readonly application_id: string | null
  readonly origin: "api" | "dashboard"
  readonly idempotency_key: string | null
  readonly status: PayoutStatus
  readonly method: PayoutMethod
  readonly amount: bigint
  readonly fee: bigint
  readonly description: string | null
  readonly reference: string | null
  readonly recipient_name: string | null
  readonly recipient_document: string | null
  readonly pix_key_type: PixKeyType
  readonly pix_key: string
  readonly webhook_url: string | null
  readonly webhook_secret: string | null
  readonly end_to_end_id: string | null
  readonly failure_reason: string | null
  readonly duplicate_of: string | null
  readonly processed_at: Date | null
  readonly created_at: Date
  readonly sequence: number
  readonly bank_account: BankAccount | null
}

const payoutColumns = `id, account_id, application_id, origin, idempotency_key, status, method, amount, fee,
  description, reference, recipient_name, recipient_document, pix_key_type, pix_key, bank_account, webhook_url,
  webhook_secret, end_to_end_id, failure_reason, duplicate_of, processed_at, created_at, sequence`

const claimPayouts = claimMany(payoutColumns)

type ClaimRow = {
  readonly hand_overs: number
  readonly parked: bigint
  readonly next_account: string | null
} & (PayoutRow | { readonly id: null })

const selectPayout = `SELECT ${payoutColumns} FROM payouts`

const readAccounts = `
  WITH ${currentCallersCte(2)}
  SELECT a.id, a.status, a.onboarding_status, a.auto_payout_enabled, a.payout_fee_fixed, a.payout_fee_basis_points,
    a.payout_duplicate_window, l.balance AS available, ARRAY(SELECT n FROM live) AS live
  FROM accounts a JOIN ledger_accounts l ON l.owner_id = a.id AND l.kind = 'available'
  WHERE a.id = ANY (string_to_array($1, ',')::uuid[])`

const keyRows = recordset({ scope_id: "uuid", origin: "text", idempotency_key: "text" })

const findKnown = `
  SELECT ${payoutColumns
    .split(",")
    .map((column) => `p.${column.trim()}`)
    .join(", ")}
  FROM ${keyRows.from(1)} AS k
  JOIN payouts p ON coalesce(p.application_id, p.account_id) = k.scope_id AND p.origin = k.origin
    AND p.idempotency_key = k.idempotency_key AND p.idempotency_key IS NOT NULL`

const findTwins = `
  SELECT DISTINCT ON (k.account_id, k.pix_key_type, k.pix_key, k.amount)
    t.id, k.account_id, k.pix_key_type, k.pix_key, k.amount
  FROM json_to_recordset($1::json) AS k(account_id uuid, pix_key_type text, pix_key text, amount bigint, since uuid)
  CROSS JOIN LATERAL (
    SELECT p.id FROM payouts p
    WHERE p.account_id = k.account_id AND p.id >= k.since AND p.pix_key_type = k.pix_key_type
      AND p.pix_key = k.pix_key AND p.amount = k.amount AND p.status NOT IN ('failed', 'canceled')
    ORDER BY p.id DESC LIMIT 1
  ) t`

const newRows = recordset({
  id: "uuid",
  account_id: "uuid",
  application_id: "uuid",
  origin: "text",
  idempotency_key: "text",
  status: "text",
  method: "text",
  amount: "bigint",
  fee: "bigint",
  description: "text",
  reference: "text",
  recipient_name: "text",
  recipient_document: "text",
  pix_key_type: "text",
  pix_key: "text",
  bank_account: "json",
  webhook_url: "text",
  webhook_secret: "text",
  end_to_end_id: "text",
  failure_reason: "text",
  duplicate_of: "uuid",
  processed_at: "timestamptz",
  created_at: "timestamptz",
  sequence: "integer",
  caller: "integer"
})

/** The accounts of payouts, and the terms that those were decided on where they were remembered. */
const termsRows = recordset({
  account_id: "uuid",
  auto_payout_enabled: "integer",
  payout_fee_fixed: "bigint",
  payout_fee_basis_points: "integer"
})

const MOVED = 1 + newRows.width + OUTBOX_WIDTH
const TERMS = MOVED + TRANSFERS_WIDTH
const CALLERS = TERMS + termsRows.width

const { parameters: nobody } = callersOf([], () => undefined)

const whenHeld = (how: Batching.How) => (how === "alone" ? "wait" : "pass by")

/** The payouts that a statement has written, and the accounts that it has passed by. */
const WRITTEN = `SELECT id, ${OUTBOX_ROWS}, NULL::uuid AS passed_by FROM changed
  UNION ALL SELECT NULL, 0, p.owner_id FROM (${PASSED_BY}) p`

type WrittenRow = Omit<ChangedRow, "id"> & Batching.Written

const isChanged = (row: WrittenRow): row is WrittenRow & ChangedRow => row.id !== null

// A known key is passed over before it is tried: a conflict waits for whoever is changing that payout, and they may be
// waiting for the balance that is locked here. (One that was stored since the statement began is tried all the same.)
const insertManyWith = (how: Batching.How) => `
  WITH ${currentCallersCte(CALLERS)},
  ${ledgerLockCtes(MOVED, whenHeld(how))},
  covered AS MATERIALIZED (
    SELECT n.account_id FROM ${termsRows.from(TERMS)} AS n JOIN accounts a ON a.id = n.account_id
    WHERE ${isLocked("n.account_id")} AND ${isCovered("n.account_id")} AND (n.auto_payout_enabled IS NULL OR (
      a.status = 'active' AND a.onboarding_status = 'completed' AND a.payout_duplicate_window = 0
      AND a.auto_payout_enabled::integer = n.auto_payout_enabled AND a.payout_fee_fixed = n.payout_fee_fixed
      AND a.payout_fee_basis_points = n.payout_fee_basis_points
    ))
  ),
  changed AS (
    INSERT INTO payouts (${payoutColumns}, hand_over_at)
    SELECT ${payoutColumns}, CASE WHEN status = 'processing' THEN now() END
    FROM ${newRows.from(1)} AS p
    WHERE (p.account_id IN (SELECT account_id FROM covered)) IS TRUE
      AND (p.caller IS NULL OR (p.caller IN (SELECT n FROM live)) IS TRUE)
      AND NOT EXISTS (
      SELECT 1 FROM payouts k
      WHERE coalesce(k.application_id, k.account_id) = coalesce(p.application_id, p.account_id)
        AND k.origin = p.origin AND k.idempotency_key = p.idempotency_key AND k.idempotency_key IS NOT NULL
    )
    ON CONFLICT (coalesce(application_id, account_id), origin, idempotency_key) WHERE idempotency_key IS NOT NULL
      DO NOTHING
    RETURNING id
  ),
  ${outboxCtes(1 + newRows.width)},
  ${transferCtes(MOVED)}
  ${WRITTEN}`

const insertMany = { alone: insertManyWith("alone"), together: insertManyWith("together") }

// The guard of every change: the pairs of states that the transition table of domain allows.
const allowedMoves = [
  ...new Set(payoutTransitions.flatMap(({ from, to }) => from.map((state) => `'${state}>${to}'`)))
].join(", ")

const changedRows = recordset({
  id: "uuid",
  status: "text",
  end_to_end_id: "text",
  failure_reason: "text",
  processed_at: "timestamptz",
  sequence: "integer"
})

const MOVED_BY_CHANGE = 1 + changedRows.width + OUTBOX_WIDTH

const changedBy = (how: Batching.How) => `
  WITH ${ledgerLockCtes(MOVED_BY_CHANGE, whenHeld(how))},
  changed AS (
    UPDATE payouts p SET status = i.status, end_to_end_id = i.end_to_end_id, failure_reason = i.failure_reason,
      processed_at = coalesce(p.processed_at, i.processed_at), sequence = i.sequence,
      hand_over_at = CASE WHEN i.status = 'processing' THEN now() END
    FROM ${changedRows.from(1)} AS i
    WHERE p.id = i.id AND p.sequence = i.sequence - 1 AND p.status || '>' || i.status IN (${allowedMoves})
      AND (i.status <> 'processing'
        OR EXISTS (SELECT 1 FROM accounts a WHERE a.id = p.account_id AND a.status = 'active'))
      AND ${isLocked("p.account_id")}
    RETURNING p.id
  ),
  ${outboxCtes(1 + changedRows.width)},
  ${transferCtes(MOVED_BY_CHANGE)}`

const changeStates = { alone: `${changedBy("alone")} ${WRITTEN}`, together: `${changedBy("together")} ${WRITTEN}` }

const changeStatesByReports = (how: Batching.How) => `${changedBy(how)},
  ${notificationCtes(MOVED_BY_CHANGE + TRANSFERS_WIDTH)}
  ${WRITTEN}`

const changeByReports = { alone: changeStatesByReports("alone"), together: changeStatesByReports("together") }

const changeMany = (changes: ReadonlyArray<PayoutChange>, how: Batching.How): [string, ReadonlyArray<unknown>] => {
  const reports = changes.flatMap(({ payout, received }) =>
    received === undefined ? [] : [{ resourceId: payout.id, received }]
  )
  const parameters = [
    ...changedRows.parameters(
      // Rows are locked in the order of their ids, so that two processes never wait for each other.
      changes
        .toSorted((one, other) => (one.payout.id < other.payout.id ? -1 : 1))
        .map(({ payout }) => ({
          id: payout.id,
          status: payout.status,
          end_to_end_id: payout.endToEndId,
          failure_reason: payout.failureReason,
          processed_at: payout.processedAtMs,
          sequence: payout.sequence
        }))
    ),
    ...outboxParameters(changes.map(({ outbox }) => outbox)),
    ...transferParameters(changes.flatMap(({ transfers }) => transfers))
  ]
  return reports.length === 0
    ? [changeStates[how], parameters]
    : [changeByReports[how], [...parameters, ...notificationParameters(reports)]]
}

/**
 * What each payout is, in the order in which they came: what one is granted, those behind it cannot have. `known` and
 * `twins` grow by what is granted.
 */
const decide = (
  members: ReadonlyArray<NewPayout>,
  isLive: (member: NewPayout) => boolean,
  accounts: ReadonlyMap<string, Account>,
  known: Map<string, StoredPayout>,
  twins: Map<string, string>
): { readonly decisions: ReadonlyArray<Decision>; readonly written: ReadonlyArray<Granted> } => {
  const written: Array<Granted> = []
  const decisions = members.map((member): Decision => {
    const { consequences, requested } = member
    if (!isLive(member)) return { _tag: "StaleCaller" }
    const key = keyOf(requested)
    const replayed = key === undefined ? undefined : known.get(key)
    if (replayed !== undefined) return { _tag: "Replayed", payout: replayed }
    const account = accounts.get(requested.accountId)
    if (account === undefined || account.status !== "active") return { _tag: "AccountInactive" }
    if (account.onboarding_status !== "completed") return { _tag: "AccountRestricted" }
    const fee = payoutFee(requested.amount, {
      fixed: Number(account.payout_fee_fixed),
      basis_points: account.payout_fee_basis_points
    })
    if (account.available < requested.amount + fee) return { _tag: "InsufficientBalance" }
    account.available -= requested.amount + fee
    const intent = intentOf({ ...storedKeyOf(requested), accountId: requested.accountId, amount: requested.amount })
    const duplicateOf = account.payout_duplicate_window > 0 ? (twins.get(intent) ?? null) : null
    const initial = initialPayout(account.auto_payout_enabled && duplicateOf === null)
    const payout: StoredPayout = { ...requested, status: initial.status, fee, duplicateOf }
    if (key !== undefined) known.set(key, payout)
    if (account.payout_duplicate_window > 0) twins.set(intent, payout.id)
    written.push({ member, account, payout, ...consequences(payout, initial.events) })
    return { _tag: "Created", payout }
  })
  return { decisions, written }
}

const accountIdsOf = (members: ReadonlyArray<NewPayout>): ReadonlyArray<string> => [
  ...new Set(members.map(({ requested }) => requested.accountId))
]

/** The accounts of payouts; with the terms that they were granted on, where those are to hold. */
const termsOf = (written: ReadonlyArray<Granted>, withTerms: boolean) =>
  [...new Map(written.map(({ account, payout }) => [payout.accountId, account]))].map(([account_id, account]) => ({
    account_id,
    ...(withTerms && {
      auto_payout_enabled: Number(account.auto_payout_enabled),
      payout_fee_fixed: Number(account.payout_fee_fixed),
      payout_fee_basis_points: account.payout_fee_basis_points
    })
  }))

const scopeOf = (payout: Pick<StoredPayout, "applicationId" | "accountId">) => payout.applicationId ?? payout.accountId

const keyOf = (
  payout: Pick<StoredPayout, "applicationId" | "accountId" | "origin" | "idempotencyKey">
): string | undefined =>
  payout.idempotencyKey === null ? undefined : `${scopeOf(payout)} ${payout.origin} ${payout.idempotencyKey}`

const intentOf = (intent: Pick<StoredPayout, "accountId" | "amount"> & StoredKey): string =>
  `${intent.accountId} ${intent.pix_key_type} ${intent.amount} ${intent.pix_key}`

interface StoredKey {
  readonly pix_key_type: PixKeyType | null
  readonly pix_key: string | null
}

/** What stands for the recipient in the columns of its Pix key: of a TED a text of its account, by which twins are known. */
const storedKeyOf = ({
  bankAccount,
  pixKey,
  pixKeyType
}: Pick<StoredPayout, "pixKeyType" | "pixKey" | "bankAccount">) =>
  bankAccount === null
    ? { pix_key_type: pixKeyType, pix_key: pixKey }
    : {
        pix_key_type: "random" as const,
        pix_key: [bankAccount.bank, bankAccount.branch, bankAccount.account, bankAccount.account_type].join("/")
      }

const toRow = (payout: StoredPayout) => ({
  id: payout.id,
  account_id: payout.accountId,
  application_id: payout.applicationId,
  origin: payout.origin,
  idempotency_key: payout.idempotencyKey,
  status: payout.status,
  method: payout.method,
  amount: payout.amount,
  fee: payout.fee,
  description: payout.description,
  reference: payout.reference,
  recipient_name: payout.recipientName,
  recipient_document: payout.recipientDocument,
  ...storedKeyOf(payout),
  bank_account: payout.bankAccount === null ? null : JSON.stringify(payout.bankAccount),
  webhook_url: payout.webhookUrl,
  webhook_secret: payout.sealedWebhookSecret,
  duplicate_of: payout.duplicateOf,
  created_at: payout.createdAtMs,
  sequence: payout.sequence
})

const toStored = (row: PayoutRow): StoredPayout => ({
  id: row.id,
  accountId: row.account_id,
  applicationId: row.application_id,
  origin: row.origin,
  idempotencyKey: row.idempotency_key,
  status: row.status,
  method: row.method,
  amount: Number(row.amount),
  fee: Number(row.fee),
  description: row.description,
  reference: row.reference,
  recipientName: row.recipient_name,
  recipientDocument: row.recipient_document,
  pixKeyType: row.bank_account === null ? row.pix_key_type : null,
  pixKey: row.bank_account === null ? row.pix_key : null,
  bankAccount: row.bank_account,
  webhookUrl: row.webhook_url,
  sealedWebhookSecret: row.webhook_secret,
  endToEndId: row.end_to_end_id,
  failureReason: row.failure_reason,
  duplicateOf: row.duplicate_of,
  processedAtMs: row.processed_at === null ? null : row.processed_at.getTime(),
  createdAtMs: row.created_at.getTime(),
  sequence: row.sequence
})
