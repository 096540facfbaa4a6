/**
 * Pix keys, as DICT holds them.
 *
 * Guarantees: a key that is `Valid` here has the exact form of its type in DICT, so that no look-up is spent on a
 * key that cannot exist (bad look-ups cost tokens). The type is always told, never guessed from the text.
 *
 * Source: decisions.md "Values" (Pix keys) and "Finer points"; DICT API 1.7.2 (alphabet of e-mail keys).
 */
import * as Schema from "effect/Schema";
export declare const PixKeyType: Schema.Literals<readonly ["cpf", "cnpj", "email", "phone", "random"]>;
export type PixKeyType = typeof PixKeyType.Type;
/**
 * `InvalidDocument`: only characters that such a document may have, and yet no such document (check digits, or too
 * few or too many). `Malformed`: anything else that is not of its type's form.
 */
export type ParsedPixKey = {
    readonly _tag: "Valid";
    readonly value: string;
} | {
    readonly _tag: "Malformed";
} | {
    readonly _tag: "InvalidDocument";
};
/** The key in the form in which DICT holds it. */
export declare const parsePixKey: (type: PixKeyType, input: string) => ParsedPixKey;
