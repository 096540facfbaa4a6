/**
 * Hands payouts to the acquirer and asks for their outcomes, in every process.
 *
 * Guarantees: a call that hangs holds up no other payout, as long as there is room among `PLACES` to take more.
 */
import * as Effect from "effect/Effect"
import * as FiberSet from "effect/FiberSet"
import * as Layer from "effect/Layer"
import { forever } from "../observability/BackgroundLoop.ts"
import { Payouts } from "./Payouts.ts"

export const layer = Layer.effectDiscard(
  Effect.gen(function* () {
    const payouts = yield* Payouts
    const underWay = yield* FiberSet.make<void>()

    const round = Effect.gen(function* () {
      if (PLACES - (yield* FiberSet.size(underWay)) < TAKEN_AT_ONCE) return 0
      const { due, parked } = yield* payouts.takeDue(TAKEN_AT_ONCE)
      for (const one of due) yield* FiberSet.run(underWay, one)
      return due.length + parked
    })

    yield* Effect.forkScoped(forever("payout hand-over", round, Effect.sleep("100 millis")))
    yield* Effect.forkScoped(forever("parked payouts", payouts.rescheduleParked, Effect.sleep("1 second")))
  })
)

const PLACES = 1000
const TAKEN_AT_ONCE = 200
