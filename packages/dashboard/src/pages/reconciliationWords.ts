/** The words of the pages of reconciliations. */
import type { LineState } from "@pix-payments/domain/Reconciliation"
import { inBoth } from "../words/Words.ts"

const statesInEnglish: Readonly<Record<LineState, string>> = {
  matched: "matched",
  missing_here: "not in the books",
  missing_there: "not at the bank",
  amount_differs: "other amount",
  state_differs: "other state",
  timing: "on another day",
  other_key: "of another key",
  bank_fee: "bank fee",
  owner: "moved by the owner"
}

const statesInPortuguese: Readonly<Record<LineState, string>> = {
  matched: "confere",
  missing_here: "não está nos livros",
  missing_there: "não está no banco",
  amount_differs: "outro valor",
  state_differs: "outro estado",
  timing: "em outro dia",
  other_key: "de outra chave",
  bank_fee: "tarifa do banco",
  owner: "movido pelo titular"
}

export const reconciliationWords = inBoth({
  en: {
    states: statesInEnglish,
    empty: "No day is compared. Import a statement of the bank: its days are compared by themselves.",
    day: "Day",
    difference: "Difference",
    unmatched: "Unmatched",
    connection: "Connection",
    import: "Import statement",
    importQuestion: "The lines of the bank's files are stored once, and their days are compared with the books.",
    files: "Files",
    filesHint: "OFX or CNAB 240, up to 8 MiB each",
    imported: (read: number, added: number, unread: number) =>
      `${read} ${read === 1 ? "line" : "lines"} read, ${added} new${unread === 0 ? "" : `, ${unread} not read`}`,
    line: (line: number) => `line ${line}`,
    importedFiles: "Imported files",
    file: "File",
    moreUnread: (count: number) => `${count} more lines were not read.`,
    compare: "Compare again",
    compareQuestion: "What the bank has and the books have not is looked up at the bank and booked.",
    sums: "Sums",
    opening: "Opening at the bank",
    closing: "Closing at the bank",
    bank: "Bank",
    books: "Books",
    unexplained: "Missing in the statement",
    balance: "Balance by the bank's API",
    readAt: "Read",
    change: "Changed since the reading before",
    notRead: "Not read",
    balanceHint:
      "The difference is the owner's own money. Where it changes, the bank took or got what the books do not know.",
    byState: "By state",
    lines: "What does not match",
    allMatch: "Everything matches.",
    state: "State",
    count: "Lines",
    all: "all",
    age: (days: number) => (days === 1 ? "1 day" : `${days} days`),
    ageName: "Age",
    suggestions: "May be",
    leftOut: (count: number) => `${count} more lines are not kept.`,
    explain: "Explain",
    explainQuestion: (state: string, difference: string) =>
      `${state}, ${difference}. No money moves: the line is shown as explained, and no alert counts it.`,
    explanation: "Explanation",
    explanationLength: "Up to 500 characters",
    explanationHint: "Up to 500 characters. Empty: the line is not explained any more.",
    statuses: { requested: "requested", done: "compared", open: "differs", failed: "not compared" }
  },
  pt: {
    states: statesInPortuguese,
    empty: "Nenhum dia foi conferido. Importe um extrato do banco: os dias dele são conferidos sozinhos.",
    day: "Dia",
    difference: "Diferença",
    unmatched: "Pendentes",
    connection: "Conexão",
    import: "Importar extrato",
    importQuestion:
      "Os lançamentos dos arquivos do banco são guardados uma vez, e os dias deles são conferidos com os livros.",
    files: "Arquivos",
    filesHint: "OFX ou CNAB 240, até 8 MiB cada",
    imported: (read: number, added: number, unread: number) =>
      `${read} ${read === 1 ? "lançamento lido" : "lançamentos lidos"}, ${added} ${added === 1 ? "novo" : "novos"}` +
      (unread === 0 ? "" : `, ${unread} ${unread === 1 ? "não lido" : "não lidos"}`),
    line: (line: number) => `linha ${line}`,
    importedFiles: "Arquivos importados",
    file: "Arquivo",
    moreUnread: (count: number) => `Mais ${count} lançamentos não foram lidos.`,
    compare: "Conferir de novo",
    compareQuestion: "O que o banco tem e os livros não têm é consultado no banco e lançado.",
    sums: "Somas",
    opening: "Saldo inicial no banco",
    closing: "Saldo final no banco",
    bank: "Banco",
    books: "Livros",
    unexplained: "Falta no extrato",
    balance: "Saldo pela API do banco",
    readAt: "Lido",
    change: "Mudou desde a leitura anterior",
    notRead: "Não foi lido",
    balanceHint:
      "A diferença é o dinheiro do próprio titular. Onde ela muda, o banco cobrou ou recebeu o que os livros não conhecem.",
    byState: "Por estado",
    lines: "O que não confere",
    allMatch: "Tudo confere.",
    state: "Estado",
    count: "Lançamentos",
    all: "todos",
    age: (days: number) => (days === 1 ? "1 dia" : `${days} dias`),
    ageName: "Idade",
    suggestions: "Pode ser",
    leftOut: (count: number) => `Mais ${count} lançamentos não são guardados.`,
    explain: "Explicar",
    explainQuestion: (state: string, difference: string) =>
      `${state}, ${difference}. Nenhum dinheiro é movido: o lançamento aparece como explicado, e nenhum alerta o conta.`,
    explanation: "Explicação",
    explanationLength: "Até 500 caracteres",
    explanationHint: "Até 500 caracteres. Vazia: o lançamento deixa de ser explicado.",
    statuses: { requested: "a conferir", done: "conferido", open: "com pendências", failed: "não conferido" }
  }
})

/** The word of a line's state. */
export const lineStateName = (state: string): string =>
  (reconciliationWords().states as Readonly<Record<string, string>>)[state] ?? state

export const dayStatusName = (status: string): string =>
  (reconciliationWords().statuses as Readonly<Record<string, string>>)[status] ?? status
