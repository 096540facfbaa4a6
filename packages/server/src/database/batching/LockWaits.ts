/**
 * The calls of a store whose account another transaction has locked. They wait for the lock in statements of their own.
 *
 * Guarantees:
 * - The calls of an account keep their order: later ones queue behind those that wait.
 * - At most `MAX_LOCK_WAITS` accounts have a statement that waits. The calls of the others fail with `Unavailable` at the deadline.
 */
import * as Effect from "effect/Effect"
import { answer, type Batch, type Call, makeBatch, type Start } from "./Batch.ts"
import { DATABASE_TIMEOUT_MS, Unavailable } from "../Unavailable.ts"

export interface LockWaits<A, B> {
  /** How many calls wait for a statement. */
  readonly count: () => number
  /** Queues a call behind those of its account that wait for a lock; false where there are none. */
  readonly queueBehind: (call: Call<A, B>) => boolean
  /** Queues a call whose account is locked. */
  readonly add: (call: Call<A, B>) => void
}

export const makeLockWaits = <A, B>(
  start: Start<A, B>,
  accountOf: (call: Call<A, B>) => string,
  maxBatch: number
): LockWaits<A, B> => {
  /** The accounts with such calls, in the order of their turns. */
  const accounts = new Map<string, LockedAccount<A, B>>()
  let running = 0
  let count = 0

  const queueBehind = (call: Call<A, B>): boolean => {
    const account = accounts.get(accountOf(call))
    if (account === undefined) return false
    if (account.running?.hasTimedOut === true) {
      answer([call], new Unavailable({ reason: "too-slow" }))
    } else {
      account.waiting.push(call)
      count++
    }
    return true
  }

  const add = (call: Call<A, B>): void => {
    if (queueBehind(call)) return
    const id = accountOf(call)
    const account: LockedAccount<A, B> = { waiting: [call], running: undefined, timer: undefined }
    count++
    accounts.set(id, account)
    // A microtask later, so that the later calls of the account in this batch are included.
    queueMicrotask(() => startWait(id, account))
  }

  const startWait = (id: string, account: LockedAccount<A, B>): void => {
    if (account.running !== undefined || account.waiting.length === 0) return
    if (running >= MAX_LOCK_WAITS) {
      account.timer ??= setTimeout(() => timeOut(id, account), DATABASE_TIMEOUT_MS)
      return
    }
    clearTimeout(account.timer)
    account.timer = undefined
    running++
    const calls = account.waiting.splice(0, maxBatch)
    count -= calls.length
    const unexpected = Effect.die(new Error("a batch that waits for its lock must not answer LOCKED"))
    const batch = makeBatch(calls, "wait", (call) => answer([call], unexpected))
    account.running = batch
    start(batch, {
      onTimeout: () => timeOut(id, account),
      onEnd: () => {
        account.running = undefined
        running--
        accounts.delete(id)
        // To the end of the line.
        if (account.waiting.length > 0) accounts.set(id, account)
        for (const [otherId, other] of accounts) startWait(otherId, other)
      }
    })
  }

  const timeOut = (id: string, account: LockedAccount<A, B>): void => {
    account.timer = undefined
    const calls = account.waiting.splice(0)
    count -= calls.length
    if (account.running === undefined) accounts.delete(id)
    answer(calls, new Unavailable({ reason: "too-slow" }))
  }

  return { count: () => count, queueBehind, add }
}

/** Maximum accounts of a store whose locks are waited for at once. */
const MAX_LOCK_WAITS = 4

interface LockedAccount<A, B> {
  readonly waiting: Array<Call<A, B>>
  running: Batch<A, B> | undefined
  /** Ends the wait while none of its statements runs. */
  timer: NodeJS.Timeout | undefined
}
