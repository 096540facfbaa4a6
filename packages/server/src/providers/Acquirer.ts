/**
 * The port to the providers that emit charges, return money and send payouts.
 *
 * Guarantees of an implementation:
 * - A txid names one Pix for ever: a repeated emission finds the first Pix and emits no second one. The same holds for the
 *   id of a payout, a return or a defense.
 * - Only a documented refusal in an answer that was read to its end, and of a charge, by which no money moves, any refusal, is
 *   `AcquirerRefused`, or a `Failed` outcome. Anything else that could have been executed is `AcquirerUnclear`.
 * - Every call ends within `ACQUIRER_TIMEOUT_MS`, if need be with `AcquirerUnclear`. A provider that is slow or away fills
 *   no memory and delays no other connection.
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
  /** True where an earlier emission may have been executed: the txid is looked up first. */
  readonly isRepeated: boolean
}

export interface Emitted {
  /** Null if the charge is not paid by Pix. */
  readonly brCode: string | null
  readonly receiver: Receiver | null
}

export interface CancelOrder {
  /** The order's id, which is the provider's idempotency key where it has one. */
  readonly id: string
  readonly txid: Txid
}

/** Who paid, as far as the provider discloses it. */
export interface Payer {
  readonly name: string | null
  readonly document: string | null
}

/** A Pix that arrived. */
export interface ReceivedPix {
  readonly endToEndId: string
  /** Null for a payment straight to the key. */
  readonly txid: string | null
  /** Cents. */
  readonly amount: number
  readonly atMs: number
  readonly payer: Payer | null
  /** The key that received it. */
  readonly key: string | null
  readonly returns: ReadonlyArray<ReportedReturn>
}

/** A return of a received Pix, ordered by us or by somebody else. */
export interface ReportedReturn {
  /** The id that its requester chose: see `providerIdOf`. */
  readonly id: string
  /** The provider's id of it. */
  readonly providerId: string | null
  /** Cents. */
  readonly amount: number
  /** `dispute`: the return of a MED. */
  readonly nature: "original" | "withdrawal" | "dispute"
  readonly status: "processing" | "completed" | "failed"
  readonly atMs: number | null
  readonly reason: string | null
}

export interface ReturnOrder {
  /** The order's id. */
  readonly id: string
  /** Of the Pix whose money goes back. Null for a charge that was not paid by Pix. */
  readonly endToEndId: string | null
  /** Null for a Pix that is not a charge's. */
  readonly txid: Txid | null
  /** Cents. */
  readonly amount: number
  readonly description: string | null
}

/** The final outcome of a return at the provider. */
export type ReturnOutcome =
  /** `returnId`: the provider's id of it, where it is known. */
  | { readonly _tag: "Completed"; readonly returnId?: string | undefined }
  | { readonly _tag: "Failed"; readonly reason: string }

/** The progress of a return at the provider. */
export type Progress = { readonly _tag: "Accepted" } | ReturnOutcome

/** What a payout is asked about by. */
export interface PayoutQuestion {
  /** The provider's idempotency key (PAY-6): the same for a payout that is created again with its key after a restore. */
  readonly id: string
  /** Cents. */
  readonly amount: number
  /** What the provider named this payout before, if it does that. */
  readonly reference: string | null
}

export interface PayoutOrder extends PayoutQuestion {
  readonly method: PayoutMethod
  /** Null for a TED. */
  readonly pixKeyType: PixKeyType | null
  readonly pixKey: string | null
  /** Null for a Pix. */
  readonly bankAccount: BankAccount | null
  readonly recipientName: string | null
  readonly recipientDocument: string | null
  readonly description: string | null
  /** Stores such a name. The provider is asked to move money only afterwards. */
  readonly keepReference: (reference: string) => Effect.Effect<void, AcquirerUnclear>
}

/**
 * The progress of a payout at the provider. `Failed` is the end of a payout that the provider has. `Refused` is its answer to
 * a request, and says nothing about an earlier request that may still be on its way. `NotFound`: the provider has no payout of
 * this id now. It is never a failure.
 */
export type PayoutProgress =
  | { readonly _tag: "Accepted" }
  | { readonly _tag: "Completed"; readonly endToEndId: string | undefined }
  | { readonly _tag: "Failed"; readonly reason: string }
  | { readonly _tag: "Refused"; readonly reason: string }
  | { readonly _tag: "NotFound" }

/** A payout in the provider's list of what it sent. */
export interface SentPayout {
  /** The id of its order; null where the provider's id is not one of ours. */
  readonly id: string | null
  /** The key that paid; null where the provider does not name it. */
  readonly key: string | null
  readonly endToEndId: string | null
  /** Cents. */
  readonly amount: number
  readonly progress: Exclude<PayoutProgress, { readonly _tag: "NotFound" | "Refused" }>
  /** What the payee's bank sent back of it. */
  readonly returns: ReadonlyArray<{ readonly providerId: string; readonly amount: number; readonly atMs: number }>
}

/** A dispute (MED) as the provider has it. */
export interface ReportedDispute {
  readonly externalId: string
  readonly endToEndId: string
  /** The key that was paid; null where the provider does not name it. */
  readonly key: string | null
  /** Cents. */
  readonly amount: number
  readonly status: "open" | "under_review" | "won" | "lost"
  readonly reason: string
  readonly openedAtMs: number
  readonly defenseDeadlineAtMs: number | null
}

