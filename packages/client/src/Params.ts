/**
 * Checks the params of a creation before it is sent: amount, CPF or CNPJ, Pix key. Used by both clients.
 *
 * Guarantees:
 * - Only what no release of the service accepts is refused, and in the service's words. What this release does not know, such as a
 *   new type of Pix key, is sent.
 * - Messages repeat no text of the params.
 */
import { parseDocument } from "@pix-payments/domain/Document"
import { parsePixKey, pixKeyForms, type PixKeyType } from "@pix-payments/domain/PixKey"
import {
  A_DOCUMENT,
  AN_AMOUNT,
  atLeast,
  MINIMUM_CHARGE_CENTS,
  MINIMUM_PAYOUT_CENTS,
  reasonOf,
  withCheckDigits
} from "@pix-payments/domain/Reason"

/** What is wrong with the params of an operation, or `undefined`. */
export const paramsProblem = (operation: string, params: unknown): string | undefined => {
  const isCharge = operation === "charges.create"
  if (!isCharge && operation !== "payouts.create") return undefined
  const { amount, customer, pix_key: key, pix_key_type: type, recipient_document: recipient } = Object(params)
  const minimum = isCharge ? MINIMUM_CHARGE_CENTS : MINIMUM_PAYOUT_CENTS
  const problems = [
    !Number.isSafeInteger(amount)
      ? reasonOf("amount", amount === undefined || amount === null ? undefined : AN_AMOUNT, amount)
      : amount < minimum && reasonOf("amount", atLeast(minimum), amount),
    isCharge
      ? documentProblem("customer.document", Object(customer).document)
      : documentProblem("recipient_document", recipient) || keyProblem(type, key)
  ].filter(Boolean)
  return problems.length ? problems.join("; ") : undefined
}

/** A document that is absent, or no text, is the service's to refuse. */
const documentProblem = (field: string, value: unknown) =>
  typeof value === "string" && !parseDocument(value) && reasonOf(field, A_DOCUMENT, value)

const keyProblem = (type: PixKeyType, key: unknown) => {
  if (typeof key !== "string" || !Object.hasOwn(pixKeyForms, type)) return undefined
  const { _tag } = parsePixKey(type, key)
  const form = pixKeyForms[type]
  return _tag !== "Valid" && reasonOf("pix_key", _tag === "Malformed" ? form : withCheckDigits(form), key)
}
