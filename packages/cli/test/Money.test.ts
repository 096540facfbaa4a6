/** Amounts in figures and words. */
import { assert, it } from "@effect/vitest"
import { inWords, reais } from "../src/Money.ts"

it("CLI-8: amounts are written in figures and in words", () => {
  const written = [-550, 0, 1, 100, 101, 1990, 11_500, 123_456, 100_000_000, 999_999_999_999].map(
    (cents) => `${reais(cents)}: ${inWords(cents)}`
  )
  assert.deepStrictEqual(written, [
    "-R$ 5,50: minus five reais and fifty centavos",
    "R$ 0,00: zero reais",
    "R$ 0,01: one centavo",
    "R$ 1,00: one real",
    "R$ 1,01: one real and one centavo",
    "R$ 19,90: nineteen reais and ninety centavos",
    "R$ 115,00: one hundred and fifteen reais",
    "R$ 1.234,56: one thousand two hundred and thirty-four reais and fifty-six centavos",
    "R$ 1.000.000,00: one million reais",
    "R$ 9.999.999.999,99: nine billion nine hundred and ninety-nine million nine hundred and ninety-nine thousand nine hundred and ninety-nine reais and ninety-nine centavos"
  ])
})
