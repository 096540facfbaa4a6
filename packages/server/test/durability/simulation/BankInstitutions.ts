/** The payers and institutions behind the double: payments that fit and that do not, hooks, and its books. */
import * as profiles from "@pix-payments/api-pix/Profiles"
import { idFromTxid, txidFromId } from "@pix-payments/domain/Txid"
import type { Hook } from "@pix-payments/psp-double/HookQueue"
import { isOpen } from "@pix-payments/psp-double/provider/Infractions"
import { returnableCents } from "@pix-payments/psp-double/provider/Receipts"
import type { Cob, Infraction, Payout, ReceivedPix } from "@pix-payments/psp-double/provider/State"
import * as Exit from "effect/Exit"
import * as Result from "effect/Result"
import { Callbacks } from "../../../src/reports/Callbacks.ts"
import type { Bank, BankOutcome } from "./Bank.ts"
import type { Calls } from "./Calls.ts"
import type { Database } from "./Database.ts"
import type { HeldOrder, Institutions } from "./Institutions.ts"
import type { Machine } from "./Machine.ts"
import { type BankReturn, type Fact, type FactOf, learnAll } from "./MoneyModel.ts"
import type { ServerProcess } from "./ServerProcess.ts"

export const makeBankInstitutions = (options: {
  readonly machine: Machine
  readonly database: Database
  readonly bank: Bank
  readonly calls: Calls
}): Institutions => {
  const { bank, calls, database, machine } = options
  const { double, rail } = bank
  const { cobs, receipts } = double.provider
  const broken: Array<string> = []
  /** Hooks that are due, those in flight with the process that has them, and those that were acknowledged. */
  const due: Array<Hook> = []
  const inFlight = new Map<Hook, ServerProcess>()
  const acknowledged: Array<Hook> = []
  let elsewhere = 0
  /** What happened to each Pix since its payment, besides the refunds that the service ordered. */
  const factsOf = new Map<string, Array<BankFact>>()
  let openExceptions: ReadonlyArray<string> = []
  /** The ends of complete sweeps since the institutions came to rest. */
  let restedAtMs = 0
  let sweeps = new Set<number>()
  let isLate = false
  /** Pix of which a MED that was lost returned less than it contests. */
  const short = new Set<string>()

  /** Two sweeps begin after the last thing that happened at the provider. */
  const awaitSweeps = async () => {
    const isAtRest = double.provider.nextDueAtMs() === undefined && due.length + inFlight.size === 0
    if (!isAtRest && !isLate) restedAtMs = machine.nowMs()
    const [row] = await database.query<{ swept_until: Date | null; returns_at: Date | null; returns_open: bigint }>(
      `SELECT min(coalesce(swept_until, created_at)) AS swept_until, min(coalesce(returns_at, created_at)) AS returns_at,
         count(returns_from) AS returns_open
       FROM acquirer_connections WHERE kind <> 'simulator'`
    )
    const sweptUntilMs = row?.swept_until?.getTime() ?? 0
    const hasReturns = !isLate || (row?.returns_open === 0n && (row.returns_at?.getTime() ?? 0) > restedAtMs)
    const isDone = double.provider.nextDueAtMs() === undefined
    if (isDone && sweptUntilMs > restedAtMs && hasReturns) sweeps.add(sweptUntilMs)
    else sweeps = new Set()
    return sweeps.size < 2 ? [`${sweeps.size} sweeps since the provider is at rest`] : []
  }

  /** The connection of a key. */
  const connectionOf = (key: string) => bank.connections.find((each) => each.key === key)!
  const senderOf = ({ url }: Hook) => ({
    id: url.split("/").at(-1)!,
    profile: profiles[rail],
    pixKey: bank.connections.find(({ id }) => url.endsWith(id))!.key,
    isPaused: false,
    secretHash: undefined,
    addresses: [],
    isMutualTls: false
  })

  const allCobs = (): ReadonlyArray<Cob> => cobs.list(ALWAYS, () => true, ALL).items
  const allPayouts = (): ReadonlyArray<Payout> => double.provider.payouts.list(ALWAYS, () => true, ALL).items
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
    const received = Callbacks.use(({ receive }) => receive(senderOf(hook), JSON.stringify({ pix: hook.pix })))
    calls.call(process, `hook ${hook.id}`, received, (exit) => {
      inFlight.delete(hook)
      const result = Exit.isSuccess(exit) ? exit.value : "unavailable"
      machine.note(process, `-> hook ${hook.id}: ${result}`)
      if (result === "unavailable") return double.queue.failed(hook)
      if (result !== "applied") broken.push(`hook ${hook.id} is ${result}`)
      acknowledged.push(hook)
      learnReturns(hook)
    })
  }

  const place = (endToEndId: string, fact: FactOf, id?: string) => {
    const placed: BankFact = { fact: { ...fact, at: machine.moment() }, id }
    factsOf.set(endToEndId, [...(factsOf.get(endToEndId) ?? []), placed])
  }

  /** The service has the returns that an acknowledged hook reports as done. */
  const learnReturns = ({ pix }: Hook) => {
    for (const { devolucoes = [], endToEndId } of pix as ReadonlyArray<HookPix>) {
      const done = new Set(devolucoes.filter(({ status }) => status === "DEVOLVIDO").map(({ id }) => id))
      for (const { fact, id } of factsOf.get(endToEndId) ?? []) {
        if (id !== undefined && done.has(id)) fact.known ??= machine.moment()
      }
    }
  }

  /** The service has the one MED of a Pix whose charge callers see contested. */
  const learnMeds = async () => {
    const first = [...factsOf].flatMap(([endToEndId, facts]) => {
      const [one, ...others] = facts.map(({ fact }) => fact).filter(({ tag }) => isOfMed(tag))
      return one?.tag === "contested" && one.known === undefined && others.length === 0
        ? [{ endToEndId, fact: one }]
        : []
    })
    if (first.length === 0) return
    const seen = await database.query<{ end_to_end_id: string }>(
      "SELECT end_to_end_id FROM charges WHERE status = 'infraction'"
    )
    for (const { endToEndId, fact } of first) {
      if (seen.some(({ end_to_end_id }) => end_to_end_id === endToEndId)) fact.known = machine.moment()
    }
  }

  const pay = (txid: string, cents?: number) => {
    const paid = receipts.payCob(txid, cents === undefined ? {} : { cents })
    if (Result.isFailure(paid)) return
    machine.note(undefined, `${txid} is paid: ${paid.success.cents} as ${paid.success.endToEndId}`)
    bank.settleDue()
  }

  const partOf = (cents: number) => machine.pick([cents, Math.ceil(cents / 2), 1])

  const returnElsewhere = ({ cents, endToEndId }: ReceivedPix) => {
    const returning = partOf(cents)
    const id = `elsewhere${++elsewhere}`
    if (Result.isFailure(receipts.orderReturn(endToEndId, id, { cents: returning }))) return
    place(endToEndId, { tag: "returned", cents: returning }, id)
    machine.count("returns ordered elsewhere")
    if (returning < cents) machine.count("returns of a part ordered elsewhere")
    machine.note(undefined, `somebody else returns ${returning} of ${endToEndId}`)
  }

  /** The end of a MED. Of one that is accepted the bank returns what it can, or wants: at most once, and nothing later. */
  const decide = ({ cents: claimed, endToEndId, id }: Infraction) => {
    const { infractions } = double.provider
    const pix = Result.getOrThrow(receipts.get(endToEndId))
    // Other returns may be booked between the loss and its return: the model knows no such order.
    const isAlone = (factsOf.get(endToEndId) ?? []).length === 1 && pix.returns.length === 0
    const takesBack = isAlone && machine.random() < 0.5 ? machine.pick([0, 1]) : claimed
    // How the returns of several are paired with them is a limit of the service.
    const isEmpty = Math.min(double.provider.balanceCents(), returnableCents(pix)) < takesBack
    const outcome = machine.pick(isEmpty && !isAlone ? (["REJEITADA"] as const) : (["ACEITA", "REJEITADA"] as const))
    const balance = double.provider.balanceCents()
    infractions.close(id, outcome, undefined, { takesBack })
    // The provider takes no more than its balance.
    const cents = balance - double.provider.balanceCents()
    machine.count(`MEDs at the double: ${outcome}`)
    machine.note(undefined, `the MED of ${endToEndId} is ${outcome}`)
    if (outcome === "REJEITADA") return place(endToEndId, { tag: "won", med: id })
    const isShort = isAlone && cents < claimed
    place(endToEndId, { tag: "lost", med: id, cents, isShort })
    if (!isShort) return
    short.add(endToEndId)
    machine.count(`MEDs at the double: lost, and ${cents === 0 ? "nothing" : "less"} is returned`)
  }

  /** A MED is opened or decided, or somebody else returns a Pix, or a part of it. */
  const reverse = () => {
    const { infractions } = double.provider
    const paid = allPix().filter((pix) => returnableCents(pix) > 0 && !short.has(pix.endToEndId))
    const open = infractions.list(ALWAYS, ALL).items.filter(isOpen)
    const infraction = open.length === 0 || machine.random() < 0.4 ? undefined : machine.pick(open)
    if (infraction !== undefined && machine.random() < 0.5) {
      returnElsewhere(Result.getOrThrow(receipts.get(infraction.endToEndId)))
    } else if (infraction !== undefined) {
      decide(infraction)
    } else if (paid.length > 0) {
      // Exceptions are few.
      const misfits = paid.filter(({ cents, txid }) => txid === undefined || txid === NO_TXID || cents === MISFIT_CENTS)
      const pix = machine.pick(misfits.length > 0 && machine.random() < 0.4 ? misfits : paid)
      const { cents, endToEndId } = pix
      if (rail === "efi" && machine.random() < 0.6) {
        const contested = partOf(cents)
        const claims = [contested, ...open.flatMap((other) => (other.endToEndId === endToEndId ? other.cents : []))]
        // Whose return one of these is, is a limit of the service where they contest more than there is.
        const isAmbiguous = new Set(claims).size < claims.length
        if (isAmbiguous && claims.reduce((sum, claim) => sum + claim) > returnableCents(pix)) return
        if (claims.length > 1) machine.count("MEDs at the double: while one is open")
        const { id } = Result.getOrThrow(infractions.open(endToEndId, { cents: contested }))
        place(endToEndId, { tag: "contested", med: id, cents: contested })
        machine.count("MEDs at the double: opened")
        if (contested < cents) machine.count("MEDs at the double: of a part")
        machine.note(undefined, `a MED of ${contested} of ${endToEndId} is opened`)
      } else {
        returnElsewhere(pix)
      }
    }
    bank.settleDue()
  }

  return {
    broken,
    // The second merchant has the second key.
    connections: bank.connections.map(({ id }) => id),
    connectionFor: (merchant) => (merchant === 1 ? bank.connections[1]?.id : undefined),
    paysOut: rail !== "bacen",
    held: async () => {
      const orders = await database.query<{ id: string; kind: string; exception_id: string | null }>(
        "SELECT id, kind, exception_id FROM acquirer_orders WHERE kind IN ('refund', 'return') AND state = 'ordered'"
      )
      const payouts = await database.query<{ id: string; description: string }>(
        "SELECT id, description FROM payouts WHERE status = 'processing'"
      )
      return [...bank.held].flatMap(([id, endToEndId]): ReadonlyArray<HeldOrder> => {
        if (endToEndId === undefined) {
          const sent = Result.getOrThrow(double.provider.payouts.get(id))
          const payout = payouts.find(({ description }) => description === sent.payerInfo)
          // The others say nothing of a payout that has ended.
          return payout === undefined || rail !== "efi"
            ? []
            : [{ kind: "payout", id: payout.id, orderId: payout.id, externalId: sent.endToEndId }]
        }
        const order = orders.find((each) => each.id === idFromTxid(id))
        const { rtrId } = Result.getOrThrow(receipts.getReturn(endToEndId, id))
        if (order === undefined) return []
        const of =
          order.kind === "refund"
            ? ({ kind: "refund", id: order.id } as const)
            : ({ kind: "exception", id: order.exception_id! } as const)
        return [{ ...of, orderId: order.id, externalId: rtrId }]
      })
    },
    release: () => {
      if (bank.held.size === 0) return
      bank.release()
      restedAtMs = machine.nowMs()
    },
    needsDays: () => short.size > 0 || bank.isSurprising(),
    storm: (on) => {
      if (isLate) return
      bank.storm(on)
      restedAtMs = machine.nowMs()
    },
    later: () => {
      for (const facts of factsOf.values())
        learnAll(
          facts.map(({ fact }) => fact),
          machine.moment()
        )
      bank.later()
      restedAtMs = machine.nowMs()
      isLate = true
    },
    happen: () => {
      if (machine.random() < 0.4) return reverse()
      const all = allCobs()
      if (all.length === 0) return
      const open = all.filter(({ status }) => status === "ATIVA")
      const dice = machine.random()
      if (dice < 0.75) {
        if (open.length > 0) pay(machine.pick(open).txid)
      } else if (dice < 0.82) {
        machine.count("payments of another amount")
        if (open.length > 0) pay(machine.pick(open).txid, MISFIT_CENTS)
      } else if (dice < 0.9) {
        // Paid or removed before, or not.
        machine.count("payments of any charge, again")
        pay(machine.pick(all).txid)
      } else {
        machine.count("payments to the key or of an unknown txid")
        const txid = machine.pick([undefined, NO_TXID])
        const cents = machine.pick([900, 1000, 2500])
        const pix = receipts.receive({
          key: machine.pick(bank.connections).key,
          cents,
          ...(txid !== undefined && { txid })
        })
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
      await learnMeds()
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
    statement: () => {
      for (const { failures, operation } of double.api.violations)
        broken.push(`${operation} breaks the contract: ${failures.join("; ")}`)
      for (const { failures, operation } of double.api.defects)
        broken.push(`the double breaks the contract at ${operation}: ${failures.join("; ")}`)
      return {
        pix: allPix().map((pix) => ({
          ...pix,
          connectionId: connectionOf(pix.key).id,
          facts: happenedTo(pix, factsOf.get(pix.endToEndId) ?? []),
          returns: orderedOf(pix, factsOf.get(pix.endToEndId) ?? [], bank.changed)
        })),
        payouts: allPayouts().map(({ cents, id, payerInfo = "", returned, status }) => ({
          operation: payerInfo,
          cents,
          ends: status === "EM_PROCESSAMENTO" ? [] : (bank.changed.get(id) ?? [OUTCOMES[status]]),
          sentBack: returned.map((each) => each.cents)
        })),
        denied: bank.denied,
        unpaid: new Map(allCobs().map(({ status, txid }) => [idFromTxid(txid) ?? txid, UNPAID[status]])),
        balanceCents: double.provider.balanceCents()
      }
    }
  }
}

/** A fact with the bank's id of its return. */
interface BankFact {
  readonly fact: Fact
  readonly id: string | undefined
}

interface HookPix {
  readonly endToEndId: string
  readonly devolucoes?: ReadonlyArray<{ readonly id: string; readonly status: string }>
}

/** Returns of others that are done, and what is of MEDs. */
const happenedTo = ({ returns }: ReceivedPix, facts: ReadonlyArray<BankFact>): ReadonlyArray<Fact> =>
  facts.flatMap(({ fact, id }) => {
    const isDone = id === undefined || returns.some((each) => each.id === id && each.status === "DEVOLVIDO")
    return isDone ? [fact] : []
  })

/** Returns that the service ordered. */
const orderedOf = (
  { returns }: ReceivedPix,
  facts: ReadonlyArray<BankFact>,
  changed: Bank["changed"]
): ReadonlyArray<BankReturn> =>
  returns
    .filter(({ id, nature }) => nature === "ORIGINAL" && !facts.some((fact) => fact.id === id))
    .map(({ cents, id, status }) => ({
      orderId: idFromTxid(id) ?? id,
      cents,
      ends: changed.get(id) ?? RETURNED[status]
    }))

const RETURNED: Readonly<Record<ReceivedPix["returns"][number]["status"], ReadonlyArray<BankOutcome>>> = {
  EM_PROCESSAMENTO: [],
  DEVOLVIDO: ["completed"],
  NAO_REALIZADO: ["failed"]
}

const OUTCOMES = { REALIZADO: "completed", NAO_REALIZADO: "failed" } as const

/** A charge that nothing has paid, by the state of its cob. */
const UNPAID: Readonly<Record<Cob["status"], ReadonlyArray<string>>> = {
  ATIVA: ["pending", "expired"],
  // By a payment of another amount.
  CONCLUIDA: ["pending", "expired", "canceled"],
  // A cancellation without an answer leaves a charge that expires.
  REMOVIDA_PELO_USUARIO_RECEBEDOR: ["canceled", "pending", "expired"],
  REMOVIDA_PELO_PSP: ["canceled", "pending", "expired"]
}

const isOfMed = (tag: Fact["tag"]) => tag === "contested" || tag === "won" || tag === "lost"

/** Of no charge. */
const NO_TXID = "f".repeat(32)
const MISFIT_CENTS = 777

const ALWAYS = { fromMs: 0, toMs: Number.MAX_SAFE_INTEGER }
const ALL = { page: 0, size: Number.MAX_SAFE_INTEGER }
