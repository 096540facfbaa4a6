/**
 * Efí's payouts: `PUT /v3/gn/pix/{idEnvio}`, where `idEnvio` is our id.
 *
 * Guarantees
 * - One order is sent at a time for each connection, as Efí asks for; the others wait in a bounded queue.
 * - "Not found" after an unclear answer is `Unclear`: the order may still be on its way.
 */
import { formatReais } from "@pix-payments/domain/Cents"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { Connection } from "./Connection.ts"
import { absent, At, atMs, centsOf, decoder, entriesOf, PageParameters, RawEntries, Reais, Text } from "./Decoding.ts"
import { checkedId, inOtherTerms, repeated, settledBy, unlessInFlight } from "./Lookup.ts"
import { NotSent, type Operation } from "./Outcome.ts"
import { pageOf } from "./Pages.ts"
import type { Payee, Payout, PayoutOrder, Payouts, SentPage } from "./Payouts.ts"
import { makeTurns } from "./Turns.ts"

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
const LIST: Operation = { name: "list-sent", scope: "gn.pix.send.read", refusals: [], notFound: [] }

const payoutFields = {
  idEnvio: absent(Text),
  valor: Reais,
  status: Schema.Literals(["EM_PROCESSAMENTO", "REALIZADO", "NAO_REALIZADO"]),
  horario: absent(Schema.Struct({ solicitacao: absent(At), liquidacao: absent(At) })),
  devolucoes: absent(Schema.Array(Schema.Struct({ rtrId: Text, valor: Reais, horario: At })))
}

/** Efí's documentation calls the id `e2eId` in one answer and `endToEndId` in others. */
const PayoutMessage = Schema.Union([
  Schema.Struct({ endToEndId: Text, ...payoutFields }),
  Schema.Struct({ e2eId: Text, ...payoutFields })
])

const SentMessage = Schema.Struct({ parametros: PageParameters, pix: RawEntries })

const payoutFrom = (of: typeof PayoutMessage.Type): Payout => ({
  id: of.idEnvio ?? undefined,
  endToEndId: "e2eId" in of ? of.e2eId : of.endToEndId,
  cents: centsOf(of.valor),
  status: of.status,
  reason: undefined,
  requestedAtMs: atMs(of.horario?.solicitacao),
  settledAtMs: atMs(of.horario?.liquidacao),
  returns: (of.devolucoes ?? []).map(({ rtrId, valor, horario }) => ({
    returnId: rtrId,
    cents: centsOf(valor),
    atMs: atMs(horario)!
  }))
})

const sentEntries = entriesOf(PayoutMessage, payoutFrom)

const sentFrom = ({ parametros: { paginacao }, pix }: typeof SentMessage.Type): SentPage => {
  const { items, unreadable } = sentEntries(pix)
  return {
    payouts: items,
    unreadable,
    page: Number(paginacao.paginaAtual),
    pages: Number(paginacao.quantidadeDePaginas)
  }
}

const decodePayout = decoder(PayoutMessage, payoutFrom)
const decodeSentPage = decoder(SentMessage, sentFrom)

/** `idEnvio`. */
const ID = /^[a-zA-Z0-9]{1,35}$/

export const makeEfiPayouts = (connection: Connection): Payouts => {
  const { limits } = connection
  const inTurn = makeTurns({
    maxWaiting: limits.maxWaitingPayouts,
    maxWaitMs: limits.timeoutMs,
    whenFull: new NotSent({ operation: SEND.name, reason: "saturated", detail: "another payout is being sent" })
  })

  const find: Payouts["find"] = ({ id }) =>
    checkedId(FIND, ID, id).pipe(
      Effect.andThen(
        connection.call(FIND, { method: "GET", below: "origin", path: `/v2/gn/pix/enviados/id-envio/${id}` })
      ),
      Effect.flatMap((answer) => decodePayout(FIND, answer)),
      (lookUp) => repeated(limits, lookUp)
    )

  return {
    send: (order) =>
      checkedId(SEND, ID, order.id).pipe(
        Effect.andThen(
          connection.call(SEND, { method: "PUT", below: "origin", path: `/v3/gn/pix/${order.id}`, body: bodyOf(order) })
        ),
        Effect.flatMap((answer) => decodePayout(SEND, answer)),
        settledBy(SEND, find(order), ({ cents }) => (cents === order.cents ? undefined : inOtherTerms(SEND))),
        unlessInFlight(SEND, order.inFlightUntilMs),
        inTurn
      ),
    find,
    listSent: (range) =>
      repeated(
        limits,
        connection
          .call(LIST, { ...pageOf(connection, range), below: "origin", path: "/v2/gn/pix/enviados" })
          .pipe(Effect.flatMap((answer) => decodeSentPage(LIST, answer)))
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

const favorecidoOf = (payee: Payee) => {
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
