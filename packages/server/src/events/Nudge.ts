/**
 * Wakes whoever delivers events, at the commit that made some due. Only a nudge: rows are the truth.
 */
import * as Context from "effect/Context"
import * as Latch from "effect/Latch"
import * as Layer from "effect/Layer"

export class Nudge extends Context.Service<Nudge, Latch.Latch>()("@pix-payments/server/Nudge") {
  static readonly layer = Layer.sync(Nudge, () => Latch.makeUnsafe(false))
}
