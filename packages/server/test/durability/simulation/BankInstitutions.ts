/** The payers and institutions behind the double: payments that fit and that do not, hooks, and its books. */
import { decodeHook } from "@pix-payments/api-pix/Hooks"
import * as profiles from "@pix-payments/api-pix/Profiles"
import { txidFromId } from "@pix-payments/domain/Txid"
import type { Hook } from "@pix-payments/psp-double/HookQueue"
import type { Cob, ReceivedPix } from "@pix-payments/psp-double/provider/State"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Result from "effect/Result"
import { AcquirerUnclear } from "../../../src/acquirer/Acquirer.ts"
import { ConnectionRegistry } from "../../../src/connections/ConnectionRegistry.ts"
import { AcquirerNotifications } from "../../../src/notifications/AcquirerNotifications.ts"
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
  /** Pix that the service does not know. */
  let missing: ReadonlyArray<string> = []

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
    calls.call(process, `hook ${hook.id}`, receiveHook(double.profile.name, hook), (exit) => {
      inFlight.delete(hook)
      machine.note(process, `-> hook ${hook.id}: ${Exit.isSuccess(exit) ? "acknowledged" : "failed"}`)
      if (Exit.isSuccess(exit)) acknowledged.push(hook)
      else double.queue.failed(hook)
    })
  }

  const pay = (txid: string, cents?: number) => {
    const paid = receipts.payCob(txid, cents === undefined ? {} : { cents })
    if (Result.isFailure(paid)) return
    machine.note(undefined, `${txid} is paid: ${paid.success.cents} as ${paid.success.endToEndId}`)
    bank.settleDue()
  }

  return {
    broken,
    paysOut: false,
    storm: bank.storm,
    happen: () => {
      const open = allCobs().filter(({ status }) => status === "ATIVA")
      if (open.length > 0) pay(machine.pick(open).txid)
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
    observe: () => Promise.resolve(),
    finish: (process) => {
      if (missing.length > 0) double.provider.reportAgain("PIX_RECEBIDO", missing)
      missing = []
      takeHooks()
      const hooks = due.splice(0)
      for (const hook of hooks) send(process, hook)
      return hooks.length > 0
    },
    unacknowledged: () => due.length + inFlight.size,
    waiting: async () => {
      takeHooks()
      const rows = await database.query<{ end_to_end_id: string }>(
        "SELECT end_to_end_id FROM charges WHERE end_to_end_id IS NOT NULL"
      )
      const known = new Set(rows.map(({ end_to_end_id }) => end_to_end_id))
      missing = allPix().flatMap(({ endToEndId }) => (known.has(endToEndId) ? [] : [endToEndId]))
      return [
        ...due.map(({ id }) => `hook ${id} is not acknowledged`),
        ...missing.map((id) => `Pix ${id} is not known`),
        ...(double.provider.nextDueAtMs() === undefined ? [] : ["the provider has work that is due later"])
      ]
    },
    reconcile: () => reconcileBank({ database, bank, pix: allPix() })
  }
}

const ALWAYS = { fromMs: 0, toMs: Number.MAX_SAFE_INTEGER }
const ALL = { page: 0, size: Number.MAX_SAFE_INTEGER }

const receiveHook = Effect.fnUntraced(function* (profile: "bacen" | "efi", { pix }: Hook) {
  const decoded = decodeHook(profiles[profile], JSON.stringify({ pix }))
  if (Result.isFailure(decoded)) return yield* Effect.die(new Error(decoded.failure.reason))
  if (decoded.success._tag !== "Facts") return
  const registry = yield* ConnectionRegistry
  const notifications = yield* AcquirerNotifications
  for (const fact of decoded.success.facts) {
    if (fact._tag !== "PixReceived") continue
    const found = yield* registry.use(BANK_CONNECTION, ({ provider }) => provider.received!.find(fact.endToEndId))
    if (found === undefined) return yield* new AcquirerUnclear({ reason: "the Pix is not found" })
    yield* notifications.receive({
      _tag: "charge.paid",
      connectionId: BANK_CONNECTION,
      txid: found.txid ?? "",
      endToEndId: found.endToEndId,
      amount: found.amount,
      atMs: found.atMs
    })
  }
})
