/**
 * The institution behind the service: it emits charges and sends payouts.
 *
 * Guarantees that an implementation gives: a txid names one Pix for ever, so that asking again with the same
 * txid finds the Pix of the first time and emits no second one; the same holds for a payout's id; every call ends within
 * `ACQUIRER_TIMEOUT_MS`, as `AcquirerUnclear` at the latest. What it says later comes in through
 * `AcquirerNotifications`.
 */
import type { ChargeMethod, Receiver } from "@pix-payments/domain/Charge"
import type { BankAccount, PayoutMethod } from "@pix-payments/domain/Payout"
import type { PixKeyType } from "@pix-payments/domain/PixKey"
import type { Txid } from "@pix-payments/domain/Txid"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import type * as Effect from "effect/Effect"

export interface Emission {
  readonly method: ChargeMethod
  readonly txid: Txid
  /** Cents. */
  readonly amount: number
  readonly expiresAtMs: number
  readonly payer: { readonly name: string; readonly email: string; readonly document: string }
  readonly merchant: { readonly name: string; readonly document: string }
  readonly description: string | null
}

export interface Emitted {
  /** Null for what is not paid by Pix. */
  readonly brCode: string | null
  readonly receiver: Receiver | null
}

export interface PayoutOrder {
  /** The payout's own id: under it the acquirer sends once, however often it is asked. */
  readonly id: string
  /** Cents. */
  readonly amount: number
  readonly method: PayoutMethod
  /** Null for a TED. */
  readonly pixKeyType: PixKeyType | null
  readonly pixKey: string | null
  /** Null for a Pix. */
  readonly bankAccount: BankAccount | null
  readonly recipientName: string | null
  readonly recipientDocument: string | null
  readonly description: string | null
}

export interface CancelOrder {
  /** The order's own id: under it the acquirer does it once, however often it is asked. */
  readonly id: string
  readonly txid: Txid
}

export interface RefundOrder extends CancelOrder {
  /** Cents. */
  readonly amount: number
}

/** How far the acquirer is with a payout. */
export type PayoutProgress =
  | { readonly _tag: "Accepted" }
  | { readonly _tag: "Completed"; readonly endToEndId: string | undefined }
  | { readonly _tag: "Failed"; readonly reason: string }

/** The acquirer said no, and will say no again. */
export class AcquirerRefused extends Data.TaggedError("AcquirerRefused")<{ readonly reason: string }> {}

/** No answer, or none that can be trusted: the Pix may have been emitted or not. Never taken for a refusal. */
export class AcquirerUnclear extends Data.TaggedError("AcquirerUnclear")<{ readonly reason: string }> {}

export class Acquirer extends Context.Service<
  Acquirer,
  {
    readonly emit: (emission: Emission) => Effect.Effect<Emitted, AcquirerRefused | AcquirerUnclear>
    /** Withdraws a Pix that nobody has paid, or finds that it is withdrawn. */
    readonly cancel: (order: CancelOrder) => Effect.Effect<void, AcquirerRefused | AcquirerUnclear>
    /** Returns a charge's money to its payer; it is also reported, with the order's id as the id of the return. */
    readonly refund: (order: RefundOrder) => Effect.Effect<void, AcquirerRefused | AcquirerUnclear>
    /** Takes a payout, or finds the one that it took under this id before. */
    readonly send: (order: PayoutOrder) => Effect.Effect<PayoutProgress, AcquirerUnclear>
    /** What became of a payout that it took. */
    readonly outcome: (payoutId: string) => Effect.Effect<PayoutProgress, AcquirerUnclear>
  }
>()("@pix-payments/server/Acquirer") {}
