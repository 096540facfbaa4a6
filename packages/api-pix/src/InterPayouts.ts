/**
 * Inter's payouts: `POST /banking/v2/pix` with our id as `x-id-idempotente`, looked up by `codigoSolicitacao`.
 *
 * Guarantees
 * - An order without a reference is sent again under the same key; the answer names the payout. An order with a reference
 *   is looked up, and never sent again.
 * - The refusal of a repeated request says nothing of the one before, which nothing finds by our id.
 * - A person may have to approve a payout in the bank's application: until then it is `EM_PROCESSAMENTO`. Only final
 *   states that the documentation names as failures are `NAO_REALIZADO`.
 */
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import { ask } from "./Ask.ts"
import type { Connection } from "./Connection.ts"
import { type Decode, field, id, instant, matching, optional, positiveAmount, reason, required } from "./Decoding.ts"
import { checkedId, repeated, unclearIfRefused } from "./Lookup.ts"
import { type Failure, NotFound, type Operation, Unclear } from "./Outcome.ts"
import type { Payee, Payout, PayoutOrder, PayoutQuestion, Payouts, PayoutStatus } from "./Payouts.ts"

const SEND: Operation = { name: "send-payout", scope: "pagamento-pix.write", refusals: [], notFound: [] }
const FIND: Operation = { name: "find-payout", scope: "pagamento-pix.read", refusals: [], notFound: ["untyped 404"] }

const PATH = "/banking/v2/pix"
const ID = /^[0-9a-f]{32}$/
const REFERENCE = /^[a-zA-Z0-9-]{1,64}$/

/** The others are not final: `NAO_DEBITADO` may be debited later, and `PARCIALMENTE_PAGO` is not explained. */
const FINAL: Readonly<Record<string, PayoutStatus>> = {
  PAGO: "REALIZADO",
  PIX_PAGO: "REALIZADO",
  REPROVADO: "NAO_REALIZADO",
  EXPIRADO: "NAO_REALIZADO",
  CANCELADO: "NAO_REALIZADO",
  CANCELADO_SEM_SALDO: "NAO_REALIZADO",
  AGENDAMENTO_CANCELADO: "NAO_REALIZADO",
  FALHA: "NAO_REALIZADO"
}

const decodeSent: Decode<{ readonly reference: string; readonly endToEndId: string | undefined }> = (message) =>
  Result.gen(function* () {
    return {
      reference: yield* required(message, "codigoSolicitacao", matching(REFERENCE)),
      endToEndId: yield* optional(message, "endToEndId", id)
    }
  })

interface Found {
  readonly reference: string
  readonly payout: Payout
}

const decodeFound: Decode<Found> = (message, reading) =>
  Result.gen(function* () {
    const state = yield* required(message, "transacaoPix.status", id)
    const status = FINAL[state] ?? "EM_PROCESSAMENTO"
    const error = firstOf(field(message, "transacaoPix.erros"))
    const why = reason([state, field(error, "codigoErro"), field(error, "descricaoErro")].filter(isText).join(" "))
    return {
      reference: yield* required(message, "transacaoPix.codigoSolicitacao", id),
      payout: {
        id: undefined,
        endToEndId: yield* optional(message, "transacaoPix.endToEnd", id),
        cents: yield* required(message, "transacaoPix.valor", positiveAmount),
        payerKey: undefined,
        status,
        reason: status === "NAO_REALIZADO" ? why : undefined,
        requestedAtMs: instant(field(message, "transacaoPix.dataHoraSolicitacao"), reading),
        settledAtMs:
          status === "REALIZADO" ? instant(field(message, "transacaoPix.dataHoraMovimento"), reading) : undefined,
        returns: []
      }
    }
  })

const firstOf = (value: unknown): unknown => (Array.isArray(value) ? value[0] : undefined)
const isText = (value: unknown): value is string => typeof value === "string" && value !== ""

export const makeInterPayouts = (connection: Connection): Payouts => {
  const { limits } = connection

  const look = (asked: PayoutQuestion, reference: string): Effect.Effect<Payout, Failure> => {
    const call = { method: "GET", below: "origin", path: `${PATH}/${reference}` } as const
    return checkedId(FIND, REFERENCE, reference).pipe(
      Effect.andThen(
        ask(connection, FIND, call, decodeFound, (found) => ({
          codigoSolicitacao: found.reference === reference,
          valor: found.payout.cents === asked.cents
        }))
      ),
      (lookUp) => repeated(limits, lookUp),
      Effect.map(({ payout }) => ({ ...payout, id: asked.id }))
    )
  }

  /** It was accepted before: a payout that is not found is not sent again. */
  const accepted = (order: PayoutOrder, reference: string): Effect.Effect<Payout, Failure> =>
    look(order, reference).pipe(
      unclearIfRefused(FIND),
      Effect.catchTag("NotFound", () => {
        const problem = `accepted as ${reference}, which is not found`
        return Effect.fail(new Unclear({ operation: SEND.name, kind: "unknown-answer", reason: problem }))
      })
    )

  const submit = (order: PayoutOrder): Effect.Effect<Payout, Failure> => {
    const call = {
      method: "POST",
      below: "origin",
      path: PATH,
      headers: { "x-id-idempotente": uuidOf(order.id) },
      body: bodyOf(order)
    } as const
    return checkedId(SEND, ID, order.id).pipe(
      Effect.andThen(ask(connection, SEND, call, decodeSent)),
      Effect.tap(({ reference }) => order.keepReference(reference)),
      Effect.map(({ endToEndId }) => ({
        id: order.id,
        endToEndId,
        cents: order.cents,
        payerKey: undefined,
        status: "EM_PROCESSAMENTO" as const,
        reason: undefined,
        requestedAtMs: undefined,
        settledAtMs: undefined,
        returns: []
      }))
    )
  }

  return {
    findsUnnamed: false,
    send: (order) => (order.reference === undefined ? submit(order) : accepted(order, order.reference)),
    find: (asked) =>
      asked.reference === undefined
        ? Effect.fail(new NotFound({ operation: FIND.name, code: "no-reference" }))
        : look(asked, asked.reference),
    listSent: undefined
  }
}

const uuidOf = (id: string) => id.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5")

const bodyOf = ({ cents, message, payee }: PayoutOrder) => ({
  valor: cents / 100,
  ...(message !== undefined && { descricao: message }),
  destinatario: destinatarioOf(payee)
})

const destinatarioOf = (payee: Payee) => {
  if ("key" in payee) return { tipo: "CHAVE", chave: payee.key }
  const { name, document, bankCode, branch, number, type } = payee.account
  return {
    tipo: "DADOS_BANCARIOS",
    nome: name,
    cpfCnpj: document,
    agencia: branch,
    contaCorrente: number,
    tipoConta: type === "cacc" ? "CONTA_CORRENTE" : "CONTA_POUPANCA",
    instituicaoFinanceira: { ispb: bankCode }
  }
}
