/** The words of the pages of exceptions. */
import type { ExceptionAction, ExceptionKind } from "@pix-payments/domain/AcquirerException"
import { inBoth } from "../words/Words.ts"

const kindsInEnglish: Readonly<Record<ExceptionKind, string>> = {
  wrong_amount: "wrong amount",
  second_payment: "second payment",
  late_payment: "late payment",
  unknown_txid: "unknown txid",
  unidentified_payment: "payment to the key",
  unmatched_return: "return without a payment",
  unmatched_dispute: "dispute without a payment",
  conflicting_settlement: "same payment, another amount",
  returned_payout: "payout sent back",
  contradictory_outcome: "the bank says otherwise",
  unreadable: "cannot be read"
}

const kindsInPortuguese: Readonly<Record<ExceptionKind, string>> = {
  wrong_amount: "valor errado",
  second_payment: "segundo pagamento",
  late_payment: "pagamento atrasado",
  unknown_txid: "txid desconhecido",
  unidentified_payment: "pagamento direto à chave",
  unmatched_return: "devolução sem pagamento",
  unmatched_dispute: "contestação sem pagamento",
  conflicting_settlement: "mesmo pagamento, outro valor",
  returned_payout: "transferência devolvida",
  contradictory_outcome: "o banco diz outra coisa",
  unreadable: "não pôde ser lida"
}

const actionsInEnglish: Readonly<Record<ExceptionAction, string>> = {
  return: "returned",
  accept: "accepted",
  dismiss: "dismissed"
}

const actionsInPortuguese: Readonly<Record<ExceptionAction, string>> = {
  return: "devolvida",
  accept: "aceita",
  dismiss: "descartada"
}

export const exceptionWords = inBoth({
  en: {
    kinds: kindsInEnglish,
    taken: actionsInEnglish,
    empty: "No exception. Money that fits no charge waits here for a decision.",
    card: "What arrived",
    outcome: "Decision",
    kind: "Kind",
    expected: "Expected",
    unallocated: "Not allocated",
    occurred: "Arrived",
    connection: "Connection",
    resolvedBy: "Decided by",
    action: "Decision",
    txid: "Txid",
    says: "The bank says",
    refund: "Refund or return",
    received: "As it arrived",
    waits: "Somebody must decide: return the money, accept it for a charge, or dismiss the exception.",
    isReturning: "The provider is asked to return the money. The exception stays open until it confirms.",
    return: "Return",
    accept: "Accept",
    dismiss: "Dismiss",
    askReturn: (amount: string) => `${amount} go back to the payer.`,
    askAccept: (amount: string) => `${amount} are credited.`,
    askAcceptUnreadable: "The amount is credited.",
    amountHint: "In reais, as 12,34: what arrived at the bank.",
    askDismiss: (amount: string) => `Nothing moves. ${amount} stay unallocated.`,
    receiver: "Charge or account",
    receiverHint:
      "A charge of this connection (id, reference, txid, amount), or an account (name, id), as in the search. With an account, no charge changes its state.",
    receiverNamed: "Empty: the one that is named above.",
    contradictedHint: "An account: its name or id, as in the search.",
    noReceiver: "Nothing is found by this.",
    several: (count: number) => `${count} are found by this. Choose one:`,
    first: "The newest that are found. Choose one, or write more:",
    kindOf: { charge: "Charge", account: "Account" },
    reason: "Reason",
    reasonHint: "Up to 1000 characters. It is kept in the audit log."
  },
  pt: {
    kinds: kindsInPortuguese,
    taken: actionsInPortuguese,
    empty: "Nenhuma divergência. O dinheiro que não corresponde a uma cobrança aguarda aqui uma decisão.",
    card: "O que chegou",
    outcome: "Decisão",
    kind: "Tipo",
    expected: "Esperado",
    unallocated: "Não alocado",
    occurred: "Chegada",
    connection: "Conexão",
    resolvedBy: "Decidida por",
    action: "Decisão",
    txid: "Txid",
    says: "O banco diz",
    refund: "Reembolso ou devolução",
    received: "Como chegou",
    waits: "Alguém precisa decidir: devolver o dinheiro, aceitá-lo para uma cobrança ou descartar a divergência.",
    isReturning: "A devolução foi pedida à instituição. A divergência fica aberta até a confirmação.",
    return: "Devolver",
    accept: "Aceitar",
    dismiss: "Descartar",
    askReturn: (amount) => `${amount} voltam ao pagador.`,
    askAccept: (amount) => `${amount} são creditados.`,
    askAcceptUnreadable: "O valor é creditado.",
    amountHint: "Em reais, como 12,34: o que chegou ao banco.",
    askDismiss: (amount) => `Nada se move. ${amount} continuam como não alocado.`,
    receiver: "Cobrança ou conta",
    receiverHint:
      "Uma cobrança desta conexão (id, referência, txid, valor) ou uma conta (nome, id), como na busca. Com uma conta, nenhuma cobrança muda de estado.",
    receiverNamed: "Vazio: a que está indicada acima.",
    contradictedHint: "Uma conta: nome ou id, como na busca.",
    noReceiver: "Nada foi encontrado.",
    several: (count) => `${count} foram encontradas. Escolha uma:`,
    first: "As mais novas encontradas. Escolha uma ou escreva mais:",
    kindOf: { charge: "Cobrança", account: "Conta" },
    reason: "Motivo",
    reasonHint: "Até 1000 caracteres. Fica registrado na auditoria."
  }
})

/** The word of a kind, or the kind itself where it is new. */
export const kindName = (kind: string): string =>
  (exceptionWords().kinds as Readonly<Record<string, string>>)[kind] ?? kind
