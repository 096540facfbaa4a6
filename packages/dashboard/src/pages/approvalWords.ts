/** The words of the page of approvals. */
import type { ApprovalAction, ApprovalStatus } from "@pix-payments/domain/Approval"
import { inBoth } from "../words/Words.ts"

type Names = Readonly<Record<ApprovalAction, string>>
type States = Readonly<Record<ApprovalStatus, string>>

const en = {
  action: "Request",
  actionNames: {
    "payout.release": "Release a payout",
    "payout.create": "Create a payout",
    "key.create": "Create an API key",
    "connection.create": "Connect a provider",
    "connection.update": "Change a connection",
    "account.update": "Change an account",
    "operator.create": "Add an operator",
    "operator.update": "Change an operator",
    "operator_token.create": "Create a token for an operator",
    "installation.update": "Change four eyes",
    "installation.confirm_outward": "Let a copied database call banks and receivers",
    "exception.accept": "Accept an exception for another charge"
  } satisfies Names as Names,
  states: {
    pending: "pending",
    approved: "approved",
    rejected: "rejected",
    expired: "expired"
  } satisfies States as States,
  balance: "Balance before and after",
  by: "Requested by",
  details: "What would change",
  duplicate: "repeats a payout",
  empty: "Actions that a second operator approves are here. None waits.",
  own: "Another operator has to approve it.",
  question: (what: string, by: string) => `${what}, requested by ${by}.`,
  reason: "1 to 1000 characters.",
  reject: "Reject",
  select: (what: string, by: string) => `Select: ${what}, requested by ${by}`,
  selected: (requests: ReadonlyArray<string>) => `${requests.join("; ")}.`,
  unselect: "Clear selection",
  unrequested: "Payouts above the limit without a request",
  unrequestedNote: "Their release is requested on the page of the payout."
}

const pt: typeof en = {
  action: "Pedido",
  actionNames: {
    "payout.release": "Liberar um pagamento",
    "payout.create": "Criar um pagamento",
    "key.create": "Criar uma chave de API",
    "connection.create": "Conectar um provedor",
    "connection.update": "Alterar uma conexão",
    "account.update": "Alterar uma conta",
    "operator.create": "Adicionar um operador",
    "operator.update": "Alterar um operador",
    "operator_token.create": "Criar um token para um operador",
    "installation.update": "Alterar a dupla aprovação",
    "installation.confirm_outward": "Permitir que um banco de dados copiado chame bancos e destinatários",
    "exception.accept": "Aceitar uma divergência para outra cobrança"
  },
  states: { pending: "pendente", approved: "aprovado", rejected: "rejeitado", expired: "expirado" },
  balance: "Saldo antes e depois",
  by: "Pedido por",
  details: "O que mudaria",
  duplicate: "repete um pagamento",
  empty: "Aqui ficam as ações que um segundo operador aprova. Nenhuma espera.",
  own: "Outro operador precisa aprovar.",
  question: (what: string, by: string) => `${what}, pedido por ${by}.`,
  reason: "De 1 a 1000 caracteres.",
  reject: "Rejeitar",
  select: (what: string, by: string) => `Selecionar: ${what}, pedido por ${by}`,
  selected: (requests: ReadonlyArray<string>) => `${requests.join("; ")}.`,
  unselect: "Limpar seleção",
  unrequested: "Pagamentos acima do limite sem pedido",
  unrequestedNote: "A liberação é pedida na página do pagamento."
}

export const approvalWords = inBoth({ en, pt })
