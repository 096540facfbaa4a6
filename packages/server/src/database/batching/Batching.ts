/**
 * Collects concurrent calls into batches: calls that arrive while a batch runs are the next batch.
 *
 * Guarantees:
 * - There is no timer: a lone call starts at the end of its turn of the event loop.
 * - One batch runs at a time. One that takes longer than a second is detached, so that the next batch starts; at most
 *   `MAX_DETACHED` are.
 * - The next batch starts before the callers of the previous one continue.
 * - When more calls wait than fit, accounts take turns. The calls of one account keep their order.
 * - Calls of a locked account wait in statements of their own, in order (`LockWaits.ts`). Other accounts do not wait for the lock.
 * - A call whose caller left is still done. Every caller is answered by the deadline; the statement of a write then runs to its
 *   end, and no other is sent (`untilAnswered`).
 * - Failures are retried as `Batch.ts` says.
 * - Beyond `maxWaiting` calls, and while the running batch is past its deadline, a call fails with `Unavailable` at once.
 *
 * Why: docs/decisions/0001-batched-writes.md. Nobody outside the stores knows of batches.
 */
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import type { Span } from "effect/Tracer"
import { answer, type Batch, type Call, execute, makeBatch, type Run, type Start } from "./Batch.ts"
import { exportedSpan, linksTo, UNTRACKED } from "../../base/observability/Tracing.ts"
import { makeLockWaits } from "./LockWaits.ts"
import { LOCKED, type LockMode } from "../statements/LockMode.ts"
import { takeRoundRobin } from "./RoundRobin.ts"
import { abandon, IsAnswered } from "../RunToCompletion.ts"
import { Unavailable } from "../Unavailable.ts"
import { withWriteSlot } from "../WriteSlots.ts"

export interface Options<A, B> {
  /** Maximum size of one statement. */
  readonly maxBatch: number
  /** The size of a member, by default 1. */
  readonly sizeOf?: (member: A) => number
  /** Maximum calls that wait. */
  readonly maxWaiting?: number
  /** The account of a member. */
  readonly accountOf?: (member: A) => string
  /** The client of a `run` that writes: such a run is never interrupted. */
  readonly writes?: SqlClient | undefined
  /** The client of a `run` that only reads. With it, halves of a batch that PostgreSQL cancelled have short timeouts too. */
  readonly reads?: SqlClient | undefined
  readonly run: Run<A, B>
}

/** Returns the function that does one member. Batches run with the services of the caller of `make`. */
export const make = <A, B>(options: Options<A, B>): Effect.Effect<(member: A) => Effect.Effect<B, Unavailable>> =>
  Effect.map(Effect.context(), (context) => {
    const maxWaiting = options.maxWaiting ?? 10_000
    const accountOf = ({ member }: Call<A, B>) => options.accountOf?.(member) ?? ""
    const { sizeOf } = options
    const sizeOfCall = sizeOf === undefined ? undefined : ({ member }: Call<A, B>) => sizeOf(member)
    const start = starter(options, context)
    const lockWaits = makeLockWaits(start, accountOf, options.maxBatch)
    let waiting: Array<Call<A, B>> = []
    /** The batch that the next one waits for. */
    let current: Batch<A, B> | undefined
    let isFlushScheduled = false
    let detached = 0

    const flush = (): void => {
      isFlushScheduled = false
      const { rest, taken } = takeRoundRobin(waiting, options.maxBatch, accountOf, sizeOfCall)
      waiting = rest
      const calls = taken.filter((call) => !lockWaits.queueBehind(call))
      if (calls.length === 0) return next()
      const batch = makeBatch(calls, "skip", lockWaits.add)
      current = batch
      start(batch, {
        onSlow: () => {
          batch.isSlow = true
          detachSlow()
        },
        // Calls behind it do not wait longer than it did.
        onTimeout: () => {
          if (current === batch) answer(waiting.splice(0), new Unavailable({ reason: "too-slow" }))
        },
        onEnd: () => {
          if (current === batch) current = undefined
          else detached--
          detachSlow()
          next()
        }
      })
    }

    /** Detaches the current batch where it is slow, and starts the next one. */
    const detachSlow = (): void => {
      if (current?.isSlow !== true || detached >= MAX_DETACHED) return
      detached++
      current = undefined
      next()
    }

    const next = (): void => {
      if (current === undefined && !isFlushScheduled && waiting.length > 0) flush()
    }

    const call = (member: A, span: Span | undefined): Effect.Effect<B, Unavailable> =>
      Effect.callback((resume) => {
        const hasTimedOut = current?.hasTimedOut === true
        if (hasTimedOut || waiting.length + lockWaits.count() >= maxWaiting) {
          resume(new Unavailable({ reason: hasTimedOut ? "too-slow" : "queue-full" }))
          return
        }
        waiting.push({ member, span, resume, isAnswered: false })
        if (current !== undefined || isFlushScheduled) return
        // Calls of the same turn of the event loop share the batch.
        isFlushScheduled = true
        queueMicrotask(flush)
      })

    return (member) =>
      Effect.withFiber((fiber) =>
        exportedSpan(fiber) === undefined
          ? call(member, undefined)
          : Effect.useSpan("batch", (span) => call(member, span))
      )
  })

