/**
 * Pix sent. The central bank's API has no payouts; the names are Efí's.
 *
 * Guarantees
 * - A payout that was begun moves nothing; it is confirmed once.
 * - An accepted payout debits the balance. A failed payout credits it again.
 * - An id is used once, whatever the outcome. A refusal uses no id.
 */
import * as Result from "effect/Result"
import { isWithin, type Page, type PageRequest, pageOf, type Range } from "./Page.ts"
import type { Refusal } from "./Refusal.ts"
import {
  type Fate,
  type Payee,
  type Payout,
  type PayoutError,
  planOutcome,
  spendableCents,
  type State,
  transferId
} from "./State.ts"

export interface PayoutOrder {
  readonly cents: number
  readonly payerKey: string
  readonly payerInfo?: string
  readonly payee: Payee
}

/** What the key directory (DICT) knows of a payee's key. Keys without an entry are accepted. */
export type KnownPayee =
  | { readonly _tag: "Owner"; readonly document: string }
  | { readonly _tag: "NotFound" }
  | { readonly _tag: "Denied" }

export interface BegunPayout {
  readonly endToEndId: string
  /** Of the key's owner, if it is known. */
  readonly document: string | undefined
}

export interface Payouts {
  readonly send: (id: string, order: PayoutOrder) => Result.Result<Payout, Refusal>
  /** Names a payout to a key. */
  readonly begin: (key: string) => Result.Result<BegunPayout, Refusal>
  /** Sends a payout that was begun; its id is the end-to-end id. */
  readonly confirm: (endToEndId: string, order: Omit<PayoutOrder, "payee">) => Result.Result<Payout, Refusal>
  readonly get: (id: string) => Result.Result<Payout, Refusal>
  readonly getByEndToEndId: (endToEndId: string) => Result.Result<Payout, Refusal>
  readonly list: (range: Range, filter: (payout: Payout) => boolean, page: PageRequest) => Page<Payout>
  readonly describePayee: (key: string, payee: KnownPayee) => void
  /** Ends a payout that is in process. An outcome is final, unless the provider `overrules` itself. */
  readonly settle: (
    id: string,
    outcome: { readonly error?: PayoutError; readonly overrules?: boolean }
  ) => Result.Result<Payout, Refusal>
  /** The payee's bank returns a part or all of it. */
  readonly receiveReturn: (id: string, cents: number) => Result.Result<Payout, Refusal>
}

export const NO_FUNDS: PayoutError = {
  code: "AM04",
  origin: "PSP do usuário pagador",
  reason: "Saldo insuficiente para realizar o pagamento"
}

/** Of a payout that was settled and then was not. */
const UNDONE: PayoutError = { code: "AC03", origin: "PSP do usuário recebedor", reason: "Pagamento desfeito" }

