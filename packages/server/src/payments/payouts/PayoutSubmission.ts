/**
 * Submits payouts to the acquirer and asks for their outcomes, in every process.
 *
 * Guarantees:
 * - A payout is submitted after its commit, under an id that its idempotency key determines (`orderIdOf`), so that neither a
 *   retry nor its repeated creation after a restore sends a second Pix.
 * - An unclear answer is never a refusal: the payout stays `processing`, and the acquirer is asked for its outcome until it
 *   is known. Each inquiry waits twice as long as the one before, up to a minute.
 * - A refusal of a repeated request is final only `RESEND_GRACE_MS` after the request before it: until then that one may
 *   still arrive and pay. It is never final once a request was accepted, nor where another process has asked since.
 * - At a provider that finds no payout by our id (Inter), it is never final where the answer to an earlier request was lost: that one may
 *   have paid. After it, or after twenty hours without an answer, nothing more is sent, which could pay a second time, and a person settles
 *   the payout.
 * - A paused payout that may have been sent is looked up each minute, and not sent.
 * - A process that was stopped beyond its lease sends nothing.
 * - A payout that the acquirer accepted and does not find any more is sent again under that id, at least `RESEND_GRACE_MS`
 *   after it was sent last, unless a brake stops it. It never fails for that reason.
 * - A connection that hangs delays no payout of another connection.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import {
  Acquirer,
  AcquirerUnclear,
  type PayoutOrder,
  type PayoutProgress,
  type Provider
} from "../../providers/Acquirer.ts"
import { LateOutcomes } from "../../providers/LateOutcomes.ts"
import * as Bulkheads from "../../providers/Bulkheads.ts"
import { backOffMs, isLastRequest, RESEND_GRACE_MS } from "../../providers/Retries.ts"
import { describeCause } from "../../base/observability/SafeCause.ts"
import { inTrace } from "../../base/observability/Tracing.ts"
import { Settings } from "../../base/Settings.ts"
import type { Unavailable } from "../../database/Unavailable.ts"
import { type ClaimedPayout, PayoutClaims } from "./PayoutClaims.ts"
import type { PayoutFacts } from "./PayoutDecision.ts"
import { Payouts } from "./Payouts.ts"

export class PayoutSubmission extends Context.Service<
  PayoutSubmission,
  {
    /** Claims due payouts. Each call submits one, or asks for its outcome. `paused`: how many may not be sent now. */
    readonly claimDue: (
      capacity: Bulkheads.Capacity
    ) => Effect.Effect<Bulkheads.Claimed & { readonly paused: number }, Unavailable>
  }
