/**
 * Efí's payouts: `PUT /v3/gn/pix/{idEnvio}`, where `idEnvio` is our id.
 *
 * Guarantees
 * - One order is sent at a time for each connection, as Efí asks for; the others wait in a bounded queue.
 * - "Not found" after an unclear answer is `Unclear`: the order may still be on its way.
 */
import { formatReais } from "@pix-payments/domain/Cents"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import { ask, type Fits } from "./Ask.ts"
import type { Connection } from "./Connection.ts"
import {
  type Decode,
  field,
  id,
  instant,
  instantOrNow,
  nested,
  oneOf,
  optional,
  pageOf,
  pixKey,
  positiveAmount,
  required
} from "./Decoding.ts"
import { checkedId, repeated, settledBy } from "./Lookup.ts"
import { NotSent, type Operation } from "./Outcome.ts"
import { callForPage } from "./Pages.ts"
import type { Payee, Payout, PayoutOrder, Payouts } from "./Payouts.ts"
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

/** Undefined of one that has not come back, or not yet. The documentation has no state of it; the central bank's returns have. */
const decodeSentBack: Decode<Payout["returns"][number] | undefined> = (message, reading) =>
  Result.gen(function* () {
    const state = yield* optional(message, "status", oneOf("EM_PROCESSAMENTO", "DEVOLVIDO", "NAO_REALIZADO"))
    if (state !== undefined && state !== "DEVOLVIDO") return undefined
    return {
      returnId: yield* required(message, "rtrId", id),
      cents: yield* required(message, "valor", positiveAmount),
      atMs: instantOrNow(field(message, "horario"), reading)
    }
  })

const decodePayout: Decode<Payout> = (message, reading) =>
  Result.gen(function* () {
    return {
      id: yield* optional(message, "idEnvio", id),
      // The documentation calls it `e2eId` in one answer and `endToEndId` in others.
      endToEndId: (yield* optional(message, "e2eId", id)) ?? (yield* required(message, "endToEndId", id)),
      cents: yield* required(message, "valor", positiveAmount),
      payerKey: yield* optional(message, "chave", pixKey),
      status: yield* required(message, "status", oneOf("EM_PROCESSAMENTO", "REALIZADO", "NAO_REALIZADO")),
      reason: undefined,
      requestedAtMs: instant(field(message, "horario.solicitacao"), reading),
      settledAtMs: instant(field(message, "horario.liquidacao"), reading),
      returns: nested(message, "devolucoes", decodeSentBack, reading).filter((back) => back !== undefined)
    }
  })

const decodeSentPage = pageOf("pix", decodePayout)

/** `idEnvio`. */
const ID = /^[a-zA-Z0-9]{1,35}$/

export const makeEfiPayouts = (connection: Connection): Payouts => {
  const { limits } = connection
  const inTurn = makeTurns({
    maxWaiting: limits.maxWaitingPayouts,
    maxWaitMs: limits.timeoutMs,
    whenFull: new NotSent({ operation: SEND.name, reason: "saturated", detail: "another payout is being sent" })
  })

  const fitsOf =
    (asked: { readonly id: string; readonly cents: number }): Fits<Payout> =>
    (payout) => ({ idEnvio: payout.id === asked.id, valor: payout.cents === asked.cents })

  const find: Payouts["find"] = (asked) => {
    const call = { method: "GET", below: "origin", path: `/v2/gn/pix/enviados/id-envio/${asked.id}` } as const
    return checkedId(FIND, ID, asked.id).pipe(
      Effect.andThen(ask(connection, FIND, call, decodePayout, fitsOf(asked))),
      (lookUp) => repeated(limits, lookUp)
    )
  }

  return {
    findsUnnamed: true,
    send: (order) => {
      const call = { method: "PUT", below: "origin", path: `/v3/gn/pix/${order.id}`, body: bodyOf(order) } as const
      return checkedId(SEND, ID, order.id).pipe(
        Effect.andThen(ask(connection, SEND, call, decodePayout, fitsOf(order))),
        settledBy(SEND, find(order)),
        inTurn
      )
    },
    find,
    listSent: (range) => {
      const call = { ...callForPage(connection, range), below: "origin", path: "/v2/gn/pix/enviados" } as const
      return repeated(limits, ask(connection, LIST, call, decodeSentPage))
    }
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
