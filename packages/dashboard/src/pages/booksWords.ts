/** The words of the pages of the books: statements and closes. */
import { inBoth } from "../words/Words.ts"

export const booksWords = inBoth({
  en: {
    type: "Type",
    balance: "Balance",
    noBooks: "No account yet.",
    empty: "No movement in this period.",
    opening: "Opening",
    net: "In and out",
    closing: "Closing",
    closingOf: (day: string) => `Closing, ${day}`,
    lastDays: "Last closed days",
    allCloses: "All",
    fee: (amount: string) => `fee ${amount}`,
    files: "Files",
    package: "Whole month (zip)",
    packageSoFar: "Month until today (zip)",
    journal: "Journal",
    allLines: "All lines, to print",
    noCloses: "No day is closed. A day is closed ten minutes after its end.",
    credits: "In",
    debits: "Out",
    fees: "Fees",
    lines: "Entries",
    chain: "Chain",
    chains: { chained: "chained", broken: "broken", first: "first day", unknown: "next page" },
    unclosed: (day: string) =>
      `${day} has ended and is not closed. The service tries again each minute; its log says what failed.`,
    verify: "Verify",
    verified: "The newest closed day and its chain are as they were closed.",
    changed: (day: string, problem: string) => `${day} is not as it was: ${problem}`,
    problems: {
      transfers: "its entries changed",
      close: "its own figures changed",
      chain: "it does not continue the day before",
      missing: "its close is missing"
    } as Readonly<Record<string, string>>
  },
  pt: {
    type: "Tipo",
    balance: "Saldo",
    noBooks: "Nenhuma conta ainda.",
    empty: "Nenhum lançamento neste período.",
    opening: "Saldo inicial",
    net: "Entradas e saídas",
    closing: "Saldo final",
    closingOf: (day) => `Saldo final, ${day}`,
    lastDays: "Últimos dias fechados",
    allCloses: "Todos",
    fee: (amount) => `tarifa ${amount}`,
    files: "Arquivos",
    package: "Mês inteiro (zip)",
    packageSoFar: "Mês até hoje (zip)",
    journal: "Partidas",
    allLines: "Todos os lançamentos, para imprimir",
    noCloses: "Nenhum dia foi fechado. Um dia é fechado dez minutos depois do fim.",
    credits: "Entradas",
    debits: "Saídas",
    fees: "Tarifas",
    lines: "Lançamentos",
    chain: "Encadeamento",
    chains: { chained: "encadeado", broken: "quebrado", first: "primeiro dia", unknown: "na próxima página" },
    unclosed: (day) =>
      `${day} terminou e não foi fechado. O serviço tenta de novo a cada minuto; o registro dele diz o que falhou.`,
    verify: "Verificar",
    verified: "O último dia fechado e o encadeamento dele estão como foram fechados.",
    changed: (day, problem) => `${day} não está como era: ${problem}`,
    problems: {
      transfers: "os lançamentos mudaram",
      close: "os próprios valores mudaram",
      chain: "não continua o dia anterior",
      missing: "o fechamento sumiu"
    }
  }
})
