/**
 * Charges: created, read, and changed by what the acquirer answers and notifies.
 *
 * Guarantees:
 * - a charge is stored before the acquirer is called, and no acquirer call happens inside a transaction (CHG-1);
 * - a repeated key is answered with its charge as it is now, whatever its body says (IDEM-4, IDEM-5);
 * - an unclear answer of the acquirer is not a refusal: the charge stays `processing`, and `ChargeRecovery` asks again with
 *   the same txid until it is `pending` or `failed` (CHG-4).
 */
import type { CreateCheckoutCharge } from "@pix-payments/api/operator/Charges"
import type { Caller } from "@pix-payments/api/Security"
import { type ChargeReport, decodeCreateCharge } from "@pix-payments/domain/Charge"
import { txidFromId } from "@pix-payments/domain/Txid"
import { isUuid } from "@pix-payments/domain/Uuid"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import { Accounts } from "../../accounts/Accounts.ts"
import { connectionOf } from "../../accounts/AccountConnection.ts"
import { StaleCaller } from "../../accounts/CallerCache.ts"
import { Acquirer } from "../../providers/Acquirer.ts"
import type { ReceivedNotification } from "../../providers/NotificationStore.ts"
import { AccountInactiveError, NotFoundError, RequestRefused, type UnknownCursor } from "../../base/Errors.ts"
import { Ids } from "../../base/Ids.ts"
import { PublicAddress } from "../../base/network/PublicAddress.ts"
import { Secrets } from "../../base/Secrets.ts"
import { Settings } from "../../base/Settings.ts"
import type { Page } from "../../database/statements/Paging.ts"
import { Unavailable } from "../../database/Unavailable.ts"
import {
  type ChargeChange,
  type ChargeRequest,
  decideChange,
  type Merchant,
  newCharge,
  type ReportFacts,
  transitionOf
} from "./ChargeDecision.ts"
import type { ChargeFilters } from "./ChargeLists.ts"
import { ChargeStore } from "./ChargeStore.ts"
import { customerOf, type ShownCharge, type StoredCharge } from "./ChargeTable.ts"

/** The acquirer refused the charge, which is stored as `failed` (CHG-3). */
export class ChargeRejected extends Data.TaggedError("ChargeRejected")<{
  readonly chargeId: string
  readonly reason: string
}> {}

export interface Created {
  readonly charge: StoredCharge
  /** True when the key was known. */
  readonly replayed: boolean
}

export class Charges extends Context.Service<
  Charges,
  {
    /**
     * Creates a charge from a request body as it came. For a cached caller nothing is stored and nothing is refused until
     * the statement that stores the charge has re-checked the caller.
     */
    readonly create: (
      caller: Caller,
      key: string,
      body: unknown,
      isCached?: boolean
    ) => Effect.Effect<Created, RequestRefused | AccountInactiveError | ChargeRejected | StaleCaller | Unavailable>
    /** Creates a charge of the hosted checkout; the key is optional (IDEM-10). */
    readonly createForCheckout: (
      application: { readonly id: string; readonly accountId: string },
      key: string | undefined,
      request: CreateCheckoutCharge
    ) => Effect.Effect<Created, RequestRefused | AccountInactiveError | ChargeRejected | NotFoundError | Unavailable>
    /** A charge of the caller's account that was created through the API (CHG-19). */
    readonly get: (
      caller: Caller,
      id: string,
      isCached?: boolean
    ) => Effect.Effect<ShownCharge, NotFoundError | StaleCaller | Unavailable>
    /** The charges of the caller's account that were created through the API (CHG-20). */
    readonly listFor: (
      caller: Caller,
      filters: Omit<ChargeFilters, "origin">,
      page: Page,
      isCached: boolean
    ) => Effect.Effect<ReadonlyArray<ShownCharge>, UnknownCursor | StaleCaller | Unavailable>
    /** The charges of an account, or of all. */
    readonly listAll: (
      accountId: string | undefined,
      filters: ChargeFilters,
      page: Page
    ) => Effect.Effect<ReadonlyArray<StoredCharge>, UnknownCursor | Unavailable>
    /** A charge of any account and origin. */
    readonly find: (id: string) => Effect.Effect<StoredCharge, NotFoundError | Unavailable>
    /**
     * Changes a charge as the acquirer notifies; `ignored` where the state does not allow it. A charge in `processing` is
     * emitted first. A payment that does not fit the charge, or that other notifications overtook, is `overtaken`, and left
     * to `paymentOf`.
     */
    readonly report: (
      id: string,
      report: ChargeReport,
      facts: ReportFacts,
      received: ReceivedNotification,
      fits?: (charge: StoredCharge) => boolean
    ) => Effect.Effect<"applied" | "ignored" | "overtaken", NotFoundError | Unavailable>
    /** The change of a charge by its payment; `undefined` where its state does not allow it. */
    readonly paymentOf: (
      charge: StoredCharge,
      facts: ReportFacts
    ) => Effect.Effect<ChargeChange | undefined, Unavailable>
    /** Asks the acquirer to emit a stored charge, and applies its answer; gives the charge as it then is. */
    readonly emit: (charge: StoredCharge) => Effect.Effect<StoredCharge, Unavailable>
  }
