/**
 * CPF and CNPJ: API-11, IN RFB 2.229/2024 (alphanumeric CNPJ).
 *
 * Guarantees
 * - A parsed document is 11 digits (CPF), or 12 characters `[0-9A-Z]` and 2 digits (CNPJ), without punctuation, in upper
 *   case, with valid check digits.
 * - It is neither a CPF of one repeated digit nor the CNPJ of zeros, which have valid check digits.
 * - Nothing is imported: the clients check documents with it.
 */

export const documentTypes = ["cpf", "cnpj"] as const
export type DocumentType = (typeof documentTypes)[number]

export interface ParsedDocument {
  readonly type: DocumentType
  readonly value: string
}

/** The document without punctuation and in upper case, or `undefined` if the text is not a document. */
export const parseDocument = (input: string): ParsedDocument | undefined => {
  const bare = bareOf(input)
  // The shape is tested first: upper-casing turns some letters outside ASCII into ASCII ones.
  const type = documentShape(bare)
  // Of the CNPJs of one repeated digit, only that of zeros has valid check digits.
  if (type === undefined || repeated.test(bare)) return undefined
  const value = bare.toUpperCase()
  const isValid = [value.length - 2, value.length - 1].every(
    (index) => checkDigit(value, index, WEIGHTS[type]) === value.charCodeAt(index) - 48
  )
  return isValid ? { type, value } : undefined
}

/** The type of document whose shape a bare text has, whatever its check digits. */
export const documentShape = (bare: string): DocumentType | undefined =>
  cpfShape.test(bare) ? "cpf" : cnpjShape.test(bare) ? "cnpj" : undefined

/** A bare text: without `.`, `-`, `/` and spaces. */
export const bareOf = (input: string): string => input.replace(punctuation, "")

export const documentType = (document: string): DocumentType => (document.length === 11 ? "cpf" : "cnpj")

/** A bare document with its punctuation: `529.982.247-25`, `12.ABC.345/01DE-35`. Another text as it is. */
export const punctuated = (text: string): string => {
  const shape = documentShape(text)
  if (shape === undefined) return text
  return shape === "cpf"
    ? text.replace(/(.{3})(.{3})(.{3})/, "$1.$2.$3-")
    : text.replace(/(.{2})(.{3})(.{3})(.{4})/, "$1.$2.$3/$4-")
}

const punctuation = /[.\-/ ]/g
const cpfShape = /^[0-9]{11}$/
const cnpjShape = /^[0-9A-Za-z]{12}[0-9]{2}$/
const repeated = /^(.)\1*$/

// Weights run from the right: 2 to 11 for a CPF, 2 to 9 and round again for a CNPJ.
const WEIGHTS = { cpf: 10, cnpj: 8 }

/** Modulo 11 over the first `length` characters, each worth its ASCII code minus 48 (so A is 17, not 10). */
const checkDigit = (value: string, length: number, weights: number): number => {
  let sum = 0
  for (let index = 0; index < length; index++) {
    sum += (value.charCodeAt(index) - 48) * (2 + ((length - 1 - index) % weights))
  }
  const remainder = sum % 11
  return remainder < 2 ? 0 : 11 - remainder
}
