/**
 * Pix keys, as DICT holds them.
 *
 * Guarantees: a key that is `Valid` here has the exact form of its type in DICT, so that no look-up is spent on a
 * key that cannot exist (bad look-ups cost tokens). The type is always told, never guessed from the text.
 *
 * Source: decisions.md "Values" (Pix keys), "Decided after the first release"; DICT API 1.7.2 (alphabet of e-mail keys).
 */
import * as Schema from "effect/Schema"
import { documentShape, parseDocument, stripMask } from "./Document.ts"

export const PixKeyType = Schema.Literals(["cpf", "cnpj", "email", "phone", "random"])
export type PixKeyType = typeof PixKeyType.Type

/**
 * `InvalidDocument`: the shape of the document that the type names, with wrong check digits. `Malformed`: anything else
 * that is not of its type's form.
 */
export type ParsedPixKey =
  | { readonly _tag: "Valid"; readonly value: string }
  | { readonly _tag: "Malformed" }
  | { readonly _tag: "InvalidDocument" }

/** The key in the form in which DICT holds it. */
export const parsePixKey = (type: PixKeyType, input: string): ParsedPixKey => {
  switch (type) {
    case "cpf":
    case "cnpj":
      return documentKey(type, input)
    case "email":
      // The alphabet is tested before the case is changed: lower-casing turns the Kelvin sign into a k.
      return input.length <= 77 && email.test(input) ? valid(input.toLowerCase()) : malformed
    case "phone":
      return phone.test(input) ? valid(input) : malformed
    case "random":
      return uuid.test(input) ? valid(input.toLowerCase()) : malformed
  }
}

const documentKey = (type: "cpf" | "cnpj", input: string): ParsedPixKey => {
  if (documentShape(stripMask(input)) !== type) return malformed
  const document = parseDocument(input)
  return document !== undefined ? valid(document.value) : { _tag: "InvalidDocument" }
}

const valid = (value: string): ParsedPixKey => ({ _tag: "Valid", value })
const malformed: ParsedPixKey = { _tag: "Malformed" }

const email =
  /^[A-Za-z0-9.!#$&'*+/=?^_`{|}~-]+@[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*$/
const phone = /^\+55[0-9]{10,11}$/
const uuid = /^[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}$/
