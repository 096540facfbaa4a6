/** What disputes answer to refunds: what MEDs claim of a charge's money, and which disputes end with it. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Ids } from "../../base/Ids.ts"
import { DisputedMoney } from "../refunds/DisputedMoney.ts"
import { claimsOn, decideReport, isOpen } from "./DisputeDecision.ts"
import { contestedCharge, disputeEntry, newDispute } from "./DisputeResource.ts"
import { DisputeStore } from "./DisputeStore.ts"

export const layer = Layer.effect(
  DisputedMoney,
  Effect.gen(function* () {
    const store = yield* DisputeStore
    const ids = yield* Ids

    return DisputedMoney.of({
      claimsOn: (locked, refunds) =>
        Effect.map(store.lockOfCharge(locked.charge.id), (disputes) => claimsOn(locked, disputes, refunds)),
      loseOpen: Effect.fnUntraced(function* (chargeId) {
        const nowMs = yield* Clock.currentTimeMillis
        for (const dispute of yield* store.lockOfCharge(chargeId)) {
          const lost = isOpen(dispute) ? decideReport(dispute, "lost", nowMs, ids) : undefined
          if (lost !== undefined) yield* store.put(lost.dispute, lost.outbox)
        }
      }),
      addLost: (charge, amount) => {
        const reason = "returned without prior notice"
        const dispute = newDispute(contestedCharge(charge), ids.next(), { amount, reason, arrivedResolved: true })
        return store.put(dispute, disputeEntry(dispute, ["lost"], ids))
      }
    })
  })
)
