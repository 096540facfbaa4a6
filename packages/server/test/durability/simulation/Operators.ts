/** The operators of the simulated service: their decisions, orders, and changes of accounts. */
import { Accounts, type AccountSettings } from "../../../src/accounts/Accounts.ts"
import { type Decision, ExceptionResolution } from "../../../src/payments/exceptions/ExceptionResolution.ts"
import { HandSettlements } from "../../../src/payments/exceptions/HandSettlements.ts"
import { Installation } from "../../../src/operators/Installation.ts"
import { ConnectionStore } from "../../../src/providers/connections/ConnectionStore.ts"
import { Cancellations } from "../../../src/payments/charges/Cancellations.ts"
import { Defenses } from "../../../src/payments/disputes/Defenses.ts"
import { RefundOrders } from "../../../src/payments/refunds/RefundOrders.ts"
import { Payouts } from "../../../src/payments/payouts/Payouts.ts"
import { DeliveryStore } from "../../../src/webhooks/deliveries/DeliveryStore.ts"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { Merchant } from "./Callers.ts"
import { type Calls, errorOf } from "./Calls.ts"
import type { HeldOrder, Institutions } from "./Institutions.ts"
import type { Machine } from "./Machine.ts"
import type { Operation, Operations } from "./Operations.ts"
import type { Receivers } from "./Receivers.ts"
import type { ServerProcess } from "./ServerProcess.ts"
import type { Stop, Stops } from "./Stops.ts"

export interface Operators {
  /** A random operation of an operator. */
  readonly act: (process: ServerProcess) => void
  /** When an acceptance of each exception was asked for and answered, and for whom; neither charge nor account: as it names. */
  readonly acceptances: ReadonlyMap<string, ReadonlyArray<Acceptance>>
  /** The outcomes with which operators settled payouts, and orders of returns, by their ids. */
  readonly settledByHand: ReadonlyMap<string, "completed" | "failed">
  /** Settles some of these, as operators see fit. */
  readonly settleByHand: (process: ServerProcess, held: ReadonlyArray<HeldOrder>) => void
  /** True of a charge whose cancellation was asked for. */
  readonly isCanceled: (chargeId: string) => boolean
  /** Resumes all accounts. */
  readonly resume: (process: ServerProcess) => void
  /** Repeats the cancellations that were not answered, and resolves an exception; false when nothing follows of either. */
  readonly finish: (process: ServerProcess) => boolean
}

interface Acceptance {
  readonly chargeId: string | null
  readonly accountId: string | null
  /** `Machine.moment` of the call, and of its answer. */
  readonly at: number
  known: number | undefined
}

