/**
 * Exports of books in JSON Lines, line by line: a file, the file in the zip of a month, or an answer of the service.
 *
 * Guarantee: memory is that of a chunk.
 */
import * as Effect from "effect/Effect"
import * as Zip from "effect/encoding/Zip"
import * as Pull from "effect/Pull"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { createReadStream } from "node:fs"
import { exitCodes, Failure, usage } from "../Failure.ts"
import { openAnswer, type OperatorRequest, type Service } from "../OperatorClient.ts"
import { printable } from "../Terminal.ts"

/** A line of an export. */
export type Line = Readonly<Record<string, unknown>>

/** Reads the next line; `undefined` at the end. */
export type Lines = Effect.Effect<Line | undefined, Failure>

export const linesOfFile = (file: string): Effect.Effect<Lines, never, Scope.Scope> => {
  const bytes = Stream.fromAsyncIterable<Uint8Array, Failure>(createReadStream(file), (error) =>
    usage(`${printable(file)} cannot be read: ${String(Object(error).code ?? error)}`)
  )
  return readerOf(file.endsWith(".zip") ? entryOf(file, bytes) : bytes, () => noExport(file))
}

/** The JSON Lines of a package. */
const entryOf = (file: string, bytes: Stream.Stream<Uint8Array, Failure>): Stream.Stream<Uint8Array, Failure> =>
  bytes.pipe(
    Stream.pipeThroughChannel(Zip.decode<Failure>()),
    Stream.filter(({ header }) => header.path.endsWith(".jsonl")),
    Stream.flatMap(({ body }) => body),
    Stream.mapError((error) => (error instanceof Failure ? error : noExport(file)))
  )

export const linesOfAnswer = Effect.fnUntraced(function* (
  service: Service,
  operation: string,
  request: OperatorRequest
) {
  const response = yield* openAnswer(service, operation, request)
  const incomplete = new Failure({
    message: "The answer is incomplete. Run the command again.",
    exitCode: exitCodes.unreachable
  })
  return yield* readerOf(
    Stream.mapError(response.stream, () => incomplete),
    () => incomplete
  )
})

export const noExport = (file: string): Failure => usage(`${printable(file)} is no complete export in JSON Lines.`)

const readerOf = (
  bytes: Stream.Stream<Uint8Array, Failure>,
  bad: () => Failure
): Effect.Effect<Lines, never, Scope.Scope> =>
  Effect.map(Stream.toPull(Stream.splitLines(Stream.decodeText(bytes))), (pull): Lines => {
    let chunk: ReadonlyArray<string> = []
    let index = 0
    return Effect.gen(function* () {
      while (index >= chunk.length) {
        const next = yield* Pull.catchDone(pull, () => Effect.undefined)
        if (next === undefined) return undefined
        chunk = next
        index = 0
      }
      return yield* parsed(chunk[index++]!, bad)
    })
  })

const parsed = (text: string, bad: () => Failure): Effect.Effect<Line, Failure> =>
  Effect.try({ try: () => Object(JSON.parse(text)) as Line, catch: bad })
