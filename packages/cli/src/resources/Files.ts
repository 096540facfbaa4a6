/**
 * Answers that are files, such as receipts and statements: written to standard output as they arrive.
 *
 * Guarantee: memory is that of a chunk, also where the reader is slow.
 *
 * Rules: CLI-37.
 */
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { exitCodes, Failure, usage } from "../Failure.ts"
import { notOperator, openAnswer, type OperatorRequest, type Service } from "../OperatorClient.ts"
import { drained, isTerminal } from "../Terminal.ts"

/** Writes a file to standard output, and gives the name that the service has for it. Fails if the service refuses the request, or where a person would see bytes. */
export const writeFile = Effect.fnUntraced(function* (service: Service, operation: string, request: OperatorRequest) {
  if (isTerminal()) return yield* usage("The answer is a file: write it with > FILE.")
  const response = yield* openAnswer(service, operation, request)
  const type = response.headers["content-type"] ?? ""
  if (type.startsWith("application/json")) return yield* notOperator(service)
  yield* Stream.runForEach(
    Stream.mapError(
      response.stream,
      () =>
        new Failure({ message: "The answer is incomplete. Run the command again.", exitCode: exitCodes.unreachable })
    ),
    (bytes) =>
      Effect.suspend(() => {
        process.stdout.write(bytes)
        return drained
      })
  )
  return response.headers["content-disposition"] ?? ""
})
