/**
 * Answers in JSON Lines, such as the exported audit log: written as they are read.
 *
 * Guarantees:
 * - One chunk and one incomplete line are in memory, also where the reader is slow.
 * - Only complete lines are written. An answer without its last line, which counts the others, is a `Failure`.
 *
 * Rules: CLI-26.
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import { exitCodes, Failure } from "../Failure.ts"
import { notOperator, openAnswer, type OperatorRequest, type Service } from "../OperatorClient.ts"
import { escaped, isTerminal, progress, written } from "../Terminal.ts"

const CONTENT_TYPE = "application/jsonl"

/** How long the service may take for the next chunk. */
const TIMEOUT = "30 seconds"

/** The longest line that is waited for. Entries are a fraction of it: a request's body has at most 256 KiB. */
const MAX_LINE_CHARACTERS = 8 * 1024 * 1024

/** Writes the lines of an answer to standard output. Fails if the service refuses the request, or the answer is incomplete. */
export const writeLines = Effect.fnUntraced(function* (service: Service, operation: string, request: OperatorRequest) {
  const response = yield* openAnswer(service, operation, request)
  if (!response.headers["content-type"]?.startsWith(CONTENT_TYPE)) return yield* notOperator(service)
  const pull = yield* Stream.toPull(Stream.decodeText(response.stream))
  let count = 0
  let last = ""
  let rest = ""
  while (true) {
    const chunks = yield* Effect.option(Effect.timeout(pull, TIMEOUT))
    if (Option.isNone(chunks)) break
    const lines = (rest + chunks.value.join("")).split("\n")
    rest = lines.pop() ?? ""
    if (rest.length > MAX_LINE_CHARACTERS) break
    if (lines.length === 0) continue
    count += lines.length
    last = lines.at(-1) ?? ""
    yield* written(escaped(`${lines.join("\n")}\n`))
    if (!isTerminal()) progress(`${count} entries`)
  }
  progress("")
  if (entriesIn(last) !== count - 1 || rest !== "") {
    return yield* new Failure({
      message: `The answer is incomplete: it ended after line ${count}. Run the command again, or ask for a shorter range.`,
      exitCode: exitCodes.unreachable
    })
  }
}, Effect.scoped)

/** The number of entries in the last line of a complete answer. */
const entriesIn = (line: string): unknown => {
  try {
    return Object(JSON.parse(line)).entries
  } catch {
    return undefined
  }
}
