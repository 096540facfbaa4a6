/**
 * The answers of the central bank's operations. `devolucoes` is read as a list, and as the object of the published
 * example.
 */
import { parseBrCode } from "@pix-payments/domain/BrCode"
import { isSamePixKey } from "@pix-payments/domain/PixKey"
import * as Result from "effect/Result"
import {
  amount,
  type Decode,
  field,
  id,
  instant,
  instantOrNow,
  matching,
  nested,
  oneOf,
  optional,
  pageOf,
  type Payer,
  payerOf,
  pixKey,
  positiveAmount,
  reason,
  required
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
  readonly cents: number
  readonly key: string
  /** Empty where the provider sent something else than a BR code of this amount or of none, and of this key or of a URL. */
  readonly brCode: string | undefined
  readonly location: string | undefined
  readonly pix: ReadonlyArray<ReceivedPix>
}

export const decodeReturn: Decode<PixReturn> = (message, reading) =>
  Result.gen(function* () {
    return {
      id: yield* required(message, "id", id),
      returnId: yield* optional(message, "rtrId", id),
      cents: yield* required(message, "valor", positiveAmount),
      status: yield* required(message, "status", oneOf("EM_PROCESSAMENTO", "DEVOLVIDO", "NAO_REALIZADO")),
      nature: id(field(message, "natureza")) ?? "ORIGINAL",
      requestedAtMs: instant(field(message, "horario.solicitacao"), reading),
      settledAtMs: instant(field(message, "horario.liquidacao"), reading),
      reason: reason(field(message, "motivo"))
    }
  })

export const decodeReceivedPix: Decode<ReceivedPix> = (message, reading) =>
  Result.gen(function* () {
    return {
      endToEndId: yield* required(message, "endToEndId", id),
      txid: yield* optional(message, "txid", id),
      cents: yield* required(message, "valor", positiveAmount),
      key: yield* optional(message, "chave", pixKey),
      atMs: instantOrNow(field(message, "horario"), reading),
      payerInfo: reason(field(message, "infoPagador")),
      payer: payerOf(message),
      returns: nested(message, "devolucoes", decodeReturn, reading)
    }
  })

export const decodeReceivedPage = pageOf("pix", decodeReceivedPix)

/** As long as an EMV code can be. */
const LONGEST_BR_CODE = 512

const brCodeOf = (value: unknown, cents: number, key: string): string | undefined => {
  if (value === undefined || value === null) return undefined
  const isText = typeof value === "string" && value.length <= LONGEST_BR_CODE && /^[^\p{C}]+$/u.test(value)
  const parsed = isText ? Result.getOrUndefined(parseBrCode(value)) : undefined
  const isOurs = parsed !== undefined && (parsed.amount ?? cents) === cents && isSamePixKey(parsed.pixKey ?? key, key)
  return isText && isOurs ? value : ""
}

const location = matching(/^[!-~]{1,200}$/)

export const decodeCob =
  (brCodeField: "pixCopiaECola" | "brcode"): Decode<Cob> =>
  (message, reading) =>
    Result.gen(function* () {
      const cents = yield* required(message, "valor.original", amount)
      const key = yield* required(message, "chave", pixKey)
      return {
        txid: yield* required(message, "txid", id),
        status: yield* required(message, "status", cobStatus),
        cents,
        key,
        brCode: brCodeOf(field(message, brCodeField), cents, key),
        location: location(field(message, "location")),
        pix: nested(message, "pix", decodeReceivedPix, reading)
      }
    })

const cobStatus = oneOf("ATIVA", "CONCLUIDA", "REMOVIDA_PELO_USUARIO_RECEBEDOR", "REMOVIDA_PELO_PSP")

export const decodeWebhookUrl: Decode<string> = (message) =>
  required(message, "webhookUrl", matching(/^[!-~]{1,2048}$/))
