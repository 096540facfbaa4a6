/**
 * `/v1/payouts` of the peers on Fastify. A `PayoutStore` decides how payouts are stored and submitted.
 */
// Not an Effect program.
// @effect-diagnostics globalDate:off
import { payoutFee } from "@pix-payments/domain/Cents"
import { parseDocument } from "@pix-payments/domain/Document"
import { parsePixKey } from "@pix-payments/domain/PixKey"
import type { FastifyInstance } from "fastify"
import type { Guard } from "./contract.ts"
import { errorOf, type FieldError, sendError } from "./errors.ts"
import { nextId } from "./ids.ts"
import { type PayoutStore, toPayout } from "./payout.ts"
import { type CreatePayout, createPayoutSchema, payoutSchema, pixKeyErrors } from "./payoutSchemas.ts"
import { errorSchema } from "./schemas.ts"
import { seal } from "./secrets.ts"
import { isAllowedUrl } from "./webhookUrl.ts"

/** Registers the route. Call the result to submit due payouts. */
export const registerPayouts = (app: FastifyInstance, guard: Guard, store: PayoutStore) => {
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

      const errors = [
        ...((request.validationError?.validation as ReadonlyArray<FieldError> | undefined) ?? []),
        ...pixKeyErrors(request.body)
      ]
      if (errors.length > 0) {
        const { code, details } = errorOf(errors)
        return (await replay()) ?? sendError(reply, code, details)
      }
      const body = request.body
      const pixKey = parsePixKey(body.pix_key_type, body.pix_key)
      if (pixKey._tag !== "Valid") throw new Error("the Pix key was validated above")
      if (typeof body.webhook_url === "string" && !(await isAllowedUrl(body.webhook_url))) {
        return (await replay()) ?? sendError(reply, "INVALID_WEBHOOK_URL", ["webhook_url"])
      }
      if (caller.status !== "active") return (await replay()) ?? sendError(reply, "ACCOUNT_INACTIVE")
      if (caller.onboarding_status !== "completed") return (await replay()) ?? sendError(reply, "ACCOUNT_RESTRICTED")

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
      if (decided === "insufficient balance") return sendError(reply, "INSUFFICIENT_BALANCE")
      if (decided === "key is taken") return (await replay()) ?? sendError(reply, "INTERNAL_ERROR")
      return reply.code(201).send(toPayout(decided))
    }
  )

  return store.submitDue
}
