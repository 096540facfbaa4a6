/**
 * What providers answer, decoded.
 *
 * Guarantees
 * - Money is cents, instants are epoch milliseconds. Null and absent are the same. Unknown fields are ignored.
 * - `devolucoes` is read as a list, and as the object of the published example.
 */
import { parseInstant } from "@pix-payments/domain/Instant"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { type Answer, type Operation, Unclear } from "./Outcome.ts"

export type CobStatus = "ATIVA" | "CONCLUIDA" | "REMOVIDA_PELO_USUARIO_RECEBEDOR" | "REMOVIDA_PELO_PSP"
export type ReturnStatus = "EM_PROCESSAMENTO" | "DEVOLVIDO" | "NAO_REALIZADO"
export type PayoutStatus = "EM_PROCESSAMENTO" | "REALIZADO" | "NAO_REALIZADO"

export interface PixReturn {
  /** The id that its requester chose. */
  readonly id: string
  readonly returnId: string | undefined
  readonly cents: number
  readonly nature: string | undefined
  readonly status: ReturnStatus
  readonly requestedAtMs: number | undefined
  readonly settledAtMs: number | undefined
  readonly reason: string | undefined
}

export interface ReceivedPix {
  readonly endToEndId: string
  readonly txid: string | undefined
  readonly cents: number
  readonly key: string | undefined
  readonly atMs: number
  readonly payerInfo: string | undefined
  readonly returns: ReadonlyArray<PixReturn>
}

export interface Cob {
  readonly txid: string
  readonly status: CobStatus
  readonly revision: number
  readonly cents: number
  readonly key: string
  readonly brCode: string | undefined
  readonly location: string | undefined
  readonly pix: ReadonlyArray<ReceivedPix>
}

export interface ReceivedPage {
  readonly pix: ReadonlyArray<ReceivedPix>
  readonly page: number
  readonly pages: number
}

export interface Payout {
  /** Ours. Undefined in a list where the payout has none. */
  readonly id: string | undefined
  readonly endToEndId: string | undefined
  readonly cents: number
  readonly status: PayoutStatus
  /** Of `NAO_REALIZADO`, where the provider says it. */
  readonly reason: string | undefined
  readonly requestedAtMs: number | undefined
  readonly settledAtMs: number | undefined
  /** What the payee's bank sent back. */
  readonly returns: ReadonlyArray<{ readonly returnId: string; readonly cents: number; readonly atMs: number }>
}

export interface SentPage {
  readonly payouts: ReadonlyArray<Payout>
  readonly page: number
  readonly pages: number
}

const Text = Schema.NonEmptyString
const absent = <S extends Schema.Constraint>(schema: S) => Schema.optionalKey(Schema.NullishOr(schema))
const Reais = Schema.String.check(Schema.isPattern(/^\d{1,10}\.\d{2}$/))
const At = Schema.String.check(Schema.makeFilter((text) => parseInstant(text) !== undefined))
const Count = Schema.Union([Schema.Int, Schema.String.check(Schema.isPattern(/^\d+$/))])

const ReturnMessage = Schema.Struct({
  id: Text,
  rtrId: absent(Text),
  valor: Reais,
  natureza: absent(Schema.String),
  horario: absent(Schema.Struct({ solicitacao: absent(At), liquidacao: absent(At) })),
  status: Schema.Literals(["EM_PROCESSAMENTO", "DEVOLVIDO", "NAO_REALIZADO"]),
  motivo: absent(Schema.String)
})

const PixMessage = Schema.Struct({
  endToEndId: Text,
  txid: absent(Schema.String),
  valor: Reais,
  chave: absent(Schema.String),
  horario: At,
  infoPagador: absent(Schema.String),
  devolucoes: absent(Schema.Union([Schema.Array(ReturnMessage), ReturnMessage]))
})

const CobMessage = Schema.Struct({
  txid: Text,
  status: Schema.Literals(["ATIVA", "CONCLUIDA", "REMOVIDA_PELO_USUARIO_RECEBEDOR", "REMOVIDA_PELO_PSP"]),
  revisao: absent(Count),
  valor: Schema.Struct({ original: Reais }),
  chave: Text,
  pixCopiaECola: absent(Schema.String),
  brcode: absent(Schema.String),
  location: absent(Schema.String),
  pix: absent(Schema.Array(PixMessage))
})

