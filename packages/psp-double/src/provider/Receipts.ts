/**
 * Pix received and their returns (devoluções).
 *
 * Guarantees
 * - An ordered return debits the balance. A failed return credits it again.
 * - The returns of a Pix, failed ones excepted, never exceed its amount.
 * - A payment is never refused: it may name a paid, removed or unknown txid, or none.
 */
import * as Result from "effect/Result"
import { alphanumeric } from "../Random.ts"
import { isWithin, type Page, type PageRequest, pageOf, type Range } from "./Page.ts"
import type { Refusal } from "./Refusal.ts"
import {
  type Fate,
  type Person,
  type PixReturn,
  planOutcome,
  type ReceivedPix,
  type ReturnNature,
  spendableCents,
  type State,
  transferId
} from "./State.ts"
import { termsOf } from "./Cobs.ts"

export interface Payment {
  readonly key: string
  readonly cents: number
  readonly txid?: string
  readonly payer?: Person
  readonly payerInfo?: string
}

export interface ReturnOrder {
  readonly cents: number
  readonly nature?: ReturnNature
  readonly description?: string
}

export interface Receipts {
  /** A payment arrives. Nothing is checked. */
  readonly receive: (payment: Payment) => ReceivedPix
  /** A payment of a cob arrives: its amount to its key, unless `payment` says otherwise. */
  readonly payCob: (txid: string, payment?: Partial<Payment>) => Result.Result<ReceivedPix, Refusal>
  readonly get: (endToEndId: string) => Result.Result<ReceivedPix, Refusal>
  readonly ofTxid: (txid: string) => ReadonlyArray<ReceivedPix>
  readonly list: (range: Range, filter: (pix: ReceivedPix) => boolean, page: PageRequest) => Page<ReceivedPix>
  readonly orderReturn: (endToEndId: string, id: string, order: ReturnOrder) => Result.Result<PixReturn, Refusal>
  readonly getReturn: (endToEndId: string, id: string) => Result.Result<PixReturn, Refusal>
  /** Ends a return that is in process. An outcome is final, unless the provider `overrules` itself. */
  readonly settleReturn: (
    endToEndId: string,
    id: string,
    outcome: { readonly failedBecause?: string; readonly overrules?: boolean }
  ) => Result.Result<PixReturn, Refusal>
  /** A return ordered by the MED, up to what is left of the Pix and of the balance. */
  readonly takeBack: (endToEndId: string, cents: number) => Result.Result<PixReturn | undefined, Refusal>
}

const RETURN_WINDOW_MS = 90 * 24 * 3_600_000
const DEFAULT_PAYER: Person = { name: "Fulano de Tal", document: "52998224725" }

/** The amount of a Pix less its returns, failed ones excepted. */
export const returnableCents = (pix: ReceivedPix): number =>
  pix.cents - pix.returns.reduce((sum, { status, cents }) => (status === "NAO_REALIZADO" ? sum : sum + cents), 0)