>()("@pix-payments/server/Charges") {
  static readonly layer = Layer.effect(
    Charges,
    Effect.gen(function* () {
      const store = yield* ChargeStore
      const acquirer = yield* Acquirer
      const accounts = yield* Accounts
      const addresses = yield* PublicAddress
      const secrets = yield* Secrets
      const ids = yield* Ids
      const { acquirer: acquirerKind, acquirerTimeoutMs } = yield* Settings

      /** A known key is replayed whatever else is wrong with the request (ERR-2). */
      const unlessReplay = <E>(owner: Owner, error: E): Effect.Effect<Created, E | StaleCaller | Unavailable> => {
        if (owner.cached !== undefined) return Effect.fail(new StaleCaller())
        if (owner.idempotencyKey === null) return Effect.fail(error)
        return Effect.flatMap(
          store.findByKey(owner.applicationId, owner.origin, owner.idempotencyKey),
          (charge): Effect.Effect<Created, E> =>
            charge === undefined ? Effect.fail(error) : Effect.succeed({ charge, replayed: true })
        )
      }

      const releaseDelayMs = (accountId: string) =>
        accounts.get(accountId).pipe(
          Effect.map(({ release_delay }) => release_delay * 1000),
          Effect.catchTag("NotFoundError", Effect.die)
        )

      const changeBy = Effect.fnUntraced(function* (charge: StoredCharge, report: ChargeReport, facts: ReportFacts) {
        const nowMs = yield* Clock.currentTimeMillis
        // Only a payment needs the account's release delay.
        const isPayment = report === "paid" && transitionOf(charge, report, nowMs) !== undefined
        const delayMs = isPayment ? yield* releaseDelayMs(charge.accountId) : 0
        return decideChange(charge, report, facts, { ids, nowMs, releaseDelayMs: delayMs })
      })

      const emitFor = Effect.fnUntraced(function* (
        charge: StoredCharge,
        merchant: { name: string; document: string },
        isRepeated: boolean
      ) {
        const emission = {
          method: charge.method,
          txid: txidFromId(charge.id),
          amount: charge.amount,
          expiresAtMs: charge.expiresAtMs ?? charge.createdAtMs,
          payer: customerOf(charge) ?? { name: "", email: "", document: "" },
          merchant,
          description: charge.description,
          isRepeated
        }
        const answer = yield* acquirer.providerFor(charge.connectionId).pipe(
          Effect.flatMap((provider) => provider.emit(emission)),
          Effect.map((emitted) => ({ report: "emitted" as const, facts: { emitted } })),
          Effect.catchTags({
            AcquirerRefused: ({ reason }) => Effect.succeed({ report: "refused" as const, facts: { reason } }),
            AcquirerUnclear: () => Effect.undefined
          })
        )
        if (answer === undefined) return charge
        const change = yield* changeBy(charge, answer.report, answer.facts)
        if (change !== undefined && (yield* store.change(change))) return change.charge
        // Another process applied an answer first.
        return (yield* store.find(charge.id)) ?? charge
      })

      const emit = (charge: StoredCharge) =>
        accounts.get(charge.accountId).pipe(
          Effect.flatMap((account) => emitFor(charge, account, true)),
          Effect.catchTag("NotFoundError", Effect.die)
        )

      const report = Effect.fn("Charges.report")(function* (
        id: string,
        kind: ChargeReport,
        facts: ReportFacts,
        received: ReceivedNotification,
        fits: (charge: StoredCharge) => boolean = () => true
      ) {
        while (true) {
          let charge = yield* store.find(id)
          if (charge === undefined) return yield* new NotFoundError()
          if (!fits(charge)) return "overtaken" as const
          // A notification proves that the Pix was emitted, so the acquirer's answer to that comes first.
          if (charge.status === "processing") charge = yield* emit(charge)
          if (charge.status === "processing") return yield* new Unavailable({ reason: "too-slow" })
          const change = yield* changeBy(charge, kind, facts)
          if (change === undefined) return "ignored" as const
          if (kind === "paid" && charge.hasDeferredNotifications) return "overtaken" as const
          // False after a concurrent change: decide again on the charge as it is now.
          if (yield* store.change({ ...change, received })) return "applied" as const
        }
      })

      const find = Effect.fn("Charges.find")(function* (id: string) {
        const charge = isUuid(id) ? yield* store.find(id) : undefined
        return charge ?? (yield* new NotFoundError())
      })

      const create = Effect.fnUntraced(function* (owner: Owner, merchant: Merchant, request: ChargeRequest) {
        if (
          typeof request.webhook_url === "string" &&
          !(yield* addresses.mayReceive(request.webhook_url, owner.accountId))
        ) {
          const refusal = { code: "INVALID_WEBHOOK_URL", details: ["webhook_url"] } as const
          return yield* unlessReplay(owner, new RequestRefused(refusal))
        }
        if (merchant.status !== "active" || merchant.chargesPaused || merchant.connectionId === undefined)
          return yield* unlessReplay(owner, new AccountInactiveError())

        const { epochMs, id } = ids.next()
        // An empty secret signs nothing.
        const sealed = request.webhook_secret ? secrets.seal(request.webhook_secret, { kind: "charge", id }) : null
        const charge = newCharge(id, epochMs, owner, merchant, request, sealed)
        const { existing, mayEmit } = yield* store.insert(charge, acquirerTimeoutMs + RECOVERY_MARGIN_MS, owner.cached)
        if (existing !== undefined) return { charge: existing, replayed: true }
        // `ChargeRecovery` emits it once its connection is resumed.
        if (!mayEmit) return { charge, replayed: false }

        const settled = yield* emitFor(charge, merchant, false)
        if (settled.status === "failed") {
          return yield* new ChargeRejected({ chargeId: id, reason: settled.failureReason ?? "" })
        }
        return { charge: settled, replayed: false }
      })

      return Charges.of({
        create: Effect.fnUntraced(function* (caller, key, body, isCached = false) {
          const owner: Owner = {
            accountId: caller.account.id,
            applicationId: caller.applicationId,
            origin: "api",
            idempotencyKey: key,
            cached: isCached ? caller : undefined
          }
          const decoded = decodeCreateCharge(body)
          if (Result.isFailure(decoded)) return yield* unlessReplay(owner, new RequestRefused(decoded.failure))
          return yield* create(owner, caller.account, decoded.success)
        }),

        createForCheckout: Effect.fn("Charges.createForCheckout")(function* (application, key, request) {
          const account = yield* accounts.get(application.accountId)
          const owner: Owner = {
            accountId: account.id,
            applicationId: application.id,
            origin: "checkout",
            idempotencyKey: key ?? null,
            cached: undefined
          }
          const merchant = {
            ...account,
            defaultExpiresInSeconds: account.default_expires_in,
            chargesPaused: account.charges_stopped,
            connectionId: connectionOf(acquirerKind, account)
          }
          return yield* Effect.catchTag(create(owner, merchant, request), "StaleCaller", Effect.die)
        }),

        get: (caller, id, isCached = false) => {
          if (!isUuid(id)) return Effect.fail(isCached ? new StaleCaller() : new NotFoundError())
          return Effect.filterOrFail(
            isCached ? store.findFor(caller, id) : store.find(id),
            (charge): charge is ShownCharge => charge?.accountId === caller.account.id && charge.origin === "api",
            () => new NotFoundError()
          )
        },

        listFor: Effect.fnUntraced(function* (caller, filters, page, isCached) {
          if (isCached) return yield* store.listFor(caller, filters, page)
          const now = yield* Clock.currentTimeMillis
          return yield* store.list(caller.account.id, filters, page, now)
        }),

        listAll: Effect.fnUntraced(function* (accountId, filters, page) {
          const now = yield* Clock.currentTimeMillis
          return yield* store.listAll(accountId, filters, page, now)
        }),

        find,

        report,

        paymentOf: (charge, facts) => changeBy(charge, "paid", facts),

        emit
      })
    })
  )
}

// Recovery begins after the creation itself has stopped waiting for the acquirer.
const RECOVERY_MARGIN_MS = 1000

interface Owner {
  readonly accountId: string
  readonly applicationId: string
  readonly origin: StoredCharge["origin"]
  readonly idempotencyKey: string | null
  /** The caller, if it comes from the cache. */
  readonly cached: Caller | undefined
}
