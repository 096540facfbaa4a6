/**
 * One simulated history of the service, from a seed: random callers, payers and operators, random faults, and the
 * quiet after them, in which everything must finish.
 *
 * Deterministic: which step is taken next, every fault, every delay, every id and every choice of the callers follow from
 * the seed, and PostgreSQL is given one statement at a time. Not deterministic, and of no consequence: nonces of sealed
 * secrets, the text of API keys, how long a statement takes.
 */
import { randomFrom } from "../../support/Model.ts"
import { makeBank } from "./Bank.ts"
import { makeBankInstitutions } from "./BankInstitutions.ts"
import { makeBooks } from "./Books.ts"
import { makeBooksInstitutions } from "./BooksInstitutions.ts"
import { makeCallers } from "./Callers.ts"
import { type Calls, makeCalls } from "./Calls.ts"
import type { Database } from "./Database.ts"
import { besiege, isHostile } from "./HostileTenant.ts"
import { makeInvariants } from "./Invariants.ts"
import { type Machine, makeMachine, makeTimersVirtual } from "./Machine.ts"
import { makeReceivers } from "./Receivers.ts"
import { type ServerProcess, startProcess } from "./ServerProcess.ts"
import { makeServer } from "./SqlServer.ts"

export interface Outcome {
  readonly seed: number
  /** Violations; none where all invariants held. */
  readonly broken: ReadonlyArray<string>
  readonly history: ReadonlyArray<string>
  /** How often each kind of thing happened. */
  readonly counts: ReadonlyMap<string, number>
}

