/** The payers and institutions behind `Books`: payments, returns, MEDs, and their notifications. */
import type { AcquirerNotification } from "../../../src/providers/AcquirerNotification.ts"
import { AcquirerNotifications } from "../../../src/reports/AcquirerNotifications.ts"
import { idFromTxid, txidFromId } from "@pix-payments/domain/Txid"
import * as Exit from "effect/Exit"
import { type Books, endToEndIdOf, type Pix, type Sent } from "./Books.ts"
import type { Calls } from "./Calls.ts"
import type { Database } from "./Database.ts"
import type { Institutions } from "./Institutions.ts"
import type { Machine } from "./Machine.ts"
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
    const next = subject.reports[0]
    if (next === undefined || isTelling(subject)) return
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
        if (next._tag === "med.opened" && "txid" in subject) learn.add(subject)
      }
    )
  }

  /** A duplicate of a notification, early or late. */
  const notifyAgain = (process: ServerProcess) => {
    const early = [...books.pixes.values(), ...books.sent.values()].flatMap(({ reports }) => reports.slice(1))
    const copies = [...heard, ...early]
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

  let facts = 0
  /** The id by which the institutions know what happened. */
  const factId = () => `fact-${++facts}`

  /** Something happens to a Pix, between its payer and the institutions. */
  const happen = (pix: Pix) => {
    const { txid } = pix
    const change = (state: Pix["state"], report: AcquirerNotification) => {
      pix.state = state
      pix.reports.push(report)
      machine.note(undefined, `${pix.operation} is ${state} at the acquirer`)
    }
    switch (pix.state) {
      case "emitted":
        return machine.random() < 0.85
          ? change("paid", { _tag: "charge.paid", txid, endToEndId: endToEndIdOf(txid) })
          : change("failed", { _tag: "charge.failed", txid, reason: "by the simulation" })
      case "paid": {
        if (machine.random() < 0.3) return
        const dispute = pix.dispute
        switch (machine.below(6)) {
          case 0:
            return change("refunded", { _tag: "charge.refunded", txid, externalId: factId() })
          case 1: {
            const as = machine.pick(["refunded", "charged_back"] as const)
            return change(as, { _tag: "charge.returned", txid, as, externalId: factId() })
          }
          case 2:
            if (dispute === undefined || pix.reports.length > 0) return
            // Final even after a `won`.
            return change("charged_back", { _tag: "med.lost", disputeId: dispute })
          default:
            pix.dispute = undefined
            return change("contested", {
              _tag: "med.opened",
              txid,
              reason: "by the simulation",
              externalId: factId()
            })
        }
      }
      case "contested": {
        // It is decided once the service has the MED.
        const disputeId = pix.dispute
        if (disputeId === undefined || pix.reports.length > 0) return
        switch (machine.below(5)) {
          case 0:
            pix.reports.push({ _tag: "med.message", disputeId, text: "?", externalId: factId() })
            return
          case 1:
            return change("charged_back", { _tag: "charge.returned", txid, as: "charged_back", externalId: factId() })
          case 2:
            return change("charged_back", { _tag: "med.lost", disputeId })
          default:
            return change("paid", { _tag: "med.won", disputeId })
        }
      }
      default:
        return
    }
  }

  const payWhole = (process: ServerProcess, pix: Pix) => {
    pix.state = "paid"
    pix.reports.push({ _tag: "charge.paid", txid: pix.txid, endToEndId: endToEndIdOf(pix.txid) })
    notify(process, pix)
  }

  const reconcile = async () => {
    const broken: Array<string> = []
    const charges = await query<{ id: string; status: string; amount: bigint; end_to_end_id: string | null }>(
      `SELECT id, CASE WHEN status = 'pending' AND expires_at <= now() THEN 'expired' ELSE status END AS status, amount,
         end_to_end_id FROM charges`
    )
    const fitting: Readonly<Record<string, ReadonlyArray<string>>> = {
      emitted: ["pending", "expired"],
      refused: ["failed"],
      paid: ["paid"],
      // It failed after it had expired, by the clock of the process that was notified: no event says so.
      failed: machine.counts.has("a clock is set") ? ["failed", "expired", "pending"] : ["failed", "expired"],
      // A cancellation without an answer leaves a charge that expires.
      canceled: ["canceled", "pending", "expired"],
      refunded: ["refunded"],
      charged_back: ["charged_back"],
      contested: ["infraction"]
    }
    for (const { amount, end_to_end_id, id, status } of charges) {
      const pix = books.pixes.get(txidFromId(id))
      if (pix === undefined) broken.push(`charge ${id} is ${status}, and the acquirer knows no Pix of it`)
      else if (!fitting[pix.state]!.includes(status)) {
        broken.push(`charge ${id} is ${status}, at the acquirer ${pix.state}`)
      } else if (pix.amount !== Number(amount)) broken.push(`charge ${id} has another amount than its Pix`)
      if (["paid", "refunded", "charged_back", "infraction"].includes(status) && end_to_end_id === null) {
        broken.push(`charge ${id} is ${status} without a settlement`)
      }
    }
    const known = new Set(charges.map(({ id }) => id))
    for (const { txid } of books.pixes.values()) {
      if (!known.has(idFromTxid(txid) ?? "")) broken.push(`the acquirer has a Pix that is no charge of ours: ${txid}`)
    }
    const payouts = await query<{ id: string; status: string; amount: bigint }>(
      "SELECT id, status, amount FROM payouts"
    )
    for (const { amount, id, status } of payouts) {
      const sent = books.sent.get(id)
      const expected = sent === undefined ? ["pending", "canceled"] : [sent.outcome as string]
      if (!expected.includes(status)) broken.push(`payout ${id} is ${status}, at the acquirer ${expected.join(" or ")}`)
      if (sent !== undefined && sent.order.amount !== Number(amount))
        broken.push(`payout ${id} was sent with another amount`)
    }
    const paidOut = new Set(payouts.map(({ id }) => id))
    for (const id of books.sent.keys()) if (!paidOut.has(id)) broken.push(`${id} was sent, and is no payout of ours`)
    return broken
  }

  return {
    broken: books.broken,
    paysOut: true,
    refunds: true,
    hasParts: () => false,
    storm: () => {},
    happen: () => {
      const pixes = [...books.pixes.values()]
      if (pixes.length === 0) return
      const moving = pixes.filter(({ state }) => state === "paid" || state === "contested")
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
      [...books.pixes.values()].find(({ dispute }) => dispute !== undefined && machine.random() < 0.5)?.dispute,
    someException: () => undefined,
    observe: async () => {
      for (const pix of learn) {
        pix.dispute = await disputeOf(pix)
        if (pix.dispute === undefined) broken.push(`${pix.operation}: a MED was heard, and there is no dispute`)
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
          .map(({ _tag }) => `a notification is not acknowledged: ${_tag}`)
      ),
    reconcile
  }
}
