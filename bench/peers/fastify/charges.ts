/**
 * `/v1/charges` of the peers on Fastify. A `ChargeStore` decides how charges are stored: one at a time or in batches.
 *
 * Guarantees:
 * - a charge is committed before the acquirer is called;
 * - the row of a charge claims its idempotency key;
 * - status, change and deliveries are one guarded transaction;
 * - a charge that stays `processing` is recovered.
 */
// Not an Effect program.
// @effect-diagnostics globalDate:off
import { parseDocument } from "@pix-payments/domain/Document"
import { pageOf } from "@pix-payments/domain/List"
import { isUuid } from "@pix-payments/domain/Uuid"
import type { FastifyInstance } from "fastify"
import { emitPix, type Merchant } from "./acquirer.ts"
import { type ChargeRow, type ChargeStore, toCharge } from "./charge.ts"
import { chargeSchema, chargesSchema, type CreateCharge, createChargeSchema, readQuery } from "./chargeSchemas.ts"
import type { Guard } from "./contract.ts"
import { errorOf, type FieldError, sendError } from "./errors.ts"
import { nextId } from "./ids.ts"
import { errorSchema } from "./schemas.ts"
import { seal } from "./secrets.ts"
import { isAllowedUrl } from "./webhookUrl.ts"

/** Registers the routes. Call the result to recover due charges. */
export const registerCharges = (app: FastifyInstance, guard: Guard, store: ChargeStore) => {
  /** Calls the acquirer and stores its answer. */
  const emit = async (stored: ChargeRow, merchant: Merchant): Promise<ChargeRow> => {
    const { brCode, receiver } = emitPix({ id: stored.id, amount: Number(stored.amount) }, merchant)
    const row: ChargeRow = {
      ...stored,
      status: "pending",
      br_code: brCode,
      receiver: store.hasReceiver ? receiver : null,
      sequence: stored.sequence + 1
    }
    const { epochMs, id } = nextId()
    const change = { id, createdAt: new Date(epochMs), data: JSON.stringify(toCharge(row)) }
    if (await store.markEmitted({ row, change })) return row
    return (await store.find(stored.id)) ?? stored
  }

  app.post<{ Body: CreateCharge }>(
    "/v1/charges",
    {
      attachValidation: true,
      schema: { body: createChargeSchema, response: { 201: chargeSchema, "4xx": errorSchema, "5xx": errorSchema } },
      onRequest: [guard.authenticate("charge:write"), guard.requireIdempotencyKey]
    },
    async (request, reply) => {
      const caller = guard.callerOf(request)
      const key = String(request.headers["idempotency-key"])

      const replay = async () => {
        const row = await store.findByKey(caller.application_id, key)
        return row && reply.code(201).header("idempotent-replayed", "true").send(toCharge(row))
      }

      if (request.validationError !== undefined) {
        const { code, details } = errorOf(request.validationError.validation as ReadonlyArray<FieldError>)
        return (await replay()) ?? sendError(reply, code, details)
      }
      const body = request.body
      const document = parseDocument(body.customer.document)
      if (document === undefined) return (await replay()) ?? sendError(reply, "INVALID_DOCUMENT", ["customer.document"])
      if (typeof body.webhook_url === "string" && !(await isAllowedUrl(body.webhook_url))) {
        return (await replay()) ?? sendError(reply, "INVALID_WEBHOOK_URL", ["webhook_url"])
      }
      if (caller.status !== "active") return (await replay()) ?? sendError(reply, "ACCOUNT_INACTIVE")

      const { epochMs, id } = nextId()
      const row: ChargeRow = {
        id,
        account_id: caller.account_id,
        application_id: caller.application_id,
        status: "processing",
        method: "pix",
        amount: body.amount,
        description: body.description ?? null,
        reference: body.reference ?? null,
        customer_name: body.customer.name,
        customer_email: body.customer.email,
        customer_document: document.value,
        webhook_url: body.webhook_url ?? null,
        webhook_secret: body.webhook_secret ? seal(body.webhook_secret) : null,
        br_code: null,
        end_to_end_id: null,
        receiver: null,
        expires_at: new Date(epochMs + (body.expires_in ?? caller.default_expires_in) * 1000),
        paid_at: null,
        failure_reason: null,
        created_at: new Date(epochMs),
        sequence: 1
      }
      const isNew = await store.insert({
        row,
        idempotencyKey: key,
        customerPhone: body.customer.phone ?? null,
        recoverAt: new Date(epochMs + 6000)
      })
      if (!isNew) return (await replay()) ?? sendError(reply, "INTERNAL_ERROR")
      return reply.code(201).send(toCharge(await emit(row, caller)))
    }
  )

  app.get<{ Params: { readonly id: string } }>(
    "/v1/charges/:id",
    {
      schema: { response: { 200: chargeSchema, "4xx": errorSchema, "5xx": errorSchema } },
      onRequest: guard.authenticate("charge:read")
    },
    async (request, reply) => {
      const { id } = request.params
      const row = isUuid(id) ? await store.find(id.toLowerCase()) : undefined
      if (row === undefined || row.account_id !== guard.callerOf(request).account_id) {
        return sendError(reply, "CHARGE_NOT_FOUND")
      }
      return toCharge(row)
    }
  )

  app.get<{ Querystring: Readonly<Record<string, unknown>> }>(
    "/v1/charges",
    {
      schema: { response: { 200: chargesSchema, "4xx": errorSchema, "5xx": errorSchema } },
      onRequest: guard.authenticate("charge:read")
    },
    async (request, reply) => {
      const query = readQuery(request.query)
      if ("invalid" in query) return sendError(reply, "VALIDATION_ERROR", query.invalid)
      const rows = await store.list(guard.callerOf(request).account_id, query, new Date())
      if (rows === undefined) return sendError(reply, "VALIDATION_ERROR", ["starting_after"])
      return pageOf(rows.map(toCharge), query.limit)
    }
  )

  return async () => {
    for (const { merchant, row } of await store.claimDueRecoveries()) await emit(row, merchant)
  }
}
