import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import { isPixKey, isSamePixKey, parsePixKey, type PixKeyType, pixKeyTypes } from "../src/PixKey.ts"
import { vectors } from "./vectors.ts"

const valid = (value: string) => ({ _tag: "Valid" as const, value })
const malformed = { _tag: "Malformed" as const }
const invalidDocument = { _tag: "InvalidDocument" as const }

const cases: ReadonlyArray<
  readonly [rule: string, type: PixKeyType, input: string, expected: ReturnType<typeof parsePixKey>]
> = [
  ["cpf: mask stripped", "cpf", "529.982.247-25", valid("52998224725")],
  ["cpf: check digits validated", "cpf", "529.982.247-26", invalidDocument],
  ["cpf: one repeated digit", "cpf", "111.111.111-11", invalidDocument],
  ["cpf: letters are not of its form", "cpf", "5299822472A", malformed],
  ["cpf: not the shape of a CPF", "cpf", "123", malformed],
  ["cpf: a CNPJ is not a CPF", "cpf", "11.222.333/0001-81", malformed],
  ["cpf: an e-mail", "cpf", "ana@example.com", malformed],
  ["cpf: an empty key", "cpf", "", malformed],
  ["cpf: a mask alone", "cpf", ".-", malformed],
  ["cnpj: mask stripped", "cnpj", "11.222.333/0001-81", valid("11222333000181")],
  ["cnpj: alphanumeric, upper-cased", "cnpj", "12.abc.345/01de-35", valid("12ABC34501DE35")],
  ["cnpj: check digits validated", "cnpj", "12.ABC.345/01DE-45", invalidDocument],
  ["cnpj: all zero", "cnpj", "00000000000000", invalidDocument],
  ["cnpj: a CPF is not a CNPJ", "cnpj", "52998224725", malformed],
  ["cnpj: letters where check digits belong", "cnpj", "12ABC34501DE3X", malformed],
  ["cnpj: not of its form", "cnpj", "12.ABC.345/01DE_35", malformed],
  ["email: lower-cased", "email", "Fulano.De_Tal+Loja@Exemplo.COM.br", valid("fulano.de_tal+loja@exemplo.com.br")],
  ["email: the DICT alphabet before @", "email", "a.!#$&'*+/=?^_{}~-`|@b.co", valid("a.!#$&'*+/=?^_{}~-`|@b.co")],
  ["email: % is forbidden since DICT 1.7.2", "email", "a%b@exemplo.com", malformed],
  [
    "email: at most 77 characters: 77",
    "email",
    `${"a".repeat(65)}@exemplo.com`,
    valid(`${"a".repeat(65)}@exemplo.com`)
  ],
  ["email: at most 77 characters: 78", "email", `${"a".repeat(66)}@exemplo.com`, malformed],
  ["email: nothing before @", "email", "@exemplo.com", malformed],
  ["email: nothing after @", "email", "a@", malformed],
  ["email: two @", "email", "a@b@exemplo.com", malformed],
  ["email: a space", "email", "a b@exemplo.com", malformed],
  ["email: an accent", "email", "joão@exemplo.com", malformed],
  ["email: the Kelvin sign, which becomes a k in lower case", "email", "\u212Aa@exemplo.com", malformed],
  ["email: a label that ends with a hyphen", "email", "a@exemplo-.com", malformed],
  ["email: two dots after @", "email", "a@exemplo..com", malformed],
  ["email: a line break at the end", "email", "a@exemplo.com\n", malformed],
  ["phone: +55 and 11 digits", "phone", "+5511987654321", valid("+5511987654321")],
  ["phone: +55 and 10 digits", "phone", "+551133334444", valid("+551133334444")],
  ["phone: +55 and 9 digits", "phone", "+55119876543", malformed],
  ["phone: +55 and 12 digits", "phone", "+55119876543210", malformed],
  ["phone: without +", "phone", "5511987654321", malformed],
  ["phone: without country", "phone", "11987654321", malformed],
  ["phone: another country", "phone", "+351912345678", malformed],
  ["phone: E.164 has no mask", "phone", "+55 (11) 98765-4321", malformed],
  ["phone: digits outside ASCII", "phone", "+55１１987654321", malformed],
  [
    "random: a UUID, lower-cased",
    "random",
    "123E4567-E12B-12D1-A456-426655440000",
    valid("123e4567-e12b-12d1-a456-426655440000")
  ],
  ["random: a UUID without hyphens", "random", "123e4567e12b12d1a456426655440000", malformed],
  ["random: a UUID in braces", "random", "{123e4567-e12b-12d1-a456-426655440000}", malformed],
  ["random: a digit past f", "random", "123e4567-e12b-12d1-a456-42665544000g", malformed]
]

describe("parsePixKey", () => {
  for (const [rule, type, input, expected] of cases) {
    it(`PAY-10, PAY-11: ${rule}: ${JSON.stringify(input)}`, () =>
      assert.deepStrictEqual([parsePixKey(type, input), isPixKey(type, input)], [expected, expected._tag === "Valid"]))
  }

  for (const { input, type, value } of vectors.documents.valid) {
    it(`PAY-10: a ${type} key is its document: ${input}`, () => {
      assert.deepStrictEqual(parsePixKey(type, input), valid(value))
      assert.notDeepEqual(parsePixKey(type === "cpf" ? "cnpj" : "cpf", input), valid(value))
    })
  }

  it.prop(
    "a valid key is its own normal form",
    [Schema.Literals(pixKeyTypes), Schema.Literals(cases.map(([, , input]) => input))],
    ([type, input]) => {
      const parsed = parsePixKey(type, input)
      assert.strictEqual(isPixKey(type, input), parsed._tag === "Valid")
      if (parsed._tag === "Valid") assert.deepStrictEqual(parsePixKey(type, parsed.value), parsed)
    }
  )
})

describe("isSamePixKey", () => {
  it("compares keys as a provider may write them", () => {
    const same = [
      ["Ana@Example.com", "ana@example.com"],
      ["529.982.247-25", "52998224725"],
      ["11.222.333/0001-81", "11222333000181"],
      ["123E4567-e12b-12d1-a456-426655440000", "123e4567-e12b-12d1-a456-426655440000"],
      ["+5511987654321", "+5511987654321"],
      ["Chave Livre", "chave livre"]
    ] as const
    for (const [one, other] of same) assert.isTrue(isSamePixKey(one, other), one)
    assert.isFalse(isSamePixKey("ana@example.com", "bia@example.com"))
    assert.isFalse(isSamePixKey("52998224725", "11144477735"))
    // Letters that are others in capitals.
    assert.isFalse(isSamePixKey("Straße", "Strasse"))
  })
})
