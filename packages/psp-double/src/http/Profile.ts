/** What differs from provider to provider, as data. */
import type { Answer } from "./Answer.ts"
import type { Routes } from "./Routes.ts"
import type { TokenAuth } from "./Tokens.ts"
import type { Provider } from "../provider/Provider.ts"
import type { Refusal } from "../provider/Refusal.ts"

/** What differs between providers that speak the central bank's API, field by field. */
export interface Variant {
  /** Before the central bank's paths. */
  readonly basePath: string
  readonly tokenPath: string
  readonly tokenAuth: TokenAuth
  /** What `PUT /cob/{txid}` does if the txid names an active cob. */
  readonly takenTxid: "conflict" | "updates"
  readonly newestFirst: boolean
  /** Delays before each retry of a hook that was not answered 2xx. */
  readonly hookRetriesMs: ReadonlyArray<number>
  /** Headers, in lower case, and query parameters that every call needs, the token endpoint excepted. */
  readonly requiredHeaders: ReadonlyArray<string>
  readonly requiredQuery: ReadonlyArray<string>
  /** The field of a cob that holds the BR code. */
  readonly brCodeField: "pixCopiaECola" | "brcode"
  /** Status of a creation; the document declares 201 only. */
  readonly createdStatus: 200 | 201
  /** Whether `inicio` and `fim` may have fractions of a second. */
  readonly acceptsFractions: boolean
  /** The payouts of a provider that speaks the central bank's API otherwise. Efí has its own. */
  readonly payouts: "sicoob" | "inter" | null
  /** Whether a Pix has `pagador`, a field that the central bank's document does not have and several providers send. */
  readonly namesPayer: boolean
}

export interface Profile extends Variant {
  readonly name: "bacen" | "efi"
  readonly scopes: ReadonlyArray<string>
  /** Whether a webhook is checked when it is registered (`HookSender.probe`). */
  readonly probesWebhooks: boolean
  /** Whether hooks name the payer (`gnExtras.pagador`). */
  readonly hooksNamePayer: boolean
  readonly routes: (provider: Provider, profile: Profile) => Routes
  readonly refusal: (refusal: Refusal, operation: string) => Answer
  readonly invalid: (failures: ReadonlyArray<string>, operation: string) => Answer
  readonly insufficientScope: (operation: string) => Answer
}