/** Maximum slow batches of a store that run beside the current one. */
const MAX_DETACHED = 1

/** Returns the function that runs a batch, and ends it at its deadline. */
const starter = <A, B>({ reads, run, writes }: Options<A, B>, context: Context.Context<never>): Start<A, B> => {
  const runFork = Effect.runForkWith(context)
  return (batch, { onEnd, onSlow, onTimeout }) => {
    const executed = Effect.provideService(
      inSpanOf(
        batch.calls,
        Effect.suspend(() => execute(batch, run, writes ?? reads))
      ),
      IsAnswered,
      () => batch.hasTimedOut
    )
    const slotted = writes === undefined ? undefined : withWriteSlot(writes, executed)
    const fiber = runFork(slotted?.effect ?? executed)
    batch.deadline.start(onSlow, () => {
      batch.hasTimedOut = true
      answer(batch.calls, new Unavailable({ reason: "too-slow" }))
      onTimeout()
      if (writes === undefined) fiber.interruptUnsafe()
      else runFork(abandon(writes, fiber, slotted?.hasStarted() === true))
    })
    fiber.addObserver((exit) => {
      batch.deadline.clear()
      onEnd()
      for (const [call, result] of batch.results) answer([call], result)
      // A defect of this module: calls without an answer fail with it.
      if (Exit.isFailure(exit)) answer(batch.calls, Effect.failCause(exit.cause))
    })
  }
}

/** Runs a batch below the span of its first traced call, to which the spans of the others have links. */
const inSpanOf = <A, B>(calls: ReadonlyArray<Call<A, B>>, executed: Effect.Effect<void>): Effect.Effect<void> => {
  const [first, ...others] = calls.flatMap(({ span }) => span ?? [])
  if (first === undefined) return executed
  first.attribute("pix.batch.size", calls.length)
  for (const each of others) each.addLinks(linksTo(first))
  return Effect.withParentSpan(executed, first, UNTRACKED)
}

/**
 * A `run` for changes of resources. `write` returns the ids of the changed resources and the locked accounts. Of several
 * changes of one resource in a batch, only the first is written; the others answer false, because they were decided on
 * the state before it.
 */
export const firstOfEach =
  <A>(
    idOf: (change: A) => string,
    accountOf: (change: A) => string,
    write: (changes: ReadonlyArray<A>, lockMode: LockMode) => Effect.Effect<ReadonlyArray<Written>, SqlError>
  ): Run<A, boolean> =>
  (changes, lockMode) => {
    const firsts = new Map<string, A>()
    for (const each of changes) if (!firsts.has(idOf(each))) firsts.set(idOf(each), each)
    return Effect.map(write([...firsts.values()], lockMode), (written) => {
      const ids = new Set(written.map(({ id }) => id))
      const locked = new Set(written.map(({ passed_by }) => passed_by))
      return changes.map((each) => {
        if (firsts.get(idOf(each)) !== each) return false
        return ids.has(idOf(each)) || (locked.has(accountOf(each)) ? LOCKED : false)
      })
    })
  }

/** A row of a statement that changes resources: a changed resource, or an account that it skipped as locked. */
export interface Written {
  readonly id: string | null
  readonly passed_by?: string | null
}
