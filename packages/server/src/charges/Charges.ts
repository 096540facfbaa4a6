/**
 * What happens to one charge.
 *
 * Guarantees:
 * - a charge is stored before the acquirer is called, and no acquirer call happens inside a transaction;
 * - one key, one charge: a repeat is answered with the charge as it is now, whatever its body says;
 * - an unclear answer of the acquirer is never a refusal: the charge stays `processing`, and `Recovery` asks
 *   again with the same txid until it is `pending` or `failed`;
 * - a report that the transition table does not know from the present state changes nothing.
 *
 * Source: payments-api-v1.md "POST /v1/charges"; decisions.md "Answers", "Charges".
 */
import { describeCause } from "../observability/SafeCause.ts"
import type { CreateCheckoutCharge } from "@pix-payments/api/operator/Charges"
import type { Caller } from "@pix-payments/api/Security"
import type { Cents } from "@pix-payments/domain/Cents"
import {
  type Charge,
  type ChargeReport,
  chargeStatusAt,
  chargeTransition,
  type CreateCharge,
  decodeCreateCharge
} from "@pix-payments/domain/Charge"
import { formatInstant } from "@pix-payments/domain/Instant"
import { txidFromId } from "@pix-payments/domain/Txid"
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
import { AccountInactiveError, NotFoundError, RequestRefused, type UnknownCursor } from "../Errors.ts"
import { type Changed, outboxEntry } from "../events/Outbox.ts"
import { Ids } from "../Ids.ts"
import { type Transfer, transfer } from "../ledger/Ledger.ts"
import { Secrets } from "../Secrets.ts"
import { Settings } from "../Settings.ts"
import type { Page } from "../sql/Paging.ts"
import { Unavailable } from "../sql/Unavailable.ts"
import { PublicAddress } from "../network/PublicAddress.ts"
import type { ChargeFilters } from "./ChargeLists.ts"
import { type ChargeChange, ChargeStore } from "./ChargeStore.ts"
import { customerOf, type StoredCharge } from "./ChargeTable.ts"

/** The acquirer said no; the charge is kept as `failed`. */
export class ChargeRejected extends Data.TaggedError("ChargeRejected")<{
  readonly chargeId: string
  readonly reason: string
}> {}

export interface Created {
  readonly charge: StoredCharge
  /** True when the key was known. */
  readonly replayed: boolean
}

/** What a report adds to the charge that it moves. */
export interface ReportFacts {
  readonly endToEndId?: string | undefined
  readonly reason?: string | undefined
}

