/**
 * Creates payouts that the API and operators request.
 *
 * Guarantees:
 * - Amount and fee leave `available` in the commit that stores the payout (PAY-1).
 * - One key, one payout: a repeat is answered with the payout as it is now, whatever its body says (IDEM rules).
 */
import type { CreateDashboardPayout } from "@pix-payments/api/operator/Payouts"
import { type CreatePayout, decodeCreatePayout } from "@pix-payments/domain/Payout"
import { parsePixKey } from "@pix-payments/domain/PixKey"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import { type Caller, refused, staleCaller } from "../../../accounts/Caller.ts"
import {
  AccountInactiveError,
  AccountRestrictedError,
  InsufficientBalanceError,
  LimitExceededError,
  RequestRefused
} from "../../../base/Errors.ts"
import { Ids } from "../../../base/Ids.ts"
import { currentTrace } from "../../../base/observability/Tracing.ts"
import { PublicAddress } from "../../../base/network/PublicAddress.ts"
import { Secrets } from "../../../base/Secrets.ts"
import type { Unavailable } from "../../../database/Unavailable.ts"
import { type ApprovalRequired, Authority } from "../../../operators/approvals/Authority.ts"
import type { StoredPayout } from "../PayoutTable.ts"
import { NewPayoutStore } from "./NewPayoutStore.ts"
import { type Decision, type RequestedPayout, scopeOf } from "./PayoutCreation.ts"

export interface CreatedPayout {
  readonly payout: StoredPayout
  /** True where the idempotency key was known. */
  readonly replayed: boolean
}

type CreationError =
  | RequestRefused
  | AccountInactiveError
  | AccountRestrictedError
  | LimitExceededError
  | InsufficientBalanceError
  | Unavailable

export class NewPayouts extends Context.Service<
  NewPayouts,
  {
    /** Creates a payout from a request body as it came. */
    readonly create: (caller: Caller, key: string, body: unknown) => Effect.Effect<CreatedPayout, CreationError>
    /** Creates a payout that an operator requests, by the `Authority` around it; the key is optional. */
    readonly createForOperator: (
      accountId: string,
      key: string | undefined,
      request: CreateDashboardPayout
    ) => Effect.Effect<CreatedPayout, CreationError | ApprovalRequired>
    /** What `createForOperator` would create now, with the latest payout of a day that it repeats. It stores nothing. */
    readonly previewForOperator: (
      accountId: string,
      key: string | undefined,
      request: CreateDashboardPayout
    ) => Effect.Effect<CreatedPayout, CreationError>
  }
>()("@pix-payments/server/NewPayouts") {
  static readonly layer = Layer.effect(
    NewPayouts,
    Effect.gen(function* () {
      const store = yield* NewPayoutStore
      const addresses = yield* PublicAddress
      const secrets = yield* Secrets
      const ids = yield* Ids

      /** A known key is replayed whatever else is wrong with the request. */
      const unlessReplay = <E>(
        owner: Owner,
        key: string | undefined,
        error: E
      ): Effect.Effect<CreatedPayout, E | Unavailable> => {
        if (key === undefined || owner.caller?._tag === "Cached") return refused(owner.caller, error)
        return Effect.flatMap(
          store.findByKey(scopeOf(owner), owner.origin, key),
          (payout): Effect.Effect<CreatedPayout, E> =>
            payout === undefined ? Effect.fail(error) : Effect.succeed({ payout, replayed: true })
        )
      }

      const checkWebhook = (
        owner: Owner,
        key: string | undefined,
        { webhook_url: url }: CreatePayout | CreateDashboardPayout
      ) =>
        Effect.gen(function* () {
          if (typeof url !== "string" || (yield* addresses.mayReceive(url, owner.accountId))) return undefined
          const refusal = { code: "INVALID_WEBHOOK_URL", details: ["webhook_url"] } as const
          return yield* unlessReplay(owner, key, new RequestRefused(refusal))
        })

      const requestOf = (owner: Owner, key: string | undefined, request: CreatePayout | CreateDashboardPayout) =>
        Effect.map(currentTrace, (trace) => {
          const { epochMs, id } = ids.next()
          return {
            requested: requestedPayout(id, epochMs, owner, key, request, secrets, trace),
            caller: owner.caller
          }
        })

      const create = Effect.fnUntraced(function* (owner: Owner, key: string | undefined, request: CreatePayout) {
        const replayed = yield* checkWebhook(owner, key, request)
        return replayed ?? (yield* answerOf(yield* store.create(yield* requestOf(owner, key, request))))
      })

      return NewPayouts.of({
        create: Effect.fnUntraced(function* (caller, key, body) {
          const owner: Owner = {
            accountId: caller.account.id,
            applicationId: caller.applicationId,
            origin: "api",
            caller
          }
          const decoded = decodeCreatePayout(body)
          if (Result.isFailure(decoded)) return yield* unlessReplay(owner, key, new RequestRefused(decoded.failure))
          return yield* create(owner, key, decoded.success)
        }),

        createForOperator: Effect.fn("Payouts.createForOperator")(function* (accountId, key, request) {
          const owner = dashboardOf(accountId)
          const authority = yield* Authority
          const isApproved = authority.approvalId !== null
          // The address of an approved payout was checked with its request, and is at each attempt.
          const replayed = isApproved ? undefined : yield* checkWebhook(owner, key, request)
          if (replayed !== undefined) return replayed
          const decision = yield* store.createOfOperator(
            { ...(yield* requestOf(owner, key, request)), isApproved },
            authority
          )
          return yield* answerOf(decision)
        }),

        previewForOperator: Effect.fn("Payouts.previewForOperator")(function* (accountId, key, request) {
          const owner = dashboardOf(accountId)
          const replayed = yield* checkWebhook(owner, key, request)
          return (
            replayed ?? (yield* answerOf(yield* store.preview(yield* requestOf(owner, key, request), A_DAY_SECONDS)))
          )
        })
      })
    })
  )
}

