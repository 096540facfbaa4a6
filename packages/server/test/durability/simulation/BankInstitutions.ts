/** The payers and institutions behind the double: payments that fit and that do not, hooks, and its books. */
import * as profiles from "@pix-payments/api-pix/Profiles"
import { txidFromId } from "@pix-payments/domain/Txid"
import type { Hook } from "@pix-payments/psp-double/HookQueue"
import { isOpen } from "@pix-payments/psp-double/provider/Infractions"
import { returnableCents } from "@pix-payments/psp-double/provider/Receipts"
import type { Cob, ReceivedPix } from "@pix-payments/psp-double/provider/State"
import * as Exit from "effect/Exit"
import * as Result from "effect/Result"
import { Callbacks } from "../../../src/reports/Callbacks.ts"
import type { Bank } from "./Bank.ts"
import { BANK_CONNECTION } from "./BankConnection.ts"
import { reconcileBank } from "./BankReconciliation.ts"
import type { Calls } from "./Calls.ts"
import type { Database } from "./Database.ts"
import type { Institutions } from "./Institutions.ts"
import type { Machine } from "./Machine.ts"
import type { ServerProcess } from "./ServerProcess.ts"

export const makeBankInstitutions = (options: {
  readonly machine: Machine
  readonly database: Database
  readonly bank: Bank
  readonly calls: Calls
}): Institutions => {
  const { bank, calls, database, machine } = options
  const { double } = bank
  const { cobs, receipts } = double.provider
  const broken: Array<string> = []
  /** Hooks that are due, those in flight with the process that has them, and those that were acknowledged. */
  const due: Array<Hook> = []
  const inFlight = new Map<Hook, ServerProcess>()
  const acknowledged: Array<Hook> = []
  let elsewhere = 0
  let { hasParts } = bank
  let openExceptions: ReadonlyArray<string> = []
  /** The ends of complete sweeps since the institutions came to rest. */
  let restedAtMs = 0
  let sweeps = new Set<number>()

  /** Two sweeps begin after the last thing that happened at the provider. */
  const awaitSweeps = async () => {
    if (double.provider.nextDueAtMs() !== undefined || due.length + inFlight.size > 0) restedAtMs = machine.nowMs()
    const [row] = await database.query<{ swept_until: Date | null }>(
      `SELECT swept_until FROM acquirer_connections WHERE id = '${BANK_CONNECTION}'`
    )
    const sweptUntilMs = row?.swept_until?.getTime() ?? 0
    if (sweptUntilMs > restedAtMs) sweeps.add(sweptUntilMs)
    else sweeps = new Set()
    return sweeps.size < 2 ? [`${sweeps.size} sweeps since the provider is at rest`] : []
  }

  const connection = {
    id: BANK_CONNECTION,
    profile: profiles[double.profile.name],
    pixKey: bank.key,
    isPaused: false,
    secretHash: undefined,
    addresses: [],
    isMutualTls: false
  }

  const allCobs = (): ReadonlyArray<Cob> => cobs.list(ALWAYS, () => true, ALL).items
  const allPix = (): ReadonlyArray<ReceivedPix> => receipts.list(ALWAYS, () => true, ALL).items

  /** Takes the hooks that are due. One whose process died was not acknowledged. */
  const takeHooks = () => {
    bank.settleDue()
    for (const [hook, process] of inFlight) {
      if (process.alive) continue
      inFlight.delete(hook)
      double.queue.failed(hook)
    }
    due.push(...double.queue.takeDue())
  }

  const send = (process: ServerProcess, hook: Hook) => {
    inFlight.set(hook, process)
    const received = Callbacks.use(({ receive }) => receive(connection, JSON.stringify({ pix: hook.pix })))
    calls.call(process, `hook ${hook.id}`, received, (exit) => {
      inFlight.delete(hook)
      const result = Exit.isSuccess(exit) ? exit.value : "unavailable"
      machine.note(process, `-> hook ${hook.id}: ${result}`)
      if (result === "unavailable") return double.queue.failed(hook)
      if (result !== "applied") broken.push(`hook ${hook.id} is ${result}`)
      acknowledged.push(hook)
    })
  }

  const pay = (txid: string, cents?: number) => {
    const paid = receipts.payCob(txid, cents === undefined ? {} : { cents })
    if (Result.isFailure(paid)) return
    machine.note(undefined, `${txid} is paid: ${paid.success.cents} as ${paid.success.endToEndId}`)
    bank.settleDue()
  }

  const partOf = (cents: number) => (bank.hasParts ? machine.pick([cents, Math.ceil(cents / 2), 1]) : cents)

  /** A MED is opened or decided, or somebody else returns a Pix, or a part of it. */
  const reverse = () => {
    const { infractions } = double.provider
    const paid = allPix().filter((pix) => returnableCents(pix) > 0)
    const open = infractions.list(ALWAYS, ALL).items.filter(isOpen)
    const infraction = open.length === 0 || machine.random() < 0.4 ? undefined : machine.pick(open)
    if (infraction !== undefined) {
      // One that is accepted returns money now: the double does not try again when there is some later.
      const disputed = Result.getOrThrow(receipts.get(infraction.endToEndId))
      const isEmpty = double.provider.balanceCents() <= 0 || returnableCents(disputed) < infraction.cents
      const outcome = machine.pick(isEmpty ? (["REJEITADA"] as const) : (["ACEITA", "REJEITADA"] as const))
      const balance = double.provider.balanceCents()
      infractions.close(infraction.id, outcome)
      // The provider takes no more than its balance.
      const taken = balance - double.provider.balanceCents()
      if (outcome === "ACEITA" && taken < infraction.cents) {
        machine.count("MEDs at the double: more than the balance")
        hasParts = true
      }
      machine.count(`MEDs at the double: ${outcome}`)
      machine.note(undefined, `the MED of ${infraction.endToEndId} is ${outcome}`)
    } else if (paid.length > 0) {
      const { cents, endToEndId } = machine.pick(paid)
      if (double.profile.name === "efi" && machine.random() < 0.6) {
        if (open.some((other) => other.endToEndId === endToEndId)) return
        const contested = partOf(cents)
        infractions.open(endToEndId, { cents: contested })
        machine.count("MEDs at the double: opened")
        if (contested < cents) machine.count("MEDs at the double: of a part")
        machine.note(undefined, `a MED of ${contested} of ${endToEndId} is opened`)
      } else {
        const returning = partOf(cents)
        const returned = receipts.orderReturn(endToEndId, `elsewhere${++elsewhere}`, { cents: returning })
        if (Result.isFailure(returned)) return
        machine.count("returns ordered elsewhere")
        if (returning < cents) machine.count("returns of a part ordered elsewhere")
        machine.note(undefined, `somebody else returns ${returning} of ${endToEndId}`)
      }
    }
    bank.settleDue()
  }

  return {
    broken,
    paysOut: double.profile.name !== "bacen",
    refunds: true,
    hasParts: () => hasParts,
    storm: (on) => {
      bank.storm(on)
      restedAtMs = machine.nowMs()
    },
    happen: () => {
      if (machine.random() < 0.3) return reverse()
      const all = allCobs()
      if (all.length === 0) return
      const open = all.filter(({ status }) => status === "ATIVA")
      const dice = machine.random()
      if (dice < 0.75) {
        if (open.length > 0) pay(machine.pick(open).txid)
      } else if (dice < 0.82) {
        machine.count("payments of another amount")
        if (open.length > 0) pay(machine.pick(open).txid, 777)
      } else if (dice < 0.9) {
        // Paid or removed before, or not.
        machine.count("payments of any charge, again")
        pay(machine.pick(all).txid)
      } else {
        machine.count("payments to the key or of an unknown txid")
        const txid = machine.pick([undefined, "f".repeat(32)])
        const cents = machine.pick([900, 1000, 2500])
        const pix = receipts.receive({ key: bank.key, cents, ...(txid !== undefined && { txid }) })
        machine.note(undefined, `${cents} arrive as ${pix.endToEndId} for ${txid}`)
        bank.settleDue()
      }
    },
    notify: (process) => {
      takeHooks()
      const [hook] = due.splice(machine.below(due.length), 1)
      if (hook !== undefined) send(process, hook)
    },
    notifyAgain: (process) => {
      if (acknowledged.length === 0) return
      machine.count("a hook comes again")
      send(process, { ...machine.pick(acknowledged) })
    },
    isUnpaid: (chargeId) =>
      Result.isSuccess(cobs.get(txidFromId(chargeId))) && receipts.ofTxid(txidFromId(chargeId)).length === 0,
    pay: (process, chargeId) => {
      pay(txidFromId(chargeId))
      takeHooks()
      for (const hook of due.splice(0)) send(process, hook)
    },
    wasRefused: () => false,
    someDispute: () => undefined,
    someException: () => (openExceptions.length === 0 ? undefined : machine.pick(openExceptions)),
    observe: async () => {
      const rows = await database.query<{ id: string }>(
        "SELECT id FROM acquirer_exceptions WHERE status = 'open' ORDER BY id"
      )
      openExceptions = rows.map(({ id }) => id)
    },
    finish: (process) => {
      takeHooks()
      const hooks = due.splice(0)
      for (const hook of hooks) send(process, hook)
      return hooks.length > 0
    },
    unacknowledged: () => due.length + inFlight.size,
    waiting: async () => {
      takeHooks()
      return [...due.map(({ id }) => `hook ${id} is not acknowledged`), ...(await awaitSweeps())]
    },
    reconcile: () => reconcileBank({ database, bank, pix: allPix() })
  }
}

const ALWAYS = { fromMs: 0, toMs: Number.MAX_SAFE_INTEGER }
const ALL = { page: 0, size: Number.MAX_SAFE_INTEGER }
