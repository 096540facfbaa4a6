/**
 * Payouts by Efí's rail: `PUT /v3/gn/pix/{idEnvio}`.
 *
 * Guarantees
 * - An id is paid once. A repeated payout gives the state of the first.
 * - Only a documented refusal, in an answer that was read to its end, is `Refused`. "Not found" after an unclear answer
 *   is `Unclear`: it is asked again under the same id.
 */
import { formatReais } from "@pix-payments/domain/Cents"
import * as Effect from "effect/Effect"
import type { Connection } from "./Connection.ts"
import { checkedId, inOtherTerms, repeated, settledBy } from "./Lookup.ts"
import { decodePayout, type Payout } from "./Messages.ts"
import type { Failure, Operation } from "./Outcome.ts"

export interface PayoutOrder {
  /** `idEnvio`: letters and digits, at most 35. */
  readonly id: string
  readonly cents: number
  /** Ours; it needs a registered webhook. */
  readonly payerKey: string
  readonly message?: string
  readonly payee:
    | { readonly key: string; readonly document?: string }
    | {
        readonly account: {
          readonly name: string
          readonly document: string
          readonly bankCode: string
          readonly branch: string
          readonly number: string
          readonly type: "cacc" | "svgs"
        }
      }
}

export interface Payouts {
  /** Sends a payout, or finds the one that was sent under this id. */
  readonly send: (order: PayoutOrder) => Effect.Effect<Payout, Failure>
  readonly find: (id: string) => Effect.Effect<Payout, Failure>
  readonly findByEndToEndId: (endToEndId: string) => Effect.Effect<Payout, Failure>
}

const SEND: Operation = {
  name: "send-payout",
  scope: "pix.send",
  refusals: ["chave_nao_pertence_ao_documento", "chave_favorecido_nao_encontrada", "pagamento_negado"],
  notFound: []
}
const FIND: Operation = {
  name: "find-payout",
  scope: "gn.pix.send.read",
  refusals: [],
  notFound: ["PixEnviadoNaoEncontrado"]
}

const ID = /^[a-zA-Z0-9]{1,35}$/
const END_TO_END_ID = /^[a-zA-Z0-9]{32}$/

/** Undefined if the provider has no payout rail. */
export const makePayouts = (connection: Connection): Payouts | undefined => {
  if (connection.profile.payouts !== "efi") return undefined

  const lookUp = (path: string) =>
    connection
      .call(FIND, { method: "GET", below: "origin", path })
      .pipe(Effect.flatMap((answer) => decodePayout(FIND, answer)))

  const find: Payouts["find"] = (id) =>
    Effect.andThen(checkedId(FIND, ID, id), repeated(connection.limits, lookUp(`/v2/gn/pix/enviados/id-envio/${id}`)))

  return {
    send: (order) =>
      checkedId(SEND, ID, order.id).pipe(
        Effect.andThen(
          connection.call(SEND, { method: "PUT", below: "origin", path: `/v3/gn/pix/${order.id}`, body: bodyOf(order) })
        ),
        Effect.flatMap((answer) => decodePayout(SEND, answer)),
        settledBy(SEND, find(order.id), ({ cents }) => (cents === order.cents ? undefined : inOtherTerms(SEND)))
      ),
    find,
    findByEndToEndId: (endToEndId) =>
      Effect.andThen(
        checkedId(FIND, END_TO_END_ID, endToEndId),
        repeated(connection.limits, lookUp(`/v2/gn/pix/enviados/${endToEndId}`))
      )
  }
}

const CPF_LENGTH = 11

const documentOf = (document: string) => (document.length === CPF_LENGTH ? { cpf: document } : { cnpj: document })

const bodyOf = ({ cents, payerKey, message, payee }: PayoutOrder) => ({
  valor: formatReais(cents),
  pagador: { chave: payerKey, ...(message !== undefined && { infoPagador: message }) },
  favorecido: favorecidoOf(payee)
})

const favorecidoOf = (payee: PayoutOrder["payee"]) => {
  if ("key" in payee) {
    return { chave: payee.key, ...(payee.document !== undefined && documentOf(payee.document)) }
  }
  const { name, document, bankCode, branch, number, type } = payee.account
  return {
    contaBanco: {
      nome: name,
      ...documentOf(document),
      codigoBanco: bankCode,
      agencia: branch,
      conta: number,
      tipoConta: type
    }
  }
}
