/**
 * Pix keys in the form of DICT: PAY-10, PAY-11. The alphabet of e-mail keys is that of DICT API 1.7.2.
 *
 * Guarantees
 * - A `Valid` key has the exact form of its type in DICT. No DICT lookup, which costs tokens, is made for a key that
 *   cannot exist.
 * - The caller gives the type. It is never guessed from the text.
 */
import * as Schema from "effect/Schema"
import { documentShape, parseDocument, stripMask } from "./Document.ts"

export const PixKeyType = Schema.Literals(["cpf", "cnpj", "email", "phone", "random"])
export type PixKeyType = typeof PixKeyType.Type

/**
 * `InvalidDocument`: a CPF or CNPJ of the right shape with wrong check digits. `Malformed`: any other text that does not
 * have the form of its type.
 */
export type ParsedPixKey =
  | { readonly _tag: "Valid"; readonly value: string }
  | { readonly _tag: "Malformed" }
  | { readonly _tag: "InvalidDocument" }

/** What a key of each type is, for people. */
export const pixKeyForms: Readonly<Record<PixKeyType, string>> = {
  cpf: "a CPF, 11 digits with or without mask",
  cnpj: "a CNPJ, 14 characters with or without mask",
  email: "an e-mail address of at most 77 characters",
  phone: "a phone number with its country, as +5511987654321",
  random: "a random key, a UUID as 123e4567-e89b-42d3-a456-426614174000"
}

/** The key in its DICT form. */
export const parsePixKey = (type: PixKeyType, input: string): ParsedPixKey => {
  switch (type) {
    case "cpf":
    case "cnpj":
      return documentKey(type, input)
    case "email":
      // The alphabet is tested first: lower-casing turns the Kelvin sign into a k.
      return input.length <= 77 && email.test(input) ? valid(input.toLowerCase()) : malformed
    case "phone":
      return phone.test(input) ? valid(input) : malformed
    case "random":
      return uuid.test(input) ? valid(input.toLowerCase()) : malformed
  }
}

/** Whether two texts are the same key. Providers write keys with a mask or in capitals, and do not say their type. */
export const isSamePixKey = (one: string, other: string): boolean => comparable(one) === comparable(other)

const comparable = (key: string): string => normalPixKey(key) ?? key.toLowerCase()

/** The DICT form of a key of any type, which no two types share; `undefined` where the text is no key. */
export const normalPixKey = (key: string): string | undefined => {
  for (const type of PixKeyType.literals) {
    const parsed = parsePixKey(type, key)
    if (parsed._tag === "Valid") return parsed.value
  }
  return undefined
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
