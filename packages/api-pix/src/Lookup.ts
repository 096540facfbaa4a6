/** Look-ups: repeated when they fail, and used to find what an unclear order has become. */
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import type { Limits } from "./Connection.ts"
import { type Failure, NotSent, type Operation, Unclear } from "./Outcome.ts"

/** A look-up changes nothing, so it is repeated after any failure that may pass. */
export const repeated = <A>(
  { lookupRetries, retryDelayMs }: Limits,
  lookUp: Effect.Effect<A, Failure>
): Effect.Effect<A, Failure> =>
  Effect.retry(lookUp, {
    times: lookupRetries,
    schedule: Schedule.jittered(Schedule.exponential(retryDelayMs)),
    while: (failure) => failure._tag === "Unclear" || (failure._tag === "NotSent" && failure.reason === "no-connection")
  })

/**
 * The state of an order whose answer does not say it: unclear, duplicate, or a refusal that may mean "you have ordered
 * this before". `find` fails for an order in other terms; `problemWith` is what else is found amiss. If nothing is found, a
 * refusal stands, and anything else is unclear: the order may still be on its way.
 */
export const settledBy =
  <A>(
    operation: Operation,
    find: Effect.Effect<A, Failure>,
    problemWith: (found: A, order: Failure) => Failure | undefined = () => undefined
  ) =>
  (order: Effect.Effect<A, Failure>): Effect.Effect<A, Failure> =>
    Effect.catchIf(
      order,
      ({ _tag }) => _tag === "Unclear" || _tag === "Duplicate" || _tag === "Refused",
      (failure) =>
        find.pipe(
          Effect.mapError((lookUp) => afterLookup(operation, failure, lookUp)),
          Effect.flatMap((found) => {
            const problem = problemWith(found, failure)
            return problem === undefined ? Effect.succeed(found) : Effect.fail(problem)
          })
        )
    )

/** A refusal of a look-up says nothing of what is looked up. */
export const unclearIfRefused =
  ({ name: operation }: Operation) =>
  <A>(lookUp: Effect.Effect<A, Failure>) =>
    Effect.catchTag(lookUp, "Refused", ({ code }) =>
      Effect.fail(new Unclear({ operation, kind: "unknown-answer", reason: `looked up: refused as ${code}` }))
    )

const afterLookup = ({ name: operation }: Operation, order: Failure, lookUp: Failure): Failure => {
  if (lookUp._tag !== "NotFound") {
    const reason = `${described(order)}; looked up: ${described(lookUp)}`
    return new Unclear({ operation, kind: order._tag === "Unclear" ? order.kind : "unknown-answer", reason })
  }
  return order._tag === "Refused"
    ? order
    : new Unclear({ operation, kind: "not-found-yet", reason: `${described(order)}; looked up: not found` })
}

const described = (failure: Failure): string => (failure._tag === "Unclear" ? failure.reason : failure._tag)

/** An id in a path. */
export const checkedId = (operation: Operation, pattern: RegExp, id: string): Effect.Effect<string, NotSent> =>
  pattern.test(id)
    ? Effect.succeed(id)
    : Effect.fail(
        new NotSent({ operation: operation.name, reason: "invalid-request", detail: `the id has another form` })
      )
