/**
 * The users of the simulated service: clients of `/v1`, operators, payers and institutions behind the acquirer.
 *
 * A client without an answer, or with a 503, repeats its call with its key, at any process, until it is answered.
 * A forbidden answer is recorded as a violation.
 */
import { Accounts } from "../../../src/accounts/Accounts.ts"
import { ApiKeys } from "../../../src/accounts/ApiKeys.ts"
import { eventNames } from "@pix-payments/domain/EventCatalog"
import { allScopes } from "@pix-payments/domain/Scope"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { Calls } from "./Calls.ts"
import type { Server } from "./SqlServer.ts"
import type { Institutions } from "./Institutions.ts"
import type { Machine } from "./Machine.ts"
import { customer, makeOperations, type Operation, type Operations } from "./Operations.ts"
import { makeOperators, type Operators } from "./Operators.ts"
import type { Receivers } from "./Receivers.ts"
import type { Request, ServerProcess } from "./ServerProcess.ts"
import { makeStops } from "./Stops.ts"

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

export interface Callers {
  readonly merchants: ReadonlyArray<Merchant>
  readonly operations: ReadonlyArray<Operation>
  readonly create: Operations["create"]
  readonly acceptances: Operators["acceptances"]
  readonly settledByHand: Operators["settledByHand"]
  readonly settleByHand: Operators["settleByHand"]
  readonly isCanceled: Operators["isCanceled"]
  /** One more merchant. */
  readonly join: (
    process: ServerProcess,
    until: (isDone: () => boolean) => Promise<void>,
    isHostile: boolean
  ) => Promise<Merchant>
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
  readonly calls: Calls
  readonly institutions: Institutions
  readonly receivers: Receivers
}): Callers => {
  const { calls, institutions, machine, receivers, server } = options
  const { broken, call, request } = calls
  const merchants: Array<Merchant> = []
  const stops = makeStops()
  const operations = makeOperations({ machine, calls, stops })
  const operators = makeOperators({ machine, calls, merchants, operations, institutions, receivers, stops })
  const { create } = operations
  let rounds = 0

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

  const newOperation = () => {
    const merchant = machine.pick(merchants)
    const to = machine.random() < 0.6 ? { webhook_url: machine.pick(addresses), webhook_secret: "s3cret" } : {}
    return !institutions.paysOut || machine.random() < 0.6
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
      const connection = institutions.connectionFor(merchants.length)
      if (connection !== undefined) yield* accounts.update(account.id, { connection_id: connection })
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

  return {
    merchants,
    operations: operations.all,
    create,
    join,
    acceptances: operators.acceptances,
    settledByHand: operators.settledByHand,
    settleByHand: operators.settleByHand,
    isCanceled: operators.isCanceled,
    resume: operators.resume,

    pay: (process, merchant, most) => {
      const ids = operations.known("charge").flatMap((each) => (each.merchant === merchant ? [each.id!] : []))
      for (const id of ids.filter(institutions.isUnpaid).slice(0, most)) institutions.pay(process, id)
    },

    begin: async (process, until) => {
      for (let i = 0; i < 2; i++) await join(process, until, false)
      // Money to pay out from the beginning.
      for (const merchant of merchants) {
        const funding = create("charge", merchant, { amount: 20_000, customer })
        funding.ask(process)
        await until(() => funding.isSettled)
        if (!institutions.isUnpaid(funding.id!)) continue
        institutions.pay(process, funding.id!)
        await until(() => institutions.unacknowledged() === 0)
      }
    },

    act: async (process) => {
      const dice = machine.random()
      if (dice < 0.3) return newOperation().ask(process)
      if (dice < 0.42) {
        return (operations.all.length === 0 ? newOperation() : machine.pick(operations.all)).ask(process)
      }
      if (dice < 0.62) return institutions.happen()
      if (dice < 0.8) return institutions.notify(process)
      if (dice < 0.84) return institutions.notifyAgain(process)
      if (dice < 0.89) return actOnEndpoint(process, machine.pick(merchants))
      if (server.isQuiet()) await institutions.observe()
      return operators.act(process)
    },

    finish: async (process) => {
      if (server.isQuiet()) await institutions.observe()
      const unsettled = operations.all.filter(({ isSettled }) => !isSettled)
      for (const each of unsettled) each.ask(process)
      const isNotified = institutions.finish(process)
      const isCanceling = operators.finish(process)
      // Again from time to time: a change from before may arrive late.
      if (rounds++ % 4 === 0) {
        operators.resume(process)
        for (const { endpoints, key } of merchants) {
          for (const id of endpoints) {
            const resumed: Request = { method: "PATCH", path: `/v1/webhooks/${id}`, key, body: { active: true } }
            request(process, "resume an endpoint", resumed, () => {})
          }
        }
      }
      return unsettled.length > 0 || isNotified || isCanceling
    },

    askAgain: () => {
      for (const each of operations.all) if (each.id === undefined) each.isSettled = false
    },

    readBack: (process) => {
      for (const { id, kind, merchant, name } of operations.all) {
        if (id === undefined || name.startsWith("operator's charge")) continue
        const read: Request = { method: "GET", path: `/v1/${kind}s/${id}`, key: merchant.key }
        request(process, `read ${name}`, read, ({ status }) => {
          if (status !== 200) broken.push(`${name} was answered, and is gone: ${status}`)
        })
      }
    }
  }
}

/** Public addresses that need no resolving; two of them are one receiver. */
const addresses = ["https://1.1.1.1/hooks", "https://1.1.1.1/others", "https://8.8.8.8/", "http://9.9.9.9:8080/pix"]
