/** Every page of the dashboard, with the headings that say that it is there. */
import type { DashboardWorld } from "./DashboardWorld.ts"

interface DashboardPage {
  /** Of its pictures. */
  readonly name: string
  readonly path: (world: DashboardWorld) => string
  readonly heading: string | RegExp
  /** The heading in Portuguese, where it is another one. */
  readonly inPortuguese?: string
}

/** What the command line asks the page for. */
const TERMINAL = `/terminal?port=49152&challenge=${"c".repeat(43)}&state=${"s".repeat(43)}&name=laptop`

export const dashboardPages: ReadonlyArray<DashboardPage> = [
  { name: "today", path: () => "/", heading: "Today", inPortuguese: "Hoje" },
  { name: "approvals", path: () => "/approvals", heading: "Approvals", inPortuguese: "Aprovações" },
  { name: "disputes", path: () => "/disputes", heading: "Disputes", inPortuguese: "Contestações" },
  { name: "dispute", path: (world) => `/disputes/${world.disputeId}`, heading: "R$ 89,90" },
  { name: "exceptions", path: () => "/exceptions", heading: "Exceptions", inPortuguese: "Divergências" },
  { name: "exception", path: (world) => `/exceptions/${world.exceptionId}`, heading: "R$ 99,90" },
  { name: "charges", path: () => "/charges", heading: "Charges", inPortuguese: "Cobranças" },
  { name: "pending", path: (world) => `/charges/${world.pendingId}`, heading: "R$ 129,90" },
  { name: "charge", path: (world) => `/charges/${world.chargeId}`, heading: "R$ 45,90" },
  { name: "payouts", path: () => "/payouts", heading: "Payouts", inPortuguese: "Pagamentos" },
  { name: "payout", path: (world) => `/payouts/${world.payoutId}`, heading: "R$ 250,00" },
  { name: "sent-payout", path: (world) => `/payouts/${world.sentPayoutId}`, heading: "R$ 1.820,00" },
  { name: "refunds", path: () => "/refunds", heading: "Returns", inPortuguese: "Devoluções" },
  { name: "ledger", path: () => "/ledger", heading: "Ledger", inPortuguese: "Razão" },
  { name: "statements", path: () => "/statements", heading: "Statement", inPortuguese: "Extrato" },
  { name: "closes", path: () => "/closes", heading: "Closes", inPortuguese: "Fechamentos" },
  { name: "reconciliations", path: () => "/reconciliations", heading: "Reconciliation", inPortuguese: "Conciliação" },
  { name: "reconciliation", path: (world) => `/reconciliations/${world.reconciliationId}`, heading: "25/11/2026" },
  {
    name: "developers",
    path: (world) => `/developers?account_id=${world.accountId}`,
    heading: "Applications",
    inPortuguese: "Aplicações"
  },
  {
    name: "application",
    path: (world) => `/applications/${world.applicationId}?account=${world.accountId}`,
    heading: "Loja"
  },
  { name: "endpoints", path: (world) => `/endpoints?account_id=${world.accountId}`, heading: "Webhooks" },
  { name: "endpoint", path: (world) => `/endpoints/${world.endpointId}`, heading: /^http/ },
  { name: "deliveries", path: () => "/deliveries", heading: "Deliveries", inPortuguese: "Entregas" },
  { name: "delivery", path: (world) => `/deliveries/${world.deliveryId}`, heading: "charge.pix.paid" },
  {
    name: "outbox-failures",
    path: () => "/outbox-failures",
    heading: "Outbox failures",
    inPortuguese: "Eventos sem entrega"
  },
  { name: "requests", path: () => "/requests", heading: "Requests", inPortuguese: "Requisições" },
  { name: "simulator", path: () => "/simulator", heading: "Simulator", inPortuguese: "Simulador" },
  { name: "accounts", path: () => "/accounts", heading: "Accounts", inPortuguese: "Contas" },
  { name: "account", path: (world) => `/accounts/${world.accountId}`, heading: "Padaria do Zé" },
  { name: "connections", path: () => "/connections", heading: "Connections", inPortuguese: "Conexões" },
  { name: "connection", path: (world) => `/connections/${world.connectionId}`, heading: "Banco de teste" },
  { name: "operators", path: () => "/operators", heading: "Operators", inPortuguese: "Operadores" },
  { name: "operator", path: (world) => `/operators/${world.operatorId}`, heading: "Bia Lima" },
  { name: "sessions", path: () => "/sessions", heading: "Sessions", inPortuguese: "Sessões" },
  { name: "audit", path: () => "/audit", heading: "Audit", inPortuguese: "Auditoria" },
  { name: "settings", path: () => "/settings", heading: "Settings", inPortuguese: "Configurações" },
  { name: "terminal", path: () => TERMINAL, heading: "Sign in pix", inPortuguese: "Entrar no pix" }
]

/** Of the page without a session. */
export const SIGN_IN = "sign-in"

/** The pictures that `docs/dashboard.md` shows: every page in light, in dark, on a phone and in Portuguese. */
export const pictureNames: ReadonlyArray<string> = [SIGN_IN, ...dashboardPages.map(({ name }) => name)].flatMap(
  (name) => ["light", "dark", "narrow", "pt"].map((form) => `${name}-${form}`)
)

export const MAX_PICTURE_BYTES = 30_000
