/**
 * The operations of the central bank's API Pix.
 *
 * Guarantees
 * - An operation is repeated under the same id as often as its caller likes, and is done once.
 * - A look-up that fails is repeated. An order is never: it is looked up. Only the emission of a charge, which moves no
 *   money, is sent once more if it was not found.
 * - An answer is compared with its question: txid, key, amount and BR code of an emission, ids of a look-up, id and amount of
 *   a return. Any other answer is `Unclear`.
 */
import { formatReais } from "@pix-payments/domain/Cents"
import { isSamePixKey } from "@pix-payments/domain/PixKey"
import * as Effect from "effect/Effect"
import { ask, type Fits } from "./Ask.ts"
import type { Connection } from "./Connection.ts"
import type { Page } from "./Decoding.ts"
import { checkedId, repeated, settledBy, unclearIfRefused } from "./Lookup.ts"
import {
  type Cob,
  decodeCob,
  decodeReceivedPage,
  decodeReceivedPix,
  decodeReturn,
  decodeWebhookUrl,
  type PixReturn,
  type ReceivedPix
} from "./Messages.ts"
import type { Failure, Operation } from "./Outcome.ts"
import { callForPage, type PageRange } from "./Pages.ts"

export interface Emission {
  readonly txid: string
  readonly cents: number
  /** The receiving key. */
  readonly key: string
  readonly expiresInSeconds: number
  readonly debtor?: { readonly name: string; readonly document: string }
  readonly message?: string
}

/** A refusal is final only where no earlier request with this id can be on its way. */
export interface ReturnOrder {
  readonly endToEndId: string
  /** Chosen by the caller, letters and digits, at most 35. */
  readonly id: string
  readonly cents: number
  readonly nature?: "ORIGINAL" | "RETIRADA"
  readonly description?: string
}

export interface ApiPixClient {
  readonly connection: Connection
  /** Emits a charge, or finds the one that was emitted under this txid in the same terms. */
  readonly emit: (emission: Emission) => Effect.Effect<Cob, Failure>
  /** Looks the charge up before it emits it: for an emission whose outcome is unknown. */
  readonly emitAgain: (emission: Emission) => Effect.Effect<Cob, Failure>
  readonly find: (txid: string) => Effect.Effect<Cob, Failure>
  /** The charge afterwards: removed, or paid if the payment came first. */
  readonly cancel: (txid: string) => Effect.Effect<Cob, Failure>
  /** By the instant of the payment. `returned`: only Pix that have a return, however late it came. */
  readonly listReceived: (
    range: PageRange,
    options?: { readonly returned: boolean }
  ) => Effect.Effect<Page<ReceivedPix>, Failure>
  readonly findReceived: (endToEndId: string) => Effect.Effect<ReceivedPix, Failure>
  /** Orders a return, or finds the one that was ordered under this id. */
  readonly returnPix: (order: ReturnOrder) => Effect.Effect<PixReturn, Failure>
  readonly findReturn: (endToEndId: string, id: string) => Effect.Effect<PixReturn, Failure>
  /** `withoutMtls`: the receiver requires no certificate, and knows the provider by a secret in the path. */
  readonly registerWebhook: (
    key: string,
    url: string,
    options?: { readonly withoutMtls: boolean }
  ) => Effect.Effect<void, Failure>
  /** The URL of the key's webhook. */
  readonly findWebhook: (key: string) => Effect.Effect<string, Failure>
}

const EMIT: Operation = {
  name: "emit",
  scope: "cob.write",
  refusals: ["CobOperacaoInvalida"],
  notFound: [],
  anyCode: "refusal"
}
const FIND: Operation = {
  name: "find",
  scope: "cob.read",
  refusals: ["CobConsultaInvalida"],
  notFound: ["CobNaoEncontrado"],
  anyCode: "not-found"
}
const CANCEL: Operation = { ...EMIT, name: "cancel", notFound: ["CobNaoEncontrado"] }
const LIST: Operation = { name: "list-received", scope: "pix.read", refusals: ["PixConsultaInvalida"], notFound: [] }
const FIND_PIX: Operation = {
  name: "find-received",
  scope: "pix.read",
  refusals: ["PixConsultaInvalida"],
  notFound: ["PixNaoEncontrado", "untyped 404"]
}
const RETURN: Operation = {
  name: "return",
  scope: "pix.write",
  refusals: ["PixDevolucaoInvalida"],
  notFound: ["PixNaoEncontrado"]
}
const FIND_RETURN: Operation = {
  name: "find-return",
  scope: "pix.read",
  refusals: [],
  notFound: ["PixNaoEncontrado", "PixDevolucaoNaoEncontrada", "untyped 404"]
}
const REGISTER: Operation = {
  name: "register-webhook",
  scope: "webhook.write",
  refusals: ["WebhookOperacaoInvalida"],
  notFound: ["WebhookNaoEncontrado"]
}
const FIND_WEBHOOK: Operation = {
  name: "find-webhook",
  scope: "webhook.read",
  refusals: ["WebhookConsultaInvalida"],
  notFound: ["WebhookNaoEncontrado"]
}

const TXID = /^[a-zA-Z0-9]{26,35}$/
const END_TO_END_ID = /^[a-zA-Z0-9]{32}$/
const RETURN_ID = /^[a-zA-Z0-9]{1,35}$/

