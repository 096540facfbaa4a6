/**
 * Whether this process may call anybody: banks, receivers of webhooks, name servers, the identity provider.
 *
 * Guarantees:
 * - While it is closed no connection leaves this process, but those to the database and to the collector of telemetry, and nothing
 *   that is due is claimed: rows stay as they are.
 * - It opens at most once, and is not closed again.
 *
 * Rules: OPR-222.
 */
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Settings } from "./Settings.ts"

/** `off`: the setting. */
export type OutwardState = "on" | "off"

export interface OutwardGate {
  readonly state: () => OutwardState
  /** Ends once it is open. */
  readonly opened: Effect.Effect<void>
}

/** A call was not made. */
export class NothingCalled extends Data.TaggedError("NothingCalled")<{ readonly reason: string }> {}

export const Outward = Context.Reference<OutwardGate>("@pix-payments/server/Outward", {
  defaultValue: () => ({ state: () => "on", opened: Effect.void })
})

/** Why nothing is called; undefined where it may be. */
export const closedReason = ({ state }: OutwardGate): string | undefined => reasons[state()]

const reasons: Readonly<Record<OutwardState, string | undefined>> = {
  on: undefined,
  off: "nothing is called: OUTWARD=off"
}

/** Runs these loops once it is open. */
export const onceOutward = <R>(loops: Layer.Layer<never, never, R>) =>
  Layer.effectDiscard(
    Effect.flatMap(Outward, ({ opened }) => Effect.forkScoped(Effect.andThen(opened, Layer.launch(loops))))
  )

export const layer = Layer.effect(
  Outward,
  Effect.gen(function* () {
    const { outward } = yield* Settings
    if (outward === "on") return { state: () => "on" as const, opened: Effect.void }
    yield* Effect.logWarning(
      "OUTWARD=off: nobody is called. Nothing is ordered, submitted, swept or delivered, callbacks and creations are answered 503"
    )
    return { state: () => "off" as const, opened: Effect.never }
  })
)
