/**
 * Creates charges that the API and the hosted checkout request.
 *
 * Guarantees:
 * - a charge is stored before the acquirer is called (CHG-1);
 * - a repeated key is answered with its charge as it is now, whatever its body says (IDEM-4, IDEM-5).
 */
import type { CreateCheckoutCharge } from "@pix-payments/api/operator/Charges"
import { decodeCreateCharge } from "@pix-payments/domain/Charge"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import { connectionOf } from "../../accounts/AccountConnection.ts"
import { Accounts } from "../../accounts/Accounts.ts"
import { type Caller, refused } from "../../accounts/Caller.ts"
import { AccountInactiveError, type NotFoundError, RequestRefused } from "../../base/Errors.ts"
import { Ids } from "../../base/Ids.ts"
import { currentTrace } from "../../base/observability/Tracing.ts"
import { PublicAddress } from "../../base/network/PublicAddress.ts"
import { Secrets } from "../../base/Secrets.ts"
import { Settings } from "../../base/Settings.ts"
import type { Unavailable } from "../../database/Unavailable.ts"
import { type ChargeRequest, type Merchant, newCharge } from "./ChargeDecision.ts"
import { ChargeEmission } from "./ChargeEmission.ts"
import { ChargeStore } from "./ChargeStore.ts"
import type { StoredCharge } from "./ChargeTable.ts"

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

export class NewCharges extends Context.Service<
  NewCharges,
  {
    /** Creates a charge from a request body as it came. */
    readonly create: (
      caller: Caller,
      key: string,
      body: unknown
    ) => Effect.Effect<Created, RequestRefused | AccountInactiveError | ChargeRejected | Unavailable>
    /** Creates a charge of the hosted checkout; the key is optional (IDEM-10). */
    readonly createForCheckout: (
      application: { readonly id: string; readonly accountId: string },
      key: string | undefined,
      request: CreateCheckoutCharge
    ) => Effect.Effect<Created, RequestRefused | AccountInactiveError | ChargeRejected | NotFoundError | Unavailable>
  }
>()("@pix-payments/server/NewCharges") {
  static readonly layer = Layer.effect(
    NewCharges,
    Effect.gen(function* () {
      const store = yield* ChargeStore
      const emission = yield* ChargeEmission
      const accounts = yield* Accounts
      const addresses = yield* PublicAddress
      const secrets = yield* Secrets
      const ids = yield* Ids
      const { acquirer: acquirerKind, acquirerTimeoutMs } = yield* Settings

      /** A known key is replayed whatever else is wrong with the request (ERR-2). */
      const unlessReplay = <E>(owner: Owner, error: E): Effect.Effect<Created, E | Unavailable> => {
        if (owner.idempotencyKey === null || owner.caller?._tag === "Cached") return refused(owner.caller, error)
        return Effect.flatMap(
          store.findByKey(owner.applicationId, owner.origin, owner.idempotencyKey),
          (charge): Effect.Effect<Created, E> =>
            charge === undefined ? Effect.fail(error) : Effect.succeed({ charge, replayed: true })
        )
      }

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
        const charge = newCharge(id, epochMs, owner, merchant, request, sealed, yield* currentTrace)
        const { existing, mayEmit } = yield* store.insert(charge, acquirerTimeoutMs + RECOVERY_MARGIN_MS, owner.caller)
        if (existing !== undefined) return { charge: existing, replayed: true }
        // `ChargeRecovery` emits it once its connection is resumed.
        if (!mayEmit) return { charge, replayed: false }

        const settled = yield* emission.emitNew(charge, merchant)
        if (settled.status === "failed") {
          return yield* new ChargeRejected({ chargeId: id, reason: settled.failureReason ?? "" })
        }
        return { charge: settled, replayed: false }
      })

      return NewCharges.of({
        create: Effect.fnUntraced(function* (caller, key, body) {
          const owner: Owner = {
            accountId: caller.account.id,
            applicationId: caller.applicationId,
            origin: "api",
            idempotencyKey: key,
            caller
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
            caller: undefined
          }
          const merchant = {
            ...account,
            defaultExpiresInSeconds: account.default_expires_in,
            chargesPaused: account.charges_stopped,
            connectionId: connectionOf(acquirerKind, account)
          }
          return yield* create(owner, merchant, request)
        })
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
  /** Undefined for the checkout. */
  readonly caller: Caller | undefined
}
