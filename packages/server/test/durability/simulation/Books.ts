/**
 * The acquirer as simulated processes see it, and its own books, which outlive every process.
 *
 * Guarantees: a txid names one Pix and an id one payout for ever, an answer is repeated the same, and
 * events of a Pix are notified in order, repeatedly until they are acknowledged. The wire around it fails in every way:
 * calls refused, lost, late and duplicated, notifications duplicated, late and out of order.
 */
import type { Txid } from "@pix-payments/domain/Txid"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import {
  Acquirer,
  AcquirerRefused,
  AcquirerUnclear,
  type Emission,
  type Emitted,
  type PayoutOrder,
  type PayoutProgress,
  type Progress,
  type ReturnOrder
} from "../../../src/providers/Acquirer.ts"
import type { AcquirerNotification } from "../../../src/providers/AcquirerNotification.ts"
import { noConnections } from "./BankConnection.ts"
import { makeDenials } from "./Denials.ts"
import { ACQUIRER_TIMEOUT_MS, type SimulatedAcquirer } from "./Institutions.ts"
import type { Machine, Running } from "./Machine.ts"
import { type Fact, leftOf } from "./MoneyModel.ts"

/** A Pix as the acquirer knows it. */
export interface Pix {
  readonly txid: Txid
  readonly amount: number
  /** The name of the caller's operation. */
  readonly operation: string
  state: "emitted" | "refused" | "failed" | "canceled" | "paid"
  /** Open MEDs, and those that were won. */
  meds: Array<Med>
  /** Since its payment. */
  readonly facts: Array<Fact>
  /** Its notifications, in order. */
  readonly reports: Array<Report>
}

export interface Med {
  readonly id: string
  readonly cents: number
  isOpen: boolean
  /** Once the service has made one of it. */
  dispute: string | undefined
}

/** A notification, with what it is of. */
interface Report {
  readonly notification: AcquirerNotification
  readonly fact: Fact | undefined
}

/** A payout as the acquirer knows it. */
export interface Sent {
  /** Our id, once the institutions have looked it up. */
  payoutId: string | undefined
  readonly order: PayoutOrder
  readonly settlesAtMs: number
  readonly outcome: "completed" | "failed"
  readonly reports: Array<Report>
}

/** What is left of a Pix, and what of it no MED contests. */
export const left = ({ amount, facts }: Pix): number => leftOf({ cents: amount, facts })
export const uncontested = (pix: Pix): number =>
  pix.meds.reduce((cents, med) => (med.isOpen ? cents - med.cents : cents), left(pix))

export interface Books extends SimulatedAcquirer {
  readonly pixes: ReadonlyMap<string, Pix>
  readonly sent: ReadonlyMap<string, Sent>
  /** The operations of payouts of which a request was refused. */
  readonly denied: ReadonlySet<string>
  /** Violations of the acquirer's rules by the service. */
  readonly broken: ReadonlyArray<string>
}

