/** The words of the page of a dispute, and the evidence that each reason of one asks for. */
import { inBoth } from "../../words/Words.ts"

export type Evidence = "sale" | "delivery" | "payer" | "contact" | "reception" | "other"

/** What a defense shows, most convincing first, by the reason of the dispute. */
export const evidenceFor = (reason: string | null): ReadonlyArray<Evidence> => {
  const text = (reason ?? "").toLowerCase()
  if (/operational|operacional|falha/.test(text)) return ["reception", "sale", "other"]
  if (/frau|golpe|scam|coer|account_takeover/.test(text)) return ["delivery", "sale", "payer", "contact", "other"]
  return ["sale", "delivery", "contact", "other"]
}

export const disputeWords = inBoth({
  en: {
    byDeadline: "the first deadline first",
    defense: "Defense",
    kept: "The draft is kept in this browser.",
    notKept: "This browser keeps no draft: a reload loses it.",
    discard: "Discard draft",
    remove: "Remove",
    files: "Files",
    filesHint: "Up to 5 files of 5 MB: invoice, proof of delivery, messages. The platform gets them as they are.",
    badFile: (name: string) => `${name} is empty or larger than 5 MB. Take it out.`,
    tooManyFiles: "Not more than 5 files. The first five are there.",
    length: (used: number, most: number) => `${used.toLocaleString("en-GB")} of ${most.toLocaleString("en-GB")}`,
    evidence: {
      sale: { label: "What was sold", hint: "Order, items or service, price, invoice." },
      delivery: { label: "Delivery or use", hint: "When, where and to whom; tracking code, receipt, access." },
      payer: { label: "Who bought", hint: "Since when a customer, earlier purchases, device, address." },
      contact: { label: "Contact with the payer", hint: "Messages and calls, with dates; what was offered." },
      reception: {
        label: "What was received",
        hint: "One payment or several, the amount that was expected, the order."
      },
      other: { label: "Anything else", hint: "What the platform should know." }
    } as Readonly<Record<Evidence, { readonly label: string; readonly hint: string }>>,
    payment: "Payer and payment",
    refunded: "Returned",
    webhooks: "Webhooks of the payment",
    noWebhooks: "Nobody was notified of this payment.",
    earlier: "Other disputes of this payer",
    noEarlier: "This payer has no other dispute.",
    ofPayer: "Payer of",
    left: "left for the defense",
    over: "The time for a defense has passed",
    inProgress: "A defense was filed. The provider has not answered yet.",
    underReview: "The defense is under review. The amount stays blocked until the decision.",
    won: (amount: string) => `Decided in our favour: ${amount} are available again.`,
    lost: (amount: string) => `Decided for the payer: ${amount} went back.`,
    hours: (hours: number, minutes: number) => `${hours} h ${minutes} min`,
    days: (days: number, hours: number) => `${days} d ${hours} h`
  },
  pt: {
    byDeadline: "o primeiro prazo primeiro",
    defense: "Defesa",
    kept: "O rascunho fica neste navegador.",
    notKept: "Este navegador não guarda rascunho: ao recarregar, ele se perde.",
    discard: "Descartar rascunho",
    remove: "Tirar",
    files: "Arquivos",
    filesHint:
      "Até 5 arquivos de 5 MB: nota fiscal, comprovante de entrega, mensagens. A plataforma os recebe como estão.",
    badFile: (name) => `${name} está vazio ou passa de 5 MB. Tire-o.`,
    tooManyFiles: "No máximo 5 arquivos. Ficaram os cinco primeiros.",
    length: (used, most) => `${used.toLocaleString("pt-BR")} de ${most.toLocaleString("pt-BR")}`,
    evidence: {
      sale: { label: "O que foi vendido", hint: "Pedido, itens ou serviço, preço, nota fiscal." },
      delivery: { label: "Entrega ou uso", hint: "Quando, onde e para quem; rastreio, comprovante, acesso." },
      payer: { label: "Quem comprou", hint: "Cliente desde quando, compras anteriores, aparelho, endereço." },
      contact: { label: "Contato com o pagador", hint: "Mensagens e ligações, com datas; o que foi oferecido." },
      reception: { label: "O que foi recebido", hint: "Um pagamento ou vários, o valor esperado, o pedido." },
      other: { label: "Mais informações", hint: "O que a plataforma deve saber." }
    },
    payment: "Pagador e pagamento",
    refunded: "Devolvido",
    webhooks: "Webhooks do pagamento",
    noWebhooks: "Ninguém foi notificado deste pagamento.",
    earlier: "Outras contestações deste pagador",
    noEarlier: "Este pagador não tem outra contestação.",
    ofPayer: "Pagador de",
    left: "restam para a defesa",
    over: "O prazo da defesa passou",
    inProgress: "Uma defesa foi enviada. A instituição ainda não respondeu.",
    underReview: "A defesa está em análise. O valor fica bloqueado até a decisão.",
    won: (amount) => `Decidida a nosso favor: ${amount} estão disponíveis de novo.`,
    lost: (amount) => `Decidida pelo pagador: ${amount} voltaram.`,
    hours: (hours, minutes) => `${hours} h ${minutes} min`,
    days: (days, hours) => `${days} d ${hours} h`
  }
})
