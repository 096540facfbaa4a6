/**
 * Joins a service that does one thing to a store that writes many: what concurrent callers ask for while the
 * previous batch is under way becomes the next batch.
 *
 * Guarantees:
 * - one batch holds up the next, and no waiting for more than this turn of the event loop brings: a lone caller waits
 *   for nobody. One that takes long steps aside for the next; so many do at once, and no more (`MOST_ASIDE`);
 * - the next batch is under way before the callers of the last one go on;
 * - where more wait than fit, one of each account is taken in turn; members of one account keep their order;
 * - a member whose account is locked by somebody waits apart, with those of its account behind it, in a statement for
 *   that account alone: the others go on;
 * - a member whose caller went away is still done;
 * - a caller is answered in time, whatever its statement does. A statement that writes is left to end: it may wait for
 *   a standby to have its commit, and PostgreSQL would keep the commit and cancel the wait;
 * - a statement that fails because of one member, or that the server ends for its time, is tried again in halves, so
 *   that the others are done; one that the server ended for a deadlock, once more. What did not answer is never repeated;
 * - bounded: beyond `maxWaiting` members a caller is told `Unavailable` at once, and so is everybody while as many
 *   statements as may do not answer.
 *
 * Measured (guides of this project): a plain queue costs a few microseconds a member, a `RequestResolver`
 * 18 to 31 more. Nobody outside this module and the stores knows that batches exist.
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import { abandon, withShortTimeouts, makePatience, type Patience, withWriteSlot } from "./RunToCompletion.ts"
import { takeRoundRobin } from "./RoundRobin.ts"
import { codeOf, faultOf, isTransient, DATABASE_TIMEOUT_MS, Unavailable } from "./Unavailable.ts"

/** What a run answers a member whose account it has passed by, because somebody holds its lock. */
export const LOCKED = Symbol("the member's account is locked")

export interface Options<A, B> {
  /** Most members of one statement. */
  readonly maxBatch: number
  /** Most members that wait for their turn. */
  readonly maxWaiting?: number
  /** Whose a member is. */
  readonly accountOf?: (member: A) => string
  /** Of a run that writes: it is never interrupted. */
  readonly writes?: SqlClient | undefined
  /**
   * Does all members in one commit, and answers each in order. Together it passes by the accounts that are locked; alone
   * it has members of one account, and waits for its lock.
   */
  readonly run: (
    members: ReadonlyArray<A>,
    lockMode: LockMode
  ) => Effect.Effect<ReadonlyArray<B | typeof LOCKED>, SqlError>
}

export type LockMode = "skip" | "wait"