export const makeOperators = (options: {
  readonly machine: Machine
  readonly calls: Calls
  readonly merchants: ReadonlyArray<Merchant>
  readonly operations: Operations
  readonly institutions: Institutions
  readonly receivers: Receivers
  readonly stops: Stops
}): Operators => {
  const {
    calls: { operate },
    institutions,
    machine,
    merchants,
    operations,
    receivers,
    stops
  } = options
  /** Exceptions that were decided once. */
  const resolved = new Set<string>()
  let resolvedAtMs = Number.NEGATIVE_INFINITY
  const acceptances = new Map<string, Array<Acceptance>>()
  const settledByHand = new Map<string, "completed" | "failed">()
  /** Cancellations that were asked for, and those without an answer. */
  const canceled = new Set<string>()
  const cancels = new Set<string>()

  const someOf = (kind: Operation["kind"]) => {
    const known = operations.known(kind)
    return known.length === 0 ? undefined : machine.pick(known)
  }

  const cancel = (process: ServerProcess, id: string) => {
    canceled.add(id)
    cancels.add(id)
    operate(
      process,
      `cancel charge ${id}`,
      Cancellations.use(({ cancel }) => cancel(id)),
      ["InvalidStateError"],
      (exit) => {
        if (errorOf(exit)?._tag !== "Unavailable") cancels.delete(id)
      }
    )
  }

  const updateAccount = (process: ServerProcess, { accountId }: Merchant, update: Stop & Partial<AccountSettings>) => {
    const answered = stops.begin(accountId, update)
    operate(
      process,
      `account ${JSON.stringify(update)}`,
      Accounts.use((accounts) => accounts.update(accountId, update)),
      [],
      (exit) => answered(Exit.isSuccess(exit))
    )
  }

  /** Stops payouts of a connection, or of all, or no more. */
  const brake = (process: ServerProcess, connection: string | undefined, isStopped: boolean) => {
    if (isStopped) machine.count(`payouts of ${connection === undefined ? "all" : "a connection"} are stopped`)
    const changes = { payouts_paused: isStopped }
    operate(
      process,
      `payouts of ${connection ?? "all"}: ${isStopped ? "stop" : "go"}`,
      connection === undefined
        ? Effect.asVoid(Installation.use(({ update }) => update(changes, () => Effect.void)))
        : Effect.asVoid(ConnectionStore.use(({ update }) => update(connection, changes))),
      []
    )
  }

  const resume = (process: ServerProcess) => {
    for (const connection of [undefined, ...institutions.connections]) brake(process, connection, false)
    for (const merchant of merchants) {
      updateAccount(process, merchant, { status: "active", payouts_paused: false, charges_paused: false })
    }
  }

  const resolveException = (process: ServerProcess, id: string, chargeId: string | null) => {
    resolved.add(id)
    const decision = machine.pick<Decision>([
      { action: "return", reason: null },
      { action: "return", reason: null },
      { action: "accept", amount: null, chargeId: null, accountId: null, reason: null },
      { action: "accept", amount: null, chargeId, accountId: null, reason: null },
      { action: "accept", amount: null, chargeId: null, accountId: machine.pick(merchants).accountId, reason: null },
      { action: "dismiss", reason: "settled elsewhere" }
    ])
    const decided = ExceptionResolution.use(({ resolve }) => resolve(id, decision, "operator"))
    // Not every exception has money, a charge or a payer.
    const allowed = ["InvalidStateError", "RequestRefused"]
    const acceptance: Acceptance | undefined =
      decision.action === "accept" ? { ...decision, at: machine.moment(), known: undefined } : undefined
    if (acceptance !== undefined) acceptances.set(id, [...(acceptances.get(id) ?? []), acceptance])
    operate(process, `${decision.action} exception ${id}`, decided, allowed, (exit) => {
      if (Exit.isFailure(exit)) return
      machine.count(`exceptions: ${decision.action}`)
      if (acceptance !== undefined) acceptance.known = machine.moment()
    })
  }

  const settleByHand: Operators["settleByHand"] = (process, held) => {
    for (const { externalId, id, kind, orderId } of held) {
      if (machine.random() < 0.3) continue
      const outcome = machine.pick(["completed", "failed"] as const)
      const settlement = {
        outcome,
        externalId: outcome === "completed" ? externalId : undefined,
        reason: "as the bank says"
      }
      const settled = HandSettlements.use(({ settle }) => settle(kind, id, settlement))
      operate(process, `${kind} ${id} is settled by hand: ${outcome}`, settled, ["InvalidStateError"], (exit) => {
        if (Exit.isFailure(exit)) return
        machine.count("orders settled by hand")
        settledByHand.set(orderId, outcome)
      })
    }
  }

  const act: Operators["act"] = (process: ServerProcess) => {
    const charge = someOf("charge")
    const payout = someOf("payout")
    const dispute = institutions.someDispute()
    const exception = institutions.someException()
    if (exception !== undefined && machine.random() < 0.6) {
      return resolveException(process, exception, charge?.id ?? null)
    }
    switch (machine.below(14)) {
      case 0:
        if (charge?.id !== undefined) cancel(process, charge.id)
        return
      case 1:
      case 12:
      case 13: {
        const id = charge?.id
        if (id === undefined) return
        const amount = machine.pick([undefined, 1, 400])
        if (amount !== undefined) machine.count("refunds of a part")
        return operate(
          process,
          `refund ${amount ?? "all"} of ${id}`,
          RefundOrders.use(({ refund }) => refund(id, amount === undefined ? {} : { amount })),
          ["InvalidStateError", "InsufficientBalanceError", "RefundRejected"]
        )
      }
      case 2:
      case 3:
      case 9: {
        const id = payout?.id
        if (id === undefined) return
        return machine.random() < 0.7
          ? operate(
              process,
              `payout ${id} is approved`,
              Payouts.use(({ approve }) => approve(id)),
              // The account changed at that moment. Over HTTP it is decided again.
              ["InvalidStateError", "ApprovalRequired"]
            )
          : operate(
              process,
              `payout ${id} is canceled`,
              Payouts.use(({ cancel }) => cancel(id)),
              ["InvalidStateError"]
            )
      }
      case 4:
      case 10:
        if (dispute === undefined) return
        return operate(
          process,
          "defend",
          Defenses.use(({ file }) => file(dispute, { text: "?", files: [] })),
          ["InvalidStateError"]
        )
      case 5: {
        const merchant = machine.pick(merchants)
        const update = machine.pick([
          { auto_payout_enabled: machine.random() < 0.5 },
          { payouts_paused: machine.random() < 0.5 },
          { charges_paused: machine.random() < 0.4 },
          { status: machine.random() < 0.4 ? ("inactive" as const) : ("active" as const) }
        ])
        if ("payouts_paused" in update && update.payouts_paused) machine.count("payouts are paused")
        if ("charges_paused" in update && update.charges_paused) machine.count("charges are paused")
        if ("status" in update && update.status === "inactive") machine.count("accounts are made inactive")
        return updateAccount(process, merchant, update)
      }
      case 11:
        return brake(process, machine.pick([undefined, ...institutions.connections]), machine.random() < 0.5)
      case 6: {
        const deliveries = [...receivers.received.keys()]
        if (deliveries.length === 0) return
        const id = machine.pick(deliveries)
        const sentAgain = DeliveryStore.use(({ resend }) => resend(id))
        // It may have been sent and not be stored yet.
        return operate(process, `resend ${id}`, sentAgain, ["InvalidStateError", "NotFoundError"])
      }
      case 7:
        return operations.createForOperator("charge", machine.pick(merchants), 1000).ask(process)
      default:
        if (!institutions.paysOut) return
        return operations.createForOperator("payout", machine.pick(merchants), 500).ask(process)
    }
  }

  return {
    act,
    acceptances,
    settledByHand,
    settleByHand,
    isCanceled: (chargeId) => canceled.has(chargeId),
    resume,
    finish: (process) => {
      for (const id of cancels) cancel(process, id)
      const exception = institutions.someException()
      if (exception !== undefined && !resolved.has(exception)) {
        resolveException(process, exception, someOf("charge")?.id ?? null)
        resolvedAtMs = machine.nowMs()
      }
      // A sweep then reads how a MED ended that waited for the money to be accepted.
      return cancels.size > 0 || machine.nowMs() < resolvedAtMs + SWEPT_WITHIN_MS
    }
  }
}

/** From the acceptance of an exception to the end of the next sweep. */
const SWEPT_WITHIN_MS = 70_000
