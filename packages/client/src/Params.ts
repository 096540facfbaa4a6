/**
 * Checks the params of a creation before it is sent: amount, CPF or CNPJ, Pix key. Used by both clients.
 *
 * Guarantees:
 * - Only what no release of the service accepts is refused, and in the service's words. What this release does not know, such as a
 *   new type of Pix key, is sent.
 * - Messages repeat no text of the params.
 */
import { parseDocument } from "@pix-payments/domain/Document"
import { isPixKey, pixKeyForms, type PixKeyType } from "@pix-payments/domain/PixKey"
import {
  A_DOCUMENT,
  AN_AMOUNT,
  atLeast,
  MINIMUM_CHARGE_CENTS,
  MINIMUM_PAYOUT_CENTS,
  reasonOf
} from "@pix-payments/domain/Reason"

/** What is wrong with the params of an operation, or `undefined`. */
export const paramsProblem = (operation: string, params: unknown): string | undefined => {
  const minimum = MINIMUM_CENTS[operation]
  if (!minimum) return undefined
  const { amount, customer, pix_key, pix_key_type, recipient_document } = Object(params)
  const problems = [
    amountProblem(amount, minimum),
    textProblem("customer.document", Object(customer).document, A_DOCUMENT, parseDocument),
    textProblem("recipient_document", recipient_document, A_DOCUMENT, parseDocument),
    Object.hasOwn(pixKeyForms, pix_key_type) &&
      textProblem("pix_key", pix_key, pixKeyForms[pix_key_type as PixKeyType], (key) => isPixKey(pix_key_type, key))
  ]
  return problems.filter(Boolean).join("; ") || undefined
}

const MINIMUM_CENTS: Readonly<Record<string, number>> = {
  "charges.create": MINIMUM_CHARGE_CENTS,
  "payouts.create": MINIMUM_PAYOUT_CENTS
}

const amountProblem = (amount: unknown, minimum: number) => {
  const isWhole = Number.isSafeInteger(amount)
  return (
    !(isWhole && (amount as number) >= minimum) &&
    reasonOf("amount", (amount ?? undefined) === undefined ? undefined : isWhole ? atLeast(minimum) : AN_AMOUNT, amount)
  )
}

/** What is absent, or no text, is the service's to refuse. */
const textProblem = (field: string, value: unknown, expected: string, isRight: (text: string) => unknown) =>
  typeof value === "string" && !isRight(value) && reasonOf(field, expected, value)
