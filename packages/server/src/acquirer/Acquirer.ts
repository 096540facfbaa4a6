/**
 * The institution behind the service: it emits Pix charges.
 *
 * Guarantees that an implementation gives: a txid names one Pix for ever, so that asking again with the same
 * txid finds the Pix of the first time and emits no second one; every call ends within
 * `ACQUIRER_TIMEOUT_MS`, as `AcquirerUnclear` at the latest. What it says later comes in through
 * `AcquirerReports`.
 */
import type { Receiver } from "@pix-payments/domain/Charge"
import type { Txid } from "@pix-payments/domain/Txid"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import type * as Effect from "effect/Effect"

export interface Emission {
  readonly txid: Txid
  /** Cents. */
  readonly amount: number
  readonly expiresAtMs: number
  readonly payer: { readonly name: string; readonly email: string; readonly document: string }
  readonly merchant: { readonly name: string; readonly document: string }
  readonly description: string | null
}

export interface Emitted {
  readonly brCode: string
  readonly receiver: Receiver | null
}

/** The acquirer said no, and will say no again. */
export class AcquirerRefused extends Data.TaggedError("AcquirerRefused")<{ readonly reason: string }> {}

/** No answer, or none that can be trusted: the Pix may have been emitted or not. Never taken for a refusal. */
export class AcquirerUnclear extends Data.TaggedError("AcquirerUnclear")<{ readonly reason: string }> {}

export class Acquirer extends Context.Service<
  Acquirer,
  {
    readonly emit: (emission: Emission) => Effect.Effect<Emitted, AcquirerRefused | AcquirerUnclear>
  }
>()("@pix-payments/server/Acquirer") {}
