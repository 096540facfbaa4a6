/** A CPF or CNPJ as a field of requests: API-11. */
import * as Schema from "effect/Schema"
import * as SchemaTransformation from "effect/SchemaTransformation"
import { documentTypes, parseDocument } from "./Document.ts"
import { failsWith } from "./ErrorCode.ts"
import { A_DOCUMENT } from "./Reason.ts"
import { isPrintable } from "./Text.ts"

export const DocumentType = Schema.Literals(documentTypes)

const DocumentText = Schema.String.check(
  Schema.makeFilter(isPrintable, { expected: "text without control characters" }, true),
  Schema.makeFilter((input: string) => parseDocument(input) !== undefined, {
    expected: A_DOCUMENT,
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