export const makePayouts = (state: State): Payouts => {
  const payees = new Map<string, KnownPayee>()

  const find = (id: string): Result.Result<Payout, Refusal> => {
    const payout = state.payouts.get(id)
    return payout === undefined ? Result.fail({ _tag: "PayoutNotFound", by: "idEnvio" }) : Result.succeed(payout)
  }

  const settle: Payouts["settle"] = (id, { error, overrules = false }) =>
    Result.map(find(id), (payout) => {
      const status = error === undefined ? "REALIZADO" : "NAO_REALIZADO"
      if (payout.status === status || (payout.status !== "EM_PROCESSAMENTO" && !overrules)) return payout
      if (payout.status === "NAO_REALIZADO") state.balanceCents -= payout.cents
      if (status === "NAO_REALIZADO") state.balanceCents += payout.cents
      payout.status = status
      payout.settledAtMs = error === undefined ? state.now() : undefined
      payout.error = error
      state.notify({ _tag: "PayoutSettled", key: payout.payerKey, payout: { ...payout } })
      const later = status === "REALIZADO" ? state.settings.sentBack(payout) : undefined
      if (later !== undefined) state.after(later.afterMs, () => receiveReturn(id, later.cents))
      return payout
    })

  const receiveReturn: Payouts["receiveReturn"] = (id, cents) =>
    Result.flatMap(find(id), (payout): Result.Result<Payout, Refusal> => {
      const before = payout.returned.reduce((sum, { cents: earlier }) => sum + earlier, 0)
      if (payout.status !== "REALIZADO" || cents <= 0 || before + cents > payout.cents) {
        return Result.fail({ _tag: "ReturnExceedsPix" })
      }
      payout.returned = [...payout.returned, { rtrId: transferId(state, "D"), cents, atMs: state.now() }]
      state.balanceCents += cents
      return Result.succeed(payout)
    })

  const check = ({ cents, payerKey, payee }: PayoutOrder): Refusal | undefined => {
    if (!state.settings.keys.includes(payerKey)) return { _tag: "KeyNotOurs", key: payerKey }
    if (cents <= 0) return { _tag: "InvalidValue", property: "valor", reason: "deve ser maior que zero" }
    const known = "key" in payee ? payees.get(payee.key) : undefined
    if (known?._tag === "NotFound") return { _tag: "PayeeNotFound" }
    if (known?._tag === "Denied") return { _tag: "PayoutDenied" }
    const expected = "key" in payee ? payee.document : undefined
    if (known?._tag === "Owner" && expected !== undefined && expected !== known.document) {
      return { _tag: "PayeeDocumentDiffers" }
    }
    return undefined
  }

  const send = (id: string, order: PayoutOrder, endToEndId: string): Result.Result<Payout, Refusal> => {
    if (state.payouts.has(id)) return Result.fail({ _tag: "PayoutIdTaken" })
    const refusal = check(order)
    if (refusal !== undefined) return Result.fail(refusal)
    const payout: Payout = {
      id,
      endToEndId,
      cents: order.cents,
      payerKey: order.payerKey,
      payerInfo: order.payerInfo,
      payee: order.payee,
      requestedAtMs: state.now(),
      isHeld: false,
      settledAtMs: undefined,
      status: "EM_PROCESSAMENTO",
      error: undefined,
      returned: []
    }
    if (state.settings.deniesPayout(payout)) return Result.fail({ _tag: "PayoutDenied" })
    const fate: Fate<PayoutError> =
      order.cents > spendableCents(state)
        ? { _tag: "Failed", afterMs: 0, with: NO_FUNDS }
        : state.settings.payoutFate(payout)
    const accepted = { ...payout, isHeld: fate._tag === "Held" }
    state.payouts.set(id, accepted)
    state.balanceCents -= payout.cents
    planOutcome(state, fate, UNDONE, (error, overrules) => {
      settle(id, { ...(error !== undefined && { error }), overrules })
    })
    return Result.succeed(accepted)
  }

  return {
    send: (id, order) => send(id, order, transferId(state, "E")),
    begin: (key) => {
      const known = payees.get(key)
      if (known?._tag === "NotFound") return Result.fail({ _tag: "PayeeNotFound" })
      const endToEndId = transferId(state, "E")
      state.begunPayouts.set(endToEndId, key)
      return Result.succeed({ endToEndId, document: known?._tag === "Owner" ? known.document : undefined })
    },
    confirm: (endToEndId, order) => {
      if (state.payouts.has(endToEndId)) return Result.fail({ _tag: "PayoutIdTaken" })
      const key = state.begunPayouts.get(endToEndId)
      if (key === undefined) return Result.fail({ _tag: "PayoutNotBegun" })
      return Result.map(send(endToEndId, { ...order, payee: { key, document: undefined } }, endToEndId), (payout) => {
        state.begunPayouts.delete(endToEndId)
        return payout
      })
    },
    get: find,
    getByEndToEndId: (endToEndId) => {
      const payout = [...state.payouts.values()].find((other) => other.endToEndId === endToEndId)
      return payout === undefined ? Result.fail({ _tag: "PayoutNotFound", by: "e2eId" }) : Result.succeed(payout)
    },
    list: (range, filter, page) =>
      pageOf(
        [...state.payouts.values()].filter((payout) => isWithin(range, payout.requestedAtMs) && filter(payout)),
        page
      ),
    describePayee: (key, payee) => {
      payees.set(key, payee)
    },
    settle,
    receiveReturn
  }
}
