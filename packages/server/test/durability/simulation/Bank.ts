/**
 * A provider as simulated processes see it: the service's own client of the API Pix, over a wire that fails, into the
 * state machine of the double.
 *
 * Guarantees: every request is a step of the machine, and so is one that arrives late, after its sender gave it up or died.
 * The double's own faults follow from the seed as well. Its state outlives every process.
 */
import type { Answer } from "@pix-payments/api-pix/Outcome"
import { answerOf, type Transport, TransportFailure, type TransportRequest } from "@pix-payments/api-pix/Transport"
import { REQUEST_FAULTS } from "@pix-payments/psp-double/Faults"
import * as doubles from "@pix-payments/psp-double/http/Profiles"
import { makePspMachine, type PspMachine } from "@pix-payments/psp-double/http/PspMachine"
import type { Fate, PayoutError } from "@pix-payments/psp-double/provider/State"
import { idFromTxid } from "@pix-payments/domain/Txid"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import { SimulatedProvider } from "../../../src/providers/Acquirer.ts"
import * as ConnectedAcquirer from "../../../src/providers/connections/ConnectedAcquirer.ts"
import { Metrics } from "../../../src/base/observability/Metrics.ts"
import { BANK_CONNECTIONS, type BankConnection, insertConnections, type Rail, registryOver } from "./BankConnection.ts"
import { makeDenials } from "./Denials.ts"
import { ACQUIRER_TIMEOUT_MS, type SimulatedAcquirer } from "./Institutions.ts"
import type { Machine, Running } from "./Machine.ts"

export interface Bank extends SimulatedAcquirer {
  readonly double: PspMachine
  readonly rail: Rail
  /** One, or one for each of two keys of the client. The first is the default one. */
  readonly connections: ReadonlyArray<BankConnection>
  /** What the bank says of payouts and returns of which it says something else later, by their ids at the bank. */
  readonly changed: ReadonlyMap<string, ReadonlyArray<BankOutcome>>
  /** The operations of payouts of which a request was refused. */
  readonly denied: ReadonlySet<string>
  /** The ids of payouts, and of returns with their Pix, of which the bank says nothing yet. */
  readonly held: ReadonlyMap<string, string | undefined>
  /** The bank decides what it has held. */
  readonly release: () => void
  /** Runs what is due at the provider. */
  readonly settleDue: () => void
  /** Something happened to a payment or payout that the service reads again once a day. */
  readonly isSurprising: () => boolean
  /** The bank does what it says from now on, and announces nothing. */
  readonly later: () => void
  /** The double's faults begin or end. */
  readonly storm: (on: boolean) => void
}

export type BankOutcome = "completed" | "failed"

