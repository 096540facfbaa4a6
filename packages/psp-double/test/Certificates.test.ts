/** Certificates of the double. */
import { assert, describe, it } from "@effect/vitest"
import { serialNumberOf } from "../src/Certificates.ts"

describe("Certificates", () => {
  it("have positive serial numbers without leading zeros, whatever is drawn", () => {
    for (let first = 0; first < 256; first++) {
      const serial = serialNumberOf(Uint8Array.of(first, 0, 0, 7))
      const leading = Number.parseInt(serial.slice(0, 2), 16)
      assert.isTrue(leading > 0 && leading < 0x80, serial)
      assert.lengthOf(serial, 8)
    }
  })
})
