/** The providers that the double can be. */
import { oauthError, problem } from "./Answer.ts"
import { bacenRoutes } from "./BacenRoutes.ts"
import { efiRoutes } from "./EfiRoutes.ts"
import { bacenInvalid, bacenRefusal, efiInvalid, efiRefusal } from "./Refusals.ts"
import type { Profile } from "./Profile.ts"

const accessDenied = () =>
  problem(
    403,
    "AcessoNegado",
    "Acesso Negado",
    "Requisição de participante autenticado que viola alguma regra de autorização."
  )

const SCOPES = ["cob.write", "cob.read", "pix.write", "pix.read", "webhook.write", "webhook.read"]
const MINUTE_MS = 60_000

/** As the central bank's document has it. */
const PLAIN = {
  requiredHeaders: [],
  requiredQuery: [],
  brCodeField: "pixCopiaECola",
  createdStatus: 201,
  acceptsFractions: true,
  namesPayer: false
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
  routes: (provider, profile) => bacenRoutes(provider, profile),
  refusal: bacenRefusal,
  invalid: bacenInvalid,
  insufficientScope: accessDenied
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
      : accessDenied()
}