export const makeBank = (machine: Machine): Bank => {
  const rail = machine.pick(["efi", "efi", "efi", "efi", "bacen", "sicoob", "inter"] as const)
  const rate = machine.pick([0.005, 0.02])
  const rates = {
    ...Object.fromEntries(REQUEST_FAULTS.map((fault) => [fault, rate])),
    "hook-twice": 0.1,
    "hook-late": 0.1,
    "hook-never": 0.1
  }
  let isStorm = false
  let isLate = false
  let isSurprising = false
  const changed = new Map<string, ReadonlyArray<BankOutcome>>()
  const held = new Map<string, string | undefined>()
  /** The outcome of an order: of some of a storm none for now, of some another one later. */
  const fate = <F>(
    what: string,
    id: string,
    failed: F,
    chance: number,
    later: { readonly held: number; readonly changed: number }
  ): Fate<F> => {
    if (isStorm && machine.random() < later.held) {
      machine.count(`${what} of which the bank says nothing`)
      return { _tag: "Held" }
    }
    const afterMs = machine.pick([0, 200, 2000, 30_000])
    const isChanged = !isLate && machine.random() < later.changed
    const isFailed = machine.random() < (isChanged ? 0.5 : chance)
    const first: Fate<F> = isFailed ? { _tag: "Failed", afterMs, with: failed } : { _tag: "Done", afterMs }
    if (!isChanged) return first
    machine.count(`${what} of which the bank says something else later`)
    isSurprising = true
    changed.set(id, first._tag === "Done" ? ["completed", "failed"] : ["failed", "completed"])
    return { ...first, changesAfterMs: machine.pick([0, 500, 20_000, 90_000]) }
  }
  // The others ask for one payout at a time, until it has ended.
  const listsPayouts = rail === "efi"
  const { denied, denies } = makeDenials(machine)
  const keys = KEYS.slice(0, machine.pick([1, 2]))
  const double = makePspMachine({
    now: machine.nowMs,
    seed: machine.below(2 ** 31),
    ...(rail === "efi" ? { profile: rail } : { variant: rail === "bacen" ? {} : doubles[rail] }),
    tokenLifetimeSeconds: 600,
    hookBatch: machine.pick([1, 3]),
    settings: {
      keys,
      returnFate: ({ id, pix }) => {
        const isOurs = idFromTxid(id) !== undefined
        const ends = fate("returns", id, "by the simulation", 0.15, isOurs ? { held: 0.2, changed: 0.4 } : NEVER)
        if (ends._tag === "Held") held.set(id, pix.endToEndId)
        return ends
      },
      payoutFate: ({ id }) => {
        const ends = fate("payouts", id, PAYOUT_FAILED, 0.3, { held: 0.1, changed: listsPayouts ? 0.2 : 0 })
        if (ends._tag === "Held") held.set(id, undefined)
        return ends
      },
      deniesPayout: ({ payerInfo = "" }) => denies(payerInfo),
      sentBack: ({ cents, id }) => {
        // A payout of the last minutes would be sent back after the last sweep.
        if (isLate || !listsPayouts || changed.has(id) || machine.random() > 0.2) return undefined
        machine.count("payouts that are sent back")
        isSurprising = true
        return { cents: machine.pick([cents, Math.ceil(cents / 2)]), afterMs: machine.pick([0, 1000, 60_000]) }
      }
    }
  })
  machine.count(`histories at ${rail}`)
  if (keys.length > 1) machine.count("histories with two connections of one client")
  const connections = keys.map((key, index) => {
    const rule = machine.pick(["hold", "hold", "return", "accept"] as const)
    machine.count(`connections with the exception rule ${rule}`)
    const id = BANK_CONNECTIONS[index]!
    double.provider.webhooks.put(key, `https://hooks.example.com/${id}`)
    return { id, key, rule }
  })

  const settleDue = () => {
    double.settleDue()
    // Time moves to what is due next at the provider.
    const nextMs = double.provider.nextDueAtMs()
    if (nextMs !== undefined) machine.after(undefined, nextMs - machine.nowMs(), () => double.settleDue())
  }

  const release = () => {
    for (const [id, endToEndId] of held) {
      const isDone = machine.random() < 0.7
      if (endToEndId === undefined) double.provider.payouts.settle(id, isDone ? {} : { error: PAYOUT_FAILED })
      else double.provider.receipts.settleReturn(endToEndId, id, isDone ? {} : { failedBecause: "by the simulation" })
    }
    held.clear()
    settleDue()
  }

  const exchange = (request: TransportRequest) => {
    const exchanged = double.exchange({
      method: request.method,
      path: new URL(request.url).pathname,
      query: request.query,
      headers: Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name.toLowerCase(), value])),
      body: request.body?.text ?? ""
    })
    settleDue()
    return exchanged
  }

  const transportOf =
    (process: Running): Transport =>
    (request) =>
      Effect.callback<Answer, TransportFailure>((resume) => {
        const what = `${request.method} ${new URL(request.url).pathname}`
        const end = (exit: Exit.Exit<Answer, TransportFailure>) => machine.as(process, () => resume(exit))
        const fail = (kind: TransportFailure["kind"], code: string) => {
          machine.note(process, `${what} -> ${code}`)
          end(Exit.fail(new TransportFailure({ kind, code })))
        }
        const arriveLater = () =>
          machine.after(undefined, machine.below(20_000), () => {
            machine.park({
              process: undefined,
              what: `arrives late: ${what}`,
              take: () => machine.note(undefined, `arrives late: ${what} -> ${exchange(request).answer?.status}`)
            })
          })
        const step = machine.park({
          process,
          what,
          take: () => {
            if (machine.fault("the bank refuses a connection", 0.03)) return fail("no-connection", "ECONNREFUSED")
            if (machine.fault("a request to the bank arrives late", 0.03)) return void arriveLater()
            const { answer, fault, reply } = exchange(request)
            if (fault !== undefined) machine.count(`bank: ${fault}`)
            if (fault === "hang") return machine.note(process, `${what} -> hang`)
            const reached = reply(answer)
            // Worst where the answer refuses an order.
            const chance = request.method !== "GET" && (reached?.status ?? 0) >= 400 ? 0.5 : 0.02
            if (machine.fault("a process is frozen while it asks the bank", chance)) machine.freeze(process)
            if (reached === undefined) return fail("connection-cut", fault ?? "CUT")
            const arrive = () => {
              machine.note(process, `${what} -> ${reached.status} ${fault ?? ""}`)
              end(Exit.succeed(answerOf(reached.status, reached.headers["retry-after"], reached.body ?? "")))
            }
            if (fault === "slow") machine.after(process, machine.below(2 * ACQUIRER_TIMEOUT_MS), arrive)
            else if (fault === "hook-before-answer") machine.after(process, 300, arrive)
            else arrive()
          },
          orphaned: () => {
            if (machine.fault("a request to the bank outlives its process", 0.5)) arriveLater()
          }
        })
        return Effect.sync(() => {
          if (machine.withdraw(step) && machine.fault("a request to the bank outlives its time limit", 0.5))
            arriveLater()
        })
      })

  return {
    double,
    rail,
    connections,
    changed,
    denied,
    held,
    release,
    settleDue,
    isSurprising: () => isSurprising,
    later: () => {
      isLate = true
      double.faults.setRates({ "hook-never": 1 })
    },
    storm: (on) => {
      isStorm = on
      double.faults.setRates(on ? rates : {})
    },
    settings: { acquirer: "connections" },
    begin: (database) => insertConnections(database, double, rail, connections),
    layerFor: (process) =>
      ConnectedAcquirer.layer.pipe(
        Layer.provideMerge(registryOver(double, rail, connections, transportOf(process))),
        Layer.provide([Layer.succeed(SimulatedProvider, nothingSimulated), Metrics.layer])
      )
  }
}

const NEVER = { held: 0, changed: 0 }

const KEYS = ["7d9f0335-8dcc-4054-9bf9-0dbd61d36906", "3f0b2f5c-7a55-4d0e-9d2c-6f0a5b8f1e22"]

const PAYOUT_FAILED: PayoutError = { code: "AC03", origin: "PSP do usuário recebedor", reason: "by the simulation" }

const nothingSimulated = SimulatedProvider.of({
  emit: () => Effect.die(new Error("the simulator is asked")),
  cancel: () => Effect.die(new Error("the simulator is asked")),
  orderReturn: () => Effect.die(new Error("the simulator is asked"))
})
