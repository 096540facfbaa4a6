/** What differs between providers that speak the central bank's API Pix, as data. `Profiles.ts` has the providers. */

/** Where the token endpoint expects the grant and the credentials. */
export type TokenAuth = "basic-json" | "basic-form" | "form" | "form-no-secret" | "grant-in-query"

/** Resources that a provider may version apart. */
export type Resource = "cob" | "pix" | "webhook"

/** A value that a provider wants in each call: the client id, a new UUID, or a setting of the connection by its name. */
export type CallValue = "client-id" | "correlation-id" | { readonly setting: string }

/** Where the balance of the bank account is. */
export interface BalanceCall {
  /** Below the origin. */
  readonly path: string
  readonly query: Readonly<Record<string, string>>
  /** Asked for with a token of its own: a merchant may do without it. */
  readonly scope: string
  /** The field of what can be spent, and those of what cannot, beside it. */
  readonly available: string
  readonly blocked: ReadonlyArray<string>
}

export interface Profile {
  readonly name: string
  readonly title: string
  /** Before the central bank's paths; `{version}` is replaced with the resource's. Null: the connection names it. */
  readonly baseUrl: string | null
  readonly pathVersions: Readonly<Record<Resource, string>> | null
  readonly tokenUrl: string | null
  readonly tokenAuth: TokenAuth
  /** Scopes that the client's operations need. */
  readonly scopes: ReadonlyArray<string>
  /** Those of `scopes` that payouts need. */
  readonly payoutScopes: ReadonlyArray<string>
  /** Whether the token request names the scopes. */
  readonly asksScopes: boolean
  /** Headers and query parameters of each call, the token endpoint excepted. */
  readonly headers: Readonly<Record<string, CallValue>>
  readonly query: Readonly<Record<string, CallValue>>
  /** `PUT /cob/{txid}` of a txid that names an active charge. */
  readonly takenTxid: "conflict" | "updates"
  /** Answers that mean "not found", beside the central bank's 404. */
  readonly notFound: { readonly status: number; readonly codes: ReadonlyArray<string> } | null
  /** Whether its problems have no type: then the status of a look-up's 404, and of an order's 400 or 422, says what they mean. */
  readonly isUntyped: boolean
  /** Codes of refusals and of duplicates beside the central bank's. */
  readonly refusals: ReadonlyArray<string>
  readonly duplicates: ReadonlyArray<string>
  readonly brCodeField: "pixCopiaECola" | "brcode"
  /** The precision of `inicio` and `fim`. */
  readonly instants: "ms" | "s"
  /** Of instants that it sends without an offset. */
  readonly zone: string
  /** The header that registers a webhook whose receiver requires no certificate. */
  readonly skipMtlsHeader: string | null
  /** How a hook proves its sender: its client certificate, or a secret in the path. */
  readonly hook: "mtls" | "token"
  /** Addresses that hooks come from, where the provider names them. */
  readonly callbackAddresses: ReadonlyArray<string>
  readonly certificate: "pem" | "pkcs12" | "either"
  readonly payouts: "efi" | "sicoob" | "inter" | null
  /** MED by API. Its scopes are not among `scopes`, because a merchant may do without them. */
  readonly disputes: "efi" | null
  readonly balance: BalanceCall | null
  /** Nobody has run these settings against the bank. */
  readonly evidence: "built from documents, not run against the bank"
}