/** Does the history of a seed. The database is this simulation's alone meanwhile. */
export const simulate = async (seed: number, database: Database): Promise<Outcome> => {
  timersAreVirtual ||= (makeTimersVirtual(), true)
  await database.reset()
  const random = randomFrom(seed)
  const machine = makeMachine(random, START_MS)
  const server = makeServer(machine, database)
  const receivers = makeReceivers(machine)
  const retryDelaysMs = machine.pick([
    [1000, 5000, 30_000],
    [100, 100],
    [60_000, 300_000]
  ])
  const calls = makeCalls(machine)
  const { acquirer, institutions } = institutionsOf(seed, { machine, database, calls })
  const edges = { machine, server, acquirer, receivers, retryDelaysMs }
  const callers = makeCallers({ machine, server, calls, institutions, receivers })
  const invariants = makeInvariants({
    database,
    institutions,
    calls,
    callers,
    receivers,
    attemptsInAll: retryDelaysMs.length + 1
  })
  const processes: Array<ServerProcess> = []
  let started = 0

  const start = () => {
    machine.count("processes started")
    processes.push(startProcess(edges, `p${++started}`))
  }
  const living = () => processes.filter((process) => process.alive)
  const awake = () => living().filter((process) => process.frozenSinceMs === undefined)
  const serving = () => awake().filter((process) => process.state() === "ready")

  const settle = async () => {
    await machine.settle()
    await server.reap()
  }

  /** Takes one step, or lets time pass until there is one. */
  const goOn = async (atMostMs: number) => {
    await settle()
    const ready = machine.ready()
    if (ready.length > 0) {
      machine.count("steps")
      return machine.take(machine.pick(ready))
    }
    const next = machine.nextWakeMs() ?? machine.nowMs() + atMostMs
    await machine.advanceTo(Math.max(next, machine.nowMs() + machine.below(atMostMs)))
  }

  const until = async (isDone: () => boolean) => {
    for (let i = 0; !isDone(); i++) {
      if (i > PATIENCE_STEPS) throw new Error("what is waited for never comes")
      await goOn(100)
    }
  }

  const disturb = async () => {
    const dice = random()
    if (dice < 0.15) {
      if (awake().length > 0) machine.freeze(machine.pick(awake()))
    } else if (dice < 0.45) {
      if (living().length === 0) return
      machine.count("kills")
      machine.pick(living()).kill()
    } else if (dice < 0.55) {
      if (serving().length === 0) return
      machine.count("orderly ends")
      machine.pick(serving()).stop()
    } else if (dice < 0.75) {
      machine.count("the database goes away")
      await server.goAway(machine.pick([100, 2000, 15_000]))
    } else if (dice < 0.85) {
      machine.count("a clock is set")
      for (const process of living()) process.skewMs = machine.pick([0, 0, 400, -400, 3_600_000, -3_600_000])
    } else {
      const jumpMs = machine.pick([1000, 8000, 70_000])
      machine.count("time jumps")
      await machine.advanceTo(machine.nowMs() + jumpMs)
    }
  }

  const broken: Array<string> = []
  const look = async () => {
    if (!server.isQuiet()) return
    broken.push(...(await invariants.soFar()))
  }

  const storm = async () => {
    machine.storm(true)
    institutions.storm(true)
    const actions = 25 + machine.below(65)
    const isTwo = random() < 0.5
    for (let done = 0, steps = 0; done < actions && broken.length === 0 && steps < 6000; steps++) {
      if (awake().length < (isTwo ? 2 : 1) && random() < 0.2) start()
      await settle()
      const dice = random()
      const ready = machine.ready()
      if (ready.length > 0 && dice < 0.8) {
        machine.count("steps")
        await machine.take(machine.pick(ready))
      } else if (dice < 0.985) {
        const process = serving()
        if (process.length > 0 && random() < 0.75) {
          done++
          await callers.act(machine.pick(process))
        } else {
          const next = machine.nextWakeMs() ?? machine.nowMs()
          await machine.advanceTo(Math.max(next, machine.nowMs() + machine.below(machine.pick([50, 400, 2000]))))
        }
      } else {
        await disturb()
      }
      if (steps % 25 === 24) await look()
    }
  }

  /** A hostile tenant, and no other fault. */
  const siege = async () => {
    machine.storm(false)
    institutions.storm(false)
    for (const process of processes) process.skewMs = 0
    // Until the database is back, and loops whose rounds have failed try again.
    const calmAtMs = machine.nowMs() + 30_000
    await until(() => {
      if (awake().length === 0) start()
      return machine.nowMs() >= calmAtMs && serving().length > 0
    })
    // One alone, so that all its places can be taken.
    const [process] = serving()
    for (const other of living()) if (other !== process) other.kill()
    callers.resume(process!)
    await until(() => calls.waiting() === 0 && server.isQuiet())
    broken.push(
      ...(await besiege({
        machine,
        server,
        database,
        calls,
        callers,
        institutions,
        receivers,
        process: process!,
        until
      }))
    )
  }

  /** Does all that is ready before time moves. */
  const drain = async () => {
    for (let i = 0; i < PATIENCE_STEPS && machine.ready().length > 0; i++) await goOn(0)
  }

  /** A day later operators settle what the bank says nothing of; then it does. */
  const settleHeld = async () => {
    await until(() => {
      if (awake().length === 0) start()
      return serving().length > 0
    })
    if ((await institutions.held()).length > 0) {
      machine.count("histories in which the bank says nothing for a day")
      await machine.advanceTo(machine.nowMs() + DAY_MS + 60_000)
      await settle()
      await drain()
      const [process] = serving()
      if (process !== undefined) callers.settleByHand(process, await institutions.held())
      await until(() => calls.waiting() === 0)
    }
    institutions.release()
  }

  /** Asks for what is left to do; whether that was something. */
  const finish = async (): Promise<boolean | undefined> => {
    const [process] = serving()
    if (process === undefined) return undefined
    const isMore = await callers.finish(process)
    await until(() => calls.waiting() === 0 || awake().length === 0)
    await drain()
    return isMore
  }

  /** Ends all faults, and lets time pass until nothing is left to do. */
  const quiet = async () => {
    machine.storm(false)
    institutions.storm(false)
    machine.note(undefined, "the storm is over")
    for (const process of processes) process.skewMs = 0
    callers.askAgain()
    await settleHeld()
    let left: ReadonlyArray<string> = []
    for (let round = 0; round < QUIET_ROUNDS && broken.length === 0; round++) {
      if (awake().length === 0) start()
      await until(() => serving().length > 0 || awake().length === 0)
      const isMore = await finish()
      if (isMore === undefined) continue
      await look()
      left = server.isQuiet() ? await invariants.waiting() : ["a transaction is open"]
      const isAtRest = machine.ready().length === 0 && awake().length === living().length
      if (!isMore && left.length === 0 && isAtRest) return
      await machine.advanceTo(machine.nowMs() + machine.pick([700, 20_000, 70_000]))
    }
    if (broken.length === 0) broken.push("something waits for ever:", ...left)
  }

  /** Days later, when sweeps have left their windows: the bank goes on, and says nothing of it by itself. */
  const later = async () => {
    machine.count("histories in which days pass")
    const pass = async (passedMs: number) => {
      await machine.advanceTo(machine.nowMs() + passedMs)
      await settle()
      await drain()
    }
    for (const passedMs of [DAY_MS, 70_000, machine.pick([0, 3]) * DAY_MS, 70_000]) await pass(passedMs)
    institutions.later()
    for (let left = 3 + machine.below(6); left > 0; left--) institutions.happen()
    await pass(70_000)
    await pass(70_000)
    // Operators decide, and sweeps go on with it, before the days that a loss has for its return.
    for (let rounds = 0; rounds < 4; rounds++) await finish()
    await pass(70_000)
    // Payments of long ago are read once a day; a MED that was lost has returned its money within nine.
    await pass(9 * DAY_MS)
    await quiet()
  }

  try {
    await acquirer.begin(database)
    start()
    await until(() => serving().length > 0)
    await callers.begin(processes[0]!, until)
    await storm()
    if (broken.length === 0 && isHostile(seed)) await siege()
    if (broken.length === 0) await quiet()
    if (broken.length === 0 && (random() < 0.35 || institutions.needsDays())) await later()
    if (broken.length === 0) {
      const [process] = serving()
      callers.readBack(process!)
      await until(() => calls.waiting() === 0)
      broken.push(...(await invariants.atTheEnd()))
    }
  } catch (error) {
    broken.push(`the simulation itself fails: ${error instanceof Error ? error.stack : String(error)}`)
  } finally {
    for (const process of living()) process.kill()
    await server.reap()
  }
  machine.count("operations", callers.operations.length)
  machine.count("deliveries taken", [...receivers.received.values()].filter(({ accepted }) => accepted > 0).length)
  for (const [state, count] of invariants.reached()) machine.count(state, count)
  return { seed, broken, history: machine.history, counts: machine.counts }
}

/** The report of a failing seed: the violations, how to repeat it, and its history. */
export const report = ({ broken, history, seed }: Outcome): string =>
  `${broken.join("\n")}\n\nSIMULATION_SEED=${seed} replays it. Its history:\n${history.join("\n")}`

/** Of two consecutive seeds, one has the simulator and one the double of a provider. */
export const hasDouble = (seed: number): boolean => seed % 2 === 1

const institutionsOf = (
  seed: number,
  options: { readonly machine: Machine; readonly database: Database; readonly calls: Calls }
) => {
  if (!hasDouble(seed)) {
    const acquirer = makeBooks(options.machine)
    return { acquirer, institutions: makeBooksInstitutions({ ...options, books: acquirer }) }
  }
  const acquirer = makeBank(options.machine)
  return { acquirer, institutions: makeBankInstitutions({ ...options, bank: acquirer }) }
}

let timersAreVirtual = false

const START_MS = Date.UTC(2026, 10, 21, 12)
const DAY_MS = 24 * 3_600_000
const PATIENCE_STEPS = 20_000
const QUIET_ROUNDS = 120
