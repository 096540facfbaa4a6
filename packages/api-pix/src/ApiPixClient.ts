/**
 * The operations of the central bank's API Pix.
 *
 * Guarantees
 * - An operation is repeated under the same id as often as its caller likes, and is done once.
 * - A look-up that fails is repeated. An order is never: it is looked up. Only the emission of a charge, which moves no
 *   money, is sent once more if it was not found.
 * - A txid or return id in use is compared with the order: ours gives its state, another's is a `Duplicate`.
 */
import { formatReais } from "@pix-payments/domain/Cents"
import * as Effect from "effect/Effect"
import type { Connection } from "./Connection.ts"
import { checkedId, inOtherTerms, repeated, settledBy, unlessInFlight } from "./Lookup.ts"
import {
  type Cob,
  decodeCob,
  decodeReceivedPage,
  decodeReceivedPix,
  decodeReturn,
  decodeWebhookUrl,
  type PixReturn,
  type ReceivedPage,
  type ReceivedPix
} from "./Messages.ts"
import type { Failure, Operation } from "./Outcome.ts"
import { type PageRange, pageOf } from "./Pages.ts"

export interface Emission {
  readonly txid: string
  readonly cents: number
  /** The receiving key. */
  readonly key: string
  readonly expiresInSeconds: number
  readonly debtor?: { readonly name: string; readonly document: string }
  readonly message?: string
}

export interface ReturnOrder {
  readonly endToEndId: string
  /** Chosen by the caller, letters and digits, at most 35. */
  readonly id: string
  readonly cents: number
  readonly nature?: "ORIGINAL" | "RETIRADA"
  readonly description?: string
  /** Until when a request of an earlier attempt may still be on its way. Before that, a refusal is `Unclear`. */
  readonly inFlightUntilMs?: number
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
  readonly listReceived: (range: PageRange) => Effect.Effect<ReceivedPage, Failure>
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

const EMIT: Operation = { name: "emit", scope: "cob.write", refusals: ["CobOperacaoInvalida"], notFound: [] }
const FIND: Operation = {
  name: "find",
  scope: "cob.read",
  refusals: ["CobConsultaInvalida"],
  notFound: ["CobNaoEncontrado"]
}
const CANCEL: Operation = { ...EMIT, name: "cancel", notFound: ["CobNaoEncontrado"] }
const LIST: Operation = { name: "list-received", scope: "pix.read", refusals: ["PixConsultaInvalida"], notFound: [] }
const FIND_PIX: Operation = {
  name: "find-received",
  scope: "pix.read",
  refusals: ["PixConsultaInvalida"],
  notFound: ["PixNaoEncontrado"]
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
  notFound: ["PixNaoEncontrado", "PixDevolucaoNaoEncontrada"]
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
  const toCob = decodeCob(profile.brCodeField)

  const find: ApiPixClient["find"] = (txid) =>
    checkedId(FIND, TXID, txid).pipe(
      Effect.andThen(connection.call(FIND, { method: "GET", below: "cob", path: `/cob/${txid}` })),
      Effect.flatMap((answer) => toCob(FIND, answer)),
      (lookUp) => repeated(limits, lookUp)
    )

  const put = (emission: Emission) =>
    checkedId(EMIT, TXID, emission.txid).pipe(
      Effect.andThen(
        connection.call(EMIT, { method: "PUT", below: "cob", path: `/cob/${emission.txid}`, body: cobBody(emission) })
      ),
      Effect.flatMap((answer) => toCob(EMIT, answer))
    )

  const problemWith = (emission: Emission) => (cob: Cob) =>
    cob.cents === emission.cents && cob.key === emission.key ? undefined : inOtherTerms(EMIT)

  const emitOnce = (emission: Emission) =>
    put(emission).pipe(settledBy(EMIT, find(emission.txid), problemWith(emission)))

  const emit: ApiPixClient["emit"] = (emission) =>
    Effect.catchIf(
      emitOnce(emission),
      (failure) => failure._tag === "Unclear" && failure.kind === "not-found-yet",
      // The first request may still be on its way: a refusal of the second says nothing about it.
      (first) => Effect.catchTag(emitOnce(emission), "Refused", () => Effect.fail(first))
    )

  const findReturn: ApiPixClient["findReturn"] = (endToEndId, id) =>
    returnPath(FIND_RETURN, endToEndId, id).pipe(
      Effect.flatMap((path) => connection.call(FIND_RETURN, { method: "GET", below: "pix", path })),
      Effect.flatMap((answer) => decodeReturn(FIND_RETURN, answer)),
      (lookUp) => repeated(limits, lookUp)
    )

  return {
    connection,
    emit,
    emitAgain: (emission) =>
      find(emission.txid).pipe(
        Effect.flatMap((cob) => {
          const problem = problemWith(emission)(cob)
          return problem === undefined ? Effect.succeed(cob) : Effect.fail(problem)
        }),
        Effect.catchTag("NotFound", () => emit(emission))
      ),
    find,
    cancel: (txid) =>
      checkedId(CANCEL, TXID, txid).pipe(
        Effect.andThen(
          connection.call(CANCEL, {
            method: "PATCH",
            below: "cob",
            path: `/cob/${txid}`,
            body: { status: "REMOVIDA_PELO_USUARIO_RECEBEDOR" }
          })
        ),
        Effect.flatMap((answer) => toCob(CANCEL, answer)),
        settledBy(CANCEL, find(txid), ({ status }, failure) => (status === "ATIVA" ? failure : undefined))
      ),
    listReceived: (range) =>
      repeated(
        limits,
        connection
          .call(LIST, { ...pageOf(connection, range), below: "pix", path: "/pix" })
          .pipe(Effect.flatMap((answer) => decodeReceivedPage(LIST, answer)))
      ),
    findReceived: (endToEndId) =>
      checkedId(FIND_PIX, END_TO_END_ID, endToEndId).pipe(
        Effect.andThen(connection.call(FIND_PIX, { method: "GET", below: "pix", path: `/pix/${endToEndId}` })),
        Effect.flatMap((answer) => decodeReceivedPix(FIND_PIX, answer)),
        (lookUp) => repeated(limits, lookUp)
      ),
    returnPix: (order) =>
      returnPath(RETURN, order.endToEndId, order.id).pipe(
        Effect.flatMap((path) =>
          connection.call(RETURN, { method: "PUT", below: "pix", path, body: returnBody(order) })
        ),
        Effect.flatMap((answer) => decodeReturn(RETURN, answer)),
        settledBy(RETURN, findReturn(order.endToEndId, order.id), ({ cents }) =>
          cents === order.cents ? undefined : inOtherTerms(RETURN)
        ),
        unlessInFlight(RETURN, order.inFlightUntilMs)
      ),
    findReturn,
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
    findWebhook: (key) =>
      repeated(
        limits,
        connection
          .call(FIND_WEBHOOK, { method: "GET", below: "webhook", path: `/webhook/${encodeURIComponent(key)}` })
          .pipe(Effect.flatMap((answer) => decodeWebhookUrl(FIND_WEBHOOK, answer)))
      )
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
