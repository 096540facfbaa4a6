/**
 * Statements as a journal: each transfer as a debit and a credit of a chart of accounts, which is in balance by itself.
 */
import { ledgerKinds } from "../Ledger.ts"
import { BOM, type CsvOptions } from "./Csv.ts"
import { describe, type Format, reais, type StatementLine } from "./Format.ts"

/** The account of the chart for each ledger account. Those that are not given have the ledger's name. */
export type Chart = Readonly<Record<string, string>>

export const journal = (chart: Chart, { bom, decimal }: Pick<CsvOptions, "bom" | "decimal">): Format => ({
  contentType: "text/csv; charset=utf-8",
  extension: "journal.csv",
  isComplete: true,
  begin: () => `${bom ? BOM : ""}date;debit;credit;value;history;document\r\n`,
  line: ({ movement, transaction }: StatementLine) =>
    `${[
      movement.day,
      chart[movement.debit] ?? movement.debit,
      chart[movement.credit] ?? movement.credit,
      reais(Number(movement.amount), decimal),
      describe(transaction),
      transaction.end_to_end_id ?? movement.id
    ]
      .map((cell) => (/^[=+\-@\t\r]/.test(cell) ? `'${cell}` : cell))
      .map((cell) => (/[;"\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell))
      .join(";")}\r\n`,
  end: () => ""
})

/** `available=2.1.1.01,acquirer=1.1.1.02`; undefined where it is none, or names something that is no ledger account. */
export const chartOf = (text: string): Chart | undefined => {
  const pairs = text.split(",").map((pair) => chartPair.exec(pair.trim()))
  return pairs.includes(null) ? undefined : Object.fromEntries(pairs.map((pair) => [pair![1]!, pair![2]!]))
}

const chartPair = new RegExp(`^(${ledgerKinds.join("|")})=([\\w.\\- ]{1,40})$`)