/** Makes the function that does one member. Its batches run with the services of the caller of `make`. */
export const make = <A, B>(options: Options<A, B>): Effect.Effect<(member: A) => Effect.Effect<B, Unavailable>> =>
  Effect.map(Effect.context(), (context) => {
    const runFork = Effect.runForkWith(context)
    const maxWaiting = options.maxWaiting ?? 10_000
    const accountOf = ({ member }: Waiting<A, B>) => options.accountOf?.(member) ?? ""
    let waiting: Array<Waiting<A, B>> = []
    /** The batch that holds up the next one. */
    let front: Batch<A, B> | undefined
    let isAboutToFlush = false
    let aside = 0
    const lanes = new Map<string, Lane<A, B>>()
    let lanesUnderWay = 0
    let inLanes = 0

    /** Runs a batch; `ended` is called before its callers go on. */
    const start = (batch: Batch<A, B>, on: { slow?: () => void; tooSlow: () => void; ended: () => void }): void => {
      const settled = Effect.suspend(() => settle(options, batch))
      const placed = options.writes === undefined ? undefined : withWriteSlot(options.writes, settled)
      const fiber = runFork(placed?.effect ?? settled)
      batch.patience.begin(on.slow, () => {
        batch.isSilent = true
        answer(batch.members, new Unavailable({ reason: "too-slow" }))
        on.tooSlow()
        if (options.writes === undefined) fiber.interruptUnsafe()
        else runFork(abandon(options.writes, fiber, placed?.hasBegun() === true))
      })
      fiber.addObserver((exit) => {
        batch.patience.end()
        on.ended()
        for (const [one, result] of batch.ready) answer([one], result)
        // A mistake of ours, where anybody has no answer by now.
        if (Exit.isFailure(exit)) answer(batch.members, Effect.failCause(exit.cause))
      })
    }

    const flush = (): void => {
      isAboutToFlush = false
      const { rest, taken } = takeRoundRobin(waiting, options.maxBatch, accountOf)
      waiting = rest
      const members = lanes.size === 0 ? taken : taken.filter((one) => !waitsForLock(one))
      if (members.length === 0) return next()
      const batch = batchOf(members, "skip", waitApart)
      front = batch
      start(batch, {
        slow: () => {
          batch.isSlow = true
          stepAside()
        },
        // Nobody behind it waits for longer.
        tooSlow: () => {
          if (front === batch) answer(waiting.splice(0), new Unavailable({ reason: "too-slow" }))
        },
        ended: () => {
          if (front === batch) front = undefined
          else aside--
          stepAside()
          next()
        }
      })
    }

    /** Lets a slow batch hold up nobody, where it may. */
    const stepAside = (): void => {
      if (options.writes === undefined || front?.isSlow !== true || aside >= MOST_ASIDE) return
      aside++
      front = undefined
      next()
    }

    const next = (): void => {
      if (front === undefined && !isAboutToFlush && waiting.length > 0) flush()
    }

    /** Puts a member behind those of its account that wait for a lock; false where there are none. */
    const waitsForLock = (one: Waiting<A, B>): boolean => {
      const lane = lanes.get(accountOf(one))
      if (lane === undefined) return false
      if (lane.underWay?.isSilent === true) {
        answer([one], new Unavailable({ reason: "too-slow" }))
      } else {
        lane.waiting.push(one)
        inLanes++
      }
      return true
    }

    const waitApart = (one: Waiting<A, B>): void => {
      if (waitsForLock(one)) return
      const account = accountOf(one)
      const lane: Lane<A, B> = { waiting: [one], underWay: undefined, patience: undefined }
      inLanes++
      lanes.set(account, lane)
      // With those of its account that come after it in this batch.
      queueMicrotask(() => beginLane(account, lane))
    }

    const beginLane = (account: string, lane: Lane<A, B>): void => {
      if (lane.underWay !== undefined || lane.waiting.length === 0) return
      if (lanesUnderWay >= MOST_LANES) {
        lane.patience ??= setTimeout(() => giveUp(account, lane), DATABASE_TIMEOUT_MS)
        return
      }
      clearTimeout(lane.patience)
      lane.patience = undefined
      lanesUnderWay++
      const members = lane.waiting.splice(0, options.maxBatch)
      inLanes -= members.length
      const passedBy = Effect.die(new Error("a run that waits for a lock passes nobody by"))
      const batch = batchOf(members, "wait", (one) => answer([one], passedBy))
      lane.underWay = batch
      start(batch, {
        tooSlow: () => giveUp(account, lane),
        ended: () => {
          lane.underWay = undefined
          lanesUnderWay--
          lanes.delete(account)
          // Behind the other accounts that wait.
          if (lane.waiting.length > 0) lanes.set(account, lane)
          for (const [each, other] of lanes) beginLane(each, other)
        }
      })
    }

    const giveUp = (account: string, lane: Lane<A, B>): void => {
      lane.patience = undefined
      const members = lane.waiting.splice(0)
      inLanes -= members.length
      if (lane.underWay === undefined) lanes.delete(account)
      answer(members, new Unavailable({ reason: "too-slow" }))
    }

    return (member) =>
      Effect.callback((resume) => {
        const isSilent = front?.isSilent === true
        if (isSilent || waiting.length + inLanes >= maxWaiting) {
          resume(new Unavailable({ reason: isSilent ? "too-slow" : "queue-full" }))
          return
        }
        waiting.push({ member, resume, isAnswered: false })
        if (front !== undefined || isAboutToFlush) return
        // Whoever else asks in this turn of the event loop comes along.
        isAboutToFlush = true
        queueMicrotask(flush)
      })
  })

/** So many batches of a store may be under way beside the one that holds up the next. */
const MOST_ASIDE = 1

/** So many accounts of a store are waited for at once. */
const MOST_LANES = 4

/**
 * A `run` that does changes, each of the resource with the id that `idOf` gives; `write` returns the ids that it
 * changed, and the accounts that it passed by. Of several changes of one resource only the first is done and answered
 * true: the others were decided on a state that it ends.
 */
export const firstOfEach =
  <A>(
    idOf: (change: A) => string,
    accountOf: (change: A) => string,
    write: (changes: ReadonlyArray<A>, lockMode: LockMode) => Effect.Effect<ReadonlyArray<Written>, SqlError>
  ): Options<A, boolean>["run"] =>
  (changes, lockMode) => {
    const firsts = new Map<string, A>()
    for (const each of changes) if (!firsts.has(idOf(each))) firsts.set(idOf(each), each)
    return Effect.map(write([...firsts.values()], lockMode), (written) => {
      const ids = new Set(written.map(({ id }) => id))
      const passedBy = new Set(written.map(({ passed_by }) => passed_by))
      return changes.map((each) => {
        if (firsts.get(idOf(each)) !== each) return false
        return ids.has(idOf(each)) || (passedBy.has(accountOf(each)) ? LOCKED : false)
      })
    })
  }

