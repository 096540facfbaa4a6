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
import * as Schema from "effect/Schema"
import type { Connection } from "./Connection.ts"
import { absent, atMs, decoder, Text } from "./Decoding.ts"
import { checkedId, inOtherTerms, repeated, settledBy, unlessInFlight } from "./Lookup.ts"
import { type Failure, NotFound, NotSent, type Operation, Refused, Unclear } from "./Outcome.ts"
import type { Payout, PayoutOrder, Payouts, PayoutStatus } from "./Payouts.ts"

const BEGIN: Operation = { name: "begin-payout", scope: "cco_transferencias", refusals: [], notFound: [] }
const CONFIRM: Operation = { name: "confirm-payout", scope: "cco_transferencias", refusals: [], notFound: [] }
const FIND: Operation = { name: "find-payout", scope: "cco_consulta", refusals: [], notFound: [] }

const PATH = "/pix-pagamentos/v2/pagamentos"
const END_TO_END_ID = /^[a-zA-Z0-9]{32}$/

const BegunMessage = Schema.Struct({
  endToEndId: Schema.String.check(Schema.isPattern(END_TO_END_ID)),
  proprietario: absent(Schema.Struct({ identificador: absent(Schema.String) }))
})

const PaymentMessage = Schema.Struct({
  endToEndId: Text,
  estado: absent(Schema.String),
  valor: Schema.Finite,
  detalheRejeicao: absent(Schema.String),
  horario: absent(Schema.String)
})

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

const foundFrom = (of: typeof PaymentMessage.Type): Found => {
  const state = STATES[of.estado ?? "EM_PROCESSAMENTO"] ?? "EM_PROCESSAMENTO"
  const status = state === "unconfirmed" ? "EM_PROCESSAMENTO" : state
  return {
    state,
    payout: {
      id: undefined,
      endToEndId: of.endToEndId,
      cents: Math.round(of.valor * 100),
      status,
      reason: status === "NAO_REALIZADO" ? (of.detalheRejeicao ?? undefined) : undefined,
      requestedAtMs: undefined,
      settledAtMs: status === "REALIZADO" ? atMs(of.horario) : undefined,
      returns: []
    }
  }
}

const decodeBegun = decoder(BegunMessage, (of) => ({
  endToEndId: of.endToEndId,
  owner: of.proprietario?.identificador ?? undefined
}))
const decodeFound = decoder(PaymentMessage, foundFrom)

export const makeSicoobPayouts = (connection: Connection): Payouts => {
  const { limits } = connection

  const look = (endToEndId: string): Effect.Effect<Found, Failure> =>
    checkedId(FIND, END_TO_END_ID, endToEndId).pipe(
      Effect.andThen(connection.call(FIND, { method: "GET", below: "origin", path: `${PATH}/${endToEndId}` })),
      Effect.flatMap((answer) => decodeFound(FIND, answer)),
      (lookUp) => repeated(limits, lookUp)
    )

  /** The end-to-end id of a payout that has moved nothing yet. */
  const begin = (key: string, document: string | undefined): Effect.Effect<string, Failure> =>
    connection.call(BEGIN, { method: "POST", below: "origin", path: PATH, body: { chave: key } }).pipe(
      Effect.flatMap((answer) => decodeBegun(BEGIN, answer)),
      Effect.catchTag("NotFound", ({ code }) => {
        const reason = `status 404 with the code ${code}, which is not documented here`
        return Effect.fail(new Unclear({ operation: BEGIN.name, kind: "unknown-answer", reason }))
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

  const confirm = (order: PayoutOrder, endToEndId: string): Effect.Effect<Payout, Failure> =>
    connection
      .call(CONFIRM, { method: "POST", below: "origin", path: `${PATH}/confirmacao`, body: bodyOf(order, endToEndId) })
      .pipe(
        Effect.flatMap((answer) => decodeFound(CONFIRM, answer)),
        settledBy(CONFIRM, look(endToEndId), (found, failure) => {
          if (found.payout.cents !== order.cents) return inOtherTerms(CONFIRM)
          if (found.state !== "unconfirmed") return undefined
          return failure._tag === "Refused"
            ? failure
            : new Unclear({ operation: CONFIRM.name, kind: "not-found-yet", reason: "the payment shows as begun" })
        }),
        Effect.map(({ payout }) => named(payout, order))
      )

  const confirmAgain = (order: PayoutOrder, endToEndId: string): Effect.Effect<Payout, Failure> =>
    look(endToEndId).pipe(
      Effect.flatMap(({ state, payout }) => {
        if (state === "unconfirmed") return confirm(order, endToEndId)
        return payout.cents === order.cents ? Effect.succeed(named(payout, order)) : Effect.fail(inOtherTerms(CONFIRM))
      }),
      Effect.catchTag("NotFound", () => confirm(order, endToEndId)),
      // Its reference says that there was an earlier attempt.
      unlessInFlight(CONFIRM, order.inFlightUntilMs ?? Infinity)
    )

  return {
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
    find: (names) =>
      names.reference === undefined
        ? Effect.fail(new NotFound({ operation: FIND.name, code: "no-reference" }))
        : Effect.map(look(names.reference), ({ payout }) => named(payout, names)),
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
