/**
 * The machine of simulated processes: one virtual clock, one queue of work, and steps that wait for their turn.
 *
 * Guarantees: nothing that a process does is seen from outside but through a step (a statement, a call to the acquirer,
 * a delivery), and a step is taken when the simulation says so, one at a time; time passes only when it says so; a
 * process that is dead does nothing more, not even its finalizers. What happens is thus a function of the seed.
 *
 * Why not `TestClock`: it wakes every sleeper at its own instant, so that an idle day costs a million polls. Here time
 * jumps, and who slept through it wakes late, as on a machine that was suspended; and each process has a clock that may
 * be wrong.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as EffectRandom from "effect/Random"
import * as Scheduler from "effect/Scheduler"
import { AsyncLocalStorage } from "node:async_hooks"
import type { Random } from "../../support/Model.ts"

/** A process as the machine knows it. */
export interface Running {
  readonly name: string
  alive: boolean
  /** Stopped by SIGSTOP since then: what it sent arrives, and what comes for it waits. */
  frozenSinceMs: number | undefined
  /** How far its wall clock is from the world's. */
  skewMs: number
}

/** A step that is waiting; `undefined` process: it is on the wire, and outlives its sender. */
export interface Step {
  readonly process: Running | undefined
  readonly what: string
  /** False while something else must come first. */
  readonly isReady?: () => boolean
  /** Takes the step and resumes the fiber that waits for it. */
  readonly take: () => void | Promise<void>
  /** Called instead when its process dies first. */
  readonly orphaned?: () => void
}

export interface Machine {
  readonly random: Random
  readonly below: (bound: number) => number
  readonly pick: <A>(values: ReadonlyArray<A>) => A
  readonly nowMs: () => number
  /** Grows with each call: tells what happened first within one instant. */
  readonly moment: () => number
  /** What happened, a line each. */
  readonly note: (process: Running | undefined, line: string) => void
  readonly history: ReadonlyArray<string>
  /** True with this probability while faults are on; what happened is counted under `name`. */
  readonly fault: (name: string, probability: number) => boolean
  readonly count: (name: string, by?: number) => void
  readonly counts: ReadonlyMap<string, number>
  /** Faults are off before it is called with true, and after it is called with false. */
  readonly storm: (on: boolean) => void
  readonly park: (step: Step) => Step
  /** Withdraws a step. False when it was taken already. */
  readonly withdraw: (step: Step) => boolean
  readonly ready: () => ReadonlyArray<Step>
  readonly take: (step: Step) => Promise<void>
  /** Calls back after a time that passes; the answer takes it back. */
  readonly after: (process: Running | undefined, delayMs: number, wake: () => void) => () => void
  /** Runs scheduled work until all of it waits for a step or for time. */
  readonly settle: () => Promise<void>
  readonly nextWakeMs: () => number | undefined
  readonly advanceTo: (atMs: number) => Promise<void>
  /** Runs code as the process: its callbacks and timers belong to the process. */
  readonly as: (process: Running | undefined, work: () => void) => void
  /** The clock, the scheduler and the random numbers of a process. */
  readonly referencesOf: (process: Running) => Context.Context<never>
  readonly kill: (process: Running) => void
  /** SIGSTOP, and SIGCONT after a while. */
  readonly freeze: (process: Running) => void
}

