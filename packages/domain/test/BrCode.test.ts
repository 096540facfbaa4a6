import { assert, describe, it } from "@effect/vitest"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { type BrCodeInput, buildBrCode, crc16, merchantNameOf, parseBrCode } from "../src/BrCode.ts"
import { foldToAscii } from "../src/AsciiText.ts"
import { MAX_CENTS } from "../src/Cents.ts"
import { vectors } from "./vectors.ts"

const dynamic: BrCodeInput = {
  payloadUrl: "https://pix.example.com/qr/v2/8b3da2f39a4140d1a91abd93113bd441",
  amount: 12_345,
  merchantName: "Fulano de Tal",
  merchantCity: "BRASILIA",
  singleUse: true
}

const fixed: BrCodeInput = {
  pixKey: "123e4567-e12b-12d1-a456-426655440000",
  merchantName: "Fulano de Tal",
  merchantCity: "BRASILIA",
  singleUse: false
}

const build = (input: BrCodeInput): string => Result.getOrThrow(buildBrCode(input))
const refusal = (input: BrCodeInput): string | undefined =>
  Result.match(buildBrCode(input), { onSuccess: () => undefined, onFailure: (error) => error.reason })
const readRefusal = (text: string): string | undefined =>
  Result.match(parseBrCode(text), { onSuccess: () => undefined, onFailure: (error) => error.reason })
/** The fields of a code, without the tree. */
const read = (text: string) => {
  const { tlv: _, ...fields } = Result.getOrThrow(parseBrCode(text))
  return fields
}
const hex4 = (crc: number): string => crc.toString(16).toUpperCase().padStart(4, "0")
const sealed = (body: string): string => `${body}6304${hex4(crc16(`${body}6304`))}`

/** The checksum bit by bit, as its definition reads. */
const slowCrc = (bytes: Uint8Array): number => {
  let crc = 0xffff
  for (const byte of bytes) {
    crc ^= byte << 8
    for (let bit = 0; bit < 8; bit++) crc = (crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1) & 0xffff
  }
  return crc
}

describe("crc16", () => {
  it("check value: 123456789 is 29B1", () => assert.strictEqual(crc16("123456789"), 0x29b1))

  it("is FFFF for empty text", () => assert.strictEqual(crc16(""), 0xffff))

  it("uses the UTF-8 bytes of accents", () => {
    for (const text of ["\u0080", "São João", "A — Z", "🙂"]) {
      assert.strictEqual(crc16(text), slowCrc(new TextEncoder().encode(text)), text)
    }
  })

  it.prop("equals the checksum counted bit by bit over the UTF-8 bytes", [Schema.String], ([text]) => {
    assert.strictEqual(crc16(text), slowCrc(new TextEncoder().encode(text)))
  })

  for (const { source, text } of vectors.brCodes.valid) {
    it(`verifies ${source}`, () => {
      assert.strictEqual(hex4(crc16(text.slice(0, -4))), text.slice(-4))
    })
  }

  it("StarkBank's sample has 28AD, not A9A0", () => {
    const sample = vectors.brCodes.broken.find(({ text }) => text.endsWith("A9A0"))
    assert.strictEqual(crc16(sample?.text.slice(0, -4) ?? ""), 0x28ad)
  })
})

