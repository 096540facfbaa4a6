/** Text in printable ASCII, letter by letter. What it makes of company names: `BrCode.test.ts`. */
import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import { foldToAscii } from "../src/AsciiText.ts"

describe("foldToAscii", () => {
  it.each([
    ["", ""],
    ["A ~ z", "A ~ z"],
    ["Ação", "Acao"],
    ["Ação  e   pão", "Acao e pao"],
    [" Ação\t\n", "Acao"],
    ["a\u00a0\u2003b", "a b"],
    // What is dropped leaves one space.
    ["Ana 日 本 Sushi", "Ana Sushi"],
    ["日本", ""],
    ["ÆØ Þ ß", "AeO Th ss"],
    ["Ά ή Ώ", "A i O"],
    ["ѐ Ѝ", "e I"],
    // Decomposed letters are the same letters.
    ["Ac\u0327a\u0303o", "Acao"],
    ["Ё Й ў", "Yo Y u"],
    ["≮ 한", "<"],
    ["ﬁ ① Ｚ", "fi 1 Z"],
    ["‘a’ “b” — c…", "'a' \"b\" - c..."]
  ])("CHG-17: %j becomes %j", (text, folded) => assert.strictEqual(foldToAscii(text), folded))

  it.prop(
    "CHG-17: any text becomes ASCII with single spaces, none at its ends, and stays so",
    [Schema.String],
    ([text]) => {
      // Letters of several scripts, which random text seldom has.
      for (const mixed of [text, `é ${text}  Ж ${text}\u0301`]) {
        const folded = foldToAscii(mixed)
        assert.match(folded, /^(?:[!-~]+(?: [!-~]+)*)?$/)
        assert.strictEqual(foldToAscii(folded), folded)
      }
    }
  )
})
