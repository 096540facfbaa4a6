/** Cents as people read them: figures and words. CLI-8. */

const formatter = new Intl.NumberFormat("pt-BR", { style: "currency", currency: "BRL" })

/** `R$ 1.234,56`. */
export const reais = (cents: number): string => formatter.format(cents / 100).replaceAll("\u00a0", " ")

const small = (
  "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen " +
  "eighteen nineteen"
).split(" ")
const tens = "zero ten twenty thirty forty fifty sixty seventy eighty ninety".split(" ")

const belowThousand = (number: number): string => {
  if (number < 20) return small[number]!
  if (number < 100) return tens[Math.floor(number / 10)]! + (number % 10 === 0 ? "" : `-${small[number % 10]!}`)
  const rest = number % 100
  return `${small[Math.floor(number / 100)]!} hundred${rest === 0 ? "" : ` and ${belowThousand(rest)}`}`
}

const scales = ["", " thousand", " million", " billion", " trillion"]

const whole = (number: number): string => {
  const groups: Array<string> = []
  for (let rest = number, scale = 0; rest > 0; rest = Math.floor(rest / 1000), scale++) {
    if (rest % 1000 > 0) groups.unshift(belowThousand(rest % 1000) + scales[scale]!)
  }
  return groups.join(" ") || "zero"
}

/** In figures and words. */
export const amountOf = (cents: number): string => `${reais(cents)} (${inWords(cents)})`

/** `one thousand two hundred and thirty-four reais and fifty-six centavos`. */
export const inWords = (cents: number): string => {
  if (cents < 0) return `minus ${inWords(-cents)}`
  const [units, rest] = [Math.floor(cents / 100), cents % 100]
  const parts = [
    ...(units > 0 || rest === 0 ? [`${whole(units)} ${units === 1 ? "real" : "reais"}`] : []),
    ...(rest > 0 ? [`${whole(rest)} ${rest === 1 ? "centavo" : "centavos"}`] : [])
  ]
  return parts.join(" and ")
}
