/** Cents as reais, in Brazil's form: `R$ 1.234,56`. */
const reais = new Intl.NumberFormat("pt-BR", { style: "currency", currency: "BRL" })

export const money = (cents: number): string => reais.format(cents / 100)
