/** Why the provider refuses a request. Each profile has an answer for each. */
export type Refusal =
  | { readonly _tag: "CobNotFound" }
  | { readonly _tag: "CobNotActive" }
  | { readonly _tag: "TxidTaken" }
  /** Removal together with other changes. */
  | { readonly _tag: "RemovalNotAlone" }
  | { readonly _tag: "KeyNotOurs"; readonly key: string }
  | { readonly _tag: "InvalidValue"; readonly property: string; readonly reason: string }
  | { readonly _tag: "PixNotFound" }
  | { readonly _tag: "ReturnNotFound" }
  | { readonly _tag: "ReturnIdTaken" }
  | { readonly _tag: "ReturnExceedsPix" }
  | { readonly _tag: "ReturnWindowClosed" }
  | { readonly _tag: "WebhookNotFound" }
  /** The reason as Efí words it. */
  | { readonly _tag: "WebhookRejected"; readonly reason: string }
  | { readonly _tag: "PayoutNotFound"; readonly by: "idEnvio" | "e2eId" }
  | { readonly _tag: "PayoutIdTaken" }
  /** A confirmation of a payout that was not begun. */
  | { readonly _tag: "PayoutNotBegun" }
  | { readonly _tag: "PayeeNotFound" }
  | { readonly _tag: "PayeeDocumentDiffers" }
  | { readonly _tag: "PayoutDenied" }
  | { readonly _tag: "InfractionNotFound" }
  | { readonly _tag: "DefenseTaken" }
  | { readonly _tag: "DefenseTooLate" }
