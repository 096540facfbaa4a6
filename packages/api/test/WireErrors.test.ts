import { errorCodes } from "@pix-payments/domain/ErrorCode"
import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import * as WireErrors from "../src/WireErrors.ts"

describe("WireErrors", () => {
  // Every class, with a value made from the defaults and one with every field.
  const classes = Object.values(WireErrors).filter((value) => typeof value === "function")
  const encode = (error: (typeof classes)[number], fields: object): unknown =>
    Schema.encodeUnknownSync(Schema.toCodecJson(error))(Reflect.construct(error, [fields]))
  const charge_id = "01890a5d-ac96-774b-bcce-b302099a8057"

  it("ERR-1, ERR-13: have one class per code, with its status and message", () => {
    const found = classes.map((error) => {
      const body = Object(encode(error, { charge_id }))
      return [body.code, { status: Schema.resolveAnnotations(error)?.["httpApiStatus"], message: body.message }]
    })
    assert.strictEqual(found.length, Object.keys(errorCodes).length)
    assert.deepStrictEqual(Object.fromEntries(found), errorCodes)
  })

  it("ERR-1: have code, message, details and charge_id, and nothing else", () => {
    for (const error of classes) {
      const extra = error === WireErrors.AcquirerRejected ? ["charge_id"] : []
      assert.sameMembers(Object.keys(Object(encode(error, { charge_id }))), ["code", "message", ...extra])
      const whole = Object(encode(error, { charge_id, details: ["customer.document"], message: "Another message." }))
      assert.sameMembers(Object.keys(whole), ["code", "message", "details", ...extra])
      assert.deepStrictEqual(whole.details, ["customer.document"])
      assert.strictEqual(whole.message, "Another message.")
    }
  })

  it("decodes to the class of its code", () => {
    const anyError = Schema.Union(classes)
    for (const error of classes) {
      const read: unknown = Schema.decodeUnknownSync(Schema.toCodecJson(anyError))(encode(error, { charge_id }))
      assert.isTrue(read instanceof error, error.name)
    }
  })
})
