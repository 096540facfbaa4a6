/** The payers and institutions behind `Books`: payments, returns, MEDs, and their notifications. */
import type { AcquirerNotification } from "../../../src/providers/AcquirerNotification.ts"
import { AcquirerNotifications } from "../../../src/reports/AcquirerNotifications.ts"
import { idFromTxid, txidFromId } from "@pix-payments/domain/Txid"
import * as Exit from "effect/Exit"
import { SIMULATOR_CONNECTION } from "@pix-payments/domain/AcquirerConnection"
import { type Books, endToEndIdOf, namesOf, left, type Med, type Pix, type Sent, uncontested } from "./Books.ts"
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
    const { fact, notification } = report
    if ("order" in subject && subject.payoutId === undefined) return
    const next = "order" in subject ? { ...notification, payoutId: subject.payoutId! } : notification
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
    const early = [...books.pixes.values()].flatMap(({ reports }) => reports.slice(1))
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

  /** The dispute that the service made of a MED; where nothing was left, it made an exception. */
  const disputeOf = async ({ id }: Med) => {
    const [dispute] = await query<{ id: string }>("SELECT id FROM disputes WHERE external_id = $1", [id])
    if (dispute !== undefined) return dispute.id
    const raised = await query("SELECT FROM acquirer_exceptions WHERE external_id = $1", [id])
    if (raised.length === 0) broken.push(`MED ${id} was heard, and there is no dispute`)
    return undefined
  }

  let ids = 0
  /** The id by which the institutions know what happened. */
  const factId = () => `fact-${++ids}`

  let factMs = 0
  /** The institutions' clock: no two facts within a few seconds. */
  const now = () => (factMs = Math.max(machine.nowMs(), factMs + 3000))

  /** Something happens to a Pix, between its payer and the institutions. */
  const happen = (pix: Pix) => {
    const { txid } = pix
    const report = (notification: AcquirerNotification, fact?: FactOf, alsoBy?: AcquirerNotification) => {
      const placed: Fact | undefined = fact && { ...fact, at: machine.moment() }
      if (placed !== undefined) pix.facts.push(placed)
      const all = alsoBy === undefined ? [notification] : [notification, alsoBy]
      // The service has it for certain once it has heard all.
      for (const [index, each] of all.entries())
        pix.reports.push({ notification: each, fact: index === all.length - 1 ? placed : undefined })
      machine.note(
        undefined,
        `${pix.operation}: ${notification._tag} ${placed && "cents" in placed ? placed.cents : ""}`
      )
    }
    if (pix.state === "emitted") {
      const isPaid = machine.random() < 0.85
      pix.state = isPaid ? "paid" : "failed"
      return report(
        isPaid ? { _tag: "charge.paid", ...namesOf(pix) } : { _tag: "charge.failed", txid, reason: "by the simulation" }
      )
    }
    const all = left(pix)
    if (pix.state !== "paid" || all === 0) return
    const partOf = (most: number) => {
      const cents = machine.pick([most, most, Math.ceil(most / 2), 1])
      if (cents < all) machine.count("a part of a Pix is contested or goes back")
      return cents
    }
    /** Somebody returns it. A MED of which nothing is left is over. */
    const giveBack = () => {
      const cents = partOf(all)
      if (cents === all) pix.meds = []
      report(
        { _tag: "charge.refunded", ...namesOf(pix), amount: cents, externalId: factId() },
        { tag: "returned", cents }
      )
    }
    const contest = () => {
      const free = uncontested(pix)
      if (free <= 0) return
      const [id, cents] = [factId(), partOf(free)]
      pix.meds.push({ id, cents, isOpen: true, dispute: undefined })
      report(
        {
          _tag: "med.opened",
          ...namesOf(pix),
          amount: cents,
          reason: "by the simulation",
          externalId: id,
          atMs: now()
        },
        { tag: "contested", med: id, cents }
      )
    }
    const returned = (amount: number, as: "refunded" | "charged_back" = "charged_back"): AcquirerNotification => ({
      _tag: "charge.returned",
      ...namesOf(pix),
      as,
      amount,
      externalId: factId(),
      atMs: now()
    })
    /** Two lists report it, each at its time: the decision and the return. */
    const lose = (med: Med, disputeId: string) => {
      // Final even after a `won`.
      pix.meds = pix.meds.filter((each) => each !== med)
      const cents = Math.min(med.cents, all)
      if (cents === all) pix.meds = []
      const [one, other] = [{ _tag: "med.lost", disputeId } as const, returned(cents)]
      const fact = { tag: "lost", med: med.id, cents } as const
      return machine.random() < 0.5 ? report(one, fact, other) : report(other, fact, one)
    }
    if (pix.meds.every(({ isOpen }) => !isOpen)) {
      if (machine.random() < 0.3) return
      switch (machine.below(6)) {
        case 0:
          return giveBack()
        case 1: {
          // Without a word before, and after.
          const cents = partOf(all)
          const as = cents === all ? machine.pick(["refunded", "charged_back"] as const) : "charged_back"
          pix.meds = []
          return report(returned(cents, as), { tag: "lost", med: factId(), cents })
        }
        case 2: {
          const won = pix.meds.at(-1)
          if (won?.dispute === undefined || pix.reports.length > 0) return
          return lose(won, won.dispute)
        }
        default:
          return contest()
      }
    }
    // It is decided once the service has the MED.
    const med = machine.pick(pix.meds.filter(({ isOpen }) => isOpen))
    const disputeId = med.dispute
    if (disputeId === undefined || pix.reports.length > 0) return
    switch (machine.below(8)) {
      case 0:
        return report({ _tag: "med.message", disputeId, text: "?", externalId: factId() })
      case 1:
      case 2:
        return lose(med, disputeId)
      case 3:
      case 4:
        return giveBack()
      case 5:
      case 6:
        med.isOpen = false
        return report({ _tag: "med.won", disputeId }, { tag: "won", med: med.id })
      default:
        if (uncontested(pix) > 0) machine.count("a second MED while one is open")
        return contest()
    }
  }

  const payWhole = (process: ServerProcess, pix: Pix) => {
    pix.state = "paid"
    const notification = { _tag: "charge.paid", ...namesOf(pix) } as const
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
      ends: [outcome],
      sentBack: []
    }))
    const pix = pixes
      .filter(({ state }) => state === "paid")
      .map(({ amount, facts, txid }) => ({
        connectionId: SIMULATOR_CONNECTION,
        endToEndId: endToEndIdOf(txid),
        txid,
        cents: amount,
        facts,
        returns: []
      }))
    return {
      pix,
      payouts,
      denied: books.denied,
      unpaid: new Map(pixes.map(({ state, txid }) => [idFromTxid(txid) ?? txid, fitting[state]])),
      balanceCents: pix.reduce((sum, one) => sum + leftOf(one), 0) - sentCents(payouts)
    }
  }

  return {
    broken: books.broken,
    connections: [],
    connectionFor: () => undefined,
    paysOut: true,
    held: () => Promise.resolve([]),
    release: () => {},
    needsDays: () => false,
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
      [...books.pixes.values()]
        .flatMap(({ meds }) => meds)
        .find(({ dispute }) => dispute !== undefined && machine.random() < 0.5)?.dispute,
    someException: () => undefined,
    observe: async () => {
      const unknown = [...books.sent.values()].filter(({ payoutId }) => payoutId === undefined)
      if (unknown.length > 0) {
        const ids = await query<{ id: string; description: string }>("SELECT id, description FROM payouts")
        for (const one of unknown)
          one.payoutId = ids.find(({ description }) => description === one.order.description)?.id
      }
      for (const pix of learn) {
        // A process heard of those whose opening is reported no more.
        const isReported = (med: Med) =>
          pix.reports.some(
            ({ notification }) => notification._tag === "med.opened" && notification.externalId === med.id
          )
        for (const med of pix.meds) {
          if (med.isOpen && med.dispute === undefined && !isReported(med)) med.dispute = await disputeOf(med)
        }
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
