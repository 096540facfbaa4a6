/**
 * Personal data in answers, and how it is masked: OPR-48.
 *
 * Guarantees
 * - The annotation of a field says what it contains. `maskOf` compiles a schema to the function that masks its values;
 *   there is no other list of fields.
 * - Masking a masked value changes nothing.
 */
import * as Schema from "effect/Schema"
import * as SchemaAST from "effect/SchemaAST"

/**
 * What a field contains. `fields` is an object whose fields are known by their names, `change` the values `before` and
 * `after` of the `field` that it names, `text` the text of somebody else, which may quote any of them.
 */
export type PersonalKind = "document" | "email" | "phone" | "pix_key" | "fields" | "change" | "text"

/** The annotation of a field with personal data: `Schema.String.annotate(personal("document"))`. */
export const personal = (kind: PersonalKind): { readonly personal: PersonalKind } => ({ personal: kind })

type Mask = (value: unknown) => unknown

/** The function that masks values of a schema; `undefined` where it has no personal data. */
export const maskOf = (schema: Schema.Constraint): Mask | undefined => maskOfAst(schema.ast)

/** `***982247**`: the middle of a CPF, a CNPJ or a number of a bank account. */
export const maskDocument = (text: string): string => {
  if (text.length < 6) return hidden(text)
  const start = Math.min(3, Math.floor(text.length / 3))
  const end = Math.min(start + 6, text.length - 2)
  return "*".repeat(start) + text.slice(start, end) + "*".repeat(text.length - end)
}

/** `m***@example.com` */
export const maskEmail = (text: string): string => {
  const at = text.lastIndexOf("@")
  return at < 1 ? hidden(text) : `${text.slice(0, 1)}***${text.slice(at)}`
}

/** `+*********5678` */
export const maskPhone = (text: string): string => {
  const sign = text.startsWith("+") && text.length > 1 ? "+" : ""
  const shown = Math.min(4, Math.floor(text.length / 3))
  return sign + "*".repeat(text.length - shown - sign.length) + text.slice(text.length - shown)
}

/** As what the key is: an e-mail address, a phone, a document or a random key, of which the first eight are shown. */
export const maskPixKey = (text: string): string => {
  if (text.includes("@")) return maskEmail(text)
  if (text.startsWith("+")) return maskPhone(text)
  return text.length > 20 ? text.slice(0, 8) + hidden(text.slice(8)) : maskDocument(text)
}

/**
 * Words without digits stay, and numbers of up to three digits. Masked are longer numbers, also with separators between
 * their digits, words with a digit, and words with `@` or an escaped character: `{"email":"*****@*******.***"}`.
 */
export const maskText = (text: string): string => {
  // A long text may have been cut within an address, so its last word is masked, too.
  let end = text.length
  if (end >= LONG_TEXT) while (end > 0 && !/[\s"']/.test(text[end - 1]!)) end--
  return text
    .replace(separatedDigits, withoutLetters)
    .replace(words, (word, start: number) => (start < end && isPlain(word) ? word : withoutLetters(word)))
}

/** A text of 1 KiB has at least as many characters. */
const LONG_TEXT = 256
const separatedDigits = /\p{N}(?:[^\p{L}\p{N}]{0,3}\p{N}){5,}/gu
const words = /[^\s"'`<>{}[\](),;:|]+/gu
const isPlain = (word: string): boolean => !/[@%&\\\p{N}]/u.test(word) || /^\p{N}{1,3}$/u.test(word)
const withoutLetters = (text: string): string => text.replace(/[\p{L}\p{N}]/gu, "*")

const hidden = (text: string): string => "*".repeat(text.length)

/** The names of personal fields in an object without a schema. */
const namedFields: Readonly<Record<string, PersonalKind>> = {
  document: "document",
  recipient_document: "document",
  email: "email",
  phone: "phone",
  pix_key: "pix_key",
  recipients: "pix_key",
  // Of a bank account.
  account: "document",
  current_account: "document",
  number: "document",
  // Of a line that a bank's statement and the books do not share.
  explanation: "text",
  // Of an alert channel, which viewers do not see.
  target: "text"
}

const masks: Readonly<Record<Exclude<PersonalKind, "fields" | "change">, (text: string) => string>> = {
  document: maskDocument,
  email: maskEmail,
  phone: maskPhone,
  pix_key: maskPixKey,
  text: maskText
}

const maskAs = (kind: PersonalKind): Mask => {
  if (kind === "fields") return maskFields
  if (kind === "change") return maskChange
  const mask: Mask = (value) => {
    if (Array.isArray(value)) return value.map(mask)
    return typeof value === "string" ? masks[kind](value) : maskFields(value)
  }
  return mask
}

const maskFields: Mask = (value) => {
  if (Array.isArray(value)) return value.map(maskFields)
  if (!isRecord(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, maskNamed(name, field)]))
}

const maskNamed = (name: string, value: unknown): unknown => {
  const kind = namedFields[name]
  return kind === undefined ? maskFields(value) : maskAs(kind)(value)
}

const maskChange: Mask = (value) => {
  if (!isRecord(value)) return value
  const { after, before, field } = value
  return { ...value, before: maskNamed(String(field), before), after: maskNamed(String(field), after) }
}

const maskOfAst = (ast: SchemaAST.AST): Mask | undefined => {
  const kind = SchemaAST.resolve(ast)?.["personal"]
  if (typeof kind === "string") return maskAs(kind as PersonalKind)
  switch (ast._tag) {
    case "Objects":
      return maskOfObject(ast)
    case "Arrays": {
      const item = inTurn([...ast.elements, ...ast.rest].map(maskOfAst))
      return item === undefined ? undefined : (value) => (Array.isArray(value) ? value.map(item) : value)
    }
    case "Union":
      return inTurn(ast.types.map(maskOfAst))
    default:
      return undefined
  }
}

const maskOfObject = (ast: SchemaAST.Objects): Mask | undefined => {
  const fields = ast.propertySignatures.flatMap(({ name, type }) => {
    const mask = maskOfAst(type)
    return mask === undefined ? [] : [[name, mask] as const]
  })
  if (fields.length === 0) return undefined
  return (value) => {
    if (!isRecord(value)) return value
    const masked: Record<PropertyKey, unknown> = { ...value }
    for (const [name, mask] of fields) if (name in masked) masked[name] = mask(masked[name])
    return masked
  }
}

/** All masks one after the other, each of which leaves the values of the others' members as they are. */
const inTurn = (all: ReadonlyArray<Mask | undefined>): Mask | undefined => {
  const some = all.filter((mask) => mask !== undefined)
  return some.length === 0 ? undefined : (value) => some.reduce((masked, mask) => mask(masked), value)
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)
