/**
 * CPF and CNPJ.
 *
 * Guarantees: a decoded `Document` is 11 digits (CPF) or 12 characters `[0-9A-Z]` and 2 digits (CNPJ), without mask, in
 * upper case, with right check digits; it is never a CPF of one repeated digit, nor the CNPJ of zeros alone, which
 * pass the arithmetic.
 *
 * Source: decisions.md "Values" and "Finer points"; IN RFB 2.229/2024 (alphanumeric CNPJ).
 */
import * as Schema from "effect/Schema";
export declare const DocumentType: Schema.Literals<readonly ["cpf", "cnpj"]>;
export type DocumentType = typeof DocumentType.Type;
export interface ParsedDocument {
    readonly type: DocumentType;
    readonly value: string;
}
/** The document without mask and in upper case, or `undefined` when it is none. */
export declare const parseDocument: (input: string) => ParsedDocument | undefined;
/** The text without `.`, `-`, `/` and spaces. */
export declare const stripMask: (input: string) => string;
/**
 * Any spelling of a document, decoded to the one without mask; what a client sends may keep its mask. A wrong
 * document of any length fails as `INVALID_DOCUMENT`; control characters are no text at all and fail as
 * `VALIDATION_ERROR`, alone.
 */
export declare const Document: Schema.decodeTo<Schema.String, Schema.String, never, never>;
export declare const documentType: (document: string) => DocumentType;
/** The document with its mask, as people write it: `529.982.247-25`, `12.ABC.345/01DE-35`. */
export declare const maskDocument: (document: string) => string;
