/** The words of the first page. */
import { inBoth } from "../../words/Words.ts"

/** A number of rows, and whether it is one. */
export interface Count {
  readonly text: string
  readonly isOne: boolean
}

/** The bound of a bucket of milliseconds. */
const atMost = (ms: number): string => (Number.isFinite(ms) ? `≤ ${ms} ms` : "> 10 s")

export const todayWords = inBoth({
  en: {
    received: "Received today",
    returned: "Returned today",
    sent: "Sent today",
    net: "Net today",
    netOfDay: "Net",
    netHint: "received, less returned and sent",
    refunds: (count: number) => (count === 1 ? "1 return" : `${count} returns`),
    payouts: (count: number) => (count === 1 ? "1 payout" : `${count} payouts`),
    charges: (count: number) => (count === 1 ? "1 charge" : `${count} charges`),
    yesterdayBy: (hour: number, amount: string) => `yesterday until ${hour}:00: ${amount}`,
    lastWeek: (amount: string) => `a week ago: ${amount}`,
    failures: "Failures by reason",
    sinceYesterday: "today and yesterday; choose an hour for its reasons",
    ofHour: "of the hour in which they failed",
    thatDay: { today: "Today", yesterday: "Yesterday" },
    hours: (hour: number) => `from ${hour}:00 to ${hour + 1}:00`,
    byHour: "Today by the hour",
    perHour: "Per hour",
    hour: "Hour",
    paidOf: "Paid of all charges, since the start",
    ofCharges: (count: number) => (count === 1 ? "of 1 charge" : `of ${count} charges`),
    due: "Deliveries due",
    noneDue: "none waits",
    oldest: "oldest",
    behind: "behind",
    person: "Needs a person",
    nothing: "Nothing waits for a person.",
    blocked: (amount: string) => `${amount} blocked`,
    unallocated: (amount: string) => `${amount} not allocated`,
    dueWithin: (count: number, hours: number) => `${count} within ${hours} h`,
    disputes: ({ isOne, text }: Count): readonly [string, string] =>
      isOne ? ["1 dispute", "needs a defense"] : [`${text} disputes`, "need a defense"],
    approvals: ({ isOne, text }: Count): readonly [string, string] =>
      isOne ? ["1 request", "waits for a second operator"] : [`${text} requests`, "wait for a second operator"],
    payoutsNamed: ({ isOne, text }: Count): readonly [string, string] =>
      isOne ? ["1 payout", "waits for approval"] : [`${text} payouts`, "wait for approval"],
    payments: ({ isOne, text }: Count): readonly [string, string] =>
      isOne ? ["1 exception", "is open"] : [`${text} exceptions`, "are open"],
    deliveries: ({ isOne, text }: Count): readonly [string, string] =>
      isOne ? ["1 delivery", "failed at an endpoint"] : [`${text} deliveries`, "failed at an endpoint"],
    endpoints: ({ isOne, text }: Count): readonly [string, string] =>
      isOne ? ["1 endpoint", "fails"] : [`${text} endpoints`, "fail"],
    certificates: ({ isOne, text }: Count): readonly [string, string] =>
      isOne ? ["1 certificate", "ends soon"] : [`${text} certificates`, "end soon"],
    fanOuts: ({ isOne, text }: Count): readonly [string, string] =>
      isOne ? ["1 change", "could not be delivered"] : [`${text} changes`, "could not be delivered"],
    closes: ({ isOne, text }: Count): readonly [string, string] =>
      isOne ? ["1 account", "has a day that is not closed"] : [`${text} accounts`, "have days that are not closed"],
    review: "Review",
    defend: "Defend",
    decide: "Decide",
    look: "Look",
    running: "Running",
    acquirer: "Charge creation",
    latency: (p50: number, p99: number) => `p50 ${p50} ms, p99 ${p99} ms`,
    latencyHint: "the acquirer's answer included, of the last 100",
    provider: "Acquirer",
    simulated: "simulator",
    providerLatency: (p50: number, p95: number) => `p50 ${atMost(p50)}, p95 ${atMost(p95)}`,
    providerHint: "of all calls but those that list, since this process started",
    noRequests: "no charge was created yet",
    brakes: "Brakes of connections",
    noBrakes: "none is on",
    payoutsStopped: "payouts stopped",
    chargesStopped: "charges stopped",
    attempts: "Successful attempts, 7 days",
    processing: "In processing",
    counts: (charges: number, payouts: number) =>
      `${charges} ${charges === 1 ? "charge" : "charges"}, ${payouts} ${payouts === 1 ? "payout" : "payouts"}`,
    certificate: "Next certificate",
    installation: "Installation's token",
    uses: (count: number, hasMore: boolean) =>
      count === 1 ? "1 request in 24 hours" : `${count}${hasMore ? "+" : ""} requests in 24 hours`,
    usesHint: "from the audit log; those of the last minute are counted at its end",
    lastUse: "last",
    from: "from",
    healthy: "healthy",
    perDay: "Per day",
    zone: (name: string) => `days in ${name}`,
    day: "Day",
    table: "As a table"
  },
  pt: {
    received: "Recebido hoje",
    returned: "Devolvido hoje",
    sent: "Enviado hoje",
    net: "Líquido de hoje",
    netOfDay: "Líquido",
    netHint: "recebido menos devolvido e enviado",
    refunds: (count) => (count === 1 ? "1 devolução" : `${count} devoluções`),
    payouts: (count) => (count === 1 ? "1 pagamento" : `${count} pagamentos`),
    charges: (count) => (count === 1 ? "1 cobrança" : `${count} cobranças`),
    yesterdayBy: (hour, amount) => `ontem até ${hour} h: ${amount}`,
    lastWeek: (amount) => `há uma semana: ${amount}`,
    failures: "Falhas por motivo",
    sinceYesterday: "hoje e ontem; escolha uma hora para ver os motivos dela",
    ofHour: "da hora em que falharam",
    thatDay: { today: "Hoje", yesterday: "Ontem" },
    hours: (hour) => `das ${hour} h às ${hour + 1} h`,
    byHour: "Hoje por hora",
    perHour: "Por hora",
    hour: "Hora",
    paidOf: "Cobranças pagas, desde o início",
    ofCharges: (count) => (count === 1 ? "de 1 cobrança" : `de ${count} cobranças`),
    due: "Entregas pendentes",
    noneDue: "nenhuma pendente",
    oldest: "a mais antiga",
    behind: "em atraso",
    person: "Precisa de alguém",
    nothing: "Nada precisa de alguém agora.",
    blocked: (amount) => `${amount} bloqueados`,
    unallocated: (amount) => `${amount} não alocado`,
    dueWithin: (count, hours) => `${count} em até ${hours} h`,
    disputes: ({ isOne, text }) =>
      isOne ? ["1 contestação", "precisa de defesa"] : [`${text} contestações`, "precisam de defesa"],
    approvals: ({ isOne, text }) =>
      isOne ? ["1 pedido", "aguarda um segundo operador"] : [`${text} pedidos`, "aguardam um segundo operador"],
    payoutsNamed: ({ isOne, text }) =>
      isOne ? ["1 pagamento", "aguarda aprovação"] : [`${text} pagamentos`, "aguardam aprovação"],
    payments: ({ isOne, text }) =>
      isOne ? ["1 divergência", "está aberta"] : [`${text} divergências`, "estão abertas"],
    deliveries: ({ isOne, text }) =>
      isOne ? ["1 entrega", "falhou em um endpoint"] : [`${text} entregas`, "falharam em um endpoint"],
    endpoints: ({ isOne, text }) =>
      isOne ? ["1 endpoint", "está com falhas"] : [`${text} endpoints`, "estão com falhas"],
    certificates: ({ isOne, text }) =>
      isOne ? ["1 certificado", "vence em breve"] : [`${text} certificados`, "vencem em breve"],
    fanOuts: ({ isOne, text }) =>
      isOne ? ["1 mudança", "não pôde ser entregue"] : [`${text} mudanças`, "não puderam ser entregues"],
    closes: ({ isOne, text }) =>
      isOne ? ["1 conta", "tem um dia que não foi fechado"] : [`${text} contas`, "têm dias que não foram fechados"],
    review: "Ver",
    defend: "Defender",
    decide: "Decidir",
    look: "Ver",
    running: "Funcionamento",
    acquirer: "Criação de cobrança",
    latency: (p50, p99) => `p50 ${p50} ms, p99 ${p99} ms`,
    latencyHint: "com a resposta da instituição, das últimas 100",
    provider: "Instituição",
    simulated: "simulador",
    providerLatency: (p50, p95) => `p50 ${atMost(p50)}, p95 ${atMost(p95)}`,
    providerHint: "de todas as chamadas, menos as de listas, desde que este processo começou",
    noRequests: "nenhuma cobrança foi criada ainda",
    brakes: "Freios de conexões",
    noBrakes: "nenhum acionado",
    payoutsStopped: "pagamentos parados",
    chargesStopped: "cobranças paradas",
    attempts: "Tentativas bem-sucedidas, 7 dias",
    processing: "Em processamento",
    counts: (charges, payouts) =>
      `${charges} ${charges === 1 ? "cobrança" : "cobranças"}, ${payouts} ${payouts === 1 ? "pagamento" : "pagamentos"}`,
    certificate: "Próximo certificado",
    installation: "Token da instalação",
    uses: (count, hasMore) =>
      count === 1 ? "1 requisição em 24 horas" : `${count}${hasMore ? "+" : ""} requisições em 24 horas`,
    usesHint: "do registro de auditoria; as do último minuto são contadas no fim dele",
    lastUse: "última",
    from: "de",
    healthy: "normal",
    perDay: "Por dia",
    zone: (name) => `dias em ${name}`,
    day: "Dia",
    table: "Como tabela"
  }
})