export class Charges extends Context.Service<
  Charges,
  {
    /**
     * Creates a charge of the caller's from a request body as it came. For a caller who is only remembered, nothing is
     * done or refused before the statement that stores the charge has confirmed them.
     */
    readonly create: (
      caller: Caller,
      key: string,
      body: unknown,
      isCached?: boolean
    ) => Effect.Effect<Created, RequestRefused | AccountInactiveError | ChargeRejected | StaleCaller | Unavailable>
    /** Creates a charge of the hosted checkout; the key is optional. */
    readonly createForCheckout: (
      application: { readonly id: string; readonly accountId: string },
      key: string | undefined,
      request: CreateCheckoutCharge
    ) => Effect.Effect<Created, RequestRefused | AccountInactiveError | ChargeRejected | NotFoundError | Unavailable>
    /** A charge of the caller's account that was created through the API. */
    readonly get: (
      caller: Caller,
      id: string,
      isCached?: boolean
    ) => Effect.Effect<StoredCharge, NotFoundError | StaleCaller | Unavailable>
    readonly list: (
      accountId: string | undefined,
      filters: ChargeFilters,
      page: Page
    ) => Effect.Effect<ReadonlyArray<StoredCharge>, UnknownCursor | Unavailable>
    /** A charge of any account and origin. */
    readonly find: (id: string) => Effect.Effect<StoredCharge, NotFoundError | Unavailable>
    /**
     * Moves a charge as the acquirer reports; `ignored` where it changes nothing. A charge in `processing` is settled
     * with the acquirer first. A payment that was overtaken by other reports is left to `paymentOf`.
     */
    readonly report: (
      id: string,
      report: ChargeReport,
      facts: ReportFacts,
      received: ReceivedNotification
    ) => Effect.Effect<"applied" | "ignored" | "overtaken", NotFoundError | Unavailable>
    /** The change that a payment makes of a charge; `undefined` where its state does not allow it. */
    readonly paymentOf: (
      charge: StoredCharge,
      facts: ReportFacts
    ) => Effect.Effect<ChargeChange | undefined, Unavailable>
    /** Asks the acquirer again for charges that were left in `processing`; how many recoveries were examined. */
    readonly recover: Effect.Effect<number, Unavailable>
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
      const { acquirerTimeoutMs } = yield* Settings

      /** A known key is replayed whatever else is wrong with the call. */
      const unlessReplay = <E>(owner: Owner, error: E): Effect.Effect<Created, E | StaleCaller | Unavailable> => {
        if (owner.remembered !== undefined) return Effect.fail(new StaleCaller())
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

      /** The change that a report makes of a charge; `undefined` where its state does not allow it. */
      const changeBy = Effect.fnUntraced(function* (
        charge: StoredCharge,
        report: ChargeReport,
        facts: Partial<StoredCharge>
      ) {
        const now = yield* Clock.currentTimeMillis
        const status = chargeStatusAt(charge.status, charge.expiresAtMs, now)
        const transition = chargeTransition(report, status)
        if (transition === undefined) return undefined
        const moved: StoredCharge = { ...charge, ...facts, status: transition.to, sequence: charge.sequence + 1 }
        // The account's delay is asked for when money comes in, and only then.
        const delayMs = report === "paid" ? yield* releaseDelayMs(charge.accountId) : 0
        const change: ChargeChange = {
          charge: moved,
          outbox: outboxEntry(`charge.${charge.method}`, transition.events, changedCharge(moved, now), ids.next),
          transfers: report === "paid" ? payment(moved, delayMs > 0 ? "pending" : "available", ids) : [],
          releaseInMs: delayMs > 0 ? delayMs : undefined
        }
        return change
      })

      /** Asks the acquirer to emit, and settles what it says. The charge comes back as it then is. */
      const emit = Effect.fnUntraced(function* (charge: StoredCharge, merchant: { name: string; document: string }) {
        const answer = yield* acquirer
          .emit({
            method: charge.method,
            txid: txidFromId(charge.id),
            amount: charge.amount,
            expiresAtMs: charge.expiresAtMs ?? charge.createdAtMs,
            payer: customerOf(charge) ?? { name: "", email: "", document: "" },
            merchant,
            description: charge.description
          })
          .pipe(
            Effect.map((emitted) => ({ report: "emitted" as const, facts: emitted })),
            Effect.catchTags({
              AcquirerRefused: ({ reason }) =>
                Effect.succeed({ report: "refused" as const, facts: { failureReason: reason } }),
              AcquirerUnclear: () => Effect.undefined
            })
          )
        if (answer === undefined) return charge
        const change = yield* changeBy(charge, answer.report, answer.facts)
        if (change !== undefined && (yield* store.change(change))) return change.charge
        // Somebody else settled it first: what they found is the truth.
        return (yield* store.find(charge.id)) ?? charge
      })

      const emitForAccount = (charge: StoredCharge) =>
        accounts.get(charge.accountId).pipe(
          Effect.flatMap((account) => emit(charge, account)),
          Effect.catchTag("NotFoundError", Effect.die)
        )

      const report = Effect.fn("Charges.report")(function* (
        id: string,
        kind: ChargeReport,
        facts: ReportFacts,
        received: ReceivedNotification
      ) {
        while (true) {
          let charge = yield* store.find(id)
          if (charge === undefined) return yield* new NotFoundError()
          // What happens to a Pix proves that it was emitted: settle that first. Money that arrived is never refused.
          if (charge.status === "processing") charge = yield* emitForAccount(charge)
          if (charge.status === "processing") return yield* new Unavailable({ reason: "too-slow" })
          const change = yield* changeBy(charge, kind, yield* factsOf(kind, facts))
          if (change === undefined) return "ignored" as const
          if (kind === "paid" && charge.hasDeferredReports) return "overtaken" as const
          // Where it is lost to a concurrent change: decide again on the charge as it is now.
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
        if (merchant.status !== "active" || merchant.chargesPaused)
          return yield* unlessReplay(owner, new AccountInactiveError())

        const { epochMs, id } = ids.next()
        const charge = newCharge(id, epochMs, owner, merchant, request, secrets)
        const { existing } = yield* store.insert(charge, acquirerTimeoutMs + RECOVERY_MARGIN_MS, owner.remembered)
        if (existing !== undefined) return { charge: existing, replayed: true }

        const settled = yield* emit(charge, merchant)
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
            remembered: isCached ? caller : undefined
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
            remembered: undefined
          }
          const merchant = {
            ...account,
            defaultExpiresInSeconds: account.default_expires_in,
            chargesPaused: account.charges_paused
          }
          return yield* Effect.catchTag(create(owner, merchant, request), "StaleCaller", Effect.die)
        }),

        get: (caller, id, isCached = false) => {
          if (!isUuid(id)) return Effect.fail(isCached ? new StaleCaller() : new NotFoundError())
          return Effect.filterOrFail(
            isCached ? store.findFor(caller, id) : store.find(id),
            (charge): charge is StoredCharge => charge?.accountId === caller.account.id && charge.origin === "api",
            () => new NotFoundError()
          )
        },

        list: Effect.fnUntraced(function* (accountId, filters, page) {
          const now = yield* Clock.currentTimeMillis
          return yield* store.list(accountId, filters, page, now)
        }),

        find,

        report,

        paymentOf: (charge, facts) =>
          Effect.flatMap(factsOf("paid", facts), (settled) => changeBy(charge, "paid", settled)),

        recover: Effect.gen(function* () {
          const leaseMs = acquirerTimeoutMs + RECOVERY_MARGIN_MS
          const { charges, examined } = yield* store.claimDueRecoveries(RECOVERED_AT_ONCE, leaseMs)
          if (charges.length === 0) return examined
          // One that cannot be settled now holds up no other: it is asked for again, later each time.
          const recoverOne = (charge: StoredCharge) =>
            Effect.catchCause(emitForAccount(charge), (cause) =>
              Effect.annotateLogs(Effect.logWarning("a charge could not be recovered", describeCause(cause)), {
                charge_id: charge.id
              })
            )
          const renewing = Effect.forever(
            Effect.andThen(Effect.sleep(leaseMs / 2), Effect.ignore(store.renewRecoveries(charges, leaseMs)))
          )
          yield* Effect.raceFirst(
            Effect.forEach(charges, recoverOne, { concurrency: "unbounded", discard: true }),
            renewing
          )
          return examined
        })
      })
    })
  )
}

