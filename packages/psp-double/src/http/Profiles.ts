/** The providers that the double can be. */
import { oauthError } from "./Answer.ts"
import { bacenRoutes } from "./BacenRoutes.ts"
import { efiRoutes } from "./EfiRoutes.ts"
import { interRoutes } from "./InterRoutes.ts"
import { bacenForbidden, bacenInvalid, bacenRefusal, efiInvalid, efiRefusal } from "./Refusals.ts"
import type { Profile, Variant } from "./Profile.ts"
import { sicoobRoutes } from "./SicoobRoutes.ts"

const SCOPES = ["cob.write", "cob.read", "pix.write", "pix.read", "webhook.write", "webhook.read"]
const MINUTE_MS = 60_000

/** As the central bank's document has it. */
const PLAIN = {
  requiredHeaders: [],
  requiredQuery: [],
  brCodeField: "pixCopiaECola",
  createdStatus: 201,
  acceptsFractions: true,
  namesPayer: false,
  payouts: null
} as const

/** The central bank's API. It specifies no retries of hooks: there are none. */
export const bacen: Profile = {
  name: "bacen",
  basePath: "/api/v2",
  tokenPath: "/oauth/token",
  tokenAuth: "basic-form",
  scopes: SCOPES,
  ...PLAIN,
  takenTxid: "updates",
  newestFirst: false,
  hookRetriesMs: [],
  probesWebhooks: false,
  hooksNamePayer: false,
  routes: (provider, profile) => ({
    ...bacenRoutes(provider, profile),
    ...(profile.payouts === "sicoob" && sicoobRoutes(provider)),
    ...(profile.payouts === "inter" && interRoutes(provider))
  }),
  refusal: bacenRefusal,
  invalid: bacenInvalid,
  insufficientScope: bacenForbidden
}

/** Efí: two error shapes, 409 for what is taken, payouts and disputes. Sources: `openapi/efi.yaml`. */
export const efi: Profile = {
  name: "efi",
  basePath: "/v2",
  tokenPath: "/oauth/token",
  tokenAuth: "basic-json",
  scopes: [
    ...SCOPES,
    "pix.send",
    "gn.pix.send.read",
    "gn.balance.read",
    "gn.infractions.read",
    "gn.infractions.write",
    "gn.webhook.resend"
  ],
  ...PLAIN,
  takenTxid: "conflict",
  newestFirst: true,
  hookRetriesMs: [5, 10, 20, 40, 80, 160, 320, 640, 1280, 52_560].map((minutes) => minutes * MINUTE_MS),
  probesWebhooks: true,
  hooksNamePayer: true,
  routes: (provider, profile) => ({ ...bacenRoutes(provider, profile), ...efiRoutes(provider, profile) }),
  refusal: efiRefusal,
  invalid: efiInvalid,
  insufficientScope: (operation) =>
    operation.includes("/gn/")
      ? oauthError(403, "insufficient_scope", "Access token has insufficient scope")
      : bacenForbidden(operation)
}

/** Scopes that the bank's own operations of a variant need. */
export const PAYOUT_SCOPES = {
  sicoob: ["cco_transferencias", "cco_consulta"],
  inter: ["pagamento-pix.write", "pagamento-pix.read", "extrato.read"],
  none: []
} as const

/** Variants of `bacen`, with payouts. */
export const sicoob: Partial<Variant> = {
  payouts: "sicoob",
  tokenAuth: "form-no-secret",
  requiredHeaders: ["client_id"],
  brCodeField: "brcode"
}

export const inter: Partial<Variant> = { payouts: "inter", tokenAuth: "form", requiredHeaders: ["x-conta-corrente"] }
