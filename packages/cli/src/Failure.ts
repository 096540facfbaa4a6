/** Failures of a command: a message that says what to do, and an exit code. CLI-2, CLI-3. */
import * as Data from "effect/Data"

/** The exit codes of `pix`. */
export const exitCodes = {
  /** The command did its work, and the answer is negative: an inconsistent ledger, a failed check. */
  negative: 1,
  /** A wrong flag or argument, or a question that nobody can answer. */
  usage: 2,
  /** No answer from the service. */
  unreachable: 3,
  /** Not signed in, or not allowed. */
  denied: 4,
  /** The service refused the request. */
  refused: 5,
  /** The service failed, or asks to wait. */
  unavailable: 6
} as const

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes]

export class Failure extends Data.TaggedError("Failure")<{
  readonly message: string
  readonly exitCode: ExitCode
  /** The error code of the service, if it answered. */
  readonly code?: string
}> {}

export const usage = (message: string) => new Failure({ message, exitCode: exitCodes.usage })
