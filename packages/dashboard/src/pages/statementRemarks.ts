/** What the service says of files of banks and of their days, in the language of the page. */
import { type statementRemarks } from "@pix-payments/domain/BankStatement"
import type { dayFailures } from "@pix-payments/domain/Reconciliation"
import { language } from "../words/Words.ts"

const inPortuguese: Readonly<Record<(typeof statementRemarks)[number] | (typeof dayFailures)[number], string>> = {
  "it is a balance, not a movement": "é um saldo, não um lançamento",
  "it is no record of a statement": "não é um registro de extrato",
  "it has # columns instead of #": "tem # colunas em vez de #",
  "it repeats line #: the same id, day, amount and text": "repete a linha #: o mesmo id, dia, valor e texto",
  "its amount cannot be read": "o valor não pode ser lido",
  "its amount has no sign, and its type does not say which way it went":
    "o valor não tem sinal, e o tipo não diz se entrou ou saiu",
  "it is a debit without a minus sign, in a file that has minus signs":
    "é um débito sem sinal de menos, em um arquivo que tem sinais de menos",
  "its day cannot be read": "o dia não pode ser lido",
  "its day is to come": "o dia ainda não chegou",
  "it says neither debit nor credit": "não diz se é débito ou crédito",
  "it moves nothing": "não move nada",
  "the file ends within it": "o arquivo termina no meio deste lançamento",
  "it ends before its end": "o arquivo termina antes do fim",
  "its days cannot be read": "os dias do extrato não podem ser lidos",
  "its closing balance cannot be read": "o saldo final não pode ser lido",
  "the day of its closing balance is to come": "o dia do saldo final ainda não chegou",
  "line #: the opening balance cannot be read": "linha #: o saldo inicial não pode ser lido",
  "line #: the closing balance cannot be read": "linha #: o saldo final não pode ser lido",
  "line #: it counts # records, and its lot has #": "linha #: conta # registros, e o lote tem #",
  "line #: its debits cannot be read": "linha #: os débitos não podem ser lidos",
  "line #: its credits cannot be read": "linha #: os créditos não podem ser lidos",
  "line #: its debits are # cents, and those of the lines # cents":
    "linha #: os débitos são # centavos, e os dos lançamentos # centavos",
  "line #: its credits are # cents, and those of the lines # cents":
    "linha #: os créditos são # centavos, e os dos lançamentos # centavos",
  "opening and lines are # cents, and its closing is # cents":
    "saldo inicial e lançamentos somam # centavos, e o saldo final é # centavos",
  "no statement of the bank has this day": "nenhum extrato do banco tem este dia",
  "the bank has more than # lines around the day": "o banco tem mais de # lançamentos em torno do dia",
  "the books have more than # movements around the day": "os livros têm mais de # movimentos em torno do dia"
}

/** A remark that is not known stays as it is. */
export const remarkText = (remark: string): string => {
  const numbers = remark.match(NUMBER) ?? []
  const translated = (inPortuguese as Readonly<Record<string, string>>)[remark.replaceAll(NUMBER, "#")]
  if (language.value !== "pt" || translated === undefined) return remark
  return translated.replaceAll("#", () => numbers.shift() ?? "")
}

const NUMBER = /-?\d+/g
