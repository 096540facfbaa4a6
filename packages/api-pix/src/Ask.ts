/**
 * A call whose answer is read and compared with its question.
 *
 * Guarantees
 * - An answer that cannot be read, or is not of its question, is `Unclear` with the field's name: it may still mean "done".
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type { Call, Connection } from "./Connection.ts"
import type { Decode } from "./Decoding.ts"
import { type Failure, type Operation, Unclear } from "./Outcome.ts"

/** Whether each field that names the question, or repeats its terms, is that of the question. */
export type Fits<A> = (answer: A) => Readonly<Record<string, boolean>>

export const ask = <A>(
  connection: Connection,
  operation: Operation,
  call: Call,
  decode: Decode<A>,
  fits?: Fits<A>
): Effect.Effect<A, Failure> =>
  Effect.flatMap(connection.call(operation, call), ({ status, body }) =>
    Effect.flatMap(Clock.currentTimeMillis, (nowMs) => {
      const unclear = (problem: string) =>
        Effect.fail(
          new Unclear({ operation: operation.name, kind: "unknown-answer", reason: `status ${status}: ${problem}` })
        )
      const read = decode(body, { nowMs, zone: connection.profile.zone, unreadable: [] })
      if (Result.isFailure(read)) return unclear(read.failure)
      const answer = read.success
      const [other] = Object.entries(fits?.(answer) ?? {}).find(([, isOurs]) => !isOurs) ?? []
      return other === undefined ? Effect.succeed(answer) : unclear(`${other} is not that of the question`)
    })
  )
