/**
 * The users of the simulated service: clients of `/v1`, operators, payers and institutions behind the acquirer.
 *
 * A client without an answer, or with a 503, repeats its call with its key, at any process, until it is answered.
 * A forbidden answer is recorded as a violation.
 */
import { AcquirerNotifications } from "../../../src/notifications/AcquirerNotifications.ts"
import type { AcquirerNotification } from "../../../src/acquirer/AcquirerNotification.ts"
import { Accounts, type AccountSettings } from "../../../src/accounts/Accounts.ts"
import { ApiKeys } from "../../../src/accounts/ApiKeys.ts"
import { ChargeOrders } from "../../../src/orders/ChargeOrders.ts"
import { Charges } from "../../../src/charges/Charges.ts"
import { Disputes } from "../../../src/disputes/Disputes.ts"
import type { Answer } from "../../../src/http/Answer.ts"
import { Payouts } from "../../../src/payouts/Payouts.ts"
import { DeliveryStore } from "../../../src/webhooks/DeliveryStore.ts"
import type { Cents } from "@pix-payments/domain/Cents"
import { eventNames } from "@pix-payments/domain/EventCatalog"
import { allScopes } from "@pix-payments/domain/Scope"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { type Books, endToEndIdOf, type Pix, type Sent } from "./Books.ts"
import type { Database, Server } from "./Database.ts"
import type { Machine } from "./Machine.ts"
import type { Receivers } from "./Receivers.ts"
import { makeStops, type Stop } from "./Stops.ts"
import { type Request, Routes, type ServerProcess, type Services } from "./ServerProcess.ts"

/** An account of the simulation, with its state in the model. */
export interface Merchant {
  readonly accountId: string
  readonly applicationId: string
  readonly key: string
  readonly feeFixed: number
  readonly feeBasisPoints: number
  readonly releaseDelayS: number
  readonly endpoints: Set<string>
  /** See `HostileTenant`. */
  readonly isHostile: boolean
}

/** An operation that a caller wants once. */
interface Operation {
  readonly name: string
  readonly kind: "charge" | "payout"
  readonly merchant: Merchant
  /** Sends the call again. */
  readonly ask: (process: ServerProcess) => void
  /** The resource, once it is known. */
  id: string | undefined
  isSettled: boolean
}

export interface Callers {
  readonly merchants: ReadonlyArray<Merchant>
  readonly operations: ReadonlyArray<Operation>
  readonly broken: ReadonlyArray<string>
  /** How many calls are not answered by processes that live. */
  readonly waiting: () => number
  /** Creates a charge or payout of a merchant; `ask` sends the call. */
  readonly create: (kind: Operation["kind"], merchant: Merchant, fields: Readonly<Record<string, unknown>>) => Operation
  readonly request: (process: ServerProcess, what: string, asked: Request, ended: (answer: Answer) => void) => void
  readonly customer: typeof customer
  /** One more merchant. */
  readonly join: (
    process: ServerProcess,
    until: (isDone: () => boolean) => Promise<void>,
    isHostile: boolean
  ) => Promise<Merchant>
  /** True where the acquirer refused the charge with this id. */
  readonly wasRefused: (id: string | undefined) => boolean
  /** Payers pay some charges of a merchant that wait for it. */
  readonly pay: (process: ServerProcess, merchant: Merchant, most: number) => void
  /** Makes the merchants; before any fault. */
  readonly begin: (process: ServerProcess, until: (isDone: () => boolean) => Promise<void>) => Promise<void>
  /** Starts a random operation, or an event between institutions. */
  readonly act: (process: ServerProcess) => Promise<void>
  /** Unfinished operations after the faults; false when there are none. */
  readonly finish: (process: ServerProcess) => Promise<boolean>
  /** Resumes all accounts. */
  readonly resume: (process: ServerProcess) => void
  /** Repeats the calls that were refused and then repeated without an answer. */
  readonly askAgain: () => void
  /** Reads every answered resource again: it must exist for ever. */
  readonly readBack: (process: ServerProcess) => void
}

