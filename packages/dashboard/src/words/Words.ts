/**
 * The words of the page, in English and Portuguese.
 *
 * Guarantee: a word that one language lacks is a type error.
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
