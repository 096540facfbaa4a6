/** What an operator did, in a person's words: of `payoutActions.approve` "payout: approve". */
import { inBoth } from "../words/Words.ts"

type Names = Readonly<Record<string, string>>

/** The words of an operation; what is new is shown as it came. */
export const operationName = (operation: string): string => {
  const { nouns, verbs } = auditWords()
  const [group = "", verb = ""] = operation.split(".")
  const noun = nouns[group.replace(/Actions$/, "").replace(/s$/, "")]
  return noun === undefined || verbs[verb] === undefined ? operation : `${noun}: ${verbs[verb]}`
}

/** The word of a field that was changed, of those that only the audit log has. */
export const auditFieldName = (field: string): string | undefined => auditWords().fields[field]

/** A kind of resource. */
export const nounOf = (object: string): string => auditWords().nouns[object] ?? object

/** How an operator signed in. */
export const viaName = (via: string | null): string => (via === null ? "" : (auditWords().via[via] ?? via))

const auditWords = inBoth({
  en: {
    nouns: {
      account: "account",
      adjustment: "correction",
      alert_channel: "alert channel",
      application: "application",
      approval: "approval",
      bankStatement: "bank statement",
      charge: "charge",
      checkoutCharge: "payment page",
      connection: "connection",
      delivery: "delivery",
      dispute: "dispute",
      event: "events",
      exception: "exception",
      installation: "installation",
      key: "API key",
      operator: "operator",
      operatorToken: "operator's token",
      outboxFailure: "outbox failure",
      payer: "payer",
      payout: "payout",
      reconciliation: "reconciliation",
      refund: "return",
      session: "session",
      simulatorCharge: "simulated charge",
      simulatorDispute: "simulated dispute",
      simulatorPayout: "simulated payout",
      simulatorRefund: "simulated return",
      simulatorReturn: "simulated bank",
      webhookEndpoint: "webhook"
    } as Names,
    verbs: {
      anonymise: "erase data",
      approve: "approve",
      cancel: "cancel",
      check: "check",
      code: "sign in by code",
      complete: "complete",
      confirm_outward: "let it call others",
      create: "create",
      defense: "defend",
      delete: "delete",
      end: "end",
      explain: "explain",
      export: "export data",
      fail: "fail",
      import: "import",
      infraction: "open a dispute",
      link: "sign in by link",
      list: "read",
      lose: "lose",
      message: "write",
      pay: "pay",
      refund: "return",
      registerWebhook: "register the webhook",
      reject: "reject",
      request: "request",
      resend: "resend",
      resendFailed: "resend what failed",
      resolve: "decide",
      retry: "retry",
      return: "return",
      reveal: "reveal data",
      revoke: "revoke",
      settle: "settle by hand",
      start: "sign in",
      stream: "follow",
      test: "test",
      update: "change",
      use: "use of the token",
      win: "win"
    } as Names,
    fields: {
      account_connection: "connection of the account",
      account_name: "account",
      account_status: "state of the account",
      action: "action",
      count: "uses",
      difference: "difference",
      events: "events",
      explanation: "explanation",
      files: "files",
      legal_name: "legal name",
      limits: "limits",
      operator_id: "operator",
      resource_id: "resource",
      route: "route",
      text: "text",
      timezone: "time zone",
      url: "URL"
    } as Names,
    via: {
      installation: "installation's token",
      token: "personal token",
      session: "session",
      link: "link",
      oidc: "single sign-on",
      code: "command line"
    } as Names
  },
  pt: {
    nouns: {
      account: "conta",
      adjustment: "correção",
      alert_channel: "canal de alertas",
      application: "aplicação",
      approval: "aprovação",
      bankStatement: "extrato do banco",
      charge: "cobrança",
      checkoutCharge: "página de pagamento",
      connection: "conexão",
      delivery: "entrega",
      dispute: "contestação",
      event: "eventos",
      exception: "divergência",
      installation: "instalação",
      key: "chave de API",
      operator: "operador",
      operatorToken: "token de operador",
      outboxFailure: "evento sem entrega",
      payer: "pagador",
      payout: "pagamento",
      reconciliation: "conciliação",
      refund: "devolução",
      session: "sessão",
      simulatorCharge: "cobrança simulada",
      simulatorDispute: "contestação simulada",
      simulatorPayout: "pagamento simulado",
      simulatorRefund: "devolução simulada",
      simulatorReturn: "banco simulado",
      webhookEndpoint: "webhook"
    },
    verbs: {
      anonymise: "apagar dados",
      approve: "aprovar",
      cancel: "cancelar",
      check: "verificar",
      code: "entrar por código",
      complete: "concluir",
      confirm_outward: "permitir que chame outros",
      create: "criar",
      defense: "defender",
      delete: "apagar",
      end: "encerrar",
      explain: "explicar",
      export: "exportar dados",
      fail: "falhar",
      import: "importar",
      infraction: "abrir contestação",
      link: "entrar por link",
      list: "ler",
      lose: "perder",
      message: "escrever",
      pay: "pagar",
      refund: "devolver",
      registerWebhook: "registrar o webhook",
      reject: "rejeitar",
      request: "pedir",
      resend: "reenviar",
      resendFailed: "reenviar o que falhou",
      resolve: "decidir",
      retry: "tentar de novo",
      return: "devolver",
      reveal: "revelar dados",
      revoke: "revogar",
      settle: "liquidar à mão",
      start: "entrar",
      stream: "acompanhar",
      test: "testar",
      update: "alterar",
      use: "uso do token",
      win: "ganhar"
    },
    fields: {
      account_connection: "conexão da conta",
      account_name: "conta",
      account_status: "estado da conta",
      action: "ação",
      count: "usos",
      difference: "diferença",
      events: "eventos",
      explanation: "explicação",
      files: "arquivos",
      legal_name: "razão social",
      limits: "limites",
      operator_id: "operador",
      resource_id: "recurso",
      route: "rota",
      text: "texto",
      timezone: "fuso horário",
      url: "URL"
    },
    via: {
      installation: "token da instalação",
      token: "token pessoal",
      session: "sessão",
      link: "link",
      oidc: "login único",
      code: "linha de comando"
    }
  }
})
