/**
 * The port to the institution that emits charges and sends payouts.
 *
 * Guarantees of an implementation:
 * - a txid names one Pix for ever: a repeated emission finds the first Pix and emits no second one. The same holds for the
 *   id of a payout or order;
 * - every call ends within `ACQUIRER_TIMEOUT_MS`, if need be with `AcquirerUnclear`.
 *
 * Later outcomes arrive through `AcquirerNotifications`.
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
  /** Null if the charge is not paid by Pix. */
  readonly brCode: string | null
  readonly receiver: Receiver | null
}

export interface PayoutOrder {
  /** The payout's id, which is the acquirer's idempotency key (PAY-6). */
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
  /** The order's id, which is the acquirer's idempotency key. */
  readonly id: string
  readonly txid: Txid
}

export interface RefundOrder extends CancelOrder {
  /** Cents. */
  readonly amount: number
}

/** The progress of a payout at the acquirer. */
export type PayoutProgress =
  | { readonly _tag: "Accepted" }
  | { readonly _tag: "Completed"; readonly endToEndId: string | undefined }
  | { readonly _tag: "Failed"; readonly reason: string }

/** The acquirer refused, and would refuse again. */
export class AcquirerRefused extends Data.TaggedError("AcquirerRefused")<{ readonly reason: string }> {}

/** No answer, or an ambiguous one: the request may have been executed. It is never treated as a refusal (CHG-4, PAY-6). */
export class AcquirerUnclear extends Data.TaggedError("AcquirerUnclear")<{ readonly reason: string }> {}

export class Acquirer extends Context.Service<
  Acquirer,
  {
    readonly emit: (emission: Emission) => Effect.Effect<Emitted, AcquirerRefused | AcquirerUnclear>
    /** Cancels a Pix that is not paid; a canceled one is left as it is. */
    readonly cancel: (order: CancelOrder) => Effect.Effect<void, AcquirerRefused | AcquirerUnclear>
    /** Returns a charge's money to its payer. The notification of the return carries the order's id. */
    readonly refund: (order: RefundOrder) => Effect.Effect<void, AcquirerRefused | AcquirerUnclear>
    /** Accepts a payout, or finds the one that it accepted under this id before. */
    readonly send: (order: PayoutOrder) => Effect.Effect<PayoutProgress, AcquirerUnclear>
    /** The progress of a payout that it accepted. */
    readonly outcome: (payoutId: string) => Effect.Effect<PayoutProgress, AcquirerUnclear>
  }
>()("@pix-payments/server/Acquirer") {}
