import { assert, describe, it } from "@effect/vitest"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { buildBrCode, type BrCodeInput, crc16, hex4, tlv } from "../src/BrCode.ts"
import { joinBrCode, joinerOf, splitBrCode } from "../src/BrCodeTemplate.ts"
import { MAX_CENTS } from "../src/Cents.ts"
import { vectors } from "./vectors.ts"

const id = "8b3da2f39a4140d1a91abd93113bd441"

const input: BrCodeInput = {
  payloadUrl: `https://pix.example.com/qr/v2/${id}`,
  amount: 12_345,
  merchantName: "Fulano de Tal",
  merchantCity: "BRASILIA",
  singleUse: true
}

const build = (fields: Partial<BrCodeInput> = {}): string => Result.getOrThrow(buildBrCode({ ...input, ...fields }))
/** A code of these elements behind the address. */
const codeOf = (...elements: ReadonlyArray<string>): string => {
  const address = tlv("26", tlv("00", "br.gov.bcb.pix") + tlv("25", `pix.example.com/qr/v2/${id}`))
  const body = `000201010212${address}520400005303986${elements.join("")}6304`
  return body + hex4(crc16(body))
}
const [country, name, city, anyTxid] = ["5802BR", tlv("59", "Loja"), tlv("60", "BRASILIA"), "62070503***"]

describe("Templates of BR codes", () => {
  it("have neither id, amount nor checksum", () => {
    const { id: _, ...rest } = splitBrCode(build(), 12_345)!
    assert.deepStrictEqual(rest, {
      template:
        "00020101021226760014br.gov.bcb.pix2554pix.example.com/qr/v2/{id}520400005303986{amount}" +
        "5802BR5913Fulano de Tal6008BRASILIA62070503***6304"
    })
    assert.strictEqual(splitBrCode(build(), 12_345)?.id, id)
  })

  it.prop(
    "are the same for all codes of a receiver, and joined to the same text",
    [
      Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: MAX_CENTS })),
      Schema.String.check(Schema.isPattern(/^[a-zA-Z0-9-]{9,30}$/)),
      Schema.String
    ],
    ([amount, itsId, itsName]) => {
      const fields = { merchantName: `Loja ${itsName} $& {id} {amount}` }
      const code = build({ ...fields, amount, payloadUrl: `https://pix.example.com/qr/v2/${itsId}` })
      const split = splitBrCode(code, amount)!
      assert.strictEqual(split.id, itsId)
      assert.strictEqual(joinBrCode(split.template, split.id, amount), code)
      const other = build({
        ...fields,
        amount: 1,
        payloadUrl: `https://pix.example.com/qr/v2/${"0".repeat(itsId.length)}`
      })
      assert.strictEqual(splitBrCode(other, 1)?.template, split.template)
    }
  )

  it("take the longest part of the path as the id, and need no amount in the code", () => {
    const code = build({ payloadUrl: `https://pix.example.com/qr/${id}/cobv` })
    assert.strictEqual(splitBrCode(code, 12_345)?.id, id)
    const open = codeOf(country, name, city, anyTxid)
    const split = splitBrCode(open, 5)!
    assert.strictEqual(joinBrCode(split.template, split.id, 5), open)
  })

  it("find the id in codes of theirs only", () => {
    const { idIn } = joinerOf(splitBrCode(build(), 12_345)!.template)
    assert.strictEqual(idIn(build({ amount: 1 }), 1), id)
    assert.strictEqual(idIn(build({ amount: MAX_CENTS }), MAX_CENTS), id)
    assert.isUndefined(idIn(build({ amount: 1 }), 2))
    assert.isUndefined(idIn(build({ merchantName: "Another" }), 12_345))
    assert.isUndefined(idIn(build().slice(0, -1), 12_345))
    assert.isUndefined(idIn("", 12_345))
  })

  it("are none of other codes", () => {
    const lowerCase = codeOf(country, name, city, anyTxid).replace(/.{4}$/, (checksum) => checksum.toLowerCase())
    assert.match(lowerCase, /[a-f].{0,3}$/)
    const others = {
      "of another amount": [build(), 12_346],
      "of an amount in another form": [codeOf("540212", country, name, city, anyTxid), 1200],
      "with a txid": [codeOf(country, name, city, tlv("62", tlv("05", "PEDIDO1"))), 1],
      "with another element": [codeOf(country, name, city, anyTxid, tlv("80", tlv("00", "br.gov.bcb.pix"))), 1],
      "with a text for the payer": [codeOf(country, name, city, tlv("62", "0503***" + tlv("02", "Pedido 1"))), 1],
      "with a key instead of an address": [
        Result.getOrThrow(
          buildBrCode({ pixKey: "ana@example.com", merchantName: "Loja", merchantCity: "BRASILIA", singleUse: false })
        ),
        1
      ],
      "without a path": [build({ payloadUrl: "https://pix.example.com" }), 12_345],
      "with a checksum in lower case": [lowerCase, 1],
      "that are none": ["br", 1]
    } as const
    for (const [what, [code, amount]] of Object.entries(others)) {
      assert.isUndefined(splitBrCode(code, amount), what)
    }
  })

  it("give each published code back", () => {
    for (const { fields, source, text } of vectors.brCodes.valid) {
      const amount = (fields as { readonly amount?: number }).amount ?? 1
      const split = splitBrCode(text, amount)
      if (split !== undefined) assert.strictEqual(joinBrCode(split.template, split.id, amount), text, source)
    }
  })
})
