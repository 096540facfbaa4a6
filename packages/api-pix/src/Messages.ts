/**
 * The answers of the central bank's operations. `devolucoes` is read as a list, and as the object of the published
 * example.
 */
import * as Schema from "effect/Schema"
import {
  absent,
  At,
  atMs,
  centsOf,
  Count,
  type Decode,
  decoder,
  entriesOf,
  PageParameters,
  RawEntries,
  Reais,
  Text
} from "./Decoding.ts"

export type CobStatus = "ATIVA" | "CONCLUIDA" | "REMOVIDA_PELO_USUARIO_RECEBEDOR" | "REMOVIDA_PELO_PSP"
export type ReturnStatus = "EM_PROCESSAMENTO" | "DEVOLVIDO" | "NAO_REALIZADO"

export interface PixReturn {
  /** The id that its requester chose. */
  readonly id: string
  readonly returnId: string | undefined
  readonly cents: number
  /** `ORIGINAL`, `RETIRADA`, `MED_OPERACIONAL`, `MED_FRAUDE`, `MED_PIX_AUTOMATICO`; absent is `ORIGINAL`. */
  readonly nature: string
  readonly status: ReturnStatus
  readonly requestedAtMs: number | undefined
  readonly settledAtMs: number | undefined
  readonly reason: string | undefined
}

export interface Payer {
  readonly name: string | undefined
  /** CPF or CNPJ; undefined where it is masked. */
  readonly document: string | undefined
}

export interface ReceivedPix {
  readonly endToEndId: string
  readonly txid: string | undefined
  readonly cents: number
  readonly key: string | undefined
  readonly atMs: number
  readonly payerInfo: string | undefined
  /** Where the provider names the payer; the central bank's document does not. */
  readonly payer: Payer | undefined
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
  /** The number of entries that are left out because they cannot be decoded. */
  readonly unreadable: number
  readonly page: number
  readonly pages: number
}

const ReturnMessage = Schema.Struct({
  id: Text,
  rtrId: absent(Text),
  valor: Reais,
  natureza: absent(Schema.String),
  horario: absent(Schema.Struct({ solicitacao: absent(At), liquidacao: absent(At) })),
  status: Schema.Literals(["EM_PROCESSAMENTO", "DEVOLVIDO", "NAO_REALIZADO"]),
  motivo: absent(Schema.String)
})

const PayerMessage = Schema.Struct({
  nome: absent(Schema.String),
  cpf: absent(Schema.String),
  cnpj: absent(Schema.String)
})

const PixMessage = Schema.Struct({
  endToEndId: Text,
  txid: absent(Schema.String),
  valor: Reais,
  chave: absent(Schema.String),
  horario: At,
  infoPagador: absent(Schema.String),
  pagador: absent(PayerMessage),
  gnExtras: absent(Schema.Struct({ pagador: absent(PayerMessage) })),
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

const ReceivedMessage = Schema.Struct({
  parametros: PageParameters,
  pix: RawEntries
})

const WebhookMessage = Schema.Struct({ webhookUrl: Text })

const returnFrom = (of: typeof ReturnMessage.Type): PixReturn => ({
  id: of.id,
  returnId: of.rtrId ?? undefined,
  cents: centsOf(of.valor),
  nature: of.natureza ?? "ORIGINAL",
  status: of.status,
  requestedAtMs: atMs(of.horario?.solicitacao),
  settledAtMs: atMs(of.horario?.liquidacao),
  reason: of.motivo ?? undefined
})

const returnsFrom = (of: (typeof PixMessage.Type)["devolucoes"]): ReadonlyArray<PixReturn> => {
  if (of === null || of === undefined) return []
  return "id" in of ? [returnFrom(of)] : of.map(returnFrom)
}

const DOCUMENT = /^(\d{11}|[0-9A-Z]{12}\d{2})$/

const payerFrom = (of: typeof PayerMessage.Type | null | undefined): Payer | undefined => {
  if (of === null || of === undefined) return undefined
  const document = (of.cpf ?? of.cnpj ?? "").replaceAll(/[./-]/g, "")
  const payer = { name: of.nome ?? undefined, document: DOCUMENT.test(document) ? document : undefined }
  return payer.name === undefined && payer.document === undefined ? undefined : payer
}

const pixFrom = (of: typeof PixMessage.Type): ReceivedPix => ({
  endToEndId: of.endToEndId,
  txid: of.txid ?? undefined,
  cents: centsOf(of.valor),
  key: of.chave ?? undefined,
  atMs: atMs(of.horario)!,
  payerInfo: of.infoPagador ?? undefined,
  payer: payerFrom(of.pagador ?? of.gnExtras?.pagador),
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

const receivedEntries = entriesOf(PixMessage, pixFrom)

const pageFrom = ({ parametros: { paginacao }, pix }: typeof ReceivedMessage.Type): ReceivedPage => {
  const { items, unreadable } = receivedEntries(pix)
  return {
    pix: items,
    unreadable,
    page: Number(paginacao.paginaAtual),
    pages: Number(paginacao.quantidadeDePaginas)
  }
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