interface Owner extends Pick<StoredPayout, "accountId" | "applicationId" | "origin"> {
  /** Undefined for operators. */
  readonly caller: Caller | undefined
}

const dashboardOf = (accountId: string): Owner => ({
  accountId,
  applicationId: null,
  origin: "dashboard",
  caller: undefined
})

/** How far back an operator's payout is compared with others. */
const A_DAY_SECONDS = 86_400

const answerOf = (
  decision: Decision
): Effect.Effect<
  CreatedPayout,
  AccountInactiveError | AccountRestrictedError | LimitExceededError | InsufficientBalanceError | Unavailable
> => {
  switch (decision._tag) {
    case "Created":
      return Effect.succeed({ payout: decision.payout, replayed: false })
    case "Replayed":
      return Effect.succeed({ payout: decision.payout, replayed: true })
    case "StaleCaller":
      return staleCaller
    case "AccountInactive":
      return Effect.fail(new AccountInactiveError())
    case "AccountRestricted":
      return Effect.fail(new AccountRestrictedError({ reason: "onboarding" }))
    case "RecipientRestricted":
      return Effect.fail(new AccountRestrictedError({ reason: "recipient" }))
    case "LimitExceeded":
      return Effect.fail(new LimitExceededError({ retryAfterSeconds: decision.retryAfterSeconds }))
    case "InsufficientBalance":
      return Effect.fail(new InsufficientBalanceError({ needed: decision.needed, available: decision.available }))
  }
}

const requestedPayout = (
  id: string,
  createdAtMs: number,
  { accountId, applicationId, origin }: Owner,
  key: string | undefined,
  request: CreatePayout | CreateDashboardPayout,
  secrets: Secrets["Service"],
  trace: string | null
): RequestedPayout => ({
  id,
  accountId,
  applicationId,
  origin,
  idempotencyKey: key ?? null,
  method: request.method === "ted" ? "ted" : "pix",
  amount: request.amount,
  description: request.description ?? null,
  reference: request.reference ?? null,
  recipientName: request.recipient_name ?? null,
  recipientDocument: request.recipient_document ?? null,
  ...recipientOf(request),
  webhookUrl: request.webhook_url ?? null,
  // An empty secret signs nothing.
  sealedWebhookSecret: request.webhook_secret ? secrets.seal(request.webhook_secret, { kind: "payout", id }) : null,
  endToEndId: null,
  failureReason: null,
  processedAtMs: null,
  createdAtMs,
  sequence: 1,
  connectionId: null,
  providerReference: null,
  trace
})

/** Where a payout goes: a Pix to its key, in DICT's form; a TED to its bank account. */
const recipientOf = (
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
