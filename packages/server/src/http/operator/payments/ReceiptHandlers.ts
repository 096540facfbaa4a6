/**
 * The operator routes of receipts.
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { Settings } from "../../../base/Settings.ts"
import type { ReceiptKind } from "../../../receipts/ReceiptCode.ts"
import { receiptPage, receiptPolicy } from "../../../receipts/ReceiptPage.ts"
import { receiptPdf } from "../../../receipts/ReceiptPdf.ts"
import { Receipts } from "../../../receipts/Receipts.ts"
import { textOf } from "../../../receipts/ReceiptText.ts"
import { ListenAddresses } from "../../pipeline/ListenAddresses.ts"
import { invalidState, notFound } from "../../pipeline/WireTranslation.ts"
import { knownId, type OperatorHandlers } from "../OperatorHandlers.ts"

export const receiptHandlers = Effect.gen(function* () {
  const receipts = yield* Receipts
  const { publicUrl } = yield* Settings
  const addresses = yield* ListenAddresses

  const receipt =
    (kind: ReceiptKind): OperatorHandlers<"receipts">[ReceiptKind] =>
    ({ params, query: { format = "html", language = "pt" } }) =>
      Effect.gen(function* () {
        const found = yield* receipts.of({ kind, id: yield* knownId(params) })
        const text = textOf(found, language)
        const url = `${Option.getOrElse(publicUrl, () => addresses.public)}/receipts/${found.code}`
        return {
          status: 200,
          file:
            format === "pdf"
              ? { contentType: "application/pdf", bytes: receiptPdf(text, url) }
              : { contentType: "text/html; charset=utf-8", bytes: Buffer.from(receiptPage(text, url)) },
          headers: { "content-security-policy": receiptPolicy }
        }
      }).pipe(Effect.catchTags({ NotFoundError: notFound, InvalidStateError: invalidState }))

  const handlers: OperatorHandlers<"receipts"> = {
    charge: receipt("charge"),
    payout: receipt("payout"),
    refund: receipt("refund")
  }
  return handlers
})