export const makeBooks = (machine: Machine): Books => {
  const pixes = new Map<string, Pix>()
  const sent = new Map<string, Sent>()
  const broken: Array<string> = []
  /** The cents of refunds that were made, by the id of their order. */
  const refunds = new Map<string, number>()
  const refused = new Set<string>()
  const { denied, denies } = makeDenials(machine)
  const byOperation = new Map<string, string>()

  /** One operation of a caller is one Pix, or one payout, whoever asks again. */
  const asksOnce = (what: string, operation: string | null, id: string) => {
    if (operation === null) return
    const known = byOperation.get(`${what} ${operation}`)
    if (known === undefined) byOperation.set(`${what} ${operation}`, id)
    else if (known !== id) broken.push(`${what} of ${operation} is asked for twice: as ${known} and as ${id}`)
  }

  const emit = (emission: Emission): Exit.Exit<Emitted, AcquirerRefused> => {
    const { amount, description, txid } = emission
    asksOnce("the Pix", description, txid)
    const known = pixes.get(txid)
    if (known !== undefined && known.amount !== amount) broken.push(`${txid} is asked for with another amount`)
    const pix: Pix = known ?? {
      txid,
      amount,
      operation: description ?? "",
      state: machine.random() < 0.06 ? "refused" : "emitted",
      meds: [],
      facts: [],
      reports: []
    }
    pixes.set(txid, pix)
    return pix.state === "refused"
      ? Exit.fail(new AcquirerRefused({ reason: "refused by the simulation" }))
      : Exit.succeed({ brCode: `br ${txid}`, receiver: null })
  }

  const cancel = (txid: string): Exit.Exit<void, AcquirerRefused> => {
    const pix = pixes.get(txid)
    if (pix === undefined) broken.push(`${txid} is canceled before it is emitted`)
    if (pix === undefined || (pix.state !== "emitted" && pix.state !== "canceled")) {
      return Exit.fail(new AcquirerRefused({ reason: "not to be canceled" }))
    }
    pix.state = "canceled"
    return Exit.void
  }

  const refund = ({ amount, id, txid }: ReturnOrder): Exit.Exit<Progress, AcquirerRefused> => {
    const pix = pixes.get(txid ?? "")
    const known = refunds.get(id)
    if (known !== undefined && known !== amount) broken.push(`${txid} is refunded with another amount`)
    if (known !== undefined) return Exit.succeed({ _tag: "Completed" })
    if (pix?.state !== "paid" || uncontested(pix) < amount) {
      if (pix !== undefined && !refused.has(id)) pix.facts.push({ tag: "failed", cents: amount, at: 0 })
      refused.add(id)
      return Exit.fail(new AcquirerRefused({ reason: "not to be refunded" }))
    }
    refunds.set(id, amount)
    const fact: Fact = { tag: "refunded", cents: amount, at: 0 }
    pix.facts.push(fact)
    pix.reports.push({ notification: { _tag: "charge.refunded", ...namesOf(pix), amount, externalId: id }, fact })
    return Exit.succeed({ _tag: "Completed" })
  }

  const progressOf = (id: string): PayoutProgress => {
    const one = sent.get(id)
    if (one === undefined || one.settlesAtMs > machine.nowMs()) return { _tag: "Accepted" }
    return one.outcome === "completed"
      ? { _tag: "Completed", endToEndId: endToEndIdOf(id) }
      : { _tag: "Failed", reason: "failed by the simulation" }
  }

  const send = (order: PayoutOrder): Exit.Exit<PayoutProgress> => {
    asksOnce("the payout", order.description, order.id)
    const known = sent.get(order.id)
    if (known === undefined) {
      if (denies(order.description ?? "")) return Exit.succeed({ _tag: "Refused", reason: "refused by the simulation" })
      const outcome = machine.random() < 0.3 ? "failed" : "completed"
      const settlesAtMs = machine.nowMs() + machine.pick([0, 200, 2000, 30_000])
      sent.set(order.id, {
        payoutId: undefined,
        order,
        settlesAtMs,
        outcome,
        reports:
          machine.random() < 0.5
            ? []
            : [
                {
                  notification:
                    outcome === "completed"
                      ? { _tag: "payout.completed", payoutId: "", endToEndId: endToEndIdOf(order.id) }
                      : { _tag: "payout.failed", payoutId: "", reason: "failed by the simulation" },
                  fact: undefined
                }
              ]
      })
    } else if (known.order.amount !== order.amount || known.order.pixKey !== order.pixKey) {
      broken.push(`payout ${order.id} is sent again as another one`)
    }
    return Exit.succeed(progressOf(order.id))
  }

  /** A call over a wire that fails. */
  const calling = <A, E>(process: Running, what: string, serve: () => Exit.Exit<A, E>) =>
    Effect.callback<A, E | AcquirerUnclear>((resume) => {
      let isAnswered = false
      const answer = (exit: Exit.Exit<A, E | AcquirerUnclear>) => {
        if (isAnswered) return
        isAnswered = true
        machine.as(process, () => resume(exit))
      }
      const unclear = (reason: string) => {
        machine.note(process, `${what} -> ${reason}`)
        answer(Exit.fail(new AcquirerUnclear({ reason })))
      }
      const done = () => {
        const exit = serve()
        machine.note(process, `${what} -> ${Exit.isSuccess(exit) ? "done" : "refused"}`)
        return exit
      }
      const arriveLater = () =>
        machine.after(undefined, machine.below(20_000), () => {
          machine.park({
            process: undefined,
            what: `arrives late: ${what}`,
            take: () => {
              machine.note(undefined, "arrives late:")
              done()
            }
          })
        })
      const step = machine.park({
        process,
        what,
        take: () => {
          if (machine.fault("the acquirer refuses a connection", 0.05)) return unclear("connection refused")
          if (machine.fault("the acquirer's answer is lost", 0.06)) {
            done()
            return unclear("the answer is lost")
          }
          if (machine.fault("a call to the acquirer arrives late", 0.05)) return void arriveLater()
          if (machine.fault("a call to the acquirer arrives twice", 0.05)) done()
          const exit = done()
          // Worst where the answer refuses an order.
          const chance = isRefusal(exit) ? 0.5 : 0.02
          if (machine.fault("a process is frozen while it asks the acquirer", chance)) machine.freeze(process)
          const delayMs = machine.fault("the acquirer is slow", 0.1) ? machine.below(ACQUIRER_TIMEOUT_MS) : 0
          if (delayMs === 0) answer(exit)
          else machine.after(process, delayMs, () => answer(exit))
        },
        orphaned: () => {
          if (machine.fault("a call to the acquirer outlives its process", 0.5)) arriveLater()
        }
      })
      machine.after(process, ACQUIRER_TIMEOUT_MS, () => {
        machine.withdraw(step)
        if (!isAnswered) unclear("no answer in time")
      })
      return Effect.sync(() => {
        isAnswered = true
        machine.withdraw(step)
      })
    })

  return {
    pixes,
    sent,
    denied,
    broken,
    settings: {},
    begin: () => Promise.resolve(),
    layerFor: (process) =>
      Layer.merge(
        Layer.succeed(Acquirer, {
          providerFor: () =>
            Effect.succeed({
              emit: (emission) => calling(process, `emit ${emission.description}`, () => emit(emission)),
              cancel: ({ txid }) => calling(process, `cancel ${txid}`, () => cancel(txid)),
              orderReturn: (order) => calling(process, `refund ${order.txid}`, () => refund(order)),
              disputes: { defend: ({ id }) => calling(process, `defend ${id}`, () => Exit.void) },
              payouts: {
                send: (order) => calling(process, `send ${order.description}`, () => send(order)),
                outcome: ({ id }) => calling(process, `outcome of ${id}`, () => Exit.succeed(progressOf(id)))
              }
            })
        }),
        noConnections
      )
  }
}

const isRefusal = (exit: Exit.Exit<unknown, unknown>): boolean =>
  Exit.isFailure(exit) || (exit.value as PayoutProgress | undefined)?._tag === "Refused"

/** How the institutions name a Pix. */
export const namesOf = ({ txid }: Pix) => ({ txid, endToEndId: endToEndIdOf(txid) })

/** What a settled payout, or a paid Pix, is known by between institutions. */
export const endToEndIdOf = (id: string): string => `E99999999202611211200${id.replaceAll("-", "").slice(-11)}`
