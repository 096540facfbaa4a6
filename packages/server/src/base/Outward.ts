/**
 * Whether this process may call anybody: banks, receivers of webhooks, name servers, the identity provider.
 *
 * Guarantees:
 * - While it is closed no connection leaves this process, but those to the database and to the collector of telemetry, and nothing
 *   that is due is claimed: rows stay as they are.
 * - It opens at most once, and is not closed again.
 *
 * Rules: OPR-222, OPR-223.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

/** `off`: the setting. `unconfirmed`: the database is a copy, and no operator has confirmed that it is the one that calls others. */
export type OutwardState = "on" | "off" | "unconfirmed"

export interface OutwardGate {
  readonly state: () => OutwardState
  /** Ends once it is open. */
  readonly opened: Effect.Effect<void>
}

export const Outward = Context.Reference<OutwardGate>("@pix-payments/server/Outward", {
  defaultValue: () => ({ state: () => "on", opened: Effect.void })
})

/** Why nobody is called; undefined where they may be. */
export const closedReason = ({ state }: OutwardGate): string | undefined => reasons[state()]

const reasons: Readonly<Record<OutwardState, string | undefined>> = {
  on: undefined,
  off: "nobody is called: OUTWARD=off",
  unconfirmed: "nobody is called: the database is a copy that no operator has confirmed"
}

/** Runs these loops from the moment it is open. */
export const onceOutward = <R>(loops: Layer.Layer<never, never, R>) =>
  Layer.effectDiscard(
    Effect.flatMap(Outward, ({ opened }) => Effect.forkScoped(Effect.andThen(opened, Layer.launch(loops))))
  )
