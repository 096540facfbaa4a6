/**
 * Validation of payout requests, and the schema of payout responses.
 */
import { MAX_CENTS } from "@pix-payments/domain/Cents"
import { MINIMUM_PAYOUT_CENTS } from "@pix-payments/domain/Reason"
import { parsePixKey, type PixKeyType } from "@pix-payments/domain/PixKey"
import { isPrintable } from "@pix-payments/domain/Text"
import type { FieldError } from "./errors.ts"
import { optional, string, stringOrNull, text } from "./schemas.ts"

export interface CreatePayout {
  readonly amount: number
  readonly pix_key_type: PixKeyType
  readonly pix_key: string
  readonly recipient_name?: string | null
  readonly recipient_document?: string | null
  readonly description?: string | null
  readonly reference?: string | null
  readonly webhook_url?: string | null
  readonly webhook_secret?: string | null
}

export const createPayoutSchema = {
  type: "object",
  required: ["amount", "pix_key_type", "pix_key"],
  properties: {
    amount: { type: "integer", minimum: MINIMUM_PAYOUT_CENTS, maximum: MAX_CENTS },
    pix_key_type: { type: "string", enum: ["cpf", "cnpj", "email", "phone", "random"] },
    pix_key: text(1, 255),
    method: { type: "string", nullable: true, enum: ["pix", null] },
    recipient_name: optional(text(1, 200)),
    recipient_document: { type: "string", nullable: true, format: "document" },
    description: optional(text(0, 140)),
    reference: optional(text(0, 255)),
    webhook_url: optional(text(0, 2048)),
    webhook_secret: optional(text(0, 255))
  }
}

/** A Pix key that does not have the form of its type. JSON schema cannot express this rule over two fields. */
export const pixKeyErrors = (body: unknown): ReadonlyArray<FieldError> => {
  if (typeof body !== "object" || body === null) return []
  const { pix_key: key, pix_key_type: type } = body as Partial<CreatePayout>
  if (type === undefined || !["cpf", "cnpj", "email", "phone", "random"].includes(type)) return []
  if (typeof key !== "string" || !isPrintable(key)) return []
  const { _tag } = parsePixKey(type, key)
  if (_tag === "Valid") return []
  return [
    {
      instancePath: "/pix_key",
      keyword: "format",
      params: { format: _tag === "InvalidDocument" ? "document" : "pix_key" }
    }
  ]
}

export const payoutSchema = {
  type: "object",
  properties: {
    id: string,
    object: string,
    status: string,
    method: string,
    amount: { type: "integer" },
    fee: { type: "integer" },
    currency: string,
    description: stringOrNull,
    reference: stringOrNull,
    recipient: {
      type: "object",
      properties: { name: stringOrNull, document: stringOrNull, pix_key_type: string, pix_key: string }
    },
    end_to_end_id: stringOrNull,
    failure_reason: stringOrNull,
    webhook_url: stringOrNull,
    processed_at: stringOrNull,
    created_at: string,
    sequence: { type: "integer" }
  }
}
