/**
 * Settlements by hand, for the operator routes of payouts, refunds and exceptions.
 *
 * Rules: OPR-112, OPR-202, OPR-215 to OPR-217.
 */
import { decodeSettlePayout, decodeSettleReturn } from "@pix-payments/api/operator/Settlements"
import type { ApprovalAction } from "@pix-payments/domain/Approval"
import * as Effect from "effect/Effect"
import type { NotFoundError, RequestRefused } from "../../../base/Errors.ts"
import type { Unavailable } from "../../../database/Unavailable.ts"
import { AuditLog } from "../../../operations/AuditLog.ts"
import type { Fields, RequestedPayoutFacts } from "../../../operators/approvals/ApprovalRow.ts"
import { OrderKeys } from "../../../operators/OrderKeys.ts"
import { type HandSettlement, HandSettlements, type SettledKind } from "../../../payments/exceptions/HandSettlements.ts"
import { answer } from "../../pipeline/Answer.ts"
import { decodeBody } from "../../pipeline/RequestDecoding.ts"
import { invalidState, keyReused, notFound, refusedAs } from "../../pipeline/WireTranslation.ts"
import { fourEyes, openApprovals } from "../approvals/FourEyes.ts"

interface SettleCall {
  readonly params: { readonly id: string }
  readonly body: unknown
  readonly idempotencyKey: string | undefined
}

/** The settlement in a body, which is also what an approval stores. */
export const settlementFrom = (kind: SettledKind, body: unknown): Effect.Effect<HandSettlement, RequestRefused> =>
  kind === "payout"
    ? Effect.map(decodeBody(body, decodeSettlePayout), ({ end_to_end_id, outcome, reason }) => ({
        outcome,
        reason,
        externalId: end_to_end_id ?? undefined
      }))
    : Effect.map(decodeBody(body, decodeSettleReturn), ({ outcome, reason, return_id }) => ({
        outcome,
        reason,
        externalId: return_id ?? undefined
      }))

/** What an approval stores and shows: nothing of the body but the settlement. */
const requestOf = (kind: SettledKind, { externalId, outcome, reason }: HandSettlement): Fields => ({
  outcome,
  ...(externalId !== undefined && { [kind === "payout" ? "end_to_end_id" : "return_id"]: externalId }),
  reason
})

/** The operation by which a kind is settled. */
export const operationOf = (kind: SettledKind): string => `${kind}Actions.settle`

/** Makes the handler of one kind. `show` gives the resource after the settlement. */
export const makeSettle = Effect.gen(function* () {
  const settlements = yield* HandSettlements
  const audit = yield* AuditLog
  const keys = yield* OrderKeys
  const openApproval = yield* openApprovals
  const { run } = yield* fourEyes

  return <A>(
    kind: SettledKind,
    show: (id: string) => Effect.Effect<A, NotFoundError | Unavailable>,
    payoutOf: (id: string) => Effect.Effect<RequestedPayoutFacts | undefined, NotFoundError | Unavailable> = () =>
      Effect.undefined
  ) =>
    ({ body, idempotencyKey, params }: SettleCall) =>
      Effect.gen(function* () {
        const settlement = yield* settlementFrom(kind, body)
        const id = params.id.toLowerCase()
        const shown = () =>
          Effect.map(Effect.catchTag(show(id), "NotFoundError", Effect.die), (found) => answer(200, found))
        const audited = audit.record(operationOf(kind), id, { after: { ...settlement } })
        const facts = Effect.all([settlements.find(kind, id), payoutOf(id)])
        const plan = Effect.map(facts, ([{ accountId }, payout]) => ({
          action: `${kind}.settle` satisfies ApprovalAction as ApprovalAction,
          resourceId: id,
          accountId,
          concerns: null,
          request: requestOf(kind, settlement),
          payout
        }))
        return yield* keys.once(
          { operation: operationOf(kind), resourceId: id, key: idempotencyKey, body },
          (done) =>
            run(plan, settlements.settle(kind, id, settlement, Effect.andThen(audited, done(id))), shown).pipe(
              Effect.tap((answered) =>
                isApproval(answered.body) ? Effect.ignore(done(answered.body.id)) : Effect.void
              )
            ),
          (resultId) =>
            Effect.filterOrElse(
              openApproval(resultId),
              (waits) => waits !== undefined,
              () => shown()
            )
        )
      }).pipe(
        Effect.catchTags({
          RequestRefused: refusedAs("VALIDATION_ERROR"),
          NotFoundError: notFound,
          InvalidStateError: invalidState,
          KeyReused: keyReused
        })
      )
})

const isApproval = (body: unknown): body is { readonly object: "approval"; readonly id: string } =>
  typeof body === "object" && body !== null && "object" in body && body.object === "approval"
