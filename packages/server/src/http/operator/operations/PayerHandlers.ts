/**
 * The operator routes of payers.
 *
 * Guarantee: an export and an erasure are entries of the audit log, with their legal ground.
 */
import {
  decodeAnonymisePayer,
  decodeExportPayer,
  documentOf,
  type PayerExport
} from "@pix-payments/api/operator/Payers"
import * as Effect from "effect/Effect"
import { AuditLog } from "../../../operations/AuditLog.ts"
import { type Erasure, MAX_EXPORTED, type Payer, type PayerCharge, Payers } from "../../../operations/Payers.ts"
import { orUnavailable } from "../../../database/Unavailable.ts"
import type { ApprovalRequest } from "../../../operators/approvals/ApprovalStore.ts"
import { answer } from "../../pipeline/Answer.ts"
import { decodeBody } from "../../pipeline/RequestDecoding.ts"
import { refusedAs } from "../../pipeline/WireTranslation.ts"
import { fourEyes } from "../approvals/FourEyes.ts"
import type { OperatorHandlers } from "../OperatorHandlers.ts"

export const payerHandlers = Effect.gen(function* () {
  const payers = yield* Payers
  const audit = yield* AuditLog
  const { run } = yield* fourEyes

  const handlers: OperatorHandlers<"payers"> = {
    export: ({ body }) =>
      Effect.gen(function* () {
        const input = yield* decodeBody(body, decodeExportPayer)
        const found = yield* payers.charges(payerOf(input), input.starting_after ?? null)
        yield* orUnavailable(audit.record("payers.export", null, { after: { ...input, charges: found.length } }))
        return answer(200, {
          object: "payer_export" as const,
          data: found.slice(0, MAX_EXPORTED).map(toExported),
          has_more: found.length > MAX_EXPORTED
        })
      }).pipe(Effect.catchTags({ RequestRefused: invalid })),
    anonymise: ({ body }) =>
      Effect.gen(function* () {
        const input = yield* decodeBody(body, decodeAnonymisePayer)
        const asked: ApprovalRequest = {
          action: "payer.anonymise",
          resourceId: null,
          accountId: null,
          concerns: null,
          request: { ...input }
        }
        return yield* run(
          Effect.succeed(asked),
          Effect.map(
            payers.anonymise(payerOf(input), audit.record("payers.anonymise", null, { after: input })),
            (erasure) => ({ id: null, erasure })
          ),
          ({ erasure }) => answer(200, toErasure(erasure))
        )
      }).pipe(Effect.catchTags({ RequestRefused: invalid }))
  }
  return handlers
})

const invalid = refusedAs("VALIDATION_ERROR", "INVALID_DOCUMENT")

export const payerOf = (input: {
  readonly document?: string | null | undefined
  readonly email?: string | null | undefined
}): Payer => ({ document: documentOf(input.document), email: input.email ?? null })

const toErasure = (erasure: Erasure) => ({ object: "payer_erasure" as const, ...erasure })

const toExported = ({ amount, created_at, paid_at, status, ...others }: PayerCharge): PayerExport["data"][number] => ({
  ...others,
  status: status as PayerExport["data"][number]["status"],
  amount: Number(amount),
  created_at: created_at.toISOString(),
  paid_at: paid_at?.toISOString() ?? null
})