/** A resource that a statement changed, or else an account that it passed by. */
export interface Written {
  readonly id: string | null
  readonly passed_by?: string | null
}

interface Waiting<A, B> {
  readonly member: A
  readonly resume: (result: Effect.Effect<B, Unavailable>) => void
  isAnswered: boolean
}

interface Lane<A, B> {
  readonly waiting: Array<Waiting<A, B>>
  underWay: Batch<A, B> | undefined
  /** Runs while no statement of the lane does. */
  patience: NodeJS.Timeout | undefined
}

interface Batch<A, B> {
  readonly members: ReadonlyArray<Waiting<A, B>>
  readonly lockMode: LockMode
  readonly patience: Patience
  isSlow: boolean
  /** Its callers are answered, it is not. */
  isSilent: boolean
  /** What callers are answered once the batch has ended. */
  readonly ready: Array<readonly [Waiting<A, B>, Effect.Effect<B, Unavailable>]>
  readonly passBy: (one: Waiting<A, B>) => void
}

const batchOf = <A, B>(
  members: ReadonlyArray<Waiting<A, B>>,
  lockMode: LockMode,
  passBy: (one: Waiting<A, B>) => void
): Batch<A, B> => ({ members, lockMode, patience: makePatience(), isSlow: false, isSilent: false, ready: [], passBy })

const answer = <A, B>(members: ReadonlyArray<Waiting<A, B>>, result: Effect.Effect<B, Unavailable>): void => {
  for (const one of members) {
    if (one.isAnswered) continue
    one.isAnswered = true
    one.resume(result)
  }
}

/** Answers all members of a batch. */
const settle = <A, B>(options: Options<A, B>, batch: Batch<A, B>): Effect.Effect<void> => {
  const attempt = (members: ReadonlyArray<Waiting<A, B>>) =>
    Effect.exit(
      Effect.suspend(() =>
        options.run(
          members.map(({ member }) => member),
          batch.lockMode
        )
      )
    )
  const part = (
    members: ReadonlyArray<Waiting<A, B>>,
    isFirst: boolean,
    tried: Effect.Effect<Exit.Exit<ReadonlyArray<B | typeof LOCKED>, SqlError>>,
    mayRepeat: boolean
  ): Effect.Effect<void> =>
    Effect.flatMap(tried, (exit) => {
      const all = (result: Effect.Effect<B, Unavailable>) =>
        Effect.sync(() => void batch.ready.push(...members.map((one) => [one, result] as const)))
      const halves = (isHurried: boolean) => {
        const half = members.length >> 1
        const each = (some: ReadonlyArray<Waiting<A, B>>) =>
          Effect.suspend(() => {
            if (isHurried && batch.isSilent) return all(new Unavailable({ reason: "too-slow" }))
            const again =
              isHurried && options.writes !== undefined ? attemptHurried(options.writes, some) : attempt(some)
            return part(some, false, again, true)
          })
        return Effect.andThen(each(members.slice(0, half)), each(members.slice(half)))
      }
      if (Exit.isSuccess(exit)) {
        return Effect.sync(() => {
          for (const [index, one] of members.entries()) {
            const value = exit.value[index]!
            if (value === LOCKED) batch.passBy(one)
            else if (isFirst) batch.ready.push([one, Effect.succeed(value as B)])
            else answer([one], Effect.succeed(value as B))
          }
        })
      }
      batch.patience.heard()
      const fault = faultOf(exit.cause)
      const code = fault === undefined ? undefined : codeOf(fault)
      if (code !== undefined && deadlocks.has(code) && mayRepeat) return part(members, isFirst, attempt(members), false)
      if (code !== undefined && endedForItsTime.has(code)) {
        // Alone, all members wait for the same lock.
        return members.length === 1 || (batch.lockMode === "wait" && code === LOCK_TIMEOUT)
          ? all(new Unavailable({ reason: "too-slow" }))
          : halves(true)
      }
      if (fault !== undefined && isTransient(fault)) return all(new Unavailable({ reason: "database-away" }))
      return members.length === 1 ? all(Effect.orDie(Effect.failCause(exit.cause))) : halves(false)
    })
  const attemptHurried = (sql: SqlClient, members: ReadonlyArray<Waiting<A, B>>) =>
    Effect.exit(
      withShortTimeouts(
        sql,
        options.run(
          members.map(({ member }) => member),
          batch.lockMode
        )
      )
    )
  return part(batch.members, true, attempt(batch.members), true)
}

const LOCK_TIMEOUT = "55P03"

/** The server ended the statement, and has rolled it back. */
const endedForItsTime = new Set(["57014", LOCK_TIMEOUT])

const deadlocks = new Set(["40P01", "40001"])
