/**
 * Asks the acquirer to emit stored charges, and applies its answer.
 *
 * Guarantees:
 * - a charge is stored before the acquirer is called, and no acquirer call happens inside a transaction (CHG-1);
 * - an unclear answer of the acquirer is not a refusal: the charge stays `processing`, and `ChargeRecovery` asks again with
 *   the same txid until it is `pending` or `failed` (CHG-4).
 */
import { txidFromId } from "@pix-payments/domain/Txid"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Accounts } from "../../accounts/Accounts.ts"
import { Ids } from "../../base/Ids.ts"
import { inTrace } from "../../base/observability/Tracing.ts"
import type { Unavailable } from "../../database/Unavailable.ts"
import { Acquirer } from "../../providers/Acquirer.ts"
import { decideChange, type Merchant } from "./ChargeDecision.ts"
import { ChargeStore } from "./ChargeStore.ts"
import { customerOf, type StoredCharge } from "./ChargeTable.ts"

export class ChargeEmission extends Context.Service<
  ChargeEmission,
  {
    /** Emits a new charge of the merchant; gives the charge as it then is. */
    readonly emitNew: (
      charge: StoredCharge,
      merchant: Pick<Merchant, "name" | "document">
    ) => Effect.Effect<StoredCharge, Unavailable>
    /** Asks again about a charge that the acquirer may have emitted before. `isOverdue`: no definite answer fails it. */
    readonly emitAgain: (charge: StoredCharge, isOverdue: boolean) => Effect.Effect<StoredCharge, Unavailable>
  }
>()("@pix-payments/server/ChargeEmission") {
  static readonly layer = Layer.effect(
    ChargeEmission,
    Effect.gen(function* () {
      const store = yield* ChargeStore
      const acquirer = yield* Acquirer
      const accounts = yield* Accounts
      const ids = yield* Ids

      const emit = Effect.fnUntraced(function* (
        charge: StoredCharge,
        merchant: Pick<Merchant, "name" | "document">,
        { isOverdue, isRepeated }: { readonly isOverdue: boolean; readonly isRepeated: boolean }
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
            AcquirerUnclear: () =>
              Effect.succeed(isOverdue ? { report: "refused" as const, facts: { reason: NO_ANSWER } } : undefined)
          })
        )
        if (answer === undefined) return charge
        const nowMs = yield* Clock.currentTimeMillis
        const change = decideChange(charge, answer.report, answer.facts, { ids, nowMs, releaseDelayMs: 0 })
        if (change !== undefined && (yield* store.change(change))) return change.charge
        // Another process applied an answer first.
        return (yield* store.find(charge.id)) ?? charge
      })

      return ChargeEmission.of({
        emitNew: (charge, merchant) => emit(charge, merchant, { isOverdue: false, isRepeated: false }),
        emitAgain: (charge, isOverdue) =>
          accounts.get(charge.accountId).pipe(
            Effect.flatMap((account) => emit(charge, account, { isOverdue, isRepeated: true })),
            inTrace(charge.trace, "charge emission"),
            Effect.catchTag("NotFoundError", Effect.die)
          )
      })
    })
  )
}

const NO_ANSWER = "no usable answer of the bank"