export const makeApiPixClient = (connection: Connection): ApiPixClient => {
  const { profile, limits } = connection
  const decoded = decodeCob(profile.brCodeField)
  const ofTxid =
    (txid: string): Fits<Cob> =>
    (cob) => ({ txid: cob.txid === txid })
  const ofEmission =
    (emission: Emission): Fits<Cob> =>
    (cob) => ({
      txid: cob.txid === emission.txid,
      "valor.original": cob.cents === emission.cents,
      chave: isSamePixKey(cob.key, emission.key),
      [profile.brCodeField]: cob.brCode !== ""
    })

  const find = (txid: string, fits = ofTxid(txid)) =>
    checkedId(FIND, TXID, txid).pipe(
      Effect.andThen(ask(connection, FIND, { method: "GET", below: "cob", path: `/cob/${txid}` }, decoded, fits)),
      (lookUp) => repeated(limits, lookUp)
    )

  const emitOnce = (emission: Emission) => {
    const call = { method: "PUT", below: "cob", path: `/cob/${emission.txid}`, body: cobBody(emission) } as const
    const fits = ofEmission(emission)
    return checkedId(EMIT, TXID, emission.txid).pipe(
      Effect.andThen(ask(connection, EMIT, call, decoded, fits)),
      settledBy(EMIT, find(emission.txid, fits))
    )
  }

  const emit: ApiPixClient["emit"] = (emission) =>
    Effect.catchIf(
      emitOnce(emission),
      (failure) => failure._tag === "Unclear" && failure.kind === "not-found-yet",
      // The first request may still be on its way: a refusal of the second says nothing about it.
      (first) => Effect.catchTag(emitOnce(emission), "Refused", () => Effect.fail(first))
    )

  const findReturn = (endToEndId: string, id: string, fits: Fits<PixReturn> = (found) => ({ id: found.id === id })) =>
    returnPath(FIND_RETURN, endToEndId, id).pipe(
      Effect.flatMap((path) => ask(connection, FIND_RETURN, { method: "GET", below: "pix", path }, decodeReturn, fits)),
      (lookUp) => repeated(limits, lookUp)
    )

  return {
    connection,
    emit,
    emitAgain: (emission) =>
      find(emission.txid, ofEmission(emission)).pipe(
        unclearIfRefused(FIND),
        Effect.catchTag("NotFound", () => emit(emission))
      ),
    find: (txid) => find(txid),
    cancel: (txid) => {
      const body = { status: "REMOVIDA_PELO_USUARIO_RECEBEDOR" }
      const call = { method: "PATCH", below: "cob", path: `/cob/${txid}`, body } as const
      return checkedId(CANCEL, TXID, txid).pipe(
        Effect.andThen(ask(connection, CANCEL, call, decoded, ofTxid(txid))),
        settledBy(CANCEL, find(txid), ({ status }, failure) => (status === "ATIVA" ? failure : undefined))
      )
    },
    listReceived: (range, options) => {
      const filter = options?.returned === true ? { devolucaoPresente: "true" } : {}
      const call = { ...callForPage(connection, range, filter), below: "pix", path: "/pix" } as const
      return repeated(limits, ask(connection, LIST, call, decodeReceivedPage))
    },
    findReceived: (endToEndId) => {
      const call = { method: "GET", below: "pix", path: `/pix/${endToEndId}` } as const
      return checkedId(FIND_PIX, END_TO_END_ID, endToEndId).pipe(
        Effect.andThen(
          ask(connection, FIND_PIX, call, decodeReceivedPix, (pix) => ({ endToEndId: pix.endToEndId === endToEndId }))
        ),
        (lookUp) => repeated(limits, lookUp)
      )
    },
    returnPix: (order) => {
      const fits: Fits<PixReturn> = ({ id, cents }) => ({ id: id === order.id, valor: cents === order.cents })
      return returnPath(RETURN, order.endToEndId, order.id).pipe(
        Effect.flatMap((path) =>
          ask(connection, RETURN, { method: "PUT", below: "pix", path, body: returnBody(order) }, decodeReturn, fits)
        ),
        settledBy(RETURN, findReturn(order.endToEndId, order.id, fits))
      )
    },
    findReturn: (endToEndId, id) => findReturn(endToEndId, id),
    registerWebhook: (key, url, options) =>
      Effect.asVoid(
        connection.call(REGISTER, {
          method: "PUT",
          below: "webhook",
          path: `/webhook/${encodeURIComponent(key)}`,
          ...(profile.skipMtlsHeader !== null && {
            headers: { [profile.skipMtlsHeader]: `${options?.withoutMtls === true}` }
          }),
          body: { webhookUrl: url }
        })
      ),
    findWebhook: (key) => {
      const call = { method: "GET", below: "webhook", path: `/webhook/${encodeURIComponent(key)}` } as const
      return repeated(limits, ask(connection, FIND_WEBHOOK, call, decodeWebhookUrl))
    }
  }
}

const cobBody = ({ cents, key, expiresInSeconds, debtor, message }: Emission) => ({
  calendario: { expiracao: expiresInSeconds },
  ...(debtor !== undefined && { devedor: personOf(debtor) }),
  valor: { original: formatReais(cents) },
  chave: key,
  ...(message !== undefined && { solicitacaoPagador: message })
})

const returnBody = ({ cents, nature, description }: ReturnOrder) => ({
  valor: formatReais(cents),
  ...(nature !== undefined && { natureza: nature }),
  ...(description !== undefined && { descricao: description })
})

const CPF_LENGTH = 11

const personOf = ({ name, document }: { readonly name: string; readonly document: string }) =>
  document.length === CPF_LENGTH ? { cpf: document, nome: name } : { cnpj: document, nome: name }

const returnPath = (operation: Operation, endToEndId: string, id: string) =>
  checkedId(operation, END_TO_END_ID, endToEndId).pipe(
    Effect.andThen(checkedId(operation, RETURN_ID, id)),
    Effect.as(`/pix/${endToEndId}/devolucao/${id}`)
  )