>()("@pix-payments/server/PayoutSubmission") {
  static readonly layer = Layer.effect(
    PayoutSubmission,
    Effect.gen(function* () {
      const claims = yield* PayoutClaims
      const payouts = yield* Payouts
      const late = yield* LateOutcomes
      const acquirer = yield* Acquirer
      const { acquirerTimeoutMs } = yield* Settings

      const orderOf = ({ orderId, payout }: ClaimedPayout): PayoutOrder => ({
        id: orderId,
        amount: payout.amount,
        method: payout.method,
        pixKeyType: payout.pixKeyType,
        pixKey: payout.pixKey,
        bankAccount: payout.bankAccount,
        recipientName: payout.recipientName,
        recipientDocument: payout.recipientDocument,
        description: payout.description,
        reference: payout.providerReference,
        keepReference: (reference) =>
          Effect.matchEffect(claims.keepReference(payout.id, payout.providerReference, reference), {
            onFailure: () => Effect.fail(new AcquirerUnclear({ reason: "the reference cannot be stored" })),
            onSuccess: (isKept) =>
              isKept
                ? Effect.void
                : Effect.fail(
                    new AcquirerUnclear({
                      reason: "the payout has ended or has another reference by now, or another payout has this one"
                    })
                  )
          })
      })

      const inquireIn = (
        { attempts, payout: { id } }: ClaimedPayout,
        nextInquiryInMs: number,
        { isUnsent = false, processedAtMs = null }: { isUnsent?: boolean; processedAtMs?: number | null } = {}
      ) => claims.submitted({ id, attempts, processedAtMs, isUnsent, nextInquiryInMs })

      const ask = (
        claimed: ClaimedPayout,
        call: (rail: Rail, order: PayoutOrder) => Effect.Effect<Asked, AcquirerUnclear>
      ): Effect.Effect<Asked> =>
        acquirer.providerFor(claimed.payout.connectionId).pipe(
          Effect.flatMap(({ payouts: rail }) =>
            rail === undefined
              ? Effect.fail(new AcquirerUnclear({ reason: "the provider sends no payouts", isUnsent: true }))
              : call(rail, orderOf(claimed))
          ),
          Effect.catchTag("AcquirerUnclear", ({ isUnsent }) => Effect.succeed(isUnsent === true ? UNSENT : UNCLEAR))
        )

      /** The answer to an earlier request was lost. The provider answers it again, unless it has forgotten it. */
      const sendLost = (
        { attempts, isOld }: ClaimedPayout,
        rail: Rail,
        order: PayoutOrder
      ): Effect.Effect<Asked, AcquirerUnclear> =>
        isOld
          ? Effect.succeed({ _tag: "Lost", reason: "no answer" })
          : Effect.map(rail.send(order), (progress) =>
              progress._tag === "Refused" && isLastRequest(attempts) ? { ...progress, _tag: "Lost" } : progress
            )

      /** After its lease another process may have sent the payout, and have taken a refusal for final. */
      const send = (claimed: ClaimedPayout) =>
        Effect.flatMap(Clock.currentTimeMillis, (nowMs) =>
          nowMs >= claimed.leasedUntilMs
            ? Effect.succeed(UNSENT)
            : ask(claimed, (rail, order) => {
                const isLost =
                  rail.findsUnnamed === false &&
                  order.pixKey !== null &&
                  order.reference === null &&
                  !claimed.isFirstRequest
                return isLost ? sendLost(claimed, rail, order) : rail.send(order)
              })
        )

      /** The next request may be refused for good, and comes a grace after this one even if this process ends meanwhile. */
      const sendUnaccepted = (claimed: ClaimedPayout) =>
        isLastRequest(claimed.attempts + 1)
          ? Effect.andThen(inquireIn(claimed, RESEND_GRACE_MS), send(claimed))
          : send(claimed)

      /** Of one that was not accepted. A rail may call one that it does not have accepted: its end alone is an answer. */
      const lookUp = (claimed: ClaimedPayout) =>
        Effect.map(
          ask(claimed, (rail, order) => rail.outcome(order)),
          (answer): Asked => (answer._tag === "Completed" || answer._tag === "Failed" ? answer : UNCLEAR)
        )

      const inquire = Effect.fnUntraced(function* (claimed: ClaimedPayout, processedAtMs: number) {
        const answer = yield* ask(claimed, (rail, order) => rail.outcome(order))
        if (answer._tag !== "NotFound" || claimed.isPaused) return answer
        const sinceSentMs = (yield* Clock.currentTimeMillis) - processedAtMs
        if (sinceSentMs < RESEND_GRACE_MS) return answer
        // Committed before the call, so that a crash after it does not shorten the grace of the next one.
        yield* inquireIn(claimed, RESEND_GRACE_MS)
        return { _tag: "Resent", answer: yield* send(claimed) } as const
      })

      const report = Effect.fnUntraced(function* (id: string, outcome: "completed" | "failed", facts: PayoutFacts) {
        if ((yield* payouts.report(id, outcome, facts)) === "applied") return
        // It has ended meanwhile, perhaps otherwise.
        yield* late.answered.payout(id, { outcome, externalId: facts.endToEndId, reason: facts.reason })
      })

      const request = (claimed: ClaimedPayout) => {
        const { isPaused, payout } = claimed
        if (payout.processedAtMs !== null) return inquire(claimed, payout.processedAtMs)
        return isPaused ? lookUp(claimed) : sendUnaccepted(claimed)
      }

      const submit = Effect.fnUntraced(function* (claimed: ClaimedPayout) {
        const { attempts, isFirstRequest, isPaused, payout } = claimed
        const { id, processedAtMs } = payout
        const asked = yield* request(claimed)
        const isResent = asked._tag === "Resent"
        const answer = isResent ? asked.answer : asked
        switch (answer._tag) {
          case "Completed":
            return yield* report(id, "completed", { endToEndId: answer.endToEndId })
          case "Failed":
            return yield* report(id, "failed", { reason: answer.reason })
          case "Refused":
            if (processedAtMs !== null) return
            if (isFirstRequest || isLastRequest(attempts)) return yield* payouts.refuse(id, attempts, answer.reason)
            return yield* inquireIn(claimed, backOffMs(attempts))
          case "Lost":
            if (isResent) return
            yield* Effect.annotateLogs(Effect.logWarning("a payout is sent no more: a person has to settle it"), {
              payout_id: id,
              reason: answer.reason
            })
            return yield* inquireIn(claimed, NEVER_MS)
          default: {
            if (isResent) return
            const unacceptedBackOffMs = isPaused ? LAST_INQUIRY_MS : backOffMs(attempts)
            return yield* inquireIn(
              claimed,
              processedAtMs === null ? unacceptedBackOffMs : inquiryBackOffMs(attempts),
              {
                processedAtMs: answer._tag === "Accepted" ? yield* Clock.currentTimeMillis : null,
                isUnsent: answer._tag === "Unsent" && isFirstRequest
              }
            )
          }
        }
      })

      return PayoutSubmission.of({
        claimDue: (capacity) =>
          Effect.map(
            claims.claim(capacity, acquirerTimeoutMs + LEASE_MARGIN_MS),
            ({ due, isWalkComplete, paused }) => ({
              paused,
              hasMore: paused > 0 || !isWalkComplete,
              due: due.map((each) => ({
                connectionId: each.payout.connectionId,
                call: Effect.catchCause(inTrace(each.payout.trace, "payout submission")(submit(each)), (cause) =>
                  Effect.annotateLogs(Effect.logWarning("a payout could not be submitted", describeCause(cause)), {
                    payout_id: each.payout.id
                  })
                )
              }))
            })
          )
      })
    })
  )
}

/** Submits what is due until its scope closes. */
export const loop = Layer.unwrap(
  PayoutSubmission.use(({ claimDue }) =>
    Effect.succeed(
      Bulkheads.loop(
        "payout submission",
        { all: 1000, ofClaim: 200, ofConnection: 16, ofSimulator: 500 },
        claimDue,
        "100 millis"
      )
    )
  )
)

const LEASE_MARGIN_MS = 10_000
const LAST_INQUIRY_MS = 60_000
/** Ten years: nothing is asked any more. */
const NEVER_MS = 10 * 365 * 24 * 3_600_000

/** What a claimed payout's request came to. `Lost`: nobody can say what became of an earlier one. */
type Asked = PayoutProgress | { readonly _tag: "Lost"; readonly reason: string } | typeof UNSENT | typeof UNCLEAR
/** It did not leave. */
const UNSENT = { _tag: "Unsent" } as const
const UNCLEAR = { _tag: "Unclear" } as const

const inquiryBackOffMs = (attempts: number): number => Math.min(backOffMs(attempts), LAST_INQUIRY_MS)

type Rail = NonNullable<Provider["payouts"]>
