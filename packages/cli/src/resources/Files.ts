/**
 * Answers that are files, such as receipts: written to standard output as they are.
 *
 * Rules: CLI-37.
 */
import * as Effect from "effect/Effect"
import { exitCodes, Failure, usage } from "../Failure.ts"
import { notOperator, openAnswer, type OperatorRequest, type Service } from "../OperatorClient.ts"
import { drained, isTerminal } from "../Terminal.ts"

/** Writes a file to standard output. Fails if the service refuses the request, or where a person would see bytes. */
export const writeFile = Effect.fnUntraced(function* (service: Service, operation: string, request: OperatorRequest) {
  if (isTerminal()) return yield* usage("The answer is a file: write it with > FILE.")
  const response = yield* openAnswer(service, operation, request)
  const type = response.headers["content-type"] ?? ""
  if (type.startsWith("application/json")) return yield* notOperator(service)
  const bytes = yield* Effect.mapError(
    response.arrayBuffer,
    () => new Failure({ message: "The answer is incomplete. Run the command again.", exitCode: exitCodes.unreachable })
  )
  process.stdout.write(new Uint8Array(bytes))
  yield* drained
})
