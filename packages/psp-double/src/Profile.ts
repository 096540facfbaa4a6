/** What differs from provider to provider. */
import type { Answer } from "./http/Answer.ts"
import type { Routes } from "./http/Routes.ts"
import type { TokenAuth } from "./http/Tokens.ts"
import type { Provider } from "./provider/Provider.ts"
import type { Refusal } from "./provider/Refusal.ts"

export interface Profile {
  readonly name: "bacen" | "efi"
  /** Before the central bank's paths. */
  readonly basePath: string
  readonly tokenPath: string
  readonly tokenAuth: TokenAuth
  readonly scopes: ReadonlyArray<string>
  /** What a `PUT /cob/{txid}` of a txid does that names an active cob. */
  readonly takenTxid: "conflict" | "updates"
  readonly newestFirst: boolean
  /** Delays before a hook that was not answered 2xx goes out again. */
  readonly hookRetriesMs: ReadonlyArray<number>
  /** A URL is registered only if it refuses a caller without certificate and accepts one with it. */
  readonly probesWebhooks: boolean
  /** Whether hooks name the payer (`gnExtras.pagador`). */
  readonly hooksNamePayer: boolean
  readonly routes: (provider: Provider, profile: Profile) => Routes
  readonly refusal: (refusal: Refusal, operation: string) => Answer
  readonly invalid: (failures: ReadonlyArray<string>, operation: string) => Answer
  readonly insufficientScope: (operation: string) => Answer
}
