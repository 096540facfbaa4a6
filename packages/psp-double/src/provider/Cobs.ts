/** Immediate charges (`cob`). An expired one stays `ATIVA`, as in the API Pix. */
import * as Result from "effect/Result"
import { alphanumeric } from "../Random.ts"
import { isWithin, type Page, type PageRequest, pageOf, type Range } from "./Page.ts"
import type { Refusal } from "./Refusal.ts"
import type { Cob, CobStatus, CobTerms, State } from "./State.ts"

export interface Cobs {
  /** Creates, or revises an active one where the rule for a taken txid is `updates`. */
  readonly put: (txid: string, terms: CobTerms, takenTxid: "conflict" | "updates") => Result.Result<Cob, Refusal>
  /** Creates under a txid of the provider's. */
  readonly post: (terms: CobTerms) => Result.Result<Cob, Refusal>
  readonly revise: (txid: string, changes: Partial<CobTerms>) => Result.Result<Cob, Refusal>
  readonly remove: (txid: string, otherChanges: boolean) => Result.Result<Cob, Refusal>
  /** The provider itself removes it. */
  readonly removeByProvider: (txid: string) => Result.Result<Cob, Refusal>
  readonly get: (txid: string) => Result.Result<Cob, Refusal>
  readonly list: (range: Range, filter: (cob: Cob) => boolean, page: PageRequest) => Page<Cob>
}

export const termsOf = (cob: Cob): CobTerms => cob.revisions.at(-1)!

export const makeCobs = (state: State): Cobs => {
  let locations = 0

  const check = (terms: CobTerms): Refusal | undefined => {
    if (!state.settings.keys.includes(terms.key)) return { _tag: "KeyNotOurs", key: terms.key }
    if (terms.cents <= 0)
      return { _tag: "InvalidValue", property: "cob.valor.original", reason: "deve ser maior que zero" }
    if (terms.expiresInSeconds <= 0) {
      return { _tag: "InvalidValue", property: "cob.calendario.expiracao", reason: "deve ser maior que zero" }
    }
    return undefined
  }

  const create = (txid: string, terms: CobTerms): Cob => {
    const cob: Cob = {
      txid,
      createdAtMs: state.now(),
      locationId: ++locations,
      location: `${state.settings.locationBase}/${alphanumeric(state.random, 25)}`,
      status: "ATIVA",
      revisions: [terms]
    }
    state.cobs.set(txid, cob)
    return cob
  }

  const update = (cob: Cob, terms: CobTerms): Cob => {
    if (JSON.stringify(terms) !== JSON.stringify(termsOf(cob))) cob.revisions.push(terms)
    return cob
  }

  const active = (txid: string): Result.Result<Cob, Refusal> => {
    const cob = state.cobs.get(txid)
    if (cob === undefined) return Result.fail({ _tag: "CobNotFound" })
    return cob.status === "ATIVA" ? Result.succeed(cob) : Result.fail({ _tag: "CobNotActive" })
  }

  const end = (txid: string, status: CobStatus) =>
    Result.map(active(txid), (cob) => {
      cob.status = status
      return cob
    })

  return {
    put: (txid, terms, takenTxid) => {
      const known = state.cobs.get(txid)
      if (known !== undefined && takenTxid === "conflict") return Result.fail({ _tag: "TxidTaken" })
      if (known !== undefined && known.status !== "ATIVA") return Result.fail({ _tag: "CobNotActive" })
      const refusal = check(terms)
      if (refusal !== undefined) return Result.fail(refusal)
      return Result.succeed(known === undefined ? create(txid, terms) : update(known, terms))
    },
    post: (terms) => {
      const refusal = check(terms)
      return refusal === undefined
        ? Result.succeed(create(alphanumeric(state.random, 32), terms))
        : Result.fail(refusal)
    },
    revise: (txid, changes) =>
      Result.flatMap(active(txid), (cob) => {
        const terms = { ...termsOf(cob), ...changes }
        const refusal = check(terms)
        return refusal === undefined ? Result.succeed(update(cob, terms)) : Result.fail(refusal)
      }),
    remove: (txid, otherChanges) =>
      Result.flatMap(active(txid), () =>
        otherChanges ? Result.fail({ _tag: "RemovalNotAlone" } as const) : end(txid, "REMOVIDA_PELO_USUARIO_RECEBEDOR")
      ),
    removeByProvider: (txid) => end(txid, "REMOVIDA_PELO_PSP"),
    get: (txid) => {
      const cob = state.cobs.get(txid)
      return cob === undefined ? Result.fail({ _tag: "CobNotFound" }) : Result.succeed(cob)
    },
    list: (range, filter, page) =>
      pageOf(
        [...state.cobs.values()].filter((cob) => isWithin(range, cob.createdAtMs) && filter(cob)),
        page
      )
  }
}
