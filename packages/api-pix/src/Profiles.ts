/** The providers. All are built from documents, and none was run against the bank. */
import type { Profile } from "./Profile.ts"

const SCOPES = ["cob.write", "cob.read", "pix.write", "pix.read", "webhook.write", "webhook.read"]

/** The central bank's API as its document has it. */
export const bacen: Profile = {
  name: "bacen",
  title: "API Pix 2.9.0",
  baseUrl: null,
  pathVersions: null,
  tokenUrl: null,
  tokenAuth: "basic-form",
  scopes: SCOPES,
  payoutScopes: [],
  asksScopes: true,
  headers: {},
  query: {},
  takenTxid: "updates",
  notFound: null,
  isUntyped: false,
  refusals: [],
  duplicates: [],
  brCodeField: "pixCopiaECola",
  instants: "ms",
  zone: "America/Sao_Paulo",
  skipMtlsHeader: null,
  hook: "mtls",
  callbackAddresses: [],
  certificate: "either",
  payouts: null,
  disputes: null,
  balance: null,
  evidence: "built from documents, not run against the bank"
}

const EFI_PAYOUTS = ["pix.send", "gn.pix.send.read"]

export const efi: Profile = {
  ...bacen,
  name: "efi",
  title: "Efí",
  baseUrl: "https://pix.api.efipay.com.br/v2",
  tokenUrl: "https://pix.api.efipay.com.br/oauth/token",
  tokenAuth: "basic-json",
  scopes: [...SCOPES, ...EFI_PAYOUTS],
  payoutScopes: EFI_PAYOUTS,
  asksScopes: false,
  takenTxid: "conflict",
  notFound: { status: 400, codes: ["cobranca_nao_encontrada", "pix_nao_encontrado", "devolucao_nao_encontrada"] },
  refusals: ["valor_invalido", "chave_invalida", "status_cobranca_invalido", "webhook_invalido", "documento_bloqueado"],
  duplicates: ["txid_duplicado", "devolucao_id_duplicado", "id_envio_duplicado", "InfracaoOperacaoInvalida"],
  skipMtlsHeader: "x-skip-mtls-checking",
  callbackAddresses: ["34.193.116.226"],
  certificate: "pkcs12",
  payouts: "efi",
  disputes: "efi",
  balance: {
    path: "/v2/gn/saldo",
    query: { bloqueios: "true" },
    scope: "gn.balance.read",
    available: "saldo",
    blocked: ["bloqueios.total"]
  }
}

export const bancoDoBrasil: Profile = {
  ...bacen,
  name: "banco-do-brasil",
  title: "Banco do Brasil",
  baseUrl: "https://api-pix.bb.com.br/pix/v2",
  tokenUrl: "https://oauth.bb.com.br/oauth/token",
  query: { "gw-dev-app-key": { setting: "gw-dev-app-key" } }
}

const SICOOB_PAYOUTS = ["cco_transferencias", "cco_consulta"]

export const sicoob: Profile = {
  ...bacen,
  name: "sicoob",
  title: "Sicoob",
  baseUrl: "https://api.sicoob.com.br/pix/api/v2",
  tokenUrl: "https://auth.sicoob.com.br/auth/realms/cooperado/protocol/openid-connect/token",
  tokenAuth: "form-no-secret",
  scopes: [...SCOPES, ...SICOOB_PAYOUTS],
  payoutScopes: SICOOB_PAYOUTS,
  headers: { client_id: "client-id" },
  brCodeField: "brcode",
  payouts: "sicoob"
}

export const sicredi: Profile = {
  ...bacen,
  name: "sicredi",
  title: "Sicredi",
  baseUrl: "https://api-pix.sicredi.com.br/api/{version}",
  pathVersions: { cob: "v3", pix: "v2", webhook: "v2" },
  tokenUrl: "https://api-pix.sicredi.com.br/oauth/token"
}

const INTER_PAYOUTS = ["pagamento-pix.write", "pagamento-pix.read"]

export const inter: Profile = {
  ...bacen,
  name: "inter",
  title: "Inter",
  baseUrl: "https://cdpj.partners.bancointer.com.br/pix/v2",
  tokenUrl: "https://cdpj.partners.bancointer.com.br/oauth/v2/token",
  tokenAuth: "form",
  scopes: [...SCOPES, ...INTER_PAYOUTS],
  payoutScopes: INTER_PAYOUTS,
  headers: { "x-conta-corrente": { setting: "x-conta-corrente" } },
  certificate: "pem",
  payouts: "inter",
  isUntyped: true,
  balance: {
    path: "/banking/v2/saldo",
    query: {},
    scope: "extrato.read",
    available: "disponivel",
    blocked: ["bloqueadoCheque", "bloqueadoJudicialmente", "bloqueadoAdministrativo"]
  }
}

export const itau: Profile = {
  ...bacen,
  name: "itau",
  title: "Itaú",
  baseUrl: "https://secure.api.itau/pix_recebimentos/v2",
  tokenUrl: "https://sts.itau.com.br/as/token.oauth2",
  tokenAuth: "form",
  headers: { "x-correlationid": "correlation-id" }
}

export const santander: Profile = {
  ...bacen,
  name: "santander",
  title: "Santander",
  baseUrl: "https://trust-pix.santander.com.br/api/v1",
  tokenUrl: "https://trust-pix.santander.com.br/oauth/token",
  tokenAuth: "grant-in-query",
  instants: "s",
  certificate: "pkcs12"
}

export const bradesco: Profile = {
  ...bacen,
  name: "bradesco",
  title: "Bradesco",
  baseUrl: "https://qrpix.bradesco.com.br/v2",
  tokenUrl: "https://qrpix.bradesco.com.br/oauth/token",
  certificate: "pkcs12"
}

export const profiles: ReadonlyArray<Profile> = [
  bacen,
  efi,
  bancoDoBrasil,
  sicoob,
  sicredi,
  inter,
  itau,
  santander,
  bradesco
]
