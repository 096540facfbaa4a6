/**
 * What happens to one payout.
 *
 * Guarantees:
 * - amount and fee leave `available` in the commit that stores the payout, and come back on `failed` and
 *   `canceled` in the commit that says so;
 * - a payout is handed to the acquirer after its commit, under its own id as the acquirer's idempotency key, so
 *   that no retry sends a second Pix;
 * - an unclear answer is never a refusal: the payout stays `processing` and its outcome is asked for until known;
 * - one key, one payout: a repeat is answered with the payout as it is now, whatever its body says.
 *
 * Source: payments-api-v1.md "POST /v1/payouts", "Payout `status`"; decisions.md "Payouts".
 */
import type { Caller } from "@pix-payments/api/Security"
import type { CreateDashboardPayout } from "@pix-payments/api/operator/Payouts"
import type { Cents } from "@pix-payments/domain/Cents"
import { formatInstant } from "@pix-payments/domain/Instant"
import {
  type CreatePayout,
  decodeCreatePayout,
  type Payout,
  type PayoutReport,
  payoutTransition
} from "@pix-payments/domain/Payout"
import { parsePixKey } from "@pix-payments/domain/PixKey"
import { isUuid } from "@pix-payments/domain/Uuid"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import { Accounts } from "../accounts/Accounts.ts"
import { StaleCaller } from "../accounts/CallerCache.ts"
import { Acquirer } from "../acquirer/Acquirer.ts"
import type { ReceivedNotification } from "../acquirer/NotificationStore.ts"
import {
  AccountInactiveError,
  InsufficientBalanceError,
  InvalidStateError,
  NotFoundError,
  RequestRefused,
  type UnknownCursor
} from "../Errors.ts"
import { type Changed, outboxEntry } from "../events/Outbox.ts"
import { Ids } from "../Ids.ts"
import { type LedgerKind, transfer } from "../ledger/Ledger.ts"
import { describeCause } from "../observability/SafeCause.ts"
import { Secrets } from "../Secrets.ts"
import { Settings } from "../Settings.ts"
import type { Page } from "../sql/Paging.ts"
import type { Unavailable } from "../sql/Unavailable.ts"
import { PublicAddress } from "../network/PublicAddress.ts"
import type { PayoutFilters } from "./PayoutLists.ts"
import {
  type Decision,
  type PayoutSubmission,
  PayoutStore,
  type RequestedPayout,
  type StoredPayout
} from "./PayoutStore.ts"

export class AccountRestrictedError extends Data.TaggedError("AccountRestrictedError")<{}> {}

export interface CreatedPayout {
  readonly payout: StoredPayout
  /** True when the key was known. */
  readonly replayed: boolean
}

type CreationError =
  | RequestRefused
  | AccountInactiveError
  | AccountRestrictedError
  | InsufficientBalanceError
  | Unavailable

export class Payouts extends Context.Service<
  Payouts,
  {
    /**
     * Creates a payout of the caller's from a request body as it came. For a caller who is only remembered, nothing is
     * done or refused before the transaction that decides the payout has confirmed them.
     */
    readonly create: (
      caller: Caller,
      key: string,
      body: unknown,
      isCached?: boolean
    ) => Effect.Effect<CreatedPayout, CreationError | StaleCaller>
    /** Creates a payout that an operator asks for; the key is optional. */
    readonly createForOperator: (
      accountId: string,
      key: string | undefined,
      request: CreateDashboardPayout
    ) => Effect.Effect<CreatedPayout, CreationError>
    readonly get: (accountId: string, id: string) => Effect.Effect<StoredPayout, NotFoundError | Unavailable>
    /** A payout of any account. */
    readonly find: (id: string) => Effect.Effect<StoredPayout, NotFoundError | Unavailable>
    readonly list: (
      accountId: string | undefined,
      filters: PayoutFilters,
      page: Page
    ) => Effect.Effect<ReadonlyArray<StoredPayout>, UnknownCursor | Unavailable>
    /** An operator releases or rejects a pending payout; of two at once one wins. */
    readonly decide: (
      id: string,
      decision: "approved" | "canceled"
    ) => Effect.Effect<StoredPayout, NotFoundError | InvalidStateError | Unavailable>
    /** Moves a payout as the acquirer reports; `ignored` where it changes nothing. */
    readonly report: (
      id: string,
      report: "completed" | "failed",
      facts: PayoutFacts,
      received: ReceivedNotification
    ) => Effect.Effect<"applied" | "ignored", NotFoundError | Unavailable>
    /**
     * Takes up to `limit` payouts that are to be handed to the acquirer, or asked about: each as the work that does it
     * and that leaves it to a later one where it cannot. `parked`: how many were found that may not go out yet.
     */
    readonly takeDue: (
      limit: number
    ) => Effect.Effect<{ readonly due: ReadonlyArray<Effect.Effect<void>>; readonly parked: number }, Unavailable>
    /** Lets payouts go out whose accounts may send again; how many. */
    readonly rescheduleParked: Effect.Effect<number, Unavailable>
  }
