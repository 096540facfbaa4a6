/**
 * `pix books check FILE…`: exports from before against the books of today. CLI-41.
 *
 * Guarantees:
 * - Each entry and each close of an export is in the books as it was exported. What differs or is gone is named, and so is an entry
 *   that was put into a closed day, and another end-to-end id, return id, txid or reference behind an entry. These may come after an
 *   export, and leave with retention or erasure.
 * - Memory is that of a chunk of both, and of `MOST` problems.
 */
import * as Effect from "effect/Effect"
import * as Argument from "effect/cli/Argument"
import * as Command from "effect/cli/Command"
import { exitCodes, type Failure } from "../Failure.ts"
import { type Service } from "../OperatorClient.ts"
import { wantsJson, writeJson } from "../Output.ts"
import { signedIn } from "../Profile.ts"
import { notice, printable, progress, write } from "../Terminal.ts"
import { type Line, type Lines, linesOfAnswer, linesOfFile, noExport } from "./Export.ts"
import { operationOf } from "./Owner.ts"

const MOST = 100

interface Found {
  readonly file: string
  readonly lines: number
  readonly closes: number
  readonly problems: ReadonlyArray<string>
}

/** What an entry is hashed of, and what follows from it. */
const fields = ["id", "position", "type", "day", "amount", "fee", "net", "balance_after", "created_at"]
const entryFields = [
  "debit",
  "credit",
  "amount",
  "fee",
  "debit_after",
  "credit_after",
  "reason",
  "resource_id",
  "source_id"
]
/** What is behind an entry. */
const behindFields = ["end_to_end_id", "return_id", "txid", "reference"]
const closeFields = [
  "day",
  "opening",
  "credits",
  "debits",
  "fees",
  "closing",
  "lines",
  "lines_hash",
  "previous_hash",
  "hash"
]

/** The order of an export: entries by day and place, then closes by day, then its end. */
const placeOf = (line: Line, isAccount: boolean): string => {
  if (line["object"] === "close") return `1 ${String(line["day"])}`
  if (line["object"] !== "balance_transaction") return "2"
  const at = isAccount ? String(line["position"]).padStart(20, "0") : String(line["id"])
  return `0 ${String(line["day"])} ${at}`
}

const nameOf = (line: Line): string =>
  line["object"] === "close"
    ? `${String(line["day"])}: the close`
    : `${String(line["day"])} ${String(line["id"])}: the entry`

const differences = (before: Line, now: Line): ReadonlyArray<string> => {
  const compared =
    before["object"] === "close"
      ? closeFields.map((name) => [name, before[name], now[name]] as const)
      : [
          ...fields.map((name) => [name, before[name], now[name]] as const),
          ...entryFields.map(
            (name) => [`entry.${name}`, Object(before["entry"])[name], Object(now["entry"])[name]] as const
          ),
          ...behindFields
            .map((name) => [name, before[name] ?? undefined, now[name] ?? undefined] as const)
            .filter(([, was, is]) => was !== undefined && is !== undefined)
        ]
  return compared.flatMap(([name, was, is]) => (was === is ? [] : [`${name} was ${String(was)} and is ${String(is)}`]))
}

/** Compares both line by line. */
const compared = Effect.fnUntraced(function* (file: string, isAccount: boolean, before: Lines, now: Lines) {
  const problems: Array<string> = []
  const added: Array<Line> = []
  const counts = { lines: 0, closes: 0 }
  let closedUntil = ""
  let [one, other] = [yield* before, yield* now]
  while (one !== undefined && one["object"] !== "statement_end") {
    const place = placeOf(one, isAccount)
    const here = other === undefined ? "3" : placeOf(other, isAccount)
    if (here < place) {
      if (other!["object"] === "balance_transaction" && added.length < MOST) added.push(other!)
      other = yield* now
      continue
    }
    if (one["object"] === "close") {
      counts.closes += 1
      closedUntil = String(one["day"])
    } else counts.lines += 1
    if (counts.lines % 10_000 === 0) progress(`${counts.lines} entries`)
    if (here > place) problems.push(`${nameOf(one)} is gone`)
    else {
      const different = differences(one, other!)
      if (different.length > 0) problems.push(`${nameOf(one)} is another: ${different.join(", ")}`)
      other = yield* now
    }
    one = yield* before
    if (problems.length >= MOST) break
  }
  progress("")
  if (one === undefined) return yield* noExport(file)
  const put = added.filter(({ day }) => String(day) <= closedUntil).map((line) => `${nameOf(line)} was added`)
  return { file, ...counts, problems: [...problems, ...put].slice(0, MOST) }
})

/** A file against the same days of its owner's books. */
const check = (service: Service, file: string): Effect.Effect<Found, Failure> =>
  Effect.gen(function* () {
    const before = yield* linesOfFile(file)
    const head = yield* before
    const { book, from, object, opening, owner_id: id, to } = head ?? {}
    if (object !== "statement" || (book !== "account" && book !== "connection")) return yield* noExport(file)
    const now = yield* linesOfAnswer(service, operationOf({ kind: book }, "statement"), {
      params: { id: String(id) },
      query: { from, to, format: "jsonl" }
    })
    const headNow = yield* now
    const found = yield* compared(file, book === "account", before, now)
    const was =
      headNow?.["opening"] === opening
        ? []
        : [`${String(from)}: opening was ${String(opening)} and is ${String(headNow?.["opening"])}`]
    return { ...found, problems: [...was, ...found.problems] }
  }).pipe(Effect.scoped)

const show = ({ closes, file, lines, problems }: Found): void => {
  for (const problem of problems) write(`${printable(file)}: ${printable(problem)}\n`)
  write(
    `${printable(file)}: ${problems.length === 0 ? "as exported" : "differs"} (entries: ${lines}, closes: ${closes})\n`
  )
  if (problems.length >= MOST) notice(`There may be more: it ends after ${MOST}.`)
}

const checkCommand = Command.make(
  "check",
  {
    files: Argument.String("file").pipe(
      Argument.withDescription("Exports from before: JSON Lines, or the zip of a month"),
      Argument.variadic({ min: 1 })
    )
  },
  ({ files }) =>
    Effect.gen(function* () {
      const service = yield* signedIn
      const json = yield* wantsJson
      for (const file of files) {
        const found = yield* check(service, file)
        if (json) writeJson({ object: "books_check", ...found })
        else show(found)
        if (found.problems.length > 0) process.exitCode = exitCodes.negative
      }
    })
).pipe(
  Command.withDescription(
    "Compare exports from before with the books\n\n  An entry or a close that is not as it was exported is named. Keep exports where whoever can change the database cannot change them."
  ),
  Command.withShortDescription("Compare exports from before with the books"),
  Command.withExamples([{ command: "pix books check november.zip" }])
)

/** The command. */
export const booksCommand = Command.make("books").pipe(
  Command.withDescription("The books: exports against what the service has now"),
  Command.withExamples([{ command: "pix books check november.zip" }]),
  Command.withSubcommands([checkCommand])
)
