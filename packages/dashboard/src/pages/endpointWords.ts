/** The words of the pages of webhook endpoints, and their state. */
import type { OperatorWebhookEndpoint } from "@pix-payments/api/operator/WebhookEndpoints"
import { inBoth } from "../words/Words.ts"

export const endpointWords = inBoth({
  en: {
    title: "Webhooks",
    endpoint: "Endpoint",
    health: "Health",
    lastDay: "Last 24 hours",
    lastDayOf: (share: string, delivered: number, of: number) => `${share} (${delivered} of ${of})`,
    newest: "Of its newest 100 deliveries.",
    allTime: "Success rate of all attempts",
    lastFailure: "Last failure",
    lastSuccess: "Last success",
    paused: "Waiting",
    most: "1,000+",
    failing: "only failing",
    subscribed: "Events",
    secret: "Signed",
    test: "Send test",
    ask: "A signed event without money is sent at once. Its data has test: true and the status canceled.",
    all: "All deliveries",
    empty: "No delivery yet. Send a test, or wait for an event.",
    isTest: "test",
    missing: "This endpoint is not there any more. Its deliveries are kept."
  },
  pt: {
    title: "Webhooks",
    endpoint: "Endpoint",
    health: "Saúde",
    lastDay: "Últimas 24 horas",
    lastDayOf: (share: string, delivered: number, of: number) => `${share} (${delivered} de ${of})`,
    newest: "Das 100 entregas mais novas.",
    allTime: "Taxa de sucesso de todas as tentativas",
    lastFailure: "Última falha",
    lastSuccess: "Último sucesso",
    paused: "Em espera",
    most: "1.000+",
    failing: "só com falhas",
    subscribed: "Eventos",
    secret: "Assinado",
    test: "Enviar teste",
    ask: "Um evento assinado e sem dinheiro é enviado na hora. Os dados têm test: true e o status canceled.",
    all: "Todas as entregas",
    empty: "Nenhuma entrega ainda. Envie um teste, ou espere um evento.",
    isTest: "teste",
    missing: "Este endpoint não existe mais. As entregas dele são mantidas."
  }
})

/** A share from 0 to 1; nothing where there is none. */
export const percent = (share: number | null): string => (share === null ? "–" : `${Math.round(share * 100)} %`)

const MAX_PAUSED = 1000

/** The server counts up to 1,000 deliveries that wait. */
export const pausedCount = (count: number): string => (count >= MAX_PAUSED ? endpointWords().most : String(count))

/** An endpoint fails while it is active and its last attempt failed (OPR-160). */
export const endpointState = ({
  active,
  consecutive_failures: failures
}: Pick<OperatorWebhookEndpoint, "active" | "consecutive_failures">): string =>
  !active ? "inactive" : failures > 0 ? "failing" : "active"
