/**
 * Sicoob's payouts, in two phases: `POST /pagamentos` names the payout by its end-to-end id, and
 * `POST /pagamentos/confirmacao` moves the money.
 *
 * Guarantees
 * - No confirmation is sent before `keepReference` has stored the end-to-end id, and each order has one, so that a repeated
 *   confirmation is of the same Pix, which the SPI settles once.
 * - An order with a reference is looked up first, and confirmed only if it has not begun.
 * - A confirmation whose answer was lost is `Unclear` while the payment shows as begun, so that it is sent again.
 * - `REJEITADO` alone is a failure: the document does not say whether `NÃO_REALIZADO` is final.
 */
import { formatReais } from "@pix-payments/domain/Cents"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import { ask, type Fits } from "./Ask.ts"
import type { Connection } from "./Connection.ts"
import { amount, type Decode, field, id, instant, matching, optional, reason, required, text } from "./Decoding.ts"
import { checkedId, repeated, settledBy, unclearIfRefused } from "./Lookup.ts"
import { type Failure, NotFound, NotSent, type Operation, Refused, Unclear } from "./Outcome.ts"
import type { Payout, PayoutOrder, PayoutQuestion, Payouts, PayoutStatus } from "./Payouts.ts"

const BEGIN: Operation = { name: "begin-payout", scope: "cco_transferencias", refusals: [], notFound: [] }
const CONFIRM: Operation = { name: "confirm-payout", scope: "cco_transferencias", refusals: [], notFound: [] }
const FIND: Operation = { name: "find-payout", scope: "cco_consulta", refusals: [], notFound: [] }

const PATH = "/pix-pagamentos/v2/pagamentos"
const END_TO_END_ID = /^[a-zA-Z0-9]{32}$/

/** `unconfirmed`: begun, or another state that the document does not explain. */
type State = "unconfirmed" | PayoutStatus

const STATES: Readonly<Record<string, State>> = {
  NÃO_REALIZADO: "unconfirmed",
  EM_PROCESSAMENTO: "EM_PROCESSAMENTO",
  FINALIZADO: "REALIZADO",
  REJEITADO: "NAO_REALIZADO"
}

interface Found {
  readonly state: State
  readonly payout: Payout
}

const decodeFound: Decode<Found> = (message, reading) =>
  Result.gen(function* () {
    const state = STATES[(yield* optional(message, "estado", text(64))) ?? "EM_PROCESSAMENTO"] ?? "EM_PROCESSAMENTO"
    const status = state === "unconfirmed" ? "EM_PROCESSAMENTO" : state
    return {
      state,
      payout: {
        id: undefined,
        endToEndId: yield* required(message, "endToEndId", id),
        cents: yield* required(message, "valor", amount),
        payerKey: undefined,
        status,
        reason: status === "NAO_REALIZADO" ? reason(field(message, "detalheRejeicao")) : undefined,
        requestedAtMs: undefined,
        settledAtMs: status === "REALIZADO" ? instant(field(message, "horario"), reading) : undefined,
        returns: []
      }
    }
  })

const decodeBegun: Decode<{ readonly endToEndId: string; readonly owner: string | undefined }> = (message) =>
  Result.gen(function* () {
    return {
      endToEndId: yield* required(message, "endToEndId", matching(END_TO_END_ID)),
      // It says whom the money goes to: where it cannot be read, nothing moves.
      owner: yield* optional(message, "proprietario.identificador", id)
    }
  })

export const makeSicoobPayouts = (connection: Connection): Payouts => {
  const { limits } = connection

  /** A payout that was begun has no amount before it is confirmed. */
  const fitsOf =
    (endToEndId: string, cents: number): Fits<Found> =>
    ({ payout, state }) => ({
      endToEndId: payout.endToEndId === endToEndId,
      valor: state === "unconfirmed" || payout.cents === cents
    })

  const look = ({ cents }: PayoutQuestion, endToEndId: string): Effect.Effect<Found, Failure> => {
    const call = { method: "GET", below: "origin", path: `${PATH}/${endToEndId}` } as const
    return checkedId(FIND, END_TO_END_ID, endToEndId).pipe(
      Effect.andThen(ask(connection, FIND, call, decodeFound, fitsOf(endToEndId, cents))),
      (lookUp) => repeated(limits, lookUp)
    )
  }

  /** The end-to-end id of a payout that has moved nothing yet. */
  const begin = (key: string, document: string | undefined): Effect.Effect<string, Failure> =>
    ask(connection, BEGIN, { method: "POST", below: "origin", path: PATH, body: { chave: key } }, decodeBegun).pipe(
      Effect.catchTag("NotFound", ({ code }) => {
        const problem = `status 404 with the code ${code}, which is not documented here`
        return Effect.fail(new Unclear({ operation: BEGIN.name, kind: "unknown-answer", reason: problem }))
      }),
      Effect.flatMap(({ endToEndId, owner }) =>
        document === undefined || owner === undefined || owner === document
          ? Effect.succeed(endToEndId)
          : Effect.fail(
              new Refused({
                operation: BEGIN.name,
                status: 200,
                code: "payee-document-differs",
                detail: "the key belongs to another document"
              })
            )
      )
    )

  const confirm = (order: PayoutOrder, endToEndId: string): Effect.Effect<Payout, Failure> => {
    const body = bodyOf(order, endToEndId)
    const call = { method: "POST", below: "origin", path: `${PATH}/confirmacao`, body } as const
    return ask(connection, CONFIRM, call, decodeFound, fitsOf(endToEndId, order.cents)).pipe(
      settledBy(CONFIRM, look(order, endToEndId), ({ state }, failure) => {
        if (state !== "unconfirmed") return undefined
        return failure._tag === "Refused"
          ? failure
          : new Unclear({ operation: CONFIRM.name, kind: "not-found-yet", reason: "the payment shows as begun" })
      }),
      Effect.map(({ payout }) => named(payout, order))
    )
  }

  const confirmAgain = (order: PayoutOrder, endToEndId: string): Effect.Effect<Payout, Failure> =>
    look(order, endToEndId).pipe(
      unclearIfRefused(FIND),
      Effect.flatMap(({ state, payout }) =>
        state === "unconfirmed" ? confirm(order, endToEndId) : Effect.succeed(named(payout, order))
      ),
      Effect.catchTag("NotFound", () => confirm(order, endToEndId))
    )

  return {
    // It is named before its money can move.
    findsUnnamed: true,
    send: (order) => {
      const { payee, reference, keepReference } = order
      if (!("key" in payee)) {
        return Effect.fail(
          new NotSent({ operation: BEGIN.name, reason: "invalid-request", detail: "this rail pays keys only" })
        )
      }
      return reference === undefined
        ? Effect.flatMap(begin(payee.key, payee.document), (endToEndId) =>
            Effect.andThen(keepReference(endToEndId), confirm(order, endToEndId))
          )
        : confirmAgain(order, reference)
    },
    find: (asked) =>
      asked.reference === undefined
        ? Effect.fail(new NotFound({ operation: FIND.name, code: "no-reference" }))
        : Effect.map(look(asked, asked.reference), ({ payout }) => named(payout, asked)),
    listSent: undefined
  }
}

const named = (payout: Payout, { id }: { readonly id: string }): Payout => ({ ...payout, id })

const bodyOf = ({ cents, message }: PayoutOrder, endToEndId: string) => ({
  endToEndId,
  valor: formatReais(cents).replace(".", ","),
  ...(message !== undefined && { descricao: message }),
  meioIniciacao: "CHAVE"
})
