/**
 * Collects concurrent calls into batches: calls that arrive while a batch runs are the next batch.
 *
 * Guarantees:
 * - There is no timer: a lone call starts at the end of its turn of the event loop.
 * - One batch runs at a time. One that takes longer than a second is detached, so that the next batch starts; at most
 *   `MAX_DETACHED` are.
 * - The next batch starts before the callers of the previous one continue.
 * - When more calls wait than fit, accounts take turns. The calls of one account keep their order.
 * - Calls of a locked account wait in statements of their own, in order. Other accounts do not wait for the lock.
 * - A call whose caller left is still done. Every caller is answered by the deadline; a write then runs to its end.
 * - Failures are retried as `Batch.ts` says.
 * - Beyond `maxWaiting` calls, and while the running batch is past its deadline, a call fails with `Unavailable` at once.
 *
 * Why: docs/decisions/0001-batched-writes.md. Nobody outside the stores knows of batches.
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import { answer, type Batch, type Call, execute, makeBatch, type Run } from "./Batch.ts"
import { LOCKED, type LockMode } from "../statements/LockMode.ts"
import { takeRoundRobin } from "./RoundRobin.ts"
import { abandon } from "../RunToCompletion.ts"
import { DATABASE_TIMEOUT_MS, Unavailable } from "../Unavailable.ts"
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
    const runFork = Effect.runForkWith(context)
    const maxWaiting = options.maxWaiting ?? 10_000
    const accountOf = ({ member }: Call<A, B>) => options.accountOf?.(member) ?? ""
    const { sizeOf } = options
    const sizeOfCall = sizeOf === undefined ? undefined : ({ member }: Call<A, B>) => sizeOf(member)
    let waiting: Array<Call<A, B>> = []
    /** The batch that the next one waits for. */
    let current: Batch<A, B> | undefined
    let isFlushScheduled = false
    let detached = 0
    const lockedAccounts = new Map<string, LockedAccount<A, B>>()
    let runningLockWaits = 0
    let waitingForLocks = 0

    /** Runs a batch; `onEnd` is called before its callers continue. */
    const start = (batch: Batch<A, B>, on: { onSlow?: () => void; onTimeout: () => void; onEnd: () => void }): void => {
      const executed = Effect.suspend(() => execute(batch, options.run, options.writes ?? options.reads))
      const slotted = options.writes === undefined ? undefined : withWriteSlot(options.writes, executed)
      const fiber = runFork(slotted?.effect ?? executed)
      batch.deadline.start(on.onSlow, () => {
        batch.hasTimedOut = true
        answer(batch.calls, new Unavailable({ reason: "too-slow" }))
        on.onTimeout()
        if (options.writes === undefined) fiber.interruptUnsafe()
        else runFork(abandon(options.writes, fiber, slotted?.hasStarted() === true))
      })
      fiber.addObserver((exit) => {
        batch.deadline.clear()
        on.onEnd()
        for (const [call, result] of batch.results) answer([call], result)
        // A defect of this module: calls without an answer fail with it.
        if (Exit.isFailure(exit)) answer(batch.calls, Effect.failCause(exit.cause))
      })
    }

    const flush = (): void => {
      isFlushScheduled = false
      const { rest, taken } = takeRoundRobin(waiting, options.maxBatch, accountOf, sizeOfCall)
      waiting = rest
      const calls = lockedAccounts.size === 0 ? taken : taken.filter((call) => !queuedBehindLock(call))
      if (calls.length === 0) return next()
      const batch = makeBatch(calls, "skip", waitForLock)
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

    /** Queues a call behind those of its account that wait for a lock; false where there are none. */
    const queuedBehindLock = (call: Call<A, B>): boolean => {
      const account = lockedAccounts.get(accountOf(call))
      if (account === undefined) return false
      if (account.running?.hasTimedOut === true) {
        answer([call], new Unavailable({ reason: "too-slow" }))
      } else {
        account.waiting.push(call)
        waitingForLocks++
      }
      return true
    }

    const waitForLock = (call: Call<A, B>): void => {
      if (queuedBehindLock(call)) return
      const id = accountOf(call)
      const account: LockedAccount<A, B> = { waiting: [call], running: undefined, timer: undefined }
      waitingForLocks++
      lockedAccounts.set(id, account)
      // A microtask later, so that the later calls of the account in this batch are included.
      queueMicrotask(() => startLockWait(id, account))
    }

    const startLockWait = (id: string, account: LockedAccount<A, B>): void => {
      if (account.running !== undefined || account.waiting.length === 0) return
      if (runningLockWaits >= MAX_LOCK_WAITS) {
        account.timer ??= setTimeout(() => timeOut(id, account), DATABASE_TIMEOUT_MS)
        return
      }
      clearTimeout(account.timer)
      account.timer = undefined
      runningLockWaits++
      const calls = account.waiting.splice(0, options.maxBatch)
      waitingForLocks -= calls.length
      const unexpected = Effect.die(new Error("a batch that waits for its lock must not answer LOCKED"))
      const batch = makeBatch(calls, "wait", (call) => answer([call], unexpected))
      account.running = batch
      start(batch, {
        onTimeout: () => timeOut(id, account),
        onEnd: () => {
          account.running = undefined
          runningLockWaits--
          lockedAccounts.delete(id)
          // To the end of the line.
          if (account.waiting.length > 0) lockedAccounts.set(id, account)
          for (const [otherId, other] of lockedAccounts) startLockWait(otherId, other)
        }
      })
    }

    const timeOut = (id: string, account: LockedAccount<A, B>): void => {
      account.timer = undefined
      const calls = account.waiting.splice(0)
      waitingForLocks -= calls.length
      if (account.running === undefined) lockedAccounts.delete(id)
      answer(calls, new Unavailable({ reason: "too-slow" }))
    }

    return (member) =>
      Effect.callback((resume) => {
        const hasTimedOut = current?.hasTimedOut === true
        if (hasTimedOut || waiting.length + waitingForLocks >= maxWaiting) {
          resume(new Unavailable({ reason: hasTimedOut ? "too-slow" : "queue-full" }))
          return
        }
        waiting.push({ member, resume, isAnswered: false })
        if (current !== undefined || isFlushScheduled) return
        // Calls of the same turn of the event loop share the batch.
        isFlushScheduled = true
        queueMicrotask(flush)
      })
  })

/** Maximum slow batches of a store that run beside the current one. */
const MAX_DETACHED = 1

/** Maximum accounts of a store whose locks are waited for at once. */
const MAX_LOCK_WAITS = 4

/** The calls of an account that another transaction has locked. */
interface LockedAccount<A, B> {
  readonly waiting: Array<Call<A, B>>
  running: Batch<A, B> | undefined
  /** Ends the wait while none of its statements runs. */
  timer: NodeJS.Timeout | undefined
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
