import { language } from "../words/Words.ts"

/** `482 kB`, `1.2 MB`: as systems name the size of a file. */
export const sizeText = (bytes: number): string => {
  const [value, unit] = bytes < 1_000_000 ? [Math.max(1, Math.round(bytes / 1000)), "kB"] : [bytes / 1_000_000, "MB"]
  const locale = language.value === "pt" ? "pt-BR" : "en-GB"
  return `${value.toLocaleString(locale, { maximumFractionDigits: 1 })} ${unit}`
}