const Parameters = Schema.Struct({
  paginacao: Schema.Struct({ paginaAtual: Count, quantidadeDePaginas: Count })
})

const ReceivedMessage = Schema.Struct({
  parametros: Parameters,
  pix: absent(Schema.Array(PixMessage))
})

const WebhookMessage = Schema.Struct({ webhookUrl: Text })

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

const SentMessage = Schema.Struct({ parametros: Parameters, pix: absent(Schema.Array(PayoutMessage)) })

/** `"12.34"` is 1234. */
const centsOf = (reais: string): number => Number(reais.replace(".", ""))
const atMs = (text: string | null | undefined): number | undefined =>
  text === null || text === undefined ? undefined : parseInstant(text)

const returnFrom = (of: typeof ReturnMessage.Type): PixReturn => ({
  id: of.id,
  returnId: of.rtrId ?? undefined,
  cents: centsOf(of.valor),
  nature: of.natureza ?? undefined,
  status: of.status,
  requestedAtMs: atMs(of.horario?.solicitacao),
  settledAtMs: atMs(of.horario?.liquidacao),
  reason: of.motivo ?? undefined
})

const returnsFrom = (of: (typeof PixMessage.Type)["devolucoes"]): ReadonlyArray<PixReturn> => {
  if (of === null || of === undefined) return []
  return "id" in of ? [returnFrom(of)] : of.map(returnFrom)
}

const pixFrom = (of: typeof PixMessage.Type): ReceivedPix => ({
  endToEndId: of.endToEndId,
  txid: of.txid ?? undefined,
  cents: centsOf(of.valor),
  key: of.chave ?? undefined,
  atMs: atMs(of.horario)!,
  payerInfo: of.infoPagador ?? undefined,
  returns: returnsFrom(of.devolucoes)
})

const cobFrom =
  (brCodeField: "pixCopiaECola" | "brcode") =>
  (of: typeof CobMessage.Type): Cob => ({
    txid: of.txid,
    status: of.status,
    revision: Number(of.revisao ?? 0),
    cents: centsOf(of.valor.original),
    key: of.chave,
    brCode: of[brCodeField] ?? undefined,
    location: of.location ?? undefined,
    pix: (of.pix ?? []).map(pixFrom)
  })

const pageFrom = ({ parametros: { paginacao }, pix }: typeof ReceivedMessage.Type): ReceivedPage => ({
  pix: (pix ?? []).map(pixFrom),
  page: Number(paginacao.paginaAtual),
  pages: Number(paginacao.quantidadeDePaginas)
})

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

const sentFrom = ({ parametros: { paginacao }, pix }: typeof SentMessage.Type): SentPage => ({
  payouts: (pix ?? []).map(payoutFrom),
  page: Number(paginacao.paginaAtual),
  pages: Number(paginacao.quantidadeDePaginas)
})

type Decode<A> = (operation: Operation, answer: Answer) => Effect.Effect<A, Unclear>

/** An answer of 2xx in another shape may still mean "done". */
const decoder = <S extends Schema.ConstraintDecoder<unknown>, A>(
  schema: S,
  from: (message: S["Type"]) => A
): Decode<A> => {
  const decode = Schema.decodeUnknownOption(schema)
  return ({ name: operation }, { status, body }) =>
    Option.match(decode(body), {
      onNone: () =>
        Effect.fail(
          new Unclear({ operation, kind: "unknown-answer", reason: `status ${status} with an unknown body` })
        ),
      onSome: (message) => Effect.succeed(from(message))
    })
}

const cobDecoders = {
  pixCopiaECola: decoder(CobMessage, cobFrom("pixCopiaECola")),
  brcode: decoder(CobMessage, cobFrom("brcode"))
}

export const decodeCob = (brCodeField: "pixCopiaECola" | "brcode"): Decode<Cob> => cobDecoders[brCodeField]
export const decodeReceivedPix: Decode<ReceivedPix> = decoder(PixMessage, pixFrom)
export const decodeReceivedPage: Decode<ReceivedPage> = decoder(ReceivedMessage, pageFrom)
export const decodeReturn: Decode<PixReturn> = decoder(ReturnMessage, returnFrom)
export const decodeWebhookUrl: Decode<string> = decoder(WebhookMessage, ({ webhookUrl }) => webhookUrl)
export const decodePayout: Decode<Payout> = decoder(PayoutMessage, payoutFrom)
export const decodeSentPage: Decode<SentPage> = decoder(SentMessage, sentFrom)