describe("parseBrCode", () => {
  for (const { source, text, fields } of vectors.brCodes.valid) {
    it(`reads ${source}`, () => assert.deepEqual(read(text), fields))
  }

  for (const { source, text, reason } of vectors.brCodes.broken) {
    it(`refuses ${source}`, () => assert.strictEqual(readRefusal(text), reason))
  }

  it("returns the tree of elements", () => {
    const { tlv } = Result.getOrThrow(parseBrCode(build(dynamic)))
    assert.deepStrictEqual(
      tlv.map(({ id }) => id),
      ["00", "01", "26", "52", "53", "54", "58", "59", "60", "62", "63"]
    )
    assert.deepStrictEqual(tlv.find(({ id }) => id === "26")?.children, [
      { id: "00", value: "br.gov.bcb.pix" },
      { id: "25", value: "pix.example.com/qr/v2/8b3da2f39a4140d1a91abd93113bd441" }
    ])
  })

  it("lenient on content limits: a name over 25, a city over 15, a txid over 25, accents", () => {
    const name = "Conceição Comércio e Serviços Ltda"
    const city = "São José dos Campos"
    const txid = "a".repeat(35)
    const code = read(
      sealed(
        `00020126180014br.gov.bcb.pix5204000053039865802BR59${name.length}${name}60${city.length}${city}6239` +
          `0535${txid}`
      )
    )
    assert.deepStrictEqual(code, { merchantName: name, merchantCity: city, txid, singleUse: false })
  })

  it("reads amounts with no, one or two decimals, and no other text", () => {
    const withAmount = (amount: string): string =>
      sealed(
        `00020126180014br.gov.bcb.pix52040000530398654${String(amount.length).padStart(2, "0")}${amount}5802BR5901N6001C`
      )
    assert.strictEqual(read(withAmount("20")).amount, 2000)
    assert.strictEqual(read(withAmount("5.5")).amount, 550)
    assert.strictEqual(read(withAmount("9999999999.99")).amount, MAX_CENTS)
    for (const amount of ["1,00", "1.000", "-1.00", "1e3", ""])
      assert.strictEqual(readRefusal(withAmount(amount)), "amount")
  })

  it("strict on structure: order, repeats, ids and lengths", () => {
    const tail = "5204000053039865802BR5901N6001C"
    const account = "26180014br.gov.bcb.pix"
    assert.isUndefined(readRefusal(sealed(`000201${account}${tail}`)))
    assert.strictEqual(readRefusal(sealed(`000202${account}${tail}`)), "structure", "format version")
    assert.strictEqual(readRefusal(sealed(`${account}000201${tail}`)), "structure", "00 is not first")
    assert.strictEqual(readRefusal(sealed(`000201${account}${tail}6001D`)), "structure", "60 twice")
    assert.strictEqual(readRefusal(sealed(`000201${account}${tail}X101D`)), "structure", "an id of letters")
    assert.strictEqual(readRefusal(sealed(`00020126180014br.gov.bcb.pi${tail}`)), "structure", "length past the end")
    assert.strictEqual(readRefusal(sealed(`000201${account}${tail}62070510***`)), "structure", "template 62")
    assert.strictEqual(readRefusal(`${sealed(`000201${account}${tail}`)}6401X`), "structure", "63 is not last")
    const ending = (head: string): string => sealed(`000201${account}${tail}`).slice(0, -8) + head
    for (const head of ["6504", "6303", "6305A"]) {
      const text = ending(head) + hex4(crc16(ending(head)))
      assert.strictEqual(readRefusal(text), "structure", `${head} where 6304 belongs`)
    }
    assert.strictEqual(readRefusal(sealed(`000201${account}${tail}6401X`)), "structure", "template 64")
    assert.strictEqual(readRefusal(sealed(`000201${account}${tail}1X01D`)), "structure", "a letter in an id")
    assert.strictEqual(readRefusal(sealed(`000201${account}${tail}620705 3***`)), "structure", "a space in a length")
    assert.strictEqual(readRefusal(sealed(`000201${account}5204000053039865802BR5901N`)), "field-missing")
    assert.strictEqual(readRefusal(sealed(`000201${account}5204000053039865802BR6001C`)), "field-missing")
    assert.strictEqual(readRefusal(sealed(`00020126180014br.gov.bcb.pax${tail}`)), "not-pix")
    assert.strictEqual(readRefusal(sealed(`000201${account}5204000053038405802US5901N6001C`)), "not-pix")
    assert.strictEqual(readRefusal(sealed(`000201${account}5204000053038405802BR5901N6001C`)), "not-pix", "dollars")
    assert.strictEqual(readRefusal(sealed(`000201${account}5204000053039865802US5901N6001C`)), "not-pix", "the US")
  })

  it("finds the account in any template from 26 to 51, beside those of others, and in no other one", () => {
    const tail = "5204000053039865802BR5901N6001C"
    const account = (id: string) => `${id}250014br.gov.bcb.pix0103key`
    for (const before of ["", "26080004ab.c", "27050101A"]) {
      for (const id of ["28", "50", "51"]) {
        assert.strictEqual(read(sealed(`000201${before}${account(id)}${tail}`)).pixKey, "key", before + id)
      }
      for (const id of ["25", "52", "62", "64", "80", "99"]) {
        const rest = id === "52" ? tail.slice(8) : tail
        assert.strictEqual(readRefusal(sealed(`000201${before}${account(id)}${rest}`)), "not-pix", before + id)
      }
    }
  })

  it("detects every lost or changed character", () => {
    const code = build(dynamic)
    for (let at = 0; at < code.length; at++) {
      assert.isDefined(readRefusal(code.slice(0, at) + code.slice(at + 1)), `without character ${at}`)
      const other = code[at] === "1" ? "2" : "1"
      assert.isDefined(readRefusal(code.slice(0, at) + other + code.slice(at + 1)), `character ${at} changed`)
    }
  })

  it.prop("never throws", [Schema.String], ([text]) => {
    parseBrCode(text)
    parseBrCode(sealed(`000201${text}`))
  })
})

