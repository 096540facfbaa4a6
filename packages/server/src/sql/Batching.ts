/**
 * Joins a service that does one thing to a store that writes many: what concurrent callers ask for while the
 * previous batch is under way becomes the next batch.
 *
 * Guarantees:
 * - one batch in flight, and no waiting for more than this turn of the event loop brings: a lone caller waits for nobody;
 * - the next batch is under way before the callers of the last one go on;
 * - a member whose caller went away is still done;
 * - a statement that fails because of one member is tried again in halves, so that the others are done;
 * - bounded: beyond `maxWaiting` members a caller is told `Unavailable` at once, and so is everybody while the
 *   database is silent.
 *
 * Measured (guides of this project): a plain queue costs a few microseconds a member, a `RequestResolver`
 * 18 to 31 more. Nobody outside this module and the stores knows that batches exist.
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { SqlError } from "effect/sql/SqlError"
import { faultOf, isPassing, PATIENCE_MS, Unavailable } from "./Unavailable.ts"

export interface Options<A, B> {
  /** Most members of one statement. */
  readonly maxBatch: number
  /** Most members that wait for their turn. */
  readonly maxWaiting?: number
  /** Does all members in one commit, and answers each in order. */
  readonly run: (members: ReadonlyArray<A>) => Effect.Effect<ReadonlyArray<B>, SqlError>
}

/** Makes the function that does one member. Its batches run with the services of the caller of `make`. */
export const make = <A, B>(options: Options<A, B>): Effect.Effect<(member: A) => Effect.Effect<B, Unavailable>> =>
  Effect.map(Effect.context(), (context) => {
    const runFork = Effect.runForkWith(context)
    const maxWaiting = options.maxWaiting ?? 10_000
    let waiting: Array<Waiting<A, B>> = []
    let state: "idle" | "about to flush" | "in flight" = "idle"
    let isSilent = false

    const flush = () => {
      const batch = waiting.length <= options.maxBatch ? waiting : waiting.slice(0, options.maxBatch)
      waiting = batch === waiting ? [] : waiting.slice(options.maxBatch)
      state = "in flight"
      let isAnswered = false
      const fiber = runFork(
        answers(
          options.run,
          batch.map(({ member }) => member)
        )
      )
      const timer = setTimeout(() => {
        isSilent = true
        isAnswered = true
        const all = [...batch, ...waiting]
        waiting = []
        for (const { resume } of all) resume(new Unavailable({ reason: "too-slow" }))
        fiber.interruptUnsafe()
      }, PATIENCE_MS)
      fiber.addObserver((exit) => {
        clearTimeout(timer)
        state = "idle"
        isSilent = false
        // The database works on the next batch while this one's callers go on.
        if (waiting.length > 0) flush()
        if (isAnswered) return
        for (let i = 0; i < batch.length; i++)
          batch[i]!.resume(Exit.isSuccess(exit) ? exit.value[i]! : Effect.failCause(exit.cause))
      })
    }

    return (member) =>
      Effect.callback((resume) => {
        if (isSilent || waiting.length >= maxWaiting) {
          resume(new Unavailable({ reason: isSilent ? "too-slow" : "queue-full" }))
          return
        }
        waiting.push({ member, resume })
        if (state !== "idle") return
        // Whoever else asks in this turn of the event loop comes along.
        state = "about to flush"
        queueMicrotask(flush)
      })
  })

/**
 * A `run` that does changes, each of the resource with the id that `idOf` gives; `write` returns the ids that it
 * changed. Of several changes of one resource only the first is done and answered true: the others were decided on a
 * state that it ends.
 */
export const firstOfEach =
  <A>(
    idOf: (change: A) => string,
    write: (changes: ReadonlyArray<A>) => Effect.Effect<ReadonlyArray<{ readonly id: string }>, SqlError>
  ): Options<A, boolean>["run"] =>
  (changes) => {
    const firsts = new Map<string, A>()
    for (const each of changes) if (!firsts.has(idOf(each))) firsts.set(idOf(each), each)
    return Effect.map(write([...firsts.values()]), (done) => {
      const ids = new Set(done.map(({ id }) => id))
      return changes.map((each) => firsts.get(idOf(each)) === each && ids.has(idOf(each)))
    })
  }

interface Waiting<A, B> {
  readonly member: A
  readonly resume: (result: Effect.Effect<B, Unavailable>) => void
}

/** What each member is answered, in order. */
const answers = <A, B>(
  run: Options<A, B>["run"],
  members: ReadonlyArray<A>
): Effect.Effect<ReadonlyArray<Effect.Effect<B, Unavailable>>> =>
  Effect.flatMap(Effect.exit(Effect.suspend(() => run(members))), (exit) => {
    if (Exit.isSuccess(exit)) return Effect.succeed(exit.value.map(Effect.succeed))
    const fault = faultOf(exit.cause)
    if (fault !== undefined && isPassing(fault)) {
      return Effect.succeed(members.map(() => new Unavailable({ reason: "database-away" })))
    }
    if (members.length === 1) return Effect.succeed([Effect.orDie(Effect.failCause(exit.cause))])
    const half = members.length >> 1
    return Effect.zipWith(answers(run, members.slice(0, half)), answers(run, members.slice(half)), (first, second) => [
      ...first,
      ...second
    ])
  })
