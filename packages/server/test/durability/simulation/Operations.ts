/** The creations that callers want once: each is repeated under its key, by any process, until it is answered. */
import { NewCharges } from "../../../src/payments/charges/NewCharges.ts"
import { NewPayouts } from "../../../src/payments/payouts/creation/NewPayouts.ts"
import type { Cents } from "@pix-payments/domain/Cents"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { Merchant } from "./Callers.ts"
import { type Calls, errorOf } from "./Calls.ts"
import type { Machine } from "./Machine.ts"
import type { Request, ServerProcess } from "./ServerProcess.ts"
import type { Stops } from "./Stops.ts"

/** An operation that a caller wants once. */
export interface Operation {
  readonly name: string
  readonly kind: "charge" | "payout"
  readonly merchant: Merchant
  /** Sends the call again. */
  readonly ask: (process: ServerProcess) => void
  /** The resource, once it is known. */
  id: string | undefined
  isSettled: boolean
  /** A call of it had no answer: it may still be done, after a later call was refused. */
  mayBeDone: boolean
}

export interface Operations {
  readonly all: ReadonlyArray<Operation>
  /** Those of a kind whose resource is known. */
  readonly known: (kind: Operation["kind"]) => ReadonlyArray<Operation>
  /** Creates a charge or payout of a merchant; `ask` sends the call. */
  readonly create: (kind: Operation["kind"], merchant: Merchant, fields: Readonly<Record<string, unknown>>) => Operation
  /** The same as a call of an operator. */
  readonly createForOperator: (kind: Operation["kind"], merchant: Merchant, amount: number) => Operation
}

export const makeOperations = (options: {
  readonly machine: Machine
  readonly calls: Calls
  readonly stops: Stops
}): Operations => {
  const {
    calls: { broken, call, request },
    machine,
    stops
  } = options
  const operations: Array<Operation> = []

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
    operation.isSettled = !operation.mayBeDone
    operation.mayBeDone = false
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
      mayBeDone: false,
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
          const answer = answered as { readonly id?: string; readonly code?: string; readonly charge_id?: string }
          if (status === 503) {
            operation.mayBeDone = true
            return
          }
          if (status === 201) {
            const isReplay = headers?.["idempotent-replayed"] === "true"
            if (!isReplay && fresh++ > 0) broken.push(`${name} is done again`)
            if (!isReplay && stops.held(merchant.accountId, kind, stop, "isStopped")) {
              broken.push(`${name} is done, and its account is stopped`)
            }
            return named(operation, answer.id)
          }
          if (answer.code === "ACCOUNT_INACTIVE") {
            return refusedAsStopped(operation, wasKnown, stops.held(merchant.accountId, kind, stop, "isOpen"))
          }
          if (kind === "charge" && status === 422 && answer.code === "ACQUIRER_REJECTED") {
            return named(operation, answer.charge_id)
          }
          if (kind === "payout" && answer.code === "INSUFFICIENT_BALANCE" && operation.id === undefined) {
            operation.isSettled = true
            return
          }
          broken.push(`${name} is answered with ${status} ${answer.code}`)
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
      mayBeDone: false,
      ask: (process) => {
        const made: Effect.Effect<
          string,
          { readonly _tag: string; readonly chargeId?: string },
          NewCharges | NewPayouts
        > =
          kind === "charge"
            ? NewCharges.use(({ createForCheckout }) =>
                createForCheckout({ id: merchant.applicationId, accountId: merchant.accountId }, key, {
                  amount: amount as Cents,
                  description: name,
                  customer
                })
              ).pipe(Effect.map(({ charge }) => charge.id))
            : NewPayouts.use(({ createForOperator: make }) =>
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
          else if (error?._tag === "Unavailable") operation.mayBeDone = true
          else if (error !== undefined) broken.push(`${name} fails with ${error._tag}`)
        })
      }
    }
    operations.push(operation)
    return operation
  }

  return {
    all: operations,
    known: (kind) => operations.filter((each) => each.kind === kind && each.id !== undefined),
    create,
    createForOperator
  }
}

export const customer = { name: "Ana Souza", email: "ana@example.com", document: "52998224725" }