describe("buildBrCode", () => {
  it("dynamic: 01 = 12, template 26 with the URL without scheme, txid ***", () => {
    assert.strictEqual(
      build(dynamic),
      sealed(
        "00020101021226760014br.gov.bcb.pix2554pix.example.com/qr/v2/8b3da2f39a4140d1a91abd93113bd441" +
          "520400005303986" +
          "5406123.45" +
          "5802BR5913Fulano de Tal6008BRASILIA62070503***"
      )
    )
    assert.strictEqual(build({ ...dynamic, txid: "ignored" }), build(dynamic))
  })

  it("static: key, additional information, postal code, txid of at most 25", () => {
    const code = build({ ...fixed, additionalInfo: "Pedido nº 7", postalCode: "70074-900", txid: "RP123456782019" })
    assert.strictEqual(
      code,
      sealed(
        "00020126730014br.gov.bcb.pix0136123e4567-e12b-12d1-a456-4266554400000211Pedido no 75204000053039865802BR" +
          "5913Fulano de Tal6008BRASILIA61087007490062180514RP123456782019"
      )
    )
    assert.isUndefined(refusal({ ...fixed, txid: "a".repeat(25) }))
    for (const txid of ["a".repeat(26), "", "a-b", "***"]) {
      assert.strictEqual(refusal({ ...fixed, txid }), "txid-malformed", txid)
    }
  })

  it("reproduces the API Pix sample 7741 up to its recurrence", () => {
    const { amount: _, ...open } = dynamic
    const sample = vectors.brCodes.valid[1]?.text ?? ""
    assert.strictEqual(build(open).slice(0, -8), sample.slice(0, sample.indexOf("8080")))
  })

  it("name at most 25 and city at most 15, truncated after folding accents", () => {
    const code = read(
      build({ ...dynamic, merchantName: "Conceição Comércio de Pães — Ltda", merchantCity: "São José dos Campos" })
    )
    assert.strictEqual(code.merchantName, "Conceicao Comercio de Pae")
    assert.strictEqual(code.merchantCity, "Sao Jose dos Ca")
    assert.strictEqual(read(build({ ...dynamic, merchantName: `${"a".repeat(24)} b` })).merchantName, "a".repeat(24))
    assert.strictEqual(read(build({ ...dynamic, merchantCity: `${"a".repeat(14)} b` })).merchantCity, "a".repeat(14))
  })

  it("refuses a name or city that is empty in ASCII", () => {
    for (const empty of ["", "  ", "日本", "\n"]) {
      assert.strictEqual(refusal({ ...dynamic, merchantName: empty }), "name-empty")
      assert.strictEqual(refusal({ ...dynamic, merchantCity: empty }), "city-empty")
    }
  })

  it("template 26 holds at most 99 characters, so URL and key at most 77", () => {
    assert.isUndefined(refusal({ ...dynamic, payloadUrl: "u".repeat(77) }))
    assert.strictEqual(refusal({ ...dynamic, payloadUrl: "u".repeat(78) }), "account-too-long")
    assert.strictEqual(refusal({ ...dynamic, payloadUrl: "u".repeat(100) }), "account-too-long")
    assert.isUndefined(refusal({ ...fixed, pixKey: "k".repeat(77) }))
    assert.strictEqual(refusal({ ...fixed, pixKey: "k".repeat(78) }), "account-too-long")
    assert.isUndefined(refusal({ ...fixed, additionalInfo: "i".repeat(37) }))
    assert.strictEqual(refusal({ ...fixed, additionalInfo: "i".repeat(38) }), "account-too-long")
    assert.strictEqual(refusal({ ...fixed, additionalInfo: "i".repeat(200) }), "account-too-long")
  })

  it("amount 1 to 999999999999 cents: at most 13 characters", () => {
    assert.include(build({ ...dynamic, amount: MAX_CENTS }), "54139999999999.99")
    assert.include(build({ ...dynamic, amount: 1 }), "54040.01")
    for (const amount of [0, -1, 1.5, MAX_CENTS + 1, Number.NaN]) {
      assert.strictEqual(refusal({ ...dynamic, amount }), "amount", String(amount))
    }
  })

  it("either a payload URL or a key, in visible ASCII", () => {
    const { pixKey: _, ...neither } = fixed
    assert.strictEqual(refusal(neither), "account-missing")
    assert.strictEqual(refusal({ ...dynamic, payloadUrl: "https://" }), "account-missing")
    assert.strictEqual(refusal({ ...dynamic, pixKey: "k" }), "account-ambiguous")
    assert.strictEqual(refusal({ ...dynamic, payloadUrl: "https://pix.example.com/é" }), "account-not-ascii")
    assert.strictEqual(refusal({ ...fixed, pixKey: "a b" }), "account-not-ascii")
    assert.strictEqual(refusal({ ...dynamic, additionalInfo: "x" }), "additional-info-on-dynamic")
    for (const postalCode of ["7007490", "700749001", "x70074900", "70074900x", ""]) {
      assert.strictEqual(refusal({ ...fixed, postalCode }), "postal-code-malformed", postalCode)
    }
  })

  it("the payload URL is without its scheme, whichever it is, and otherwise as given", () => {
    for (const [payloadUrl, written] of [
      ["https://pix.example.com/qr", "pix.example.com/qr"],
      ["HTTP://pix.example.com/qr", "pix.example.com/qr"],
      ["pix.example.com/qr", "pix.example.com/qr"],
      ["pix.example.com/?to=https://a.example", "pix.example.com/?to=https://a.example"]
    ] as const) {
      assert.strictEqual(read(build({ ...dynamic, payloadUrl })).payloadUrl, written)
    }
  })

  describe("CHG-17: merchantNameOf is the account's name in Latin letters, else `PIX` and a part of the document", () => {
    const cnpj = "12ABC34501DE35"
    const cases: ReadonlyArray<readonly [name: string, document: string, expected: string]> = [
      ["Padaria do Zé", cnpj, "Padaria do Ze"],
      ["Café “Ação” — 24h & Cia.", cnpj, 'Cafe "Acao" - 24h & Cia.'],
      ["Straße Łódź Øre Þór Œuvre", cnpj, "Strasse Lodz Ore Thor Oeu"],
      ["ЩУКА и Йод", cnpj, "ShchUKA i Yod"],
      ["Ελληνική Ταβέρνα", cnpj, "Elliniki Taverna"],
      ["Ｌｏｊａ ﬁna", cnpj, "Loja fina"],
      ["日本 Sushi", cnpj, "Sushi"],
      ["日本の店", cnpj, "PIX 12ABC345"],
      ["Mercearia do Seu Antonio X", cnpj, "Mercearia do Seu Antonio"],
      ["🍕", "52998224725", "PIX 982247"],
      ["—", cnpj, "PIX 12ABC345"],
      ["مطعم", "11222333000181", "PIX 11222333"]
    ]
    for (const [name, document, expected] of cases) {
      it(JSON.stringify(name), () => assert.strictEqual(merchantNameOf({ name, document }), expected))
    }

    it.prop("any name gives a code that can be read", [Schema.String, Schema.Boolean], ([name, isCpf]) => {
      const merchantName = merchantNameOf({ name, document: isCpf ? "52998224725" : cnpj })
      assert.match(merchantName, /^(?! )[ -~]{1,25}(?<! )$/)
      assert.strictEqual(read(build({ ...dynamic, merchantName })).merchantName, merchantName)
    })
  })

  const Fields = Schema.Struct({
    account: Schema.String.check(Schema.isPattern(/^[!-~]{1,30}$/)),
    isDynamic: Schema.Boolean,
    amount: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: MAX_CENTS })),
    hasAmount: Schema.Boolean,
    merchantName: Schema.String.check(Schema.isMaxLength(200)),
    merchantCity: Schema.String.check(Schema.isMaxLength(60)),
    txid: Schema.String.check(Schema.isPattern(/^[a-zA-Z0-9]{1,25}$/)),
    additionalInfo: Schema.String.check(Schema.isPattern(/^[a-z]{1,20}$/)),
    postalCode: Schema.String.check(Schema.isPattern(/^[0-9]{8}$/)),
    singleUse: Schema.Boolean
  })

  it.prop("parsing returns what was built", [Fields], ([given]) => {
    const input: BrCodeInput = {
      ...(given.isDynamic
        ? { payloadUrl: given.account }
        : { pixKey: given.account, txid: given.txid, additionalInfo: given.additionalInfo }),
      ...(given.hasAmount ? { amount: given.amount } : {}),
      merchantName: `N${given.merchantName}`,
      merchantCity: `C${given.merchantCity}`,
      postalCode: given.postalCode,
      singleUse: given.singleUse
    }
    const code = read(build(input))
    assert.deepEqual(code, {
      ...input,
      ...(input.payloadUrl === undefined ? {} : { payloadUrl: input.payloadUrl.replace(/^https?:\/\//i, "") }),
      merchantName: foldToAscii(input.merchantName).slice(0, 25).trimEnd(),
      merchantCity: foldToAscii(input.merchantCity).slice(0, 15).trimEnd()
    })
    assert.match(code.merchantName, /^[ -~]{1,25}$/)
    assert.match(code.merchantCity, /^[ -~]{1,15}$/)
  })
})
