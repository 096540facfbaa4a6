/** The payers and institutions behind `Books`: payments, returns, MEDs, and their notifications. */
import type { AcquirerNotification } from "../../../src/providers/AcquirerNotification.ts"
import { AcquirerNotifications } from "../../../src/reports/AcquirerNotifications.ts"
import { idFromTxid, txidFromId } from "@pix-payments/domain/Txid"
import * as Exit from "effect/Exit"
import { SIMULATOR_CONNECTION } from "@pix-payments/domain/AcquirerConnection"
import { type Books, endToEndIdOf, type Pix, type Sent } from "./Books.ts"
import type { Calls } from "./Calls.ts"
import type { Database } from "./Database.ts"
import type { BankStatement, Institutions } from "./Institutions.ts"
import type { Machine } from "./Machine.ts"
import { type Fact, type FactOf, learnAll, leftOf, sentCents } from "./MoneyModel.ts"
import type { ServerProcess } from "./ServerProcess.ts"

export const makeBooksInstitutions = (options: {
  readonly machine: Machine
  readonly database: Database
  readonly books: Books
  readonly calls: Calls
}): Institutions => {
  const {
    books,
    calls: { broken, operate },
    database: { query },
    machine
  } = options
  /** Acknowledged notifications, of which duplicates are sent later. */
  const heard: Array<AcquirerNotification> = []
  const telling = new Map<Pix | Sent, ServerProcess>()
  /** A process that died during a notification has not acknowledged it. */
  const isTelling = (subject: Pix | Sent) => telling.get(subject)?.alive === true
  /** MEDs that the service has, whose dispute is not read yet. */
  const learn = new Set<Pix>()
  const pixOf = (chargeId: string) => books.pixes.get(txidFromId(chargeId))
  const due = () => [...books.pixes.values(), ...books.sent.values()].filter(({ reports }) => reports.length > 0)

  /** Sends the next notification of a Pix or a payout, again until it is acknowledged. */
  const notify = (process: ServerProcess, subject: Pix | Sent) => {
    const report = subject.reports[0]
    if (report === undefined || isTelling(subject)) return
    const { fact, notification: next } = report
    telling.set(subject, process)
    operate(
      process,
      `report ${next._tag}`,
      AcquirerNotifications.use(({ receive }) => receive(next)),
      [],
      (exit) => {
        telling.delete(subject)
        if (Exit.isFailure(exit)) return
        machine.note(process, `   ${exit.value}`)
        if (exit.value === "unknown") broken.push(`${next._tag} names nothing that the service knows`)
        subject.reports.shift()
        heard.push(next)
        if (fact !== undefined) fact.known = machine.moment()
        if (next._tag === "med.opened" && "txid" in subject) learn.add(subject)
      }
    )
  }

  /** A duplicate of a notification, early or late. */
  const notifyAgain = (process: ServerProcess) => {
    const early = [...books.pixes.values(), ...books.sent.values()].flatMap(({ reports }) => reports.slice(1))
    const copies = [...heard, ...early.map(({ notification }) => notification)]
    if (copies.length === 0) return
    const copy = machine.pick(copies)
    machine.count("a report comes twice, late or early")
    operate(
      process,
      `copy of report ${copy._tag}`,
      AcquirerNotifications.use(({ receive }) => receive(copy)),
      []
    )
  }

  /** The dispute that the service made of a MED. */
  const disputeOf = async (pix: Pix) => {
    const [row] = await query<{ id: string }>(
      `SELECT m.id FROM simulation_moves m JOIN disputes d ON d.id = m.id
       WHERE m.kind = 'disputes' AND m.was IS NULL AND replace(d.charge_id::text, '-', '') = $1
       ORDER BY m.order_no DESC LIMIT 1`,
      [pix.txid]
    )
    return row?.id
  }

  let ids = 0
  /** The id by which the institutions know what happened. */
  const factId = () => `fact-${++ids}`

  /** Something happens to a Pix, between its payer and the institutions. */
  const happen = (pix: Pix) => {
    const { med, txid } = pix
    const report = (notification: AcquirerNotification, fact?: FactOf) => {
      const placed: Fact | undefined = fact && { ...fact, at: machine.moment() }
      if (placed !== undefined) pix.facts.push(placed)
      pix.reports.push({ notification, fact: placed })
      machine.note(
        undefined,
        `${pix.operation}: ${notification._tag} ${placed && "cents" in placed ? placed.cents : ""}`
      )
    }
    const endMed = () => {
      pix.med = undefined
    }
    if (pix.state === "emitted") {
      const isPaid = machine.random() < 0.85
      pix.state = isPaid ? "paid" : "failed"
      return report(
        isPaid
          ? { _tag: "charge.paid", txid, endToEndId: endToEndIdOf(txid) }
          : { _tag: "charge.failed", txid, reason: "by the simulation" }
      )
    }
    const left = leftOf({ cents: pix.amount, facts: pix.facts })
    if (pix.state !== "paid" || left === 0) return
    const cents = machine.pick([left, left, Math.ceil(left / 2), 1])
    if (cents < left) machine.count("a part of a Pix is contested or goes back")
    const giveBack = () => {
      if (cents === left) endMed()
      report({ _tag: "charge.refunded", txid, amount: cents, externalId: factId() }, { tag: "returned", cents })
    }
    const isLost = pix.facts.some(({ tag }) => tag === "lost")
    if (med?.isOpen !== true) {
      if (machine.random() < 0.3) return
      switch (machine.below(6)) {
        case 0:
          return giveBack()
        case 1: {
          endMed()
          const as = cents === left ? machine.pick(["refunded", "charged_back"] as const) : "charged_back"
          return report(
            { _tag: "charge.returned", txid, as, amount: cents, externalId: factId() },
            { tag: "lost", cents }
          )
        }
        case 2: {
          if (med?.dispute === undefined || pix.reports.length > 0) return
          endMed()
          // Final even after a `won`.
          const taken = Math.min(med.cents, left)
          return report({ _tag: "med.lost", disputeId: med.dispute }, { tag: "lost", cents: taken })
        }
        default:
          // DSP-4: a lost MED is the end of its charge.
          if (isLost) return
          pix.med = { cents, isOpen: true, dispute: undefined }
          return report(
            { _tag: "med.opened", txid, amount: cents, reason: "by the simulation", externalId: factId() },
            { tag: "contested", cents }
          )
      }
    }
    // It is decided once the service has the MED.
    const disputeId = med.dispute
    if (disputeId === undefined || pix.reports.length > 0) return
    const taken = Math.min(med.cents, left)
    switch (machine.below(8)) {
      case 0:
        return report({ _tag: "med.message", disputeId, text: "?", externalId: factId() })
      case 1:
        endMed()
        return report(
          { _tag: "charge.returned", txid, as: "charged_back", amount: taken, externalId: factId() },
          { tag: "lost", cents: taken }
        )
      case 2:
        endMed()
        return report({ _tag: "med.lost", disputeId }, { tag: "lost", cents: taken })
      case 3:
      case 4:
        return giveBack()
      case 5:
      case 6:
        med.isOpen = false
        return report({ _tag: "med.won", disputeId }, { tag: "won" })
      default:
        return
    }
  }

  const payWhole = (process: ServerProcess, pix: Pix) => {
    pix.state = "paid"
    const notification = { _tag: "charge.paid", txid: pix.txid, endToEndId: endToEndIdOf(pix.txid) } as const
    pix.reports.push({ notification, fact: undefined })
    notify(process, pix)
  }

  const statement = (): BankStatement => {
    const fitting: Readonly<Record<Pix["state"], ReadonlyArray<string>>> = {
      emitted: ["pending", "expired"],
      refused: ["failed"],
      paid: [],
      // It failed after it had expired, by the clock of the process that was notified: no event says so.
      failed: machine.counts.has("a clock is set") ? ["failed", "expired", "pending"] : ["failed", "expired"],
      // A cancellation without an answer leaves a charge that expires.
      canceled: ["canceled", "pending", "expired"]
    }
    const pixes = [...books.pixes.values()]
    const payouts = [...books.sent.values()].map(({ order, outcome }) => ({
      operation: order.description ?? "",
      cents: order.amount,
      outcome
    }))
    const pix = pixes
      .filter(({ state }) => state === "paid")
      .map(({ amount, facts, txid }) => ({ endToEndId: endToEndIdOf(txid), txid, cents: amount, facts }))
    return {
      pix,
      payouts,
      unpaid: new Map(pixes.map(({ state, txid }) => [idFromTxid(txid) ?? txid, fitting[state]])),
      balanceCents: pix.reduce((sum, one) => sum + leftOf(one), 0) - sentCents(payouts),
      connectionId: SIMULATOR_CONNECTION,
      rule: "hold"
    }
  }

  return {
    broken: books.broken,
    paysOut: true,
    storm: () => {},
    later: () =>
      learnAll(
        [...books.pixes.values()].flatMap(({ facts }) => facts),
        machine.moment()
      ),
    happen: () => {
      const pixes = [...books.pixes.values()]
      if (pixes.length === 0) return
      const moving = pixes.filter(({ state }) => state === "paid")
      happen(machine.pick(moving.length > 0 && machine.random() < 0.5 ? moving : pixes))
    },
    notify: (process) => {
      const subjects = due()
      if (subjects.length > 0) notify(process, machine.pick(subjects))
    },
    notifyAgain,
    pay: (process, chargeId) => {
      const pix = pixOf(chargeId)
      if (pix?.state === "emitted") payWhole(process, pix)
    },
    isUnpaid: (chargeId) => pixOf(chargeId)?.state === "emitted",
    wasRefused: (chargeId) => pixOf(chargeId)?.state === "refused",
    someDispute: () =>
      [...books.pixes.values()].find(({ med }) => med?.dispute !== undefined && machine.random() < 0.5)?.med?.dispute,
    someException: () => undefined,
    observe: async () => {
      for (const pix of learn) {
        const dispute = await disputeOf(pix)
        if (dispute === undefined) broken.push(`${pix.operation}: a MED was heard, and there is no dispute`)
        if (pix.med !== undefined) pix.med.dispute = dispute
        learn.delete(pix)
      }
    },
    finish: (process) => {
      const subjects = due()
      for (const each of subjects) notify(process, each)
      return subjects.length > 0
    },
    unacknowledged: () => due().length,
    waiting: () =>
      Promise.resolve(
        due()
          .flatMap(({ reports }) => reports)
          .map(({ notification }) => `a notification is not acknowledged: ${notification._tag}`)
      ),
    statement
  }
}
