/**
 * The words of the page, in English and Portuguese.
 *
 * Guarantee: a word that one language lacks is a type error.
 *
 * `en.ts` and `pt.ts` have what pages share. A page has its own words beside it: `const text = inBoth({ en: …, pt: … })`.
 */
import { signal } from "@preact/signals"
import { en, type Words } from "./en.ts"
import { pt } from "./pt.ts"

export type Language = "en" | "pt"

const stored = globalThis.localStorage?.getItem("language")
const preferred = globalThis.navigator?.language?.startsWith("pt") === true ? "pt" : "en"

export const language = signal<Language>(stored === "pt" || stored === "en" ? stored : preferred)

export const setLanguage = (next: Language): void => {
  language.value = next
  globalThis.localStorage?.setItem("language", next)
}

const languages: Readonly<Record<Language, Words>> = { en, pt }

/** The words of the present language: read it where a component renders, so that it follows a change. */
export const words = (): Words => languages[language.value]

/** The words of one page in the present language: call it where a component renders. */
export const inBoth =
  <W>({ en, pt }: { readonly en: W; readonly pt: NoInfer<W> }) =>
  (): W =>
    language.value === "pt" ? pt : en
