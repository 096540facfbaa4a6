/** Cents as reais, in Brazil's form: `R$ 1.234,56`. */
const reais = new Intl.NumberFormat("pt-BR", { style: "currency", currency: "BRL" })

export const money = (cents: number): string => reais.format(cents / 100)

/** The cents of an amount as people write it: `1.234,56`, `1234.5`, `R$ 10`. NaN where it is none. */
export const centsOf = (text: string): number => {
  const plain = text.replace(/R\$|\s/g, "")
  const [, reais = "", cents = ""] = /^(\d{1,3}(?:[.]?\d{3})*|\d+)(?:[,.](\d{1,2}))?$/.exec(plain) ?? []
  return reais === "" ? Number.NaN : Number(reais.replaceAll(".", "")) * 100 + Number(cents.padEnd(2, "0"))
}