>()("@pix-payments/server/Payouts") {
  static readonly layer = Layer.effect(
    Payouts,
    Effect.gen(function* () {
      const store = yield* PayoutStore
      const accounts = yield* Accounts
      const acquirer = yield* Acquirer
      const addresses = yield* PublicAddress
      const secrets = yield* Secrets
      const ids = yield* Ids
      const { acquirerTimeoutMs } = yield* Settings

      /** A known key is replayed whatever else is wrong with the call. */
      const unlessReplay = <E>(
        { accountId, applicationId, origin, remembered }: Owner,
        key: string | undefined,
        error: E
      ): Effect.Effect<CreatedPayout, E | StaleCaller | Unavailable> => {
        if (remembered !== undefined) return Effect.fail(new StaleCaller())
        if (key === undefined) return Effect.fail(error)
        return Effect.flatMap(
          store.findByKey(applicationId ?? accountId, origin, key),
          (payout): Effect.Effect<CreatedPayout, E> =>
            payout === undefined ? Effect.fail(error) : Effect.succeed({ payout, replayed: true })
        )
      }

      const create = Effect.fnUntraced(function* (
        owner: Owner,
        key: string | undefined,
        request: CreatePayout | CreateDashboardPayout
      ) {
        if (
          typeof request.webhook_url === "string" &&
          !(yield* addresses.mayReceive(request.webhook_url, owner.accountId))
        ) {
          const refusal = { code: "INVALID_WEBHOOK_URL", details: ["webhook_url"] } as const
          return yield* unlessReplay(owner, key, new RequestRefused(refusal))
        }
        const { epochMs, id } = ids.next()
        const decision = yield* store.create({
          remembered: owner.remembered,
          requested: requestedPayout(id, epochMs, owner, key, request, secrets),
          consequences: (payout, events) => ({
            outbox: outboxEntry(`payment.${payout.method}`, events, changedBy(payout), ids.next),
            transfers: transfer(ids, {
              accountId: payout.accountId,
              debit: "available",
              credit: "payouts_in_transit",
              amount: payout.amount + payout.fee,
              resourceId: payout.id,
              reason: "payout.created"
            })
          })
        })
        return yield* answerOf(decision)
      })

      const apply = Effect.fnUntraced(function* (
        payout: StoredPayout,
        report: PayoutReport,
        facts: PayoutFacts,
        received: ReceivedNotification | undefined
      ) {
        const transition = payoutTransition(report, payout.status)
        if (transition === undefined) return { moved: undefined, known: true }
        const moved: StoredPayout = {
          ...payout,
          status: transition.to,
          sequence: payout.sequence + 1,
          endToEndId: report === "completed" ? (facts.endToEndId ?? null) : payout.endToEndId,
          failureReason: report === "failed" ? (facts.reason ?? "refused by the provider") : payout.failureReason,
          // An outcome proves that it was handed over.
          processedAtMs:
            payout.processedAtMs ??
            (report === "completed" || report === "failed" ? yield* Clock.currentTimeMillis : null)
        }
        const done = yield* store.change({
          payout: moved,
          outbox: outboxEntry(`payment.${payout.method}`, transition.events, changedBy(moved), ids.next),
          transfers: movements[report].flatMap(({ credit, what }) =>
            transfer(ids, {
              accountId: moved.accountId,
              debit: "payouts_in_transit",
              credit,
              amount: what(moved),
              resourceId: moved.id,
              reason: `payout.${report}`
            })
          ),
          received
        })
        return { moved: done ? moved : undefined, known: done }
      })

      const find = Effect.fnUntraced(function* (id: string) {
        const payout = isUuid(id) ? yield* store.find(id) : undefined
        return payout ?? (yield* new NotFoundError())
      })

      const isActive = (accountId: string) =>
        accounts.get(accountId).pipe(
          Effect.map(({ status }) => status === "active"),
          Effect.catchTag("NotFoundError", Effect.die)
        )

      /** The payout as it then is; `undefined` where it changes nothing. */
      const move = Effect.fn("Payouts.move")(function* (
        id: string,
        kind: PayoutReport,
        facts: PayoutFacts,
        received?: ReceivedNotification
      ) {
        while (true) {
          const payout = yield* find(id)
          // Nothing new goes out of an inactive account.
          if (kind === "approved" && !(yield* isActive(payout.accountId))) return undefined
          const result = yield* apply(payout, kind, facts, received)
          // Lost to a concurrent change: decide again on the payout as it is now.
          if (result.known) return result.moved
        }
      })

      const handOverOne = Effect.fnUntraced(function* ({ handOvers, payout }: PayoutSubmission) {
        const asked = payout.processedAtMs === null ? acquirer.send(orderOf(payout)) : acquirer.outcome(payout.id)
        const answer = yield* Effect.catchTag(asked, "AcquirerUnclear", () =>
          Effect.succeed({ _tag: "Unclear" } as const)
        )
        switch (answer._tag) {
          case "Completed":
            return yield* Effect.asVoid(move(payout.id, "completed", { endToEndId: answer.endToEndId }))
          case "Failed":
            return yield* Effect.asVoid(move(payout.id, "failed", { reason: answer.reason }))
          case "Accepted":
          case "Unclear":
            return yield* store.handedOver({
              id: payout.id,
              processedAtMs: answer._tag === "Accepted" ? yield* Clock.currentTimeMillis : null,
              askAgainInMs: Math.min(FIRST_ASK_MS * 2 ** handOvers, LAST_ASK_MS)
            })
        }
      })

      return Payouts.of({
        create: Effect.fnUntraced(function* (caller, key, body, isCached = false) {
          const owner: Owner = {
            accountId: caller.account.id,
            applicationId: caller.applicationId,
            origin: "api",
            remembered: isCached ? caller : undefined
          }
          const decoded = decodeCreatePayout(body)
          if (Result.isFailure(decoded)) return yield* unlessReplay(owner, key, new RequestRefused(decoded.failure))
          return yield* create(owner, key, decoded.success)
        }),

        createForOperator: (accountId, key, request) =>
          create({ accountId, applicationId: null, origin: "dashboard", remembered: undefined }, key, request).pipe(
            Effect.catchTag("StaleCaller", Effect.die)
          ),

        get: (accountId, id) =>
          Effect.filterOrFail(
            find(id),
            (payout) => payout.accountId === accountId,
            () => new NotFoundError()
          ),

        find,
        list: store.list,

        decide: Effect.fn("Payouts.decide")(function* (id, decision) {
          const moved = yield* move(id, decision, {})
          if (moved !== undefined) return moved
          return yield* new InvalidStateError({ status: (yield* find(id)).status })
        }),

        report: (id, kind, facts, received) =>
          Effect.map(move(id, kind, facts, received), (moved) => (moved === undefined ? "ignored" : "applied")),

        takeDue: (limit) =>
          Effect.map(store.claim(limit, acquirerTimeoutMs + LEASE_MARGIN_MS), ({ due, parked }) => ({
            parked,
            due: due.map((each) =>
              // Its lease runs out and it is handed over again.
              Effect.catchCause(handOverOne(each), (cause) =>
                Effect.annotateLogs(Effect.logWarning("a payout could not be handed over", describeCause(cause)), {
                  payout_id: each.payout.id
                })
              )
            )
          })),

        rescheduleParked: store.rescheduleParked
      })
    })
  )
}

