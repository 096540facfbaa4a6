/**
 * `/v1/payouts` of the peers on Fastify: validation and JSON. How payouts are decided, stored and handed over is the
 * business of a `PayoutStore`.
 *
 * What helps it is in: the account comes with the key's look-up.
 */
// This is no Effect program.
// @effect-diagnostics globalDate:off
import { MAX_CENTS, payoutFee } from "@pix-payments/domain/Cents"
import { parseDocument } from "@pix-payments/domain/Document"
import { MINIMUM_PAYOUT_CENTS } from "@pix-payments/domain/Payout"
import { parsePixKey, type PixKeyType } from "@pix-payments/domain/PixKey"
import { isPrintable } from "@pix-payments/domain/Text"
import type { FastifyInstance } from "fastify"
import type { Guard } from "./contract.ts"
import { mayReceive, nextId, seal } from "./guards.ts"
import { type Broken, errorSchema, optional, refusalOf, refuse, string, stringOrNull, text } from "./refusals.ts"

export interface PayoutRow {
  readonly id: string
  readonly account_id: string
  readonly application_id: string | null
  readonly status: string
  readonly method: string
  readonly amount: string | number
  readonly fee: string | number
  readonly description: string | null
  readonly reference: string | null
  readonly recipient_name: string | null
  readonly recipient_document: string | null
  readonly pix_key_type: string
  readonly pix_key: string
  readonly webhook_url: string | null
  readonly webhook_secret: string | null
  readonly end_to_end_id: string | null
  readonly failure_reason: string | null
  readonly processed_at: Date | null
  readonly created_at: Date
  readonly sequence: number
}

export const payoutColumns = `id, account_id, application_id, status, method, amount, fee, description, reference,
  recipient_name, recipient_document, pix_key_type, pix_key, webhook_url, webhook_secret, end_to_end_id,
  failure_reason, processed_at, created_at, sequence`

/** A payout that is asked for; whether it goes on by itself is decided under the lock of the account. */
export interface RequestedPayout {
  /** `pending`, as one that waits for an operator. */
  readonly row: PayoutRow
  readonly idempotencyKey: string
  readonly autoPayout: boolean
  /** Seconds in which the same payout again waits for an operator; 0: no such guard. */
  readonly duplicateWindow: number
}

export type Decision = PayoutRow | "key is known" | "balance is too low"

export interface PayoutStore {
  /** Payout, money, change and deliveries in one commit. */
  readonly decide: (requested: RequestedPayout) => Promise<Decision>
  readonly findByKey: (applicationId: string, key: string) => Promise<PayoutRow | undefined>
  /** A round of the hand-over: gives payouts to the acquirer, and asks for their outcome. */
  readonly handOver: () => Promise<void>
}

/** Declares the route; gives the round of the hand-over. */
export const payouts = (app: FastifyInstance, guard: Guard, store: PayoutStore) => {
  app.post<{ Body: CreatePayout }>(
    "/v1/payouts",
    {
      attachValidation: true,
      schema: { body: createPayoutSchema, response: { 201: payoutSchema, "4xx": errorSchema, "5xx": errorSchema } },
      onRequest: [guard.authenticate("payout:write"), guard.requireIdempotencyKey]
    },
    async (request, reply) => {
      const caller = guard.callerOf(request)
      const key = String(request.headers["idempotency-key"])

      const replay = async () => {
        const row = await store.findByKey(caller.application_id, key)
        return row && reply.code(201).header("idempotent-replayed", "true").send(toPayout(row))
      }

      const broken = [
        ...((request.validationError?.validation as ReadonlyArray<Broken> | undefined) ?? []),
        ...brokenKey(request.body)
      ]
      if (broken.length > 0) {
        const { code, details } = refusalOf(broken)
        return (await replay()) ?? refuse(reply, code, details)
      }
      const body = request.body
      const pixKey = parsePixKey(body.pix_key_type, body.pix_key)
      if (pixKey._tag !== "Valid") throw new Error("the key was valid a moment ago")
      if (typeof body.webhook_url === "string" && !(await mayReceive(body.webhook_url))) {
        return (await replay()) ?? refuse(reply, "INVALID_WEBHOOK_URL", ["webhook_url"])
      }
      if (caller.status !== "active") return (await replay()) ?? refuse(reply, "ACCOUNT_INACTIVE")
      if (caller.onboarding_status !== "completed") return (await replay()) ?? refuse(reply, "ACCOUNT_RESTRICTED")

      const { epochMs, id } = nextId()
      const fee = payoutFee(body.amount, {
        fixed: Number(caller.payout_fee_fixed),
        basis_points: caller.payout_fee_basis_points
      })
      const document = body.recipient_document ? parseDocument(body.recipient_document)?.value : undefined
      const decided = await store.decide({
        row: {
          id,
          account_id: caller.account_id,
          application_id: caller.application_id,
          status: "pending",
          method: "pix",
          amount: body.amount,
          fee,
          description: body.description ?? null,
          reference: body.reference ?? null,
          recipient_name: body.recipient_name ?? null,
          recipient_document: document ?? null,
          pix_key_type: body.pix_key_type,
          pix_key: pixKey.value,
          webhook_url: body.webhook_url ?? null,
          webhook_secret: body.webhook_secret ? seal(body.webhook_secret) : null,
          end_to_end_id: null,
          failure_reason: null,
          processed_at: null,
          created_at: new Date(epochMs),
          sequence: 1
        },
        idempotencyKey: key,
        autoPayout: caller.auto_payout_enabled,
        duplicateWindow: caller.payout_duplicate_window
      })
      if (decided === "balance is too low") return refuse(reply, "INSUFFICIENT_BALANCE")
      if (decided === "key is known") return (await replay()) ?? refuse(reply, "INTERNAL_ERROR")
      return reply.code(201).send(toPayout(decided))
    }
  )

  return store.handOver
}

// ---- what goes in ----

interface CreatePayout {
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

const createPayoutSchema = {
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

// ---- what comes out ----

const payoutSchema = {
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

/** A payout as the contract shows it. */
export const toPayout = (row: PayoutRow) => ({
  id: row.id,
  object: "payout",
  status: row.status,
  method: row.method,
  amount: Number(row.amount),
  fee: Number(row.fee),
  currency: "BRL",
  description: row.description,
  reference: row.reference,
  recipient: {
    name: row.recipient_name,
    document: row.recipient_document,
    pix_key_type: row.pix_key_type,
    pix_key: row.pix_key
  },
  end_to_end_id: row.end_to_end_id,
  failure_reason: row.failure_reason,
  webhook_url: row.webhook_url,
  processed_at: row.processed_at?.toISOString() ?? null,
  created_at: row.created_at.toISOString(),
  sequence: row.sequence
})

/** A key that is not of its type's form: a rule over two fields. */
const brokenKey = (body: unknown): ReadonlyArray<Broken> => {
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
