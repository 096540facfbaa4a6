/**
 * Inter's payouts: `POST /banking/v2/pix` with our id as `x-id-idempotente`, looked up by `codigoSolicitacao`.
 *
 * Guarantees
 * - An order without a reference is sent again under the same key; the answer names the payout. An order with a reference
 *   is looked up, and never sent again.
 * - A person may have to approve a payout in the bank's application: until then it is `EM_PROCESSAMENTO`. Only final
 *   states that the documentation names as failures are `NAO_REALIZADO`.
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { Connection } from "./Connection.ts"
import { absent, atMs, decoder, Text } from "./Decoding.ts"
import { checkedId, inOtherTerms, repeated, unlessInFlight } from "./Lookup.ts"
import { type Failure, NotFound, type Operation, Unclear } from "./Outcome.ts"
import type { Payee, Payout, PayoutOrder, Payouts, PayoutStatus } from "./Payouts.ts"

const SEND: Operation = {
  name: "send-payout",
  scope: "pagamento-pix.write",
  refusals: ["untyped 400", "untyped 422"],
  notFound: []
}
const FIND: Operation = { name: "find-payout", scope: "pagamento-pix.read", refusals: [], notFound: ["untyped 404"] }

const PATH = "/banking/v2/pix"
const ID = /^[0-9a-f]{32}$/
const REFERENCE = /^[a-zA-Z0-9-]{1,64}$/

const SentMessage = Schema.Struct({
  codigoSolicitacao: Schema.String.check(Schema.isPattern(REFERENCE)),
  endToEndId: absent(Text)
})

const FoundMessage = Schema.Struct({
  transacaoPix: Schema.Struct({
    status: Text,
    valor: Schema.Finite,
    endToEnd: absent(Schema.String),
    dataHoraMovimento: absent(Schema.String),
    dataHoraSolicitacao: absent(Schema.String),
    erros: absent(
      Schema.Array(Schema.Struct({ codigoErro: absent(Schema.String), descricaoErro: absent(Schema.String) }))
    )
  })
})

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

const payoutFrom = ({ transacaoPix: of }: typeof FoundMessage.Type): Payout => {
  const status = FINAL[of.status] ?? "EM_PROCESSAMENTO"
  const [error] = of.erros ?? []
  const reason = [of.status, error?.codigoErro, error?.descricaoErro].filter((part) => (part ?? "") !== "").join(" ")
  return {
    id: undefined,
    endToEndId: of.endToEnd ?? undefined,
    cents: Math.round(of.valor * 100),
    status,
    reason: status === "NAO_REALIZADO" ? reason : undefined,
    requestedAtMs: atMs(of.dataHoraSolicitacao),
    settledAtMs: status === "REALIZADO" ? atMs(of.dataHoraMovimento) : undefined,
    returns: []
  }
}

const decodeSent = decoder(SentMessage, (of) => ({
  reference: of.codigoSolicitacao,
  endToEndId: of.endToEndId ?? undefined
}))
const decodePayout = decoder(FoundMessage, payoutFrom)

export const makeInterPayouts = (connection: Connection): Payouts => {
  const { limits } = connection

  const look = (id: string, reference: string): Effect.Effect<Payout, Failure> =>
    checkedId(FIND, REFERENCE, reference).pipe(
      Effect.andThen(connection.call(FIND, { method: "GET", below: "origin", path: `${PATH}/${reference}` })),
      Effect.flatMap((answer) => decodePayout(FIND, answer)),
      (lookUp) => repeated(limits, lookUp),
      Effect.map((payout) => ({ ...payout, id }))
    )

  /** It was accepted before: a payout that is not found is not sent again. */
  const accepted = (order: PayoutOrder, reference: string): Effect.Effect<Payout, Failure> =>
    look(order.id, reference).pipe(
      Effect.catchTag("NotFound", () => {
        const reason = `accepted as ${reference}, which is not found`
        return Effect.fail(new Unclear({ operation: SEND.name, kind: "unknown-answer", reason }))
      }),
      Effect.filterOrFail(
        ({ cents }) => cents === order.cents,
        () => inOtherTerms(SEND)
      )
    )

  const submit = (order: PayoutOrder): Effect.Effect<Payout, Failure> =>
    checkedId(SEND, ID, order.id).pipe(
      Effect.andThen(
        connection.call(SEND, {
          method: "POST",
          below: "origin",
          path: PATH,
          headers: { "x-id-idempotente": uuidOf(order.id) },
          body: bodyOf(order)
        })
      ),
      unlessInFlight(SEND, order.inFlightUntilMs),
      Effect.flatMap((answer) => decodeSent(SEND, answer)),
      Effect.tap(({ reference }) => order.keepReference(reference)),
      Effect.map(({ endToEndId }) => ({
        id: order.id,
        endToEndId,
        cents: order.cents,
        status: "EM_PROCESSAMENTO" as const,
        reason: undefined,
        requestedAtMs: undefined,
        settledAtMs: undefined,
        returns: []
      }))
    )

  return {
    send: (order) => (order.reference === undefined ? submit(order) : accepted(order, order.reference)),
    find: ({ id, reference }) =>
      reference === undefined
        ? Effect.fail(new NotFound({ operation: FIND.name, code: "no-reference" }))
        : look(id, reference),
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