export const makeCallers = (options: {
  readonly machine: Machine
  readonly server: Server
  readonly database: Database
  readonly books: Books
  readonly receivers: Receivers
}): Callers => {
  const { books, database, machine, receivers, server } = options
  const merchants: Array<Merchant> = []
  const operations: Array<Operation> = []
  const broken: Array<string> = []
  const open: Array<{ readonly process: ServerProcess }> = []
  /** Acknowledged notifications, of which duplicates are sent later. */
  const heard: Array<AcquirerNotification> = []
  const telling = new Map<Pix | Sent, ServerProcess>()
  /** A process that died during a notification has not acknowledged it. */
  const isTelling = (subject: Pix | Sent) => telling.get(subject)?.alive === true
  const cancels = new Set<string>()
  const stops = makeStops()
  /** MEDs that the service has, whose dispute is not read yet. */
  const learn = new Set<Pix>()

  const call = <A, E>(
    process: ServerProcess,
    what: string,
    effect: Effect.Effect<A, E, Services>,
    ended: (exit: Exit.Exit<A, E>) => void
  ) => {
    const one = { process }
    open.push(one)
    machine.note(process, `<- ${what}`)
    process.do(effect, (exit) => {
      open.splice(open.indexOf(one), 1)
      if (Exit.isFailure(exit) && Cause.hasDies(exit.cause)) {
        broken.push(`${what} dies: ${Cause.pretty(exit.cause).slice(0, 600)}`)
      }
      ended(exit)
    })
  }

  const request = (process: ServerProcess, what: string, asked: Request, ended: (answer: Answer) => void) =>
    call(
      process,
      what,
      Routes.use(({ answer }) => answer(asked)),
      (exit) => {
        if (Exit.isFailure(exit)) return
        const { body, status } = exit.value
        const { code } = (body ?? {}) as { readonly code?: string }
        machine.note(process, `-> ${what}: ${status} ${code ?? ""}`)
        if (status === 500) broken.push(`${what} is answered with 500`)
        ended(exit.value)
      }
    )

  /** Checks that an operation always answers with the same resource. */
  const named = (operation: Operation, id: string | undefined) => {
    if (id === undefined) broken.push(`${operation.name} is answered without a resource`)
    else if (operation.id !== undefined && operation.id !== id) {
      broken.push(`${operation.name} is answered with ${id}, and before with ${operation.id}`)
    } else operation.id = id
    operation.isSettled = true
  }

  /** Checks a refusal for a stopped account: the account may be stopped, and a known key is replayed. */
  const refusedAsStopped = (operation: Operation, wasKnown: boolean, isOpen: boolean) => {
    if (wasKnown) broken.push(`${operation.name} is refused, and was done before`)
    if (isOpen) broken.push(`${operation.name} is refused, and nobody stopped its account`)
    machine.count("creations refused, for their account is stopped")
    operation.isSettled = true
  }

  const create = (kind: Operation["kind"], merchant: Merchant, fields: Readonly<Record<string, unknown>>) => {
    const name = `${kind} ${operations.length}`
    const body = { ...fields, description: name, reference: name }
    let fresh = 0
    const operation: Operation = {
      name,
      kind,
      merchant,
      id: undefined,
      isSettled: false,
      ask: (process) => {
        // A known key is replayed whatever the body says.
        const isGarbled = operation.id !== undefined && machine.random() < 0.3
        const asked: Request = {
          method: "POST",
          path: `/v1/${kind}s`,
          key: merchant.key,
          idempotencyKey: `the-key-of-${name.replaceAll(" ", "-")}`,
          body: isGarbled ? { amount: "?" } : body
        }
        const wasKnown = operation.id !== undefined
        const stop = stops.known(merchant.accountId, kind)
        request(process, name, asked, ({ body: answered, headers, status }) => {
          const told = answered as { readonly id?: string; readonly code?: string; readonly charge_id?: string }
          if (status === 503) return
          if (status === 201) {
            const isReplay = headers?.["idempotent-replayed"] === "true"
            if (!isReplay && fresh++ > 0) broken.push(`${name} is done again`)
            if (!isReplay && stops.held(merchant.accountId, kind, stop, "isStopped")) {
              broken.push(`${name} is done, and its account is stopped`)
            }
            return named(operation, told.id)
          }
          if (told.code === "ACCOUNT_INACTIVE") {
            return refusedAsStopped(operation, wasKnown, stops.held(merchant.accountId, kind, stop, "isOpen"))
          }
          if (kind === "charge" && status === 422 && told.code === "ACQUIRER_REJECTED") {
            return named(operation, told.charge_id)
          }
          if (kind === "payout" && told.code === "INSUFFICIENT_BALANCE" && operation.id === undefined) {
            operation.isSettled = true
            return
          }
          broken.push(`${name} is answered with ${status} ${told.code}`)
        })
      }
    }
    operations.push(operation)
    return operation
  }

  /** The same for calls of operators. */
  const createForOperator = (kind: Operation["kind"], merchant: Merchant, amount: number) => {
    const name = `operator's ${kind} ${operations.length}`
    const key = `the-key-of-${name.replaceAll(" ", "-")}`
    const operation: Operation = {
      name,
      kind,
      merchant,
      id: undefined,
      isSettled: false,
      ask: (process) => {
        const made: Effect.Effect<string, { readonly _tag: string; readonly chargeId?: string }, Charges | Payouts> =
          kind === "charge"
            ? Charges.use(({ createForCheckout }) =>
                createForCheckout({ id: merchant.applicationId, accountId: merchant.accountId }, key, {
                  amount: amount as Cents,
                  description: name,
                  customer
                })
              ).pipe(Effect.map(({ charge }) => charge.id))
            : Payouts.use(({ createForOperator: make }) =>
                make(merchant.accountId, key, {
                  amount: amount as Cents,
                  description: name,
                  pix_key_type: "email",
                  pix_key: "ana@example.com"
                })
              ).pipe(Effect.map(({ payout }) => payout.id))
        const wasKnown = operation.id !== undefined
        const stop = stops.known(merchant.accountId, kind)
        call(process, name, made, (exit) => {
          machine.note(process, `-> ${name}: ${Exit.isSuccess(exit) ? exit.value : errorOf(exit)?._tag}`)
          if (Exit.isSuccess(exit)) return named(operation, exit.value)
          const error = errorOf(exit)
          if (error?._tag === "ChargeRejected")
            return named(operation, (error as { readonly chargeId?: string }).chargeId)
          if (error?._tag === "AccountInactiveError") {
            return refusedAsStopped(operation, wasKnown, stops.held(merchant.accountId, kind, stop, "isOpen"))
          }
          if (error?._tag === "InsufficientBalanceError") operation.isSettled = true
          else if (error !== undefined && error._tag !== "Unavailable") broken.push(`${name} fails with ${error._tag}`)
        })
      }
    }
    operations.push(operation)
    return operation
  }

  const operate = <A, E extends { readonly _tag: string }>(
    process: ServerProcess,
    what: string,
    effect: Effect.Effect<A, E, Services>,
    allowed: ReadonlyArray<string>,
    done: (exit: Exit.Exit<A, E>) => void = () => {}
  ) =>
    call(process, what, effect, (exit) => {
      const error = errorOf(exit)
      machine.note(process, `-> ${what}: ${error?._tag ?? "done"}`)
      if (error !== undefined && error._tag !== "Unavailable" && !allowed.includes(error._tag)) {
        broken.push(`${what} fails with ${error._tag}`)
      }
      done(exit)
    })

  const known = (kind: Operation["kind"]) => operations.filter((each) => each.kind === kind && each.id !== undefined)

  const cancel = (process: ServerProcess, id: string) => {
    cancels.add(id)
    operate(
      process,
      `cancel charge ${id}`,
      ChargeOrders.use((orders) => orders.cancel(id)),
      ["InvalidStateError"],
      (exit) => {
        if (errorOf(exit)?._tag !== "Unavailable") cancels.delete(id)
      }
    )
  }

  /** Sends the next notification of a Pix or a payout, again until it is acknowledged. */
  const report = (process: ServerProcess, subject: Pix | Sent) => {
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
  const reportCopy = (process: ServerProcess) => {
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
    const [row] = await database.query<{ id: string }>(
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
    const change = (state: Pix["state"], told: AcquirerNotification) => {
      pix.state = state
      pix.reports.push(told)
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

  const actOnEndpoint = (process: ServerProcess, merchant: Merchant) => {
    const { endpoints, key } = merchant
    const one = endpoints.size === 0 ? undefined : machine.pick([...endpoints])
    const dice = machine.random()
    if (one === undefined || (dice < 0.2 && endpoints.size < 4)) {
      const body = { url: machine.pick(addresses), events: someEvents(), secret: "a secret" }
      request(process, "register an endpoint", { method: "POST", path: "/v1/webhooks", key, body }, (answer) => {
        if (answer.status === 201) endpoints.add((answer.body as { readonly id: string }).id)
        else if (answer.status !== 503) broken.push(`an endpoint is answered with ${answer.status}`)
      })
      return
    }
    const path = `/v1/webhooks/${one}`
    if (dice > 0.9) {
      request(process, "delete an endpoint", { method: "DELETE", path, key }, ({ status }) => {
        if (status === 204 || status === 404) endpoints.delete(one)
        else if (status !== 503) broken.push(`a deletion is answered with ${status}`)
      })
      return
    }
    const body = machine.pick([
      { active: false },
      { active: true },
      { active: true },
      { url: machine.pick(addresses) },
      { events: someEvents() },
      { secret: `another secret ${machine.below(9)}` }
    ])
    request(
      process,
      `change an endpoint ${JSON.stringify(body)}`,
      { method: "PATCH", path, key, body },
      ({ status }) => {
        if (status !== 200 && status !== 404 && status !== 503) broken.push(`a change is answered with ${status}`)
      }
    )
  }

  const someEvents = () => {
    const some = eventNames.filter((name) => name.includes(".pix.") && machine.random() < 0.6)
    return some.length > 0 ? some : ["charge.pix.paid"]
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

  const resume = (process: ServerProcess) => {
    for (const merchant of merchants) {
      updateAccount(process, merchant, { status: "active", payouts_paused: false, charges_paused: false })
    }
  }

  const actAsOperator = (process: ServerProcess) => {
    const charge = known("charge").length === 0 ? undefined : machine.pick(known("charge"))
    const payout = known("payout").length === 0 ? undefined : machine.pick(known("payout"))
    const dispute = [...books.pixes.values()].find(
      ({ dispute: id }) => id !== undefined && machine.random() < 0.5
    )?.dispute
    switch (machine.below(11)) {
      case 0:
        if (charge?.id !== undefined) cancel(process, charge.id)
        return
      case 1: {
        const id = charge?.id
        if (id === undefined) return
        return operate(
          process,
          `refund ${id}`,
          ChargeOrders.use(({ refund }) => refund(id)),
          ["InvalidStateError", "InsufficientBalanceError"]
        )
      }
      case 2:
      case 3:
      case 9: {
        const id = payout?.id
        if (id === undefined) return
        const decision = machine.random() < 0.7 ? "approved" : "canceled"
        const decided = Payouts.use(({ decide }) => decide(id, decision))
        return operate(process, `payout ${id} is ${decision}`, decided, ["InvalidStateError"])
      }
      case 4:
      case 10:
        if (dispute === undefined) return
        return operate(
          process,
          "defend",
          Disputes.use(({ defend }) => defend(dispute, "?")),
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
      case 6: {
        const deliveries = [...receivers.received.keys()]
        if (deliveries.length === 0) return
        const id = machine.pick(deliveries)
        const sentAgain = DeliveryStore.use(({ resend }) => resend(id))
        return operate(process, `resend ${id}`, sentAgain, ["InvalidStateError"])
      }
      case 7:
        return createForOperator("charge", machine.pick(merchants), 1000).ask(process)
      default:
        return createForOperator("payout", machine.pick(merchants), 500).ask(process)
    }
  }

  const newOperation = () => {
    const merchant = machine.pick(merchants)
    const to = machine.random() < 0.6 ? { webhook_url: machine.pick(addresses), webhook_secret: "s3cret" } : {}
    return machine.random() < 0.6
      ? create("charge", merchant, {
          amount: machine.pick([100, 1000, 2500, 4999]),
          customer,
          expires_in: machine.pick([60, 3600]),
          ...to
        })
      : create("payout", merchant, {
          amount: machine.pick([500, 700, 1500]),
          pix_key_type: "email",
          pix_key: "ana@example.com",
          ...to
        })
  }

  const join: Callers["join"] = async (process, until, isHostile) => {
    const settings = {
      feeFixed: machine.pick([0, 35]),
      feeBasisPoints: machine.pick([0, 99, 250]),
      releaseDelayS: machine.pick([0, 0, 5, 60])
    }
    const made = Effect.gen(function* () {
      const accounts = yield* Accounts
      const keys = yield* ApiKeys
      const account = yield* accounts.create({
        name: "Loja",
        legal_name: "Loja Ltda",
        phone: "+5511999998888",
        document: "11222333000181",
        document_type: "cnpj",
        auto_payout_enabled: machine.random() < 0.6,
        payout_fee: { fixed: settings.feeFixed, basis_points: settings.feeBasisPoints },
        release_delay: settings.releaseDelayS
      })
      const application = yield* accounts.createApplication(account.id, "Loja")
      const { key } = yield* keys.create({
        applicationId: application.id,
        name: "test",
        scopes: allScopes,
        expiresAtMs: undefined
      })
      return { accountId: account.id, applicationId: application.id, key }
    })
    let merchant: Merchant | undefined
    call(process, "a merchant joins", made, (exit) => {
      if (Exit.isFailure(exit)) throw new Error(`no account: ${String(exit.cause)}`)
      merchant = { ...settings, ...exit.value, endpoints: new Set(), isHostile }
      merchants.push(merchant)
    })
    await until(() => merchant !== undefined)
    return merchant!
  }

  const pixOf = (chargeId: string) => books.pixes.get(chargeId.replaceAll("-", ""))

  return {
    merchants,
    operations,
    broken,
    waiting: () => open.filter(({ process }) => process.alive).length,

    create,
    request,
    customer,
    join,

    wasRefused: (id) => id !== undefined && pixOf(id)?.state === "refused",

    pay: (process, merchant, most) => {
      const ids = operations.flatMap((each) => (each.merchant === merchant && each.id !== undefined ? [each.id] : []))
      const unpaid = ids.flatMap((id) => pixOf(id) ?? []).filter(({ state }) => state === "emitted")
      for (const pix of unpaid.slice(0, most)) {
        pix.state = "paid"
        pix.reports.push({ _tag: "charge.paid", txid: pix.txid, endToEndId: endToEndIdOf(pix.txid) })
        report(process, pix)
      }
    },

    begin: async (process, until) => {
      for (let i = 0; i < 2; i++) await join(process, until, false)
      // Money to pay out from the beginning.
      for (const merchant of merchants) {
        const funding = create("charge", merchant, { amount: 20_000, customer })
        funding.ask(process)
        await until(() => funding.isSettled)
        const pix = [...books.pixes.values()].find(({ operation }) => operation === funding.name)
        if (pix?.state !== "emitted") continue
        pix.state = "paid"
        pix.reports.push({ _tag: "charge.paid", txid: pix.txid, endToEndId: endToEndIdOf(pix.txid) })
        report(process, pix)
        await until(() => pix.reports.length === 0)
      }
    },

    act: async (process) => {
      for (const pix of server.isQuiet() ? learn : []) {
        pix.dispute = await disputeOf(pix)
        if (pix.dispute === undefined) broken.push(`${pix.operation}: a MED was heard, and there is no dispute`)
        learn.delete(pix)
      }
      const dice = machine.random()
      if (dice < 0.3) return newOperation().ask(process)
      if (dice < 0.42) {
        return (operations.length === 0 ? newOperation() : machine.pick(operations)).ask(process)
      }
      const pixes = [...books.pixes.values()]
      if (dice < 0.62 && pixes.length > 0) {
        const moving = pixes.filter(({ state }) => state === "paid" || state === "contested")
        return happen(machine.pick(moving.length > 0 && machine.random() < 0.5 ? moving : pixes))
      }
      if (dice < 0.8) {
        const told = [...pixes, ...books.sent.values()].filter(({ reports }) => reports.length > 0)
        return told.length === 0 ? undefined : report(process, machine.pick(told))
      }
      if (dice < 0.84) return reportCopy(process)
      if (dice < 0.89) return actOnEndpoint(process, machine.pick(merchants))
      return actAsOperator(process)
    },

    finish: async (process) => {
      const unsettled = operations.filter(({ isSettled }) => !isSettled)
      for (const each of unsettled) each.ask(process)
      const told = [...books.pixes.values(), ...books.sent.values()].filter(({ reports }) => reports.length > 0)
      for (const each of told) report(process, each)
      for (const id of cancels) cancel(process, id)
      resume(process)
      for (const { endpoints, key } of merchants) {
        for (const id of endpoints) {
          const resumed: Request = { method: "PATCH", path: `/v1/webhooks/${id}`, key, body: { active: true } }
          request(process, "resume an endpoint", resumed, () => {})
        }
      }
      return unsettled.length > 0 || told.length > 0 || cancels.size > 0
    },

    resume,

    askAgain: () => {
      for (const each of operations) if (each.id === undefined) each.isSettled = false
    },

    readBack: (process) => {
      for (const { id, kind, merchant, name } of operations) {
        if (id === undefined || name.startsWith("operator's charge")) continue
        const read: Request = { method: "GET", path: `/v1/${kind}s/${id}`, key: merchant.key }
        request(process, `read ${name}`, read, ({ status }) => {
          if (status !== 200) broken.push(`${name} was answered, and is gone: ${status}`)
        })
      }
    }
  }
}

const errorOf = <A, E>(exit: Exit.Exit<A, E>): E | undefined => {
  const error = Exit.findErrorOption(exit)
  return error._tag === "Some" ? error.value : undefined
}

const customer = { name: "Ana Souza", email: "ana@example.com", document: "52998224725" }

/** Public addresses that need no resolving; two of them are one receiver. */
const addresses = ["https://1.1.1.1/hooks", "https://1.1.1.1/others", "https://8.8.8.8/", "http://9.9.9.9:8080/pix"]
