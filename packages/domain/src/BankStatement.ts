/** What is said of a bank's statement file and of its lines: OPR-273. A `#` is a number, which may be below zero. */

export const statementRemarks = [
  "it is a balance, not a movement",
  "it is no record of a statement",
  "it has # columns instead of #",
  "it repeats line #: the same id, day, amount and text",
  "its amount cannot be read",
  "its amount has no sign, and its type does not say which way it went",
  "it is a debit without a minus sign, in a file that has minus signs",
  "its day cannot be read",
  "its day is to come",
  "it says neither debit nor credit",
  "it moves nothing",
  "the file ends within it",
  "it ends before its end",
  "its days cannot be read",
  "its closing balance cannot be read",
  "the day of its closing balance is to come",
  "line #: the opening balance cannot be read",
  "line #: the closing balance cannot be read",
  "line #: it counts # records, and its lot has #",
  "line #: its debits cannot be read",
  "line #: its credits cannot be read",
  "line #: its debits are # cents, and those of the lines # cents",
  "line #: its credits are # cents, and those of the lines # cents",
  "opening and lines are # cents, and its closing is # cents"
] as const

/** Of a line that is no movement, and that nobody has to look at. */
export const harmlessRemarks: ReadonlySet<string> = new Set<StatementRemark>([
  "it is a balance, not a movement",
  "it moves nothing"
])

/** A text with its numbers. */
export type Filled<S extends string> = S extends `${infer Before}#${infer After}`
  ? `${Before}${number}${Filled<After>}`
  : S

/** One of them, with its numbers. */
export type StatementRemark = Filled<(typeof statementRemarks)[number]>
