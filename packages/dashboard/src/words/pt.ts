/** The words in Portuguese. */
import type { Words } from "./en.ts"

export const pt: Words = {
  product: "Pagamentos Pix",
  states: {
    processing: "em processamento",
    pending: "pendente",
    paid: "paga",
    expired: "expirada",
    canceled: "cancelada",
    failed: "recusada",
    refunded: "devolvida",
    charged_back: "devolvida por MED",
    infraction: "em infração",
    completed: "concluído",
    open: "aberta",
    under_review: "em análise",
    won: "favorável",
    lost: "desfavorável",
    scheduled: "agendada",
    delivering: "em envio",
    delivered: "entregue"
  },
  nav: {
    menu: "Menu",
    money: "Dinheiro",
    developers: "Desenvolvedores",
    installation: "Instalação",
    charges: "Cobranças",
    payouts: "Pagamentos"
  },
  signIn: {
    title: "Entrar",
    token: "Token",
    hint: "Seu token pessoal, ou o token de operador da instalação.",
    submit: "Entrar",
    refused: "Este token não é aceito.",
    limited: "Muitas tentativas recusadas do seu endereço. Tente de novo em meio minuto."
  },
  signOut: "Sair",
  list: {
    filter: "Filtrar",
    all: "todas",
    next: "Próxima página",
    first: "Primeira página",
    none: "Nada com estes filtros.",
    clear: "Limpar filtros"
  },
  charges: {
    title: "Cobranças",
    none: "Nenhuma cobrança ainda. Elas aparecem aqui quando suas aplicações as criam.",
    amount: "Valor",
    status: "Estado",
    reference: "Referência",
    customer: "Pagador",
    created: "Criada"
  },
  charge: {
    title: "Cobrança",
    timeline: "Linha do tempo",
    newestFirst: "mais recente primeiro",
    reference: "Referência",
    payer: "Pagador",
    description: "Descrição",
    expires: "Expira",
    paid: "Paga",
    receiver: "Recebedor",
    endToEndId: "Id fim a fim",
    copyAndPaste: "Pix Copia e Cola",
    reason: "Motivo",
    deliveredTo: "entregue a",
    waitsFor: "aguarda"
  },
  actions: { copy: "Copiar", copied: "Copiado", curl: "Copiar como curl", retry: "Tentar de novo" },
  problem: {
    network: "O servidor não respondeu. Verifique se ele está no ar e tente de novo.",
    notFound: "Nada aqui. O id pode ser outro, ou de uma conta que você não vê.",
    requestId: "Requisição"
  }
}
