/**
 * Pix keys in the form of DICT: PAY-10, PAY-11. The alphabet of e-mail keys is that of DICT API 1.7.2.
 *
 * Guarantees
 * - A `Valid` key has the exact form of its type in DICT. No DICT lookup, which costs tokens, is made for a key that
 *   cannot exist.
 * - The caller gives the type. It is never guessed from the text.
 * - Nothing of effect is imported: the clients check keys with it.
 */
import { documentShape, parseDocument, bareOf } from "./Document.ts"

export const pixKeyTypes = ["cpf", "cnpj", "email", "phone", "random"] as const
export type PixKeyType = (typeof pixKeyTypes)[number]

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
  cpf: "a CPF of 11 digits with right check digits",
  cnpj: "a CNPJ of 14 characters with right check digits",
  email: "an e-mail address of at most 77 characters",
  phone: "a phone number as +5511987654321",
  random: "a UUID"
}

/** The key in its DICT form. */
export const parsePixKey = (type: PixKeyType, input: string): ParsedPixKey => {
  if (type === "cpf" || type === "cnpj") {
    if (documentShape(bareOf(input)) !== type) return malformed
    const document = parseDocument(input)
    return document !== undefined ? valid(document.value) : { _tag: "InvalidDocument" }
  }
  // The alphabet is tested first: lower-casing turns the Kelvin sign into a k.
  return shapes[type].test(input) ? valid(input.toLowerCase()) : malformed
}

/** Whether a text is a key of a type. */
export const isPixKey = (type: PixKeyType, input: string): boolean =>
  type === "cpf" || type === "cnpj" ? parseDocument(input)?.type === type : shapes[type].test(input)

/** Whether two texts are the same key. Providers write keys with punctuation or in capitals, and do not say their type. */
export const isSamePixKey = (one: string, other: string): boolean => comparable(one) === comparable(other)

const comparable = (key: string): string => normalPixKey(key) ?? key.toLowerCase()

/** The DICT form of a key of any type, which no two types share; `undefined` where the text is no key. */
export const normalPixKey = (key: string): string | undefined => {
  for (const type of pixKeyTypes) {
    const parsed = parsePixKey(type, key)
    if (parsed._tag === "Valid") return parsed.value
  }
  return undefined
}

const valid = (value: string): ParsedPixKey => ({ _tag: "Valid", value })
const malformed: ParsedPixKey = { _tag: "Malformed" }

// Without the flag `u`, `i` folds no letter outside ASCII into an ASCII one.
const shapes = {
  email:
    /^(?=.{1,77}$)[a-z0-9.!#$&'*+/=?^_`{|}~-]+@[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)*$/i,
  phone: /^\+55[0-9]{10,11}$/,
  random: /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i
}