export const makeMachine = (random: Random, startMs: number): Machine => {
  let now = startMs
  let faultsOn = false
  let order = 0
  let moments = 0
  const current = new AsyncLocalStorage<Running | undefined>()
  let steps: Array<Step> = []
  let sleepers: Array<Sleeper> = []
  let tasks: Array<Task> = []
  /** What comes for processes that are frozen. */
  let held: Array<Task> = []
  const history: Array<string> = []
  const counts = new Map<string, number>()

  const as: Machine["as"] = (process, work) => {
    if (process?.alive === false) return
    if (process?.frozenSinceMs !== undefined) return void held.push({ process, task: work })
    // Microtasks that the work leaves behind are the process's as well.
    current.run(process, work)
  }

  const pick: Machine["pick"] = (values) => values[Math.floor(random() * values.length)]!

  const note: Machine["note"] = (process, line) => {
    history.push(`${((now - startMs) / 1000).toFixed(3).padStart(12)}  ${(process?.name ?? "").padEnd(3)} ${line}`)
  }

  const count: Machine["count"] = (name, by = 1) => void counts.set(name, (counts.get(name) ?? 0) + by)

  const park: Machine["park"] = (step) => {
    steps.push(step)
    return step
  }

  const after: Machine["after"] = (process, delayMs, wake) => {
    const sleeper: Sleeper = { process, atMs: now + Math.max(0, Math.ceil(delayMs)), order: order++, wake }
    sleepers.push(sleeper)
    return () => {
      sleepers = sleepers.filter((other) => other !== sleeper)
    }
  }

  const settle = async () => {
    do {
      while (tasks.length > 0) {
        const due = tasks
        tasks = []
        for (const { process, task } of due) as(process, task)
      }
      // What promises of the work call back comes first.
      await immediate()
    } while (tasks.length > 0)
  }

  const isDue = ({ atMs, process }: Sleeper) => atMs <= now && process?.frozenSinceMs === undefined

  const wakeSleepers = async () => {
    const due = sleepers.filter(isDue)
    sleepers = sleepers.filter((sleeper) => !isDue(sleeper))
    due.sort((a, b) => a.atMs - b.atMs || a.order - b.order)
    for (const { wake } of due) wake()
    await settle()
  }

  const take: Machine["take"] = async (step) => {
    steps = steps.filter((other) => other !== step)
    await step.take()
    await settle()
  }

  const clockOf = (process: Running): Clock.Clock => {
    const millis = () => now + process.skewMs
    const nanos = () => BigInt(millis()) * 1_000_000n
    const monotonic = () => BigInt(now) * 1_000_000n
    return {
      currentTimeMillisUnsafe: millis,
      currentTimeMillis: Effect.sync(millis),
      currentTimeNanosUnsafe: nanos,
      currentTimeNanos: Effect.sync(nanos),
      monotonicTimeNanosUnsafe: monotonic,
      monotonicTimeNanos: Effect.sync(monotonic),
      sleep: (duration) =>
        Effect.callback((resume) => {
          const delayMs = Duration.toMillis(duration)
          if (!Number.isFinite(delayMs)) return
          const cancel = after(process, delayMs, () => as(process, () => resume(Effect.void)))
          return Effect.sync(cancel)
        })
    }
  }

  /** The timers that are due, and what has come meanwhile: one first, then the other. */
  const wake = async (process: Running) => {
    if (!process.alive) return
    note(process, "wakes")
    process.frozenSinceMs = undefined
    const areTimersFirst = random() < 0.5
    if (areTimersFirst) await wakeSleepers()
    tasks.push(...held.filter((task) => task.process === process))
    held = held.filter((task) => task.process !== process)
    await settle()
    if (!areTimersFirst) await wakeSleepers()
  }

  /** Shorter than a lease, longer than one, or longer than a request may be on its way. */
  const frozenMs = pick([[500, 20_000], [20_000, 60_000], [600_000]])

  virtualTimers.current = {
    running: () => current.getStore(),
    after: (process, delayMs, wake) => after(process, delayMs, () => as(process, wake))
  }

  return {
    random,
    below: (bound) => Math.floor(random() * bound),
    pick,
    moment: () => ++moments,
    nowMs: () => now,
    note,
    history,
    fault: (name, probability) => {
      if (!faultsOn || random() >= probability) return false
      count(name)
      return true
    },
    count,
    counts,
    storm: (on) => {
      faultsOn = on
    },
    park,
    withdraw: (step) => {
      const was = steps.length
      steps = steps.filter((other) => other !== step)
      return steps.length < was
    },
    ready: () => steps.filter(({ isReady }) => isReady === undefined || isReady()),
    take,
    after,
    settle,
    nextWakeMs: () =>
      sleepers.reduce<number | undefined>(
        (least, { atMs, process }) => (process?.frozenSinceMs === undefined ? Math.min(least ?? atMs, atMs) : least),
        undefined
      ),
    advanceTo: async (atMs) => {
      now = Math.max(now, atMs)
      await wakeSleepers()
    },
    as,
    referencesOf: (process) =>
      Context.make(Clock.Clock, clockOf(process)).pipe(
        Context.add(Scheduler.Scheduler, {
          executionMode: "async",
          shouldYield: (fiber) => fiber.currentOpCount >= OPERATIONS_AT_ONCE,
          makeDispatcher: () => ({
            scheduleTask: (task) => void tasks.push({ process, task }),
            // Asked for where a fiber is run to its end at once, which nothing here is.
            flush: () => {}
          })
        }),
        Context.add(EffectRandom.Random, {
          nextDoubleUnsafe: random,
          nextIntUnsafe: () => Math.floor((random() - 0.5) * 2 ** 32)
        })
      ) as Context.Context<never>,
    kill: (process) => {
      process.alive = false
      tasks = tasks.filter((task) => task.process !== process)
      held = held.filter((task) => task.process !== process)
      sleepers = sleepers.filter((sleeper) => sleeper.process !== process)
      const orphans = steps.filter((step) => step.process === process)
      steps = steps.filter((step) => step.process !== process)
      for (const { orphaned } of orphans) orphaned?.()
    },
    freeze: (process) => {
      count("processes frozen")
      note(process, "is frozen")
      process.frozenSinceMs = now
      held.push(...tasks.filter((task) => task.process === process))
      tasks = tasks.filter((task) => task.process !== process)
      after(undefined, pick(frozenMs), () => park({ process: undefined, what: "wake", take: () => wake(process) }))
    }
  }
}

interface Task {
  readonly process: Running
  readonly task: () => void
}

interface Sleeper {
  readonly process: Running | undefined
  readonly atMs: number
  readonly order: number
  readonly wake: () => void
}

const OPERATIONS_AT_ONCE = 2048

const immediate = () => new Promise<void>((resolve) => void setImmediate(resolve))

/** The machine whose processes set timers now. */
const virtualTimers: {
  current: { readonly running: () => Running | undefined; readonly after: Machine["after"] } | undefined
} = { current: undefined }

/**
 * The service sets plain timers where it gives up waiting for the database. What a process sets while it runs on a
 * machine is virtual from here on; all other timers are as ever.
 */
export const makeTimersVirtual = (): void => {
  const real = { setTimeout: globalThis.setTimeout, clearTimeout: globalThis.clearTimeout }
  const virtual = Object.assign(
    (wake: (...args: ReadonlyArray<unknown>) => void, delayMs = 0, ...args: ReadonlyArray<unknown>) => {
      const process = virtualTimers.current?.running()
      if (process === undefined) return real.setTimeout(wake, delayMs, ...args)
      const cancel = virtualTimers.current!.after(process, delayMs, () => wake(...args))
      return { [CANCEL]: cancel, unref: () => {}, ref: () => {} }
    },
    real.setTimeout
  )
  globalThis.setTimeout = virtual as unknown as typeof globalThis.setTimeout
  globalThis.clearTimeout = ((timer: unknown) => {
    if (typeof timer === "object" && timer !== null && CANCEL in timer) (timer[CANCEL] as () => void)()
    else real.clearTimeout(timer as NodeJS.Timeout)
  }) as typeof globalThis.clearTimeout
}

const CANCEL = Symbol("the virtual timer's end")
