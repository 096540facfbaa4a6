/**
 * Payouts, the same for every provider that has a rail for them.
 *
 * Guarantees
 * - An order is paid once, however often it is sent. A repeated order gives the state of the first.
 * - Only a documented refusal in an answer that was read to its end is `Refused`, and only a documented final state is
 *   `NAO_REALIZADO`. Anything else may have paid.
 * - The answer to an order or look-up names its payout and has its amount. Any other answer is `Unclear`.
 * - `NotFound` never means "failed": the order is sent again, under the same id and with its reference.
 */
import type * as Effect from "effect/Effect"
import type { Page } from "./Decoding.ts"
import type { Failure, Unclear } from "./Outcome.ts"
import type { PageRange } from "./Pages.ts"

export type Payee =
  | { readonly key: string; readonly document?: string }
  | {
      readonly account: {
        readonly name: string
        readonly document: string
        readonly bankCode: string
        readonly branch: string
        readonly number: string
        readonly type: "cacc" | "svgs"
      }
    }

/** The names of a payout. */
export interface PayoutNames {
  /** Ours: a UUID without hyphens. */
  readonly id: string
  /** What the provider named it, as `keepReference` got it; undefined before. */
  readonly reference: string | undefined
}

/** What a payout is looked up by, and the amount that it must have. */
export interface PayoutQuestion extends PayoutNames {
  readonly cents: number
}

export interface PayoutOrder extends PayoutQuestion {
  /** Ours. Efí requires that it has a registered webhook. */
  readonly payerKey: string
  readonly message?: string
  readonly payee: Payee
  /**
   * Keeps the provider's name of this payout for good. Where a rail has two phases it runs before the phase that moves
   * money, which does not begin unless this has succeeded.
   */
  readonly keepReference: (reference: string) => Effect.Effect<void, Unclear>
}

export type PayoutStatus = "EM_PROCESSAMENTO" | "REALIZADO" | "NAO_REALIZADO"

export interface Payout {
  /** Ours. Undefined in a list where the payout has none. */
  readonly id: string | undefined
  readonly endToEndId: string | undefined
  readonly cents: number
  /** The key that paid, where the provider names it: a list has the payouts of all keys of the client. */
  readonly payerKey: string | undefined
  readonly status: PayoutStatus
  /** Of `NAO_REALIZADO`, where the provider says it. */
  readonly reason: string | undefined
  readonly requestedAtMs: number | undefined
  readonly settledAtMs: number | undefined
  /** What the payee's bank sent back. */
  readonly returns: ReadonlyArray<{ readonly returnId: string; readonly cents: number; readonly atMs: number }>
}

export interface Payouts {
  /**
   * Whether a payout is found before an answer has named it. Where it is not, nothing says what became of a request whose answer was
   * lost, nor does the refusal of the next one. Everywhere, that says nothing while the request before it may be on its way.
   */
  readonly findsUnnamed: boolean
  /** Sends a payout, or finds the one that was sent under this id. */
  readonly send: (order: PayoutOrder) => Effect.Effect<Payout, Failure>
  readonly find: (payout: PayoutQuestion) => Effect.Effect<Payout, Failure>
  /** What was sent, by the instant of the order. Undefined where the provider lists none. */
  readonly listSent: ((range: PageRange) => Effect.Effect<Page<Payout>, Failure>) | undefined
}
