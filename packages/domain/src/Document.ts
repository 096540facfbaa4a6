/**
 * CPF and CNPJ: API-11, IN RFB 2.229/2024 (alphanumeric CNPJ).
 *
 * Guarantees
 * - A decoded `Document` is 11 digits (CPF), or 12 characters `[0-9A-Z]` and 2 digits (CNPJ), without mask, in upper
 *   case, with valid check digits.
 * - It is neither a CPF of one repeated digit nor the CNPJ of zeros, which have valid check digits.
 */
import * as Schema from "effect/Schema"
import * as SchemaTransformation from "effect/SchemaTransformation"
import { failsWith } from "./ErrorCode.ts"
import { isPrintable } from "./Text.ts"

export const DocumentType = Schema.Literals(["cpf", "cnpj"])
export type DocumentType = typeof DocumentType.Type

export interface ParsedDocument {
  readonly type: DocumentType
  readonly value: string
}

/** The document without mask and in upper case, or `undefined` if the text is not a document. */
export const parseDocument = (input: string): ParsedDocument | undefined => {
  const bare = stripMask(input)
  const shape = documentShape(bare)
  if (shape === "cpf") {
    return !repeated.test(bare) && hasCheckDigits(bare, CPF_WEIGHTS) ? { type: "cpf", value: bare } : undefined
  }
  // The shape is tested first: upper-casing turns some letters outside ASCII into ASCII ones.
  if (shape === "cnpj") {
    const value = bare.toUpperCase()
    return value !== ZERO_CNPJ && hasCheckDigits(value, CNPJ_WEIGHTS) ? { type: "cnpj", value } : undefined
  }
  return undefined
}

/** The type of document whose shape a text without mask has, whatever its check digits. */
export const documentShape = (bare: string): DocumentType | undefined =>
  cpfShape.test(bare) ? "cpf" : cnpjShape.test(bare) ? "cnpj" : undefined

/** The text without `.`, `-`, `/` and spaces. */
export const stripMask = (input: string): string => input.replace(mask, "")

const DocumentText = Schema.String.check(
  Schema.makeFilter(isPrintable, { expected: "text without control characters" }, true),
  Schema.makeFilter((input: string) => parseDocument(input) !== undefined, {
    expected: "a CPF or CNPJ",
    ...failsWith("INVALID_DOCUMENT"),
    toJsonSchema: () => [{ description: "CPF or CNPJ, with or without mask." }, true],
    // For generated test values: random text practically never has valid check digits.
    arbitraryConstraint: {
      patterns: [{ source: "^(?:52998224725|11144477735|12ABC34501DE35|11222333000181)$", flags: "" }]
    }
  })
)

/**
 * A document with or without mask, decoded to the form without. Encoding keeps the mask. Text that is no document is
 * `INVALID_DOCUMENT`; text with control characters is `VALIDATION_ERROR` only.
 */
export const Document = DocumentText.pipe(
  Schema.decodeTo(
    DocumentText,
    SchemaTransformation.transform({
      decode: (input) => parseDocument(input)?.value ?? input,
      encode: (document) => document
    })
  )
)

export const documentType = (document: string): DocumentType => (document.length === 11 ? "cpf" : "cnpj")

/** The document with its mask: `529.982.247-25`, `12.ABC.345/01DE-35`. */
export const maskDocument = (document: string): string =>
  documentType(document) === "cpf"
    ? document.replace(/^(.{3})(.{3})(.{3})(.{2})$/, "$1.$2.$3-$4")
    : document.replace(/^(.{2})(.{3})(.{3})(.{4})(.{2})$/, "$1.$2.$3/$4-$5")

const mask = /[.\-/ ]/g
const cpfShape = /^[0-9]{11}$/
const cnpjShape = /^[0-9A-Za-z]{12}[0-9]{2}$/
const repeated = /^(.)\1*$/
const ZERO_CNPJ = "0".repeat(14)

// Weights run from the right: 2 to 11 for a CPF, 2 to 9 and round again for a CNPJ.
const CPF_WEIGHTS = 10
const CNPJ_WEIGHTS = 8

const hasCheckDigits = (value: string, weights: number): boolean => {
  const base = value.length - 2
  return (
    checkDigit(value, base, weights) === value.charCodeAt(base) - 48 &&
    checkDigit(value, base + 1, weights) === value.charCodeAt(base + 1) - 48
  )
}

/** Modulo 11 over the first `length` characters, each worth its ASCII code minus 48 (so A is 17, not 10). */
const checkDigit = (value: string, length: number, weights: number): number => {
  let sum = 0
  for (let index = 0; index < length; index++) {
    sum += (value.charCodeAt(index) - 48) * (2 + ((length - 1 - index) % weights))
  }
  const remainder = sum % 11
  return remainder < 2 ? 0 : 11 - remainder
}
