/**
 * `pix statements import FILE…`: files of banks, one after the other. CLI-38.
 *
 * Guarantees:
 * - Each file is answered by itself; the command ends at the first that is refused.
 * - It ends with 1 where a line that may be a movement could not be read, or a file is not what it says of itself.
 */
import type { BankStatement } from "@pix-payments/api/operator/BankStatements"
import { harmlessRemarks } from "@pix-payments/domain/BankStatement"
import { counted } from "@pix-payments/domain/Reason"
import { isUuid } from "@pix-payments/domain/Uuid"
import * as Effect from "effect/Effect"
import * as Argument from "effect/cli/Argument"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import { readFileSync } from "node:fs"
import { exitCodes, usage } from "./Failure.ts"
import { call } from "./OperatorClient.ts"
import { wantsJson, writeJson } from "./Output.ts"
import { attempt, signedIn } from "./Profile.ts"
import { notice, printable, withTime, write } from "./Terminal.ts"

const contentOf = (file: string): string => {
  try {
    return readFileSync(file).toString("base64")
  } catch (error) {
    throw usage(`${file} cannot be read: ${String(Object(error).code ?? error)}`)
  }
}

const show = (
  file: string,
  { lines_known, lines_new, lines_read, lines_unread, problems, unread }: BankStatement
): void => {
  write(`${printable(file)}: ${counted(lines_read, "line")}, ${lines_new} new, ${lines_known} known\n`)
  for (const { line, reason, text } of unread) notice(`  line ${line}: ${printable(reason)}: ${printable(text)}`)
  if (lines_unread > unread.length) notice(`  and ${counted(lines_unread - unread.length, "line")} more, not read`)
  for (const problem of problems) notice(`  ${printable(problem)}`)
}

/** The command. */
export const importCommand = Command.make(
  "import",
  {
    files: Argument.String("file").pipe(
      Argument.withDescription("Statement files: OFX or CNAB 240"),
      Argument.variadic({ min: 1 })
    ),
    connection: Flag.String("connection").pipe(Flag.withDescription("A connection of the bank account (id)"))
  },
  ({ connection, files }) =>
    Effect.gen(function* () {
      if (!isUuid(connection)) return yield* usage(`Not an id: ${connection}`)
      const service = yield* signedIn
      const json = yield* wantsJson
      const contents = yield* attempt(() => files.map((file) => ({ file, content: contentOf(file) })))
      for (const { content, file } of contents) {
        const { body } = yield* call(service, "bankStatements.import", {
          payload: { connection_id: connection, content }
        }).pipe(withTime)
        const statement = body as BankStatement
        if (json) writeJson(statement)
        else show(file, statement)
        const isAllRead = statement.unread.every(({ reason }) => harmlessRemarks.has(reason))
        if (statement.problems.length > 0 || !isAllRead) process.exitCode = exitCodes.negative
      }
    })
).pipe(
  Command.withDescription(
    "Import statement files of a bank\n\n  A file is imported once, and a line once, whichever files have it. Lines that are no movements, or cannot be read, are shown."
  ),
  Command.withShortDescription("Import statement files of a bank"),
  Command.withExamples([
    { command: "pix statements import november.ofx --connection 01a2027c-27ce-74b6-88f7-06b8f8b33cb6" }
  ])
)
