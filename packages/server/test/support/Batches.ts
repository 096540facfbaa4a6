/** A store that is written in batches, in memory, and requests that come to it in an order that a test sets. */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import { ConnectionError, ConstraintError, SqlError } from "effect/sql/SqlError"
import * as Batching from "../../src/database/batching/Batching.ts"

export const begin = <A, E>(effect: Effect.Effect<A, E>) => Effect.forkChild(effect, { startImmediately: true })

/** Until every fiber that is scheduled has run. */
export const turn = Effect.promise(() => new Promise<void>((resolve) => void setImmediate(() => setImmediate(resolve))))

/** The first is alone in its batch; the others come in the turn after. */
export const firstThenOthers = Effect.fnUntraced(function* <A, E>(
  one: (member: number) => Effect.Effect<A, E>,
  members: ReadonlyArray<number>
) {
  const first = yield* begin(one(members[0]!))
  yield* Effect.promise(() => Promise.resolve())
  return [first, ...(yield* Effect.forEach(members.slice(1), (member) => begin(one(member))))]
})

/** A store that records its batches; `hold` makes the next one wait for the release. */
export const makeStore = (
  options: {
    readonly maxBatch?: number
    readonly maxWaiting?: number
    readonly poison?: number
    readonly isAway?: boolean
    readonly fault?: SqlError
    readonly accountOf?: (member: number) => string
    readonly sizeOf?: (member: number) => number
  } = {}
) =>
  Effect.gen(function* () {
    const batches: Array<ReadonlyArray<number>> = []
    const done: Array<number> = []
    let gate: Deferred.Deferred<void> | undefined
    let atOnce = 0
    let most = 0
    const one = yield* Batching.make<number, string>({
      maxBatch: options.maxBatch ?? 100,
      ...(options.maxWaiting === undefined ? {} : { maxWaiting: options.maxWaiting }),
      ...(options.accountOf === undefined ? {} : { accountOf: options.accountOf }),
      ...(options.sizeOf === undefined ? {} : { sizeOf: options.sizeOf }),
      run: (members) =>
        Effect.gen(function* () {
          batches.push(members)
          most = Math.max(most, ++atOnce)
          const held = gate
          gate = undefined
          if (held !== undefined) yield* Deferred.await(held)
          yield* Effect.yieldNow
          atOnce--
          const cause = new Error("thrown by the test")
          if (options.isAway === true) return yield* new SqlError({ reason: new ConnectionError({ cause }) })
          if (members.some((member) => member === options.poison)) {
            return yield* options.fault ?? new SqlError({ reason: new ConstraintError({ cause }) })
          }
          done.push(...members)
          return members.map((member) => `done ${member}`)
        })
    })
    return {
      one,
      batches,
      done,
      mostAtOnce: () => most,
      hold: () => {
        const held = Deferred.makeUnsafe<void>()
        gate = held
        return () => Deferred.doneUnsafe(held, Effect.void)
      }
    }
  })
