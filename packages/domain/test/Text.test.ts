/** Text of others as a person may judge it. */
import { assert, it } from "@effect/vitest"
import { legible, visible } from "../src/Text.ts"

it("OPR-241: no character is invisible or reorders, and the end of a line is a space", () => {
  assert.strictEqual(legible("\u202eana\u202c\u200b \u2067B\u2069o\u00ad\u{e0041}b\u3164\ufeff\ud800"), "ana Bob")
  assert.strictEqual(legible("one\r\ntwo\u2028three\u0085four\u001b[2J"), "one two three four [2J")
})

it("OPR-241: spaces do not push what follows to another line", () => {
  assert.strictEqual(legible(`Ana)${"\u00a0 \u3000\u2003\u2800".repeat(40)}amount: R$ 1,00`), "Ana) amount: R$ 1,00")
  // A line that is composed already keeps its own.
  assert.strictEqual(visible("  to: \u202eana  and Bob"), "  to: ana  and Bob")
})

it("OPR-241: marks cover neither what is before a text nor what is around it", () => {
  assert.strictEqual(legible("\u0338\u0338Ana \u0336Souza"), "Ana Souza")
  assert.strictEqual(legible("A\u20ddn\u20e0a\u0489"), "Ana")
  assert.strictEqual(legible(`A${"\u0301".repeat(300)}na`), `A${"\u0301".repeat(4)}na`)
})

it("OPR-241: names in any script stay as they are", () => {
  for (const name of ["João d'Ávila", "Nguyễn Thị Hồng", "שָׁלוֹם", "नमस्ते क्षत्रिय", "ก็ที่นี่", "김민수", "𠮷野家", "👩 Ana"]) {
    assert.strictEqual(legible(name.normalize("NFD")), name.normalize("NFD"))
    assert.strictEqual(legible(name), name)
  }
})