/** A payout as the API shows it. */
export const toPayout = (payout: StoredPayout): Payout => ({
  id: payout.id,
  object: "payout",
  status: payout.status,
  method: payout.method,
  // The columns' CHECKs hold what the brand says.
  amount: payout.amount as Cents,
  fee: payout.fee as Cents,
  currency: "BRL",
  description: payout.description,
  reference: payout.reference,
  recipient: {
    name: payout.recipientName,
    document: payout.recipientDocument,
    pix_key_type: payout.pixKeyType,
    pix_key: payout.pixKey
  },
  end_to_end_id: payout.endToEndId,
  failure_reason: payout.failureReason,
  webhook_url: payout.webhookUrl,
  processed_at: payout.processedAtMs === null ? null : formatInstant(payout.processedAtMs),
  created_at: formatInstant(payout.createdAtMs),
  sequence: payout.sequence
})

/** What a report adds to the payout that it moves. */
export interface PayoutFacts {
  readonly endToEndId?: string | undefined
  readonly reason?: string | undefined
}

interface Owner extends Pick<StoredPayout, "accountId" | "applicationId" | "origin"> {
  /** The caller, while nobody has confirmed who it is. */
  readonly remembered: Caller | undefined
}

const LEASE_MARGIN_MS = 10_000
const FIRST_ASK_MS = 1000
const LAST_ASK_MS = 60_000

