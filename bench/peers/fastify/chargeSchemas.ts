/**
 * Validation of charge requests, and the schemas of charge responses.
 */
import { MAX_CENTS } from "@pix-payments/domain/Cents"
import { ChargeMethod, ChargeStatus } from "@pix-payments/domain/Charge"
import { MINIMUM_CHARGE_CENTS } from "@pix-payments/domain/Reason"
import { parseInstant } from "@pix-payments/domain/Instant"
import { defaultLimit } from "@pix-payments/domain/List"
import { isUuid } from "@pix-payments/domain/Uuid"
import type { ListQuery } from "./charge.ts"
import { optional, string, stringOrNull, text } from "./schemas.ts"

export interface CreateCharge {
  readonly amount: number
  readonly method?: "pix" | null
  readonly customer: {
    readonly name: string
    readonly email: string
    readonly document: string
    readonly phone?: string | null
  }
  readonly description?: string | null
  readonly reference?: string | null
  readonly expires_in?: number | null
  readonly webhook_url?: string | null
  readonly webhook_secret?: string | null
}

export const createChargeSchema = {
  type: "object",
  required: ["amount", "customer"],
  properties: {
    amount: { type: "integer", minimum: MINIMUM_CHARGE_CENTS, maximum: MAX_CENTS },
    method: { type: "string", nullable: true, enum: ["pix", null] },
    customer: {
      type: "object",
      required: ["name", "email", "document"],
      properties: {
        name: text(1, 200),
        email: {
          ...text(0, 254),
          pattern:
            "^[a-zA-Z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?(?:\\.[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?)+$"
        },
        document: { type: "string", format: "document" },
        phone: optional(text(0, 32))
      }
    },
    description: optional(text(0, 140)),
    reference: optional(text(0, 255)),
    expires_in: optional({ type: "integer", minimum: 60, maximum: 604_800 }),
    webhook_url: optional(text(0, 2048)),
    webhook_secret: optional(text(0, 255))
  }
}

/** The filters of a list, or the names of the invalid ones. */
export const readQuery = (
  query: Readonly<Record<string, unknown>>
): ListQuery | { readonly invalid: ReadonlyArray<string> } => {
  const { created_after, created_before, limit, method, starting_after, status } = query
  const instantOf = (value: unknown) => (typeof value === "string" ? parseInstant(value) : undefined)
  const invalid = [
    limit === undefined || (typeof limit === "string" && /^\d{1,3}$/.test(limit) && +limit >= 1 && +limit <= 100)
      ? []
      : ["limit"],
    starting_after === undefined || (typeof starting_after === "string" && isUuid(starting_after))
      ? []
      : ["starting_after"],
    status === undefined || ChargeStatus.literals.some((known) => known === status) ? [] : ["status"],
    method === undefined || ChargeMethod.literals.some((known) => known === method) ? [] : ["method"],
    created_after === undefined || instantOf(created_after) !== undefined ? [] : ["created_after"],
    created_before === undefined || instantOf(created_before) !== undefined ? [] : ["created_before"]
  ].flat()
  if (invalid.length > 0) return { invalid }
  const textOf = (value: unknown) => (typeof value === "string" ? value : undefined)
  return {
    limit: limit === undefined ? defaultLimit : Number(limit),
    startingAfter: textOf(starting_after),
    status: textOf(status),
    method: textOf(method),
    createdAfterMs: instantOf(created_after),
    createdBeforeMs: instantOf(created_before)
  }
}

export const chargeSchema = {
  type: "object",
  properties: {
    id: string,
    object: string,
    status: string,
    amount: { type: "integer" },
    currency: string,
    method: string,
    description: stringOrNull,
    reference: stringOrNull,
    customer: { type: "object", nullable: true, properties: { name: string, email: string, document: string } },
    pix: { type: "object", properties: { br_code: stringOrNull, end_to_end_id: stringOrNull } },
    receiver: {
      type: "object",
      nullable: true,
      properties: {
        name: stringOrNull,
        document: stringOrNull,
        pix_key: stringOrNull,
        pix_key_type: stringOrNull,
        institution_name: stringOrNull,
        institution_ispb: stringOrNull,
        branch: stringOrNull,
        account: stringOrNull,
        account_type: stringOrNull
      }
    },
    webhook_url: stringOrNull,
    expires_at: stringOrNull,
    paid_at: stringOrNull,
    refunded_amount: { type: "integer" },
    failure_reason: stringOrNull,
    created_at: string,
    sequence: { type: "integer" }
  }
}

export const chargesSchema = {
  type: "object",
  properties: { object: string, data: { type: "array", items: chargeSchema }, has_more: { type: "boolean" } }
}
