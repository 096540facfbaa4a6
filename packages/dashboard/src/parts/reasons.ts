/** Reasons, origins, roles and banks in a person's words. A provider's own text, and what is new, is shown as it came. */
import { inBoth } from "../words/Words.ts"

const banks = {
  efi: "Efí",
  "banco-do-brasil": "Banco do Brasil",
  sicoob: "Sicoob",
  sicredi: "Sicredi",
  inter: "Inter",
  itau: "Itaú",
  santander: "Santander",
  bradesco: "Bradesco"
}

const reasonWords = inBoth({
  en: {
    "simulated refusal": "refused by the simulator",
    "simulated failure": "failed at the simulator",
    "no usable answer of the bank": "the bank gave no usable answer in time",
    "no answer in time": "no answer in time",
    "the provider has removed the charge": "the bank removed the charge",
    "the provider has no such payment": "the bank has no such payment",
    "the provider sends no payouts": "this bank sends no payouts",
    "the provider sends no TED": "this bank sends no TED",
    "returned without prior notice": "returned without prior notice",
    "endpoint deleted": "its endpoint was deleted",
    "forbidden address": "the address is not allowed",
    api: "API",
    checkout: "checkout",
    dashboard: "dashboard",
    operator: "operator",
    provider: "bank",
    card: "card",
    boleto: "boleto",
    pix: "Pix",
    ted: "TED",
    fraude: "fraud",
    fraud: "fraud",
    operational_failure: "operational failure of the bank",
    bacen: "Pix API of the Banco Central",
    ...banks,
    simulator: "simulator"
  } as Readonly<Record<string, string>>,
  pt: {
    "simulated refusal": "recusada pelo simulador",
    "simulated failure": "falhou no simulador",
    "no usable answer of the bank": "o banco não deu resposta utilizável a tempo",
    "no answer in time": "sem resposta a tempo",
    "the provider has removed the charge": "o banco removeu a cobrança",
    "the provider has no such payment": "o banco não tem esse pagamento",
    "the provider sends no payouts": "este banco não envia pagamentos",
    "the provider sends no TED": "este banco não envia TED",
    "returned without prior notice": "devolvida sem aviso prévio",
    "endpoint deleted": "o endpoint foi apagado",
    "forbidden address": "o endereço não é permitido",
    api: "API",
    checkout: "checkout",
    dashboard: "painel",
    operator: "operador",
    provider: "banco",
    card: "cartão",
    boleto: "boleto",
    pix: "Pix",
    ted: "TED",
    fraude: "fraude",
    fraud: "fraude",
    operational_failure: "falha operacional do banco",
    bacen: "API Pix do Banco Central",
    ...banks,
    simulator: "simulador",
    admin: "administrador",
    developer: "desenvolvedor",
    viewer: "leitor"
  }
})

export const inWords = (text: string | null | undefined): string =>
  text === null || text === undefined ? "" : (reasonWords()[text] ?? text)

/** What the words of a person mean: a filter compares what is stored. */
export const fromWords = (written: string): string =>
  Object.entries(reasonWords()).find(([, text]) => text.toLowerCase() === written.toLowerCase())?.[0] ?? written

/** `***982247**` stays as it is; a CPF or CNPJ gets its points, a phone its brackets. */
export const documentOf = (text: string | null | undefined): string => {
  if (text === null || text === undefined) return ""
  const cpf = /^(\d{3})(\d{3})(\d{3})(\d{2})$/.exec(text)
  if (cpf !== null) return `${cpf[1]}.${cpf[2]}.${cpf[3]}-${cpf[4]}`
  const cnpj = /^([0-9A-Z]{2})([0-9A-Z]{3})([0-9A-Z]{3})([0-9A-Z]{4})(\d{2})$/.exec(text)
  return cnpj === null ? text : `${cnpj[1]}.${cnpj[2]}.${cnpj[3]}/${cnpj[4]}-${cnpj[5]}`
}

export const phoneOf = (text: string | null | undefined): string => {
  if (text === null || text === undefined) return ""
  const phone = /^\+55(\d{2})(\d{4,5})(\d{4})$/.exec(text)
  return phone === null ? text : `(${phone[1]}) ${phone[2]}-${phone[3]}`
}

/** A Pix key as a person writes it: documents and phones in their form, others as they are. */
export const pixKeyOf = (key: string | null | undefined): string => documentOf(phoneOf(key))