/** Where the money in transit goes. */
const movements: Record<
  PayoutReport,
  ReadonlyArray<{ readonly credit: LedgerKind; readonly what: (payout: StoredPayout) => number }>
> = {
  approved: [],
  completed: [
    { credit: "acquirer", what: ({ amount }) => amount },
    { credit: "fees", what: ({ fee }) => fee }
  ],
  failed: [{ credit: "available", what: ({ amount, fee }) => amount + fee }],
  canceled: [{ credit: "available", what: ({ amount, fee }) => amount + fee }]
}

const answerOf = (
  decision: Decision
): Effect.Effect<
  CreatedPayout,
  AccountInactiveError | AccountRestrictedError | InsufficientBalanceError | StaleCaller
> => {
  switch (decision._tag) {
    case "Created":
      return Effect.succeed({ payout: decision.payout, replayed: false })
    case "Replayed":
      return Effect.succeed({ payout: decision.payout, replayed: true })
    case "StaleCaller":
      return Effect.fail(new StaleCaller())
    case "AccountInactive":
      return Effect.fail(new AccountInactiveError())
    case "AccountRestricted":
      return Effect.fail(new AccountRestrictedError())
    case "InsufficientBalance":
      return Effect.fail(new InsufficientBalanceError())
  }
}

/** Where a payout goes: a Pix to its key, in the form in which DICT holds it, a TED to its bank account. */
const destinationOf = (
  request: CreatePayout | CreateDashboardPayout
): Pick<StoredPayout, "pixKeyType" | "pixKey" | "bankAccount"> => {
  if ("bank" in request) {
    const { account, account_type, bank, branch } = request
    return { pixKeyType: null, pixKey: null, bankAccount: { bank, branch, account, account_type } }
  }
  const parsed = parsePixKey(request.pix_key_type, request.pix_key)
  return {
    pixKeyType: request.pix_key_type,
    pixKey: parsed._tag === "Valid" ? parsed.value : request.pix_key,
    bankAccount: null
  }
}

const requestedPayout = (
  id: string,
  createdAtMs: number,
  owner: Pick<StoredPayout, "accountId" | "applicationId" | "origin">,
  key: string | undefined,
  request: CreatePayout | CreateDashboardPayout,
  secrets: Secrets["Service"]
): RequestedPayout => {
  return {
    id,
    ...owner,
    idempotencyKey: key ?? null,
    method: request.method === "ted" ? "ted" : "pix",
    amount: request.amount,
    description: request.description ?? null,
    reference: request.reference ?? null,
    recipientName: request.recipient_name ?? null,
    recipientDocument: request.recipient_document ?? null,
    ...destinationOf(request),
    webhookUrl: request.webhook_url ?? null,
    // An empty secret signs nothing.
    sealedWebhookSecret: request.webhook_secret ? secrets.seal(request.webhook_secret, { kind: "payout", id }) : null,
    endToEndId: null,
    failureReason: null,
    processedAtMs: null,
    createdAtMs,
    sequence: 1
  }
}

const orderOf = (payout: StoredPayout) => ({
  id: payout.id,
  amount: payout.amount,
  method: payout.method,
  pixKeyType: payout.pixKeyType,
  pixKey: payout.pixKey,
  bankAccount: payout.bankAccount,
  recipientName: payout.recipientName,
  recipientDocument: payout.recipientDocument,
  description: payout.description
})

const changedBy = (payout: StoredPayout): Changed => ({
  id: payout.id,
  accountId: payout.accountId,
  applicationId: payout.applicationId,
  status: payout.status,
  sequence: payout.sequence,
  webhookUrl: payout.webhookUrl,
  sealedWebhookSecret: payout.sealedWebhookSecret,
  data: { ...toPayout(payout), object: "payment" }
})
