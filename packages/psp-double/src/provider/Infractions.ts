/**
 * Disputes of the MED (infrações), named as at Efí. They are polled: no hook reports them.
 *
 * Guarantees
 * - An open dispute blocks its amount; an accepted dispute returns what is left of the Pix, up to the balance.
 * - A dispute is defended once, until its deadline.
 */
import * as Result from "effect/Result"
import { isWithin, type Page, type PageRequest, pageOf, type Range } from "./Page.ts"
import type { Receipts } from "./Receipts.ts"
import type { Refusal } from "./Refusal.ts"
import type { Infraction, InfractionStatus, State } from "./State.ts"

export interface InfractionOpening {
  /** The whole Pix when absent. */
  readonly cents?: number
  readonly deadlineMs?: number
  readonly comment?: string
}

export interface Infractions {
  readonly open: (endToEndId: string, opening?: InfractionOpening) => Result.Result<Infraction, Refusal>
  readonly get: (id: string) => Result.Result<Infraction, Refusal>
  readonly list: (range: Range, page: PageRequest) => Page<Infraction>
  readonly defend: (id: string, text: string) => Result.Result<Infraction, Refusal>
  /**
   * Ends an open dispute. An outcome is final, unless the provider `overrules` itself. Of one that is accepted it takes back all
   * that is left, or at most `takesBack`.
   */
  readonly close: (
    id: string,
    status: Exclude<InfractionStatus, "ABERTA" | "EM_DEFESA">,
    analystReason?: string,
    options?: { readonly overrules?: boolean; readonly takesBack?: number }
  ) => Result.Result<Infraction, Refusal>
}

const DEFENSE_WINDOW_MS = 7 * 24 * 3_600_000

export const isOpen = ({ status }: Infraction): boolean => status === "ABERTA" || status === "EM_DEFESA"

export const makeInfractions = (state: State, receipts: Receipts): Infractions => {
  let protocols = 0

  const find = (id: string): Result.Result<Infraction, Refusal> => {
    const infraction = state.infractions.get(id)
    return infraction === undefined ? Result.fail({ _tag: "InfractionNotFound" }) : Result.succeed(infraction)
  }

  return {
    open: (endToEndId, opening) =>
      Result.map(receipts.get(endToEndId), (pix) => {
        const now = state.now()
        const infraction: Infraction = {
          id: uuid(state),
          protocol: ++protocols,
          endToEndId,
          transactionAtMs: pix.atMs,
          cents: opening?.cents ?? pix.cents,
          key: pix.key,
          reason: "Solicitacao de devolução",
          situation: "golpe",
          comment: opening?.comment,
          payer: pix.payer,
          openedAtMs: now,
          deadlineMs: opening?.deadlineMs ?? now + DEFENSE_WINDOW_MS,
          updatedAtMs: now,
          status: "ABERTA",
          defense: undefined,
          analystReason: undefined,
          closedAtMs: undefined
        }
        state.infractions.set(infraction.id, infraction)
        return infraction
      }),
    get: find,
    list: (range, page) =>
      pageOf(
        [...state.infractions.values()].filter((infraction) => isWithin(range, infraction.openedAtMs)),
        page
      ),
    defend: (id, text) =>
      Result.flatMap(find(id), (infraction): Result.Result<Infraction, Refusal> => {
        if (infraction.defense !== undefined) return Result.fail({ _tag: "DefenseTaken" })
        const now = state.now()
        if (!isOpen(infraction) || now > infraction.deadlineMs) return Result.fail({ _tag: "DefenseTooLate" })
        infraction.defense = { text, atMs: now }
        infraction.status = "EM_DEFESA"
        infraction.updatedAtMs = now
        return Result.succeed(infraction)
      }),
    close: (id, status, analystReason, options) =>
      Result.map(find(id), (infraction) => {
        if (infraction.status === status || (!isOpen(infraction) && options?.overrules !== true)) return infraction
        infraction.status = status
        infraction.analystReason = analystReason
        infraction.closedAtMs = state.now()
        infraction.updatedAtMs = state.now()
        const cents = Math.min(infraction.cents, options?.takesBack ?? infraction.cents)
        if (status === "ACEITA") receipts.takeBack(infraction.endToEndId, cents)
        return infraction
      })
  }
}

const uuid = ({ random }: State): string =>
  "xxxxxxxx-xxxx-4xxx-8xxx-xxxxxxxxxxxx".replaceAll("x", () => Math.floor(random() * 16).toString(16))
