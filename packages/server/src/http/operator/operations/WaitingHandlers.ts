/**
 * The operator route of counts: how much waits for a person. Each is a page of the list that it counts, so that it reads a
 * bounded range of an index.
 */
import { MAX_WAITING } from "@pix-payments/api/operator/Waiting"
import * as Effect from "effect/Effect"
import { ApprovalStore } from "../../../operators/approvals/ApprovalStore.ts"
import { DisputeStore } from "../../../payments/disputes/DisputeStore.ts"
import { ExceptionStore } from "../../../payments/exceptions/ExceptionStore.ts"
import { OutboxFailures } from "../../../webhooks/fan-out/OutboxFailures.ts"
import { EndpointHealth } from "../../../webhooks/endpoints/EndpointHealth.ts"
import { answer } from "../../pipeline/Answer.ts"
import type { OperatorHandlers } from "../OperatorHandlers.ts"

export const waitingHandlers = Effect.gen(function* () {
  const approvals = yield* ApprovalStore
  const disputes = yield* DisputeStore
  const exceptions = yield* ExceptionStore
  const endpoints = yield* EndpointHealth
  const failures = yield* OutboxFailures
  const page = { limit: MAX_WAITING, startingAfter: undefined }

  const handlers: OperatorHandlers<"waiting"> = {
    retrieve: () =>
      Effect.gen(function* () {
        return answer(200, {
          object: "waiting" as const,
          approvals: counted(yield* approvals.list({ status: "pending" }, page)),
          disputes: counted((yield* disputes.list({ status: "open" }, { ...page, limit: MAX_WAITING + 1 })).rows),
          exceptions: counted(yield* exceptions.list({ status: "open" }, page)),
          failing_endpoints: counted(yield* endpoints.failing(MAX_WAITING)),
          outbox_failures: counted(yield* failures.unretried(MAX_WAITING))
        })
      }).pipe(Effect.catchTags({ UnknownCursor: Effect.die }))
  }
  return handlers
})

const counted = ({ length }: ReadonlyArray<unknown>) => ({
  count: Math.min(length, MAX_WAITING),
  has_more: length > MAX_WAITING
})
