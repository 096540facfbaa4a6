/**
 * The acquirer of the peers on Fastify: in this process, immediate like our server's simulator, and never failing.
 */
import { buildBrCode } from "@pix-payments/domain/BrCode"
import { txidFromId } from "@pix-payments/domain/Txid"
import * as Result from "effect/Result"

export interface Merchant {
  readonly name: string
  readonly document: string
}

/** The BR code and the receiver of a charge. */
export const emitPix = (charge: { readonly id: string; readonly amount: number }, merchant: Merchant) => {
  const brCode = buildBrCode({
    payloadUrl: `pix.simulator.test/qr/v2/${txidFromId(charge.id)}`,
    amount: charge.amount,
    merchantName: merchant.name,
    merchantCity: "SAO PAULO",
    singleUse: true
  })
  if (Result.isFailure(brCode)) throw new Error(`BR code: ${brCode.failure.reason}`)
  return {
    brCode: brCode.success,
    receiver: {
      name: merchant.name,
      document: merchant.document,
      pix_key: merchant.document,
      pix_key_type: merchant.document.length === 11 ? "cpf" : "cnpj",
      institution_name: "Simulated Acquirer",
      institution_ispb: "00000000",
      branch: "0001",
      account: "1",
      account_type: "payment"
    }
  }
}