export interface DefenseOrder {
  /** The order's id. */
  readonly id: string
  /** The dispute's id at the provider; null at the simulator. */
  readonly externalId: string | null
  /** When the provider opened the dispute. */
  readonly openedAtMs: number
  readonly text: string
  readonly files: ReadonlyArray<{ readonly name: string; readonly contentType: string; readonly content: Uint8Array }>
}

/** Epoch milliseconds, and a page from 0. */
export interface Range {
  readonly fromMs: number
  readonly toMs: number
  readonly page: number
}

export interface Paged<A> {
  readonly items: ReadonlyArray<A>
  /** Those that the provider sent in an unknown form. */
  readonly unreadable: ReadonlyArray<UnreadableEntry>
  readonly hasMore: boolean
  /** The provider's number of this page: it counts from 0 or from 1. Undefined where the page's numbers cannot be read. */
  readonly number: number | undefined
  /** Entries of all pages, as the provider says; 0 where it does not. */
  readonly total: number
}

/** An entry whose core cannot be read. */
export interface UnreadableEntry {
  /** What arrived: JSON of at most 4 KiB. */
  readonly text: string
  readonly reason: string
  /** The same however the entry is written the next time; undefined: its text is. */
  readonly name: string | undefined
  /** Of its Pix; undefined where that cannot be read. */
  readonly endToEndId: string | undefined
  /** What says whose it is, as far as it can be read. */
  readonly marks: {
    readonly txid: string | undefined
    readonly endToEndId: string | undefined
    readonly key: string | undefined
  }
}

/** What one connection can do. Absent: the provider does not offer it. */
export interface Provider {
  readonly emit: (emission: Emission) => Effect.Effect<Emitted, AcquirerRefused | AcquirerUnclear>
  /** Cancels a Pix that is not paid; a canceled one is left as it is. Refused for one that is paid. */
  readonly cancel: (order: CancelOrder) => Effect.Effect<void, AcquirerRefused | AcquirerUnclear>
  /** Returns a Pix's money to its payer, or finds the return that it accepted under this id. */
  readonly orderReturn: (order: ReturnOrder) => Effect.Effect<Progress, AcquirerRefused | AcquirerUnclear>
  readonly received?: {
    /** Undefined where the provider has no such Pix now. */
    readonly find: (endToEndId: string) => Effect.Effect<ReceivedPix | undefined, AcquirerUnclear>
    /** What arrived or was returned in a range, oldest first or not. */
    readonly list: (range: Range) => Effect.Effect<Paged<ReceivedPix>, AcquirerUnclear>
    /** Of what arrived in a range, the Pix that have a return, however late it came. */
    readonly listReturned: (range: Range) => Effect.Effect<Paged<ReceivedPix>, AcquirerUnclear>
  }
  readonly payouts?: {
    /** False where the provider finds no payout before an answer has named it: nobody can say then what became of a lost request. */
    readonly findsUnnamed?: false
    /** Accepts a payout, or finds the one that it accepted under this id before. */
    readonly send: (order: PayoutOrder) => Effect.Effect<PayoutProgress, AcquirerUnclear>
    /** The progress of a payout that was sent. */
    readonly outcome: (payout: PayoutQuestion) => Effect.Effect<PayoutProgress, AcquirerUnclear>
    readonly list?: (range: Range) => Effect.Effect<Paged<SentPayout>, AcquirerUnclear>
  }
  /** Cents that the bank account has now, with what is blocked. */
  readonly balance?: Effect.Effect<number, AcquirerUnclear>
  readonly disputes?: {
    readonly list?: (range: Range) => Effect.Effect<Paged<ReportedDispute>, AcquirerUnclear>
    readonly defend: (order: DefenseOrder) => Effect.Effect<void, AcquirerRefused | AcquirerUnclear>
  }
}

/** The provider refused, and would refuse again. */
export class AcquirerRefused extends Data.TaggedError("AcquirerRefused")<{ readonly reason: string }> {
  override get message(): string {
    return this.reason
  }
}

/**
 * No answer, or an ambiguous one: the request may have been executed, unless it `isUnsent`. It is never treated as a refusal
 * (CHG-4, PAY-6).
 */
export class AcquirerUnclear extends Data.TaggedError("AcquirerUnclear")<{
  readonly reason: string
  readonly isUnsent?: true
}> {
  override get message(): string {
    return this.reason
  }
}

export class Acquirer extends Context.Service<
  Acquirer,
  {
    /**
     * The provider of a connection; null is the simulator's. Unclear where the connection is paused or cannot be used now:
     * the request was not sent, and is repeated.
     */
    readonly providerFor: (connectionId: string | null) => Effect.Effect<Provider, AcquirerUnclear>
  }
>()("@pix-payments/server/Acquirer") {}

/** The provider of the simulator's connection. */
export class SimulatedProvider extends Context.Service<SimulatedProvider, Provider>()(
  "@pix-payments/server/SimulatedProvider"
) {}

/** The id of an order at a provider: letters and digits, at most 35. `idFromTxid` reads it. */
export const providerIdOf = (id: string): string => id.replaceAll("-", "")