export const makeReceipts = (state: State): Receipts => {
  const find = (endToEndId: string): Result.Result<ReceivedPix, Refusal> => {
    const pix = state.pix.get(endToEndId)
    return pix === undefined ? Result.fail({ _tag: "PixNotFound" }) : Result.succeed(pix)
  }

  const findReturn = (endToEndId: string, id: string): Result.Result<PixReturn, Refusal> =>
    Result.flatMap(find(endToEndId), (pix) => {
      const found = pix.returns.find((other) => other.id === id)
      return found === undefined ? Result.fail({ _tag: "ReturnNotFound" } as const) : Result.succeed(found)
    })

  /** Only Pix with a txid are reported (API Pix, `PUT /webhook/{chave}`). */
  const report = (_tag: "PixReceived" | "ReturnSettled", pix: ReceivedPix) => {
    if (pix.txid !== undefined) state.notify({ _tag, key: pix.key, pix: { ...pix } })
  }

  const receive: Receipts["receive"] = ({ key, cents, txid, payer, payerInfo }) => {
    const pix: ReceivedPix = {
      endToEndId: transferId(state, "E"),
      txid,
      key,
      cents,
      atMs: state.now(),
      payer: payer ?? DEFAULT_PAYER,
      payerInfo,
      returns: []
    }
    state.pix.set(pix.endToEndId, pix)
    state.balanceCents += cents
    const cob = txid === undefined ? undefined : state.cobs.get(txid)
    if (cob?.status === "ATIVA") cob.status = "CONCLUIDA"
    report("PixReceived", pix)
    const later = state.settings.takenBack(pix)
    if (later !== undefined) state.after(later.afterMs, () => takeBack(pix.endToEndId, later.cents))
    return pix
  }

  const replace = (pix: ReceivedPix, changed: PixReturn): PixReturn => {
    pix.returns = pix.returns.map((other) => (other.id === changed.id ? changed : other))
    return changed
  }

  const settleReturn: Receipts["settleReturn"] = (endToEndId, id, { failedBecause, overrules = false }) =>
    Result.flatMap(find(endToEndId), (pix) =>
      Result.map(findReturn(endToEndId, id), (found) => {
        const status = failedBecause === undefined ? "DEVOLVIDO" : "NAO_REALIZADO"
        if (found.status === status || (found.status !== "EM_PROCESSAMENTO" && !overrules)) return found
        if (found.status === "NAO_REALIZADO") state.balanceCents -= found.cents
        if (status === "NAO_REALIZADO") state.balanceCents += found.cents
        const settled = replace(pix, {
          ...found,
          status,
          settledAtMs: failedBecause === undefined ? state.now() : undefined,
          reason: failedBecause
        })
        report("ReturnSettled", pix)
        return settled
      })
    )

  const order = (pix: ReceivedPix, id: string, { cents, nature, description }: ReturnOrder): PixReturn => {
    const ordered: PixReturn = {
      id,
      rtrId: transferId(state, "D"),
      cents,
      nature: nature ?? "ORIGINAL",
      description,
      requestedAtMs: state.now(),
      settledAtMs: undefined,
      status: "EM_PROCESSAMENTO",
      reason: undefined
    }
    pix.returns = [...pix.returns, ordered]
    state.balanceCents -= cents
    return ordered
  }

  const takeBack: Receipts["takeBack"] = (endToEndId, cents) =>
    Result.flatMap(find(endToEndId), (pix) => {
      const taken = Math.min(cents, returnableCents(pix), state.balanceCents)
      if (taken <= 0) return Result.succeed(undefined)
      const { id } = order(pix, alphanumeric(state.random, 32), { cents: taken, nature: "MED_FRAUDE" })
      return settleReturn(endToEndId, id, {})
    })

  return {
    receive,
    payCob: (txid, payment) => {
      const cob = state.cobs.get(txid)
      if (cob === undefined) return Result.fail({ _tag: "CobNotFound" })
      const { key, cents } = termsOf(cob)
      return Result.succeed(receive({ key, cents, txid, ...payment }))
    },
    get: find,
    ofTxid: (txid) => [...state.pix.values()].filter((pix) => pix.txid === txid),
    list: (range, filter, page) =>
      pageOf(
        [...state.pix.values()].filter((pix) => isWithin(range, pix.atMs) && filter(pix)),
        page
      ),
    orderReturn: (endToEndId, id, returnOrder) =>
      Result.flatMap(find(endToEndId), (pix): Result.Result<PixReturn, Refusal> => {
        const { cents } = returnOrder
        if (pix.returns.some((other) => other.id === id)) return Result.fail({ _tag: "ReturnIdTaken" })
        if (cents <= 0) {
          return Result.fail({ _tag: "InvalidValue", property: "devolucao.valor", reason: "deve ser maior que zero" })
        }
        if (cents > returnableCents(pix)) return Result.fail({ _tag: "ReturnExceedsPix" })
        if (state.now() - pix.atMs > RETURN_WINDOW_MS) return Result.fail({ _tag: "ReturnWindowClosed" })
        const fate: Fate<string> =
          cents > spendableCents(state)
            ? { _tag: "Failed", afterMs: 0, with: "Saldo insuficiente para realizar a devolução." }
            : state.settings.returnFate({ pix, id, cents })
        const ordered = order(pix, id, returnOrder)
        planOutcome(state, fate, "Devolução desfeita.", (failedBecause, overrules) => {
          settleReturn(endToEndId, id, { ...(failedBecause !== undefined && { failedBecause }), overrules })
        })
        return Result.succeed(ordered)
      }),
    getReturn: findReturn,
    settleReturn,
    takeBack
  }
}
