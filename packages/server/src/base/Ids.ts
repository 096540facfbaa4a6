/**
 * Generates ids (UUIDv7) with their creation times.
 */
import { type Generated, makeGenerator } from "@pix-payments/domain/Uuid"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { randomFillSync } from "node:crypto"

export class Ids extends Context.Service<Ids, { readonly next: () => Generated }>()("@pix-payments/server/base/Ids") {
  static readonly layer = Layer.effect(
    Ids,
    Effect.map(Clock.Clock, (clock) => {
      const generate = makeGenerator((target) => randomFillSync(target))
      return Ids.of({ next: () => generate(clock.currentTimeMillisUnsafe()) })
    })
  )
}
