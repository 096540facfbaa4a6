/**
 * `GET /receipts/{code}` of the public listener: says whether a receipt is authentic. It needs no key, because the code is one.
 *
 * Guarantees:
 * - The page has what the receipt has, and nothing else of the payment. Another code gets the same 404, whatever it is.
 * - It takes a slot of the listener, as each request does.
 *
 * Rules: OPR-271.
 */
import * as Effect from "effect/Effect"
import { receiptPolicy, unknownPage, verifyingPage } from "../../receipts/ReceiptPage.ts"
import type { Receipts } from "../../receipts/Receipts.ts"
import { textOf } from "../../receipts/ReceiptText.ts"
import type { Answer } from "../pipeline/Answer.ts"
import type { Route } from "../pipeline/CompiledApi.ts"

export const receiptRoute = <Credentials>(receipts: Receipts["Service"]): Route<Credentials> => ({
  method: "GET",
  template: "/receipts/{code}",
  segments: ["receipts", ":code"],
  takesBody: false,
  maxBodyBytes: undefined,
  beforeBody: () => undefined,
  answer: ({ params, search }) =>
    Effect.map(receipts.verified(params["code"] ?? ""), (receipt): Answer => {
      const language = new URLSearchParams(search).get("language") === "en" ? "en" : "pt"
      return {
        status: receipt === undefined ? 404 : 200,
        file: {
          contentType: "text/html; charset=utf-8",
          bytes: Buffer.from(receipt === undefined ? unknownPage(language) : verifyingPage(textOf(receipt, language)))
        },
        headers: { "content-security-policy": receiptPolicy }
      }
    })
})
