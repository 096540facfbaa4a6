/** The records of a provider, its settings, and the ids that it gives. */
import { formatInstant } from "@pix-payments/domain/Instant"
import { alphanumeric, type Random } from "../Random.ts"

export interface Person {
  readonly name: string
  /** CPF (11 digits) or CNPJ (14 characters). */
  readonly document: string
}

export type CobStatus = "ATIVA" | "CONCLUIDA" | "REMOVIDA_PELO_USUARIO_RECEBEDOR" | "REMOVIDA_PELO_PSP"

/** The fields of a cob that a `PUT` or `PATCH` sets. */
export interface CobTerms {
  readonly key: string
  readonly cents: number
  readonly expiresInSeconds: number
  readonly debtor?: Person
  readonly requestToPayer?: string
  readonly additionalInfo?: ReadonlyArray<{ readonly nome: string; readonly valor: string }>
}

export interface Cob {
  readonly txid: string
  readonly createdAtMs: number
  readonly locationId: number
  readonly location: string
  status: CobStatus
  /** The last one is current; its index is `revisao`. */
  readonly revisions: Array<CobTerms>
}

export type ReturnStatus = "EM_PROCESSAMENTO" | "DEVOLVIDO" | "NAO_REALIZADO"
export type ReturnNature = "ORIGINAL" | "RETIRADA" | "MED_OPERACIONAL" | "MED_FRAUDE"

export interface PixReturn {
  readonly id: string
  readonly rtrId: string
  readonly cents: number
  readonly nature: ReturnNature
  readonly description: string | undefined
  readonly requestedAtMs: number
  readonly settledAtMs: number | undefined
  readonly status: ReturnStatus
  readonly reason: string | undefined
}

export interface ReceivedPix {
  readonly endToEndId: string
  readonly txid: string | undefined
  readonly key: string
  readonly cents: number
  readonly atMs: number
  readonly payer: Person
  readonly payerInfo: string | undefined
  returns: ReadonlyArray<PixReturn>
}

export type PayoutStatus = "EM_PROCESSAMENTO" | "REALIZADO" | "NAO_REALIZADO"

export type Payee =
  | { readonly key: string; readonly document: string | undefined }
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

export interface PayoutError {
  /** A code of the Pix catalogue, such as `AC03`. */
  readonly code: string
  readonly origin: string
  readonly reason: string
}

export interface Payout {
  readonly id: string
  readonly endToEndId: string
  readonly cents: number
  readonly payerKey: string
  readonly payerInfo: string | undefined
  readonly payee: Payee
  readonly requestedAtMs: number
  /** Whether it waits for the test to settle it; at Inter, for a person to approve it. */
  readonly isHeld: boolean
  settledAtMs: number | undefined
  status: PayoutStatus
  error: PayoutError | undefined
  /** What the payee's bank returned. */
  returned: ReadonlyArray<{ readonly rtrId: string; readonly cents: number; readonly atMs: number }>
}

export type InfractionStatus = "ABERTA" | "EM_DEFESA" | "ACEITA" | "REJEITADA" | "CANCELADA_EFI"

export interface Infraction {
  readonly id: string
  readonly protocol: number
  readonly endToEndId: string
  readonly transactionAtMs: number
  /** May be less than the Pix. */
  readonly cents: number
  readonly key: string
  readonly reason: string
  readonly situation: string
  readonly comment: string | undefined
  readonly payer: Person
  readonly openedAtMs: number
  readonly deadlineMs: number
  updatedAtMs: number
  status: InfractionStatus
  defense: { readonly text: string; readonly atMs: number } | undefined
  analystReason: string | undefined
  closedAtMs: number | undefined
}

export interface Webhook {
  readonly key: string
  readonly url: string
  readonly createdAtMs: number
}

/** What the provider reports to the webhook of a key: a copy, which later changes do not alter. */
export type Notification =
  | { readonly _tag: "PixReceived" | "ReturnSettled"; readonly key: string; readonly pix: ReceivedPix }
  | { readonly _tag: "PayoutSettled"; readonly key: string; readonly payout: Payout }

/**
 * The outcome of an order and when it comes. `Held`: not before the test settles it. `changesAfterMs`: so long after it the
 * provider says the opposite.
 */
export type Fate<Failure> =
  | { readonly _tag: "Done"; readonly afterMs: number; readonly changesAfterMs?: number }
  | { readonly _tag: "Failed"; readonly afterMs: number; readonly with: Failure; readonly changesAfterMs?: number }
  | { readonly _tag: "Held" }

/** A part of a Pix that goes back, and when, days later as well. */
export interface Later {
  readonly cents: number
  readonly afterMs: number
}

export interface Settings {
  readonly keys: ReadonlyArray<string>
  readonly holder: Person & { readonly city: string }
  /** Eight characters that begin every end-to-end id. */
  readonly ispb: string
  /** Host and path of the locations in the BR code. */
  readonly locationBase: string
  readonly openingCents: number
  /** Whether a webhook may be plain HTTP, for receivers in tests. Providers refuse it. */
  readonly acceptsHttpWebhooks: boolean
  readonly returnFate: (order: {
    readonly pix: ReceivedPix
    readonly id: string
    readonly cents: number
  }) => Fate<string>
  readonly payoutFate: (payout: Payout) => Fate<PayoutError>
  /** Refuses this request of a payout; a later one may be accepted. */
  readonly deniesPayout: (payout: Payout) => boolean
  /** What the MED takes back of a Pix that arrives. */
  readonly takenBack: (pix: ReceivedPix) => Later | undefined
  /** What the payee's bank sends back of a payout that is settled. */
  readonly sentBack: (payout: Payout) => Later | undefined
}

export interface State {
  readonly settings: Settings
  readonly now: () => number
  readonly random: Random
  readonly cobs: Map<string, Cob>
  readonly pix: Map<string, ReceivedPix>
  readonly payouts: Map<string, Payout>
  /** The keys of payouts that were begun and not confirmed, by end-to-end id. */
  readonly begunPayouts: Map<string, string>
  readonly infractions: Map<string, Infraction>
  readonly webhooks: Map<string, Webhook>
  balanceCents: number
  readonly notify: (notification: Notification) => void
  readonly after: (delayMs: number, run: () => void) => void
}

/** Plans the outcome of an order, and its change: `undefined` is "done". */
export const planOutcome = <Failure>(
  state: State,
  fate: Fate<Failure>,
  whenChanged: Failure,
  settle: (failure: Failure | undefined, overrules: boolean) => void
): void => {
  if (fate._tag === "Held") return
  const failure = fate._tag === "Failed" ? fate.with : undefined
  state.after(fate.afterMs, () => settle(failure, false))
  if (fate.changesAfterMs === undefined) return
  state.after(fate.afterMs + fate.changesAfterMs, () => settle(failure === undefined ? whenChanged : undefined, true))
}

/** `E` or `D`, the ISPB, the minute in UTC, eleven characters. */
export const transferId = (state: State, kind: "E" | "D"): string => {
  const minute = formatInstant(state.now()).replaceAll(/\D/g, "").slice(0, 12)
  return `${kind}${state.settings.ispb}${minute}${alphanumeric(state.random, 11)}`
}

/** The sum of the open disputes. */
export const blockedCents = (state: State): number => {
  let cents = 0
  for (const { status, cents: disputed } of state.infractions.values()) {
    if (status === "ABERTA" || status === "EM_DEFESA") cents += disputed
  }
  return cents
}

export const spendableCents = (state: State): number => state.balanceCents - blockedCents(state)
