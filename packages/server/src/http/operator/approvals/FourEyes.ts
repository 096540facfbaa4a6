/**
 * Runs actions of operators, or stores a request where a second operator has to approve them.
 *
 * Guarantees:
 * - An action that needs four eyes runs by an approval, or not at all: its own statement checks it again (`Authority`). Where
 *   that check disagrees, because four eyes or a limit changed at the same moment, it is planned again.
 * - A request has the facts that it is about (`ApprovalFacts`). What its requester repeats is done while they are the same.
 * - The installation's token is outside of four eyes.
 * - A request and its entry in the audit log are one commit.
 *
 * Rules: OPR-110 to OPR-112, OPR-115, OPR-118.
 */
import type { Approval } from "@pix-payments/api/operator/Approvals"
import { CurrentOperator } from "@pix-payments/api/Security"
import { isRepeated } from "@pix-payments/domain/Approval"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import type { Fields } from "../../../operators/approvals/ApprovalRow.ts"
import {
  type ApprovalRequest,
  ApprovalStore,
  changedFields,
  type Requester
} from "../../../operators/approvals/ApprovalStore.ts"
import { ApprovalRequired, Authority } from "../../../operators/approvals/Authority.ts"
import { AuditLog, withoutSecrets } from "../../../operations/AuditLog.ts"
import { runToCompletion } from "../../../database/RunToCompletion.ts"
import { orUnavailable, type Unavailable } from "../../../database/Unavailable.ts"
import { type Answer, answer } from "../../pipeline/Answer.ts"
import { approvalFacts } from "./ApprovalFacts.ts"
import { toApproval } from "./ApprovalResource.ts"

export const fourEyes = Effect.gen(function* () {
  const sql = yield* SqlClient
  const store = yield* ApprovalStore
  const audit = yield* AuditLog
  const factsOf = yield* approvalFacts

  const request = (by: Requester, asked: ApprovalRequest, before: Fields) =>
    Effect.gen(function* () {
      const { approval, isNew } = yield* store.request(by, asked, before)
      if (isNew) {
        const { action, resourceId: resource_id } = asked
        yield* audit.record("approvals.request", approval.id, {
          ...(approval.before !== null && { before }),
          after: { ...withoutSecrets(asked.request), action, resource_id }
        })
      }
      return approval
    }).pipe(sql.withTransaction, runToCompletion(sql))

  /** `undefined` where the statement of the action requires an approval. */
  const attempt = <A, E, R>(act: Effect.Effect<A, E, R>) =>
    Effect.catchIf(
      Effect.map(act, (value) => ({ value })),
      (error): error is Extract<E, ApprovalRequired> => error instanceof ApprovalRequired,
      () => Effect.undefined
    ) as Effect.Effect<{ readonly value: A } | undefined, Exclude<E, ApprovalRequired>, R>

  /** Runs the action by an approved request of the operator, which it uses up, while everything is as it was approved. */
  const attemptApproved = <A extends { readonly id: string | null }, E, R>(
    approvalId: string,
    asked: ApprovalRequest,
    before: Fields,
    act: Effect.Effect<A, E, R>
  ) =>
    Effect.gen(function* () {
      if (!(yield* store.lockApproved(approvalId))) return undefined
      if (changedFields(before, yield* factsOf(asked)).length > 0) return undefined
      const done = yield* attempt(Effect.provideService(act, Authority, { approvalId, isExempt: false }))
      if (done !== undefined) yield* store.use(approvalId, done.value.id)
      return done
    }).pipe(sql.withTransaction, runToCompletion(sql))

  /**
   * The answer of the action, or 202 with the request. `plan` says what has to be approved; `undefined` where nothing. `act`
   * runs in a transaction where it uses an approval, and `show` after its commit: what calls a provider is there. With
   * `isRequired` the plan is asked for also where four eyes is off.
   */
  const run = <A extends { readonly id: string | null }, B, E, R, E2, R2>(
    plan: Effect.Effect<ApprovalRequest | undefined, E, R>,
    act: Effect.Effect<A, E2, R2>,
    show: (value: A) => Answer<B> | Effect.Effect<Answer<B>, Unavailable>,
    isRequired = false
  ): Effect.Effect<Answer<B | Approval>, E | Exclude<E2, ApprovalRequired> | Unavailable, R | R2 | CurrentOperator> =>
    Effect.gen(function* () {
      const { id, madeBy = null } = yield* CurrentOperator
      const shown = (value: A) => {
        const answered = show(value)
        return Effect.isEffect(answered) ? answered : Effect.succeed(answered)
      }
      if (id === null) {
        if (isRequired) return yield* refusedExempt
        const done = yield* attempt(Effect.provideService(act, Authority, { approvalId: null, isExempt: true }))
        return yield* done === undefined ? refusedExempt : shown(done.value)
      }
      const by = { id, madeBy }
      for (let attempts = 0; attempts < MAX_ATTEMPTS; attempts++) {
        const asked = isRequired || (yield* orUnavailable(store.isFourEyesOn)) ? yield* plan : undefined
        if (asked === undefined) {
          const done = yield* attempt(act)
          if (done !== undefined) return yield* shown(done.value)
          continue
        }
        // The plan has found what it is about.
        const before = yield* Effect.catchTag(factsOf(asked), "NotFoundError", Effect.die)
        if (isRepeated(asked.action)) {
          const approvalId = yield* orUnavailable(store.findApproved(by, asked, before))
          if (approvalId !== undefined) {
            const done = yield* attemptApproved(approvalId, asked, before, act)
            if (done !== undefined) return yield* shown(done.value)
            // It was used or changed meanwhile.
            continue
          }
        }
        return answer(202, toApproval(yield* request(by, asked, before)))
      }
      return yield* Effect.die(new Error("an action needs an approval that its plan does not ask for"))
      // An action that was received is done or refused, also where its caller leaves meanwhile.
    }).pipe(Effect.uninterruptible) as Effect.Effect<
      Answer<B | Approval>,
      E | Exclude<E2, ApprovalRequired> | Unavailable,
      R | R2 | CurrentOperator
    >

  return { run }
})

/** The 202 of a request, until its action is done; `undefined` for an id that is none's. */
export const openApprovals = Effect.map(
  ApprovalStore,
  (store) => (id: string) =>
    store.get(id).pipe(
      Effect.map((row) => (row.used_at === null ? answer(202, toApproval(row)) : undefined)),
      Effect.catchTag("NotFoundError", () => Effect.undefined)
    )
)

const MAX_ATTEMPTS = 10

const refusedExempt = Effect.die(new Error("the installation's token was asked for an approval"))
