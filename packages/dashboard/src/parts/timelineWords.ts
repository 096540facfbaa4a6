/** The words of a timeline. */
import { inBoth } from "../words/Words.ts"

export const timelineWords = inBoth({
  en: {
    request: "request",
    order: "order to the acquirer",
    orders: { emission: "emission", cancel: "cancellation", refund: "return", payout: "payout" },
    asked: (count: number) => (count === 1 ? "asked once" : `asked ${count} times`),
    orderStates: {
      in_progress: "waits for the answer",
      done: "accepted",
      refused: "refused",
      failed: "accepted, and failed later"
    },
    notification: "the acquirer reported",
    outcomes: {
      applied: "applied",
      exception: "exception",
      ignored: "no effect",
      unknown: "matches no record"
    },
    refund: "return",
    dispute: "dispute",
    ledger: "ledger",
    delivery: "webhook",
    attempt: "attempt",
    resendFailed: "Resend failed webhooks",
    response: "the response",
    more: "Older ones:",
    kinds: {
      requests: "requests",
      ledger_entries: "ledger entries",
      deliveries: "deliveries",
      refunds: "returns",
      disputes: "disputes"
    },
    allAttempts: (count: number) => `all ${count} attempts`
  },
  pt: {
    request: "requisição",
    order: "ordem à instituição",
    orders: { emission: "emissão", cancel: "cancelamento", refund: "devolução", payout: "pagamento" },
    asked: (count) => (count === 1 ? "pedida uma vez" : `pedida ${count} vezes`),
    orderStates: {
      in_progress: "aguarda a resposta",
      done: "aceita",
      refused: "recusada",
      failed: "aceita, e recusada depois"
    },
    notification: "a instituição informou",
    outcomes: {
      applied: "aplicado",
      exception: "divergência",
      ignored: "sem efeito",
      unknown: "não corresponde a nenhum registro"
    },
    refund: "devolução",
    dispute: "contestação",
    ledger: "razão",
    delivery: "webhook",
    attempt: "tentativa",
    resendFailed: "Reenviar webhooks recusados",
    response: "a resposta",
    more: "Mais antigos:",
    kinds: {
      requests: "requisições",
      ledger_entries: "lançamentos",
      deliveries: "entregas",
      refunds: "devoluções",
      disputes: "contestações"
    },
    allAttempts: (count) => `todas as ${count} tentativas`
  }
})
