/**
 * Text in requests: API-10.
 */
import * as Schema from "effect/Schema"

/** A string of `minimum` to `maximum` code points without control characters. */
export const text = (minimum: number, maximum: number) =>
  Schema.String.annotate({ expected: "text" }).check(
    minimum > 0
      ? Schema.isBetweenCodePoints(minimum, maximum, { expected: `text of ${minimum} to ${maximum} characters` })
      : Schema.isMaxCodePoints(maximum, { expected: `text of at most ${maximum} characters` }),
    printable
  )

/** True for text that can be stored, shown and signed: no control characters, no lone surrogate. */
export const isPrintable = (value: string): boolean => !control.test(value) && value.isWellFormed()

// oxlint-disable-next-line no-control-regex -- control characters are what is looked for
const control = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/

const printable = Schema.makeFilter(isPrintable, { expected: "text without control characters" })
