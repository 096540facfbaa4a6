/**
 * What a receipt says, in Portuguese and English. Page and PDF have the same lines.
 *
 * Guarantees:
 * - The text depends on the receipt and the language alone.
 * - Documents are masked. Control characters, and those that change the direction of text, are left out.
 */
import { maskDocument } from "@pix-payments/domain/PersonalData"
import type { ReceiptKind } from "./ReceiptCode.ts"

export type ReceiptLanguage = "pt" | "en"

export interface ReceiptParty {
  readonly name: string | null
  readonly document: string | null
  readonly institution: string | null
}

export interface Receipt {
  readonly kind: ReceiptKind
  readonly id: string
  readonly amount: number
  readonly atMs: number
  readonly payer: ReceiptParty
  readonly payee: ReceiptParty
  readonly endToEndId: string | null
  /** Of a refund, where the provider named it. */
  readonly returnId: string | null
  readonly description: string | null
  /** Who issues it: the account. */
  readonly issuer: string
  readonly code: string
}

/** A title, lines of a name and a value, and what stands below. */
export interface ReceiptText {
  readonly language: ReceiptLanguage
  readonly title: string
  readonly amount: string
  readonly sections: ReadonlyArray<{ readonly title: string; readonly lines: ReadonlyArray<readonly [string, string]> }>
  readonly notice: string
  readonly verify: string
}

export const textOf = (receipt: Receipt, language: ReceiptLanguage): ReceiptText => {
  const words = languages[language]
  const party = ({ document, institution, name }: ReceiptParty) =>
    present([
      [words.name, name],
      [words.document, document === null ? null : maskDocument(document)],
      [words.institution, institution]
    ])
  return {
    language,
    title: words.titles[receipt.kind],
    amount: reais(receipt.amount, language),
    sections: [
      {
        title: words.payment,
        lines: present([
          [words.date, dateOf(receipt.atMs, language)],
          [words.endToEndId, receipt.endToEndId],
          [words.returnId, receipt.returnId],
          [words.description, receipt.description],
          [words.id, receipt.id]
        ])
      },
      { title: words.payer, lines: party(receipt.payer) },
      { title: words.payee, lines: party(receipt.payee) }
    ].filter(({ lines }) => lines.length > 0),
    notice: words.notice(plain(receipt.issuer)),
    verify: words.verify
  }
}

/** What is said of a code that names no receipt. */
export const unknownReceipt = { pt: "Este código não é de um comprovante.", en: "This code is of no receipt." }

/** What the verifying page says first. */
export const validReceipt = { pt: "Comprovante autêntico", en: "The receipt is authentic" }

const languages = {
  pt: {
    titles: {
      charge: "Comprovante de Pix recebido",
      payout: "Comprovante de Pix enviado",
      refund: "Comprovante de devolução de Pix"
    },
    payment: "Pagamento",
    date: "Data e hora",
    endToEndId: "ID da transação",
    returnId: "ID da devolução",
    description: "Descrição",
    id: "Identificador",
    payer: "De",
    payee: "Para",
    name: "Nome",
    document: "CPF ou CNPJ",
    institution: "Instituição",
    notice: (issuer: string) => `Emitido por ${issuer}. Não é um comprovante do banco.`,
    verify: "Confira este comprovante em"
  },
  en: {
    titles: {
      charge: "Receipt of a received Pix",
      payout: "Receipt of a sent Pix",
      refund: "Receipt of a returned Pix"
    },
    payment: "Payment",
    date: "Date and time",
    endToEndId: "End-to-end id",
    returnId: "Return id",
    description: "Description",
    id: "Identifier",
    payer: "From",
    payee: "To",
    name: "Name",
    document: "CPF or CNPJ",
    institution: "Institution",
    notice: (issuer: string) => `Issued by ${issuer}. It is not a receipt of the bank.`,
    verify: "Verify this receipt at"
  }
}

const present = (lines: ReadonlyArray<readonly [string, string | null]>): ReadonlyArray<readonly [string, string]> =>
  lines.flatMap(([name, value]) => {
    const text = value === null ? "" : plain(value)
    return text === "" ? [] : [[name, text] as const]
  })

const plain = (text: string): string =>
  text
    .replace(/[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]+/gu, " ")
    .trim()
    .normalize("NFC")

/** `R$ 1.234,56` and `R$ 1,234.56`. */
const reais = (cents: number, language: ReceiptLanguage): string => {
  const [group, point] = language === "pt" ? [".", ","] : [",", "."]
  const whole = String(Math.floor(cents / 100)).replace(/\B(?=(\d{3})+$)/g, group)
  return `R$ ${whole}${point}${String(cents % 100).padStart(2, "0")}`
}

// Parts, because the forms of languages change with the version of the runtime.
const clock = new Intl.DateTimeFormat("en-GB", {
  timeZone: "America/Sao_Paulo",
  hourCycle: "h23",
  ...({
    year: "numeric",
    month: "2-digit",
    day: "2-digit",
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit"
  } as const)
})

const dateOf = (atMs: number, language: ReceiptLanguage): string => {
  const { day, hour, minute, month, second, year } = Object.fromEntries(
    clock.formatToParts(atMs).map(({ type, value }) => [type, value])
  )
  const date = language === "pt" ? `${day}/${month}/${year}` : `${year}-${month}-${day}`
  return `${date} ${hour}:${minute}:${second} (Brasília)`
}