/** A charge as the API shows it at an instant. */
export const toCharge = (charge: StoredCharge, nowMs: number): Charge => ({
  id: charge.id,
  object: "charge",
  status: chargeStatusAt(charge.status, charge.expiresAtMs, nowMs),
  // The column's CHECK holds what the brand says.
  amount: charge.amount as Cents,
  currency: "BRL",
  method: charge.method,
  description: charge.description,
  reference: charge.reference,
  customer: customerOf(charge),
  pix: { br_code: charge.brCode, end_to_end_id: charge.endToEndId },
  receiver: charge.receiver,
  webhook_url: charge.webhookUrl,
  expires_at: charge.expiresAtMs === null ? null : formatInstant(charge.expiresAtMs),
  paid_at: charge.paidAtMs === null ? null : formatInstant(charge.paidAtMs),
  failure_reason: charge.failureReason,
  created_at: formatInstant(charge.createdAtMs),
  sequence: charge.sequence
})

/** A charge after a change, as far as its events need to know it. */
export const changedCharge = (charge: StoredCharge, nowMs: number): Changed => ({
  id: charge.id,
  accountId: charge.accountId,
  applicationId: charge.applicationId,
  status: charge.status,
  sequence: charge.sequence,
  webhookUrl: charge.webhookUrl,
  sealedWebhookSecret: charge.sealedWebhookSecret,
  data: toCharge(charge, nowMs)
})

// Beyond the time that a creation itself waits, so that recovery does not run into it.
const RECOVERY_MARGIN_MS = 1000

const RECOVERED_AT_ONCE = 64

interface Owner {
  readonly accountId: string
  readonly applicationId: string
  readonly origin: StoredCharge["origin"]
  readonly idempotencyKey: string | null
  /** The caller, while nobody has confirmed who it is. */
  readonly remembered: Caller | undefined
}

interface Merchant {
  readonly name: string
  readonly document: string
  readonly status: string
  readonly defaultExpiresInSeconds: number
  readonly chargesPaused: boolean
}

type ChargeRequest = CreateCharge | CreateCheckoutCharge

const newCharge = (
  id: string,
  createdAtMs: number,
  owner: Owner,
  merchant: Merchant,
  request: ChargeRequest,
  secrets: Secrets["Service"]
): StoredCharge => ({
  id,
  accountId: owner.accountId,
  applicationId: owner.applicationId,
  origin: owner.origin,
  idempotencyKey: owner.idempotencyKey,
  status: "processing",
  method: request.method === "boleto" || request.method === "card" ? request.method : "pix",
  amount: request.amount,
  description: request.description ?? null,
  reference: request.reference ?? null,
  customerName: request.customer.name,
  customerEmail: request.customer.email,
  customerDocument: request.customer.document,
  customerPhone: request.customer.phone ?? null,
  webhookUrl: request.webhook_url ?? null,
  // An empty secret signs nothing.
  sealedWebhookSecret: request.webhook_secret ? secrets.seal(request.webhook_secret, { kind: "charge", id }) : null,
  brCode: null,
  endToEndId: null,
  receiver: null,
  expiresAtMs: createdAtMs + (request.expires_in ?? merchant.defaultExpiresInSeconds) * 1000,
  paidAtMs: null,
  failureReason: null,
  createdAtMs,
  sequence: 1,
  hasDeferredReports: false
})

const factsOf = (report: ChargeReport, facts: ReportFacts): Effect.Effect<Partial<StoredCharge>> => {
  switch (report) {
    case "paid":
      return Effect.map(Clock.currentTimeMillis, (now) => ({ paidAtMs: now, endToEndId: facts.endToEndId ?? null }))
    case "failed":
      return Effect.succeed({ failureReason: facts.reason ?? "refused by the provider" })
    default:
      return Effect.succeed({})
  }
}

const payment = (charge: StoredCharge, credit: "available" | "pending", ids: Ids["Service"]): ReadonlyArray<Transfer> =>
  transfer(ids, {
    accountId: charge.accountId,
    debit: "acquirer",
    credit,
    amount: charge.amount,
    resourceId: charge.id,
    reason: "charge.paid"
  })
