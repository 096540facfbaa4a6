/**
 * Text in requests (API-10), and text of others as a person may judge it (OPR-241).
 */
import * as Schema from "effect/Schema"

/** A string of `minimum` to `maximum` code points without control characters. */
export const text = (minimum: number, maximum: number) => {
  const sized = minimum > 0 ? between(minimum, maximum) : upTo(maximum)
  return Schema.String.annotate({ expected: sized.annotations?.expected }).check(sized, printable)
}

/** At most so many code points. */
export const upTo = (maximum: number) =>
  Schema.isMaxCodePoints(maximum, { expected: `text of at most ${maximum} characters` })

const between = (minimum: number, maximum: number) =>
  Schema.isBetweenCodePoints(minimum, maximum, { expected: `text of ${minimum} to ${maximum} characters` })

/** True for text that can be stored, shown and signed: no control characters, no lone surrogate. */
export const isPrintable = (value: string): boolean => !control.test(value) && value.isWellFormed()

// oxlint-disable-next-line no-control-regex -- control characters are what is looked for
const control = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/

const printable = Schema.makeFilter(isPrintable, { expected: "text without control characters" })

/**
 * A line without characters that are invisible or that reorder what is around them. A control character and the end of a line
 * become a space.
 */
export const visible = (line: string): string => line.replace(breaks, " ").replace(invisible, "")

/**
 * Text of others as it can be judged: visible, with one space where there are several, which would push what follows to
 * another line, and without marks that cover what is beside their letter.
 */
export const legible = (value: string): string =>
  visible(value).replace(spaces, " ").replace(covering, "").replace(piled, "$1")

const breaks = /[\p{Cc}\p{Zl}\p{Zp}]/gu
const invisible = /[\p{Cf}\p{Cs}\p{Default_Ignorable_Code_Point}]/gu
// The empty Braille pattern looks like a space.
const spaces = /[\s\p{Z}\u2800]{2,}/gu
// Marks around a letter, and marks of what comes before the text.
const covering = /\p{Me}|^\p{M}+|(?<= )\p{M}+/gu
// No language writes more than four marks on a letter.
const piled = /(\p{M}{4})\p{M}+/gu

/** True for text with letters that are written from right to left, which move the figures around them. */
export const isRightToLeft = (value: string): boolean => rightToLeft.test(value)

const rightToLeft = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u
